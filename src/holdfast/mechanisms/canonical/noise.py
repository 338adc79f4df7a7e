"""What every canonical noise distribution can do.

**The grid**: counts with real noise are released on one, so that rounding gives nothing away. The line is
cut into cells [j, j + 1) / 2^32, and a real y is replaced by the middle of its cell: g(y) = (floor(2^32 y)
+ 1/2) / 2^32. As a count x is whole,

    g(x + N) = x + g(N) = (2^32 x + j + 1/2) / 2^32,    j = floor(2^32 N).

So drawing j exactly, adding in integers and turning the sum into a float at the end is post-processing of
x + N [semi-dp, Proposition 23]: whatever is promised of x + N holds of the number released. Rounding N
first and adding floats is not: the last bits of such a sum can tell x [mironov2012]. The statistic moves
by less than 2^-32, and a p-value by less than 2^-32 times the largest density of the noise.

**For any symmetric tradeoff function** [semi-dp, Lemma 36], in floating point. With c the fixed point f(c)
= c, F is linear from c at -1/2 to 1 - c at 1/2, and goes on by

    F(x) = f(1 - F(x + 1))  for x < -1/2,    F(x) = 1 - F(-x)  for x > 1/2.

Upwards the recursion is F(x + 1) = 1 - f(F(x)), as f is its own inverse. F and f are evaluated in floats,
so draws follow F up to rounding only: they serve studies, and a secure source is refused.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.privacy.roots import zero
from holdfast.privacy.tradeoff import Tradeoff
from holdfast.sampling.decisions import uniforms
from holdfast.sampling.entropy import Entropy
from holdfast.system.errors import GuaranteeError, SamplingError

FARTHEST = 2.0**50
"""Stands for all that is farther: no law here has mass there."""


class Noise(Protocol):
    """A continuous symmetric law with a distribution function: all that a p-value needs."""

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return P(N <= x)."""
        ...


class CanonicalNoise(ABC):
    """A canonical noise distribution [semi-dp, Definition 35].

    ``certified`` says whether what is drawn follows the law exactly. If not, it serves studies only:
    noise from rounded numbers can give away what it should hide [mironov2012].
    """

    certified: ClassVar[bool]

    @abstractmethod
    def cdf(self, x: FloatArray) -> FloatArray:
        """Return F(x) = P(N <= x)."""

    @abstractmethod
    def quantile(self, u: FloatArray) -> FloatArray:
        """Return the least x with F(x) >= u."""

    @abstractmethod
    def add_to(self, counts: IntArray, entropy: Entropy) -> FloatArray:
        """Return each count plus an independent draw."""

    def require_drawable(self) -> None:  # noqa: B027
        """Raise where no draw is within reach; most have no limit."""

    @property
    @abstractmethod
    def evidence(self) -> tuple[Evidence, ...]:
        """Why a count with this noise keeps the tradeoff function, as long as it moves by at most 1."""

    def sample(self, entropy: Entropy, size: int) -> FloatArray:
        """Return ``size`` independent draws."""
        return self.add_to(np.zeros(size, dtype=np.int64), entropy)


GRID_BITS = 32
LARGEST = 1 << 30
"""Counts and noise stay below it, so that their cells add up in 64 bits."""


def place(counts: IntArray, cells: IntArray) -> FloatArray:
    """Return the middles of the cells of counts + noise, from the counts and the cells of the noise."""
    if counts.size and int(np.abs(counts).max()) >= LARGEST:
        raise SamplingError("a count of 2^30 or more leaves no room for noise in 64-bit integers.")
    return np.asarray(((counts << GRID_BITS) + cells + 0.5) * 2.0**-GRID_BITS, dtype=np.float64)


def require_room(whole: IntArray, limit: int) -> None:
    """Raise where noise has left the grid, which has a probability below exp(-1000) for every law here."""
    if whole.size and int(np.abs(whole).max()) >= limit:
        raise SamplingError("a draw left the range of 64-bit integers: draw again.")


SYMMETRIC = 1e-9
"""How far f and its inverse may differ by rounding."""


@dataclass(frozen=True)
class Constructed(CanonicalNoise):
    """The canonical noise of [semi-dp, Lemma 36]."""

    f: Tradeoff

    certified: ClassVar[bool] = False

    def __post_init__(self) -> None:
        alpha = np.linspace(0.0, 1.0, 257)[1:]
        if np.abs(self.f(alpha) - self.f.inverse()(alpha)).max() > SYMMETRIC:
            raise GuaranteeError(
                "canonical noise is defined for symmetric tradeoff functions only: symmetrise this one first."
            )
        if self.fixed_point >= 0.5 - 1e-15:
            raise GuaranteeError(
                "a budget of zero allows no release at all: no noise is canonical for it, give a larger one."
            )

    @cached_property
    def fixed_point(self) -> float:
        """The c with f(c) = c."""
        if self.f(0.0) == 0:
            return 0.0
        return zero(lambda c: self.f(c) - c, 0.0, 0.5, xtol=1e-16, rtol=1e-15)

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return F(x), from the left half by symmetry."""
        size = np.minimum(np.abs(np.asarray(x, dtype=np.float64)), FARTHEST)
        steps = np.floor(size + 0.5)
        c = self.fixed_point
        lower = c + (1 - 2 * c) * (steps + 0.5 - size)
        upper = c + (1 - 2 * c) * (size + 0.5 - steps)  # 1 - lower, exact near zero
        step, left = 0, steps > 0
        while left.any():
            lower = np.where(left, self.f(upper), lower)
            upper = 1 - lower
            step += 1
            left = (steps > step) & (lower > 0)
        return np.where(x <= 0, lower, 1 - lower)

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return F^-1(u): u is led up to the linear part by the recursion."""
        u = np.asarray(u, dtype=np.float64)
        lower, steps = np.minimum(u, 1 - u), np.zeros(u.shape)
        low = lower < self.fixed_point
        while low.any():
            up = np.where(low, 1 - self.f(lower), lower)
            stuck = low & (up <= lower)  # no mass is left below
            steps = np.where(stuck, np.inf, steps + low)
            lower = up
            low = low & ~stuck & (lower < self.fixed_point)
        size = steps + 0.5 - np.clip((lower - self.fixed_point) / (1 - 2 * self.fixed_point), 0.0, 1.0)
        return np.where(u <= 0.5, -size, size)

    def add_to(self, counts: IntArray, entropy: Entropy) -> FloatArray:
        """Return counts plus noise in floats, for studies."""
        if entropy.secure:
            raise SamplingError(
                "noise for a general tradeoff function is drawn in floating point, which is not safe to"
                " release: give epsilon (and delta), mu or rho, or a seed for a study."
            )
        return counts + self.quantile(uniforms(entropy.words(counts.size)))

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The law is canonical, but what is drawn follows it up to rounding only."""
        return (
            Proved(_canonical(), "semi-dp, Lemma 36"),
            Assumed(_rounding()),
        )


@claim("canonical-constructed")
def _canonical() -> str:
    return (
        "noise constructed from the tradeoff function is canonical: a count that moves by at most 1 keeps it"
    )


@claim("rounding-harmless")
def _rounding() -> tuple[str, str]:
    return (
        "the rounding of the noise gives nothing away",
        "it is drawn in floating point, for studies only",
    )
