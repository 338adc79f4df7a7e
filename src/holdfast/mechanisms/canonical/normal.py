"""N(0, 1 / mu^2): canonical for Gaussian differential privacy with mu [semi-dp, Section 5.3].

Drawing, exactly: let R = 2^-s be the width of coarse cells, sigma = 1 / (mu R) the deviation in them.

    1.  Draw z from the discrete Gaussian law, P(z) prop. to exp(-z^2 / (2 sigma^2)), and toss a coin. Keep
        z /= 0 on heads only; z = 0 takes its sign from the coin. So every pair of a sign and k = |z| >= 0
        has a probability prop. to exp(-k^2 / (2 sigma^2)).
    2.  Draw x uniform on [0, 1) and accept with probability exp(-x (2 k + x) / (2 sigma^2)).

What is accepted has a density prop. to exp(-(k + x)^2 / (2 sigma^2)) at plus or minus k + x: a normal
variable. Of x only the bits down to the grid are released. The coin of step 2 sees 64 bits of x: it is
compared in floats with a margin that covers the rest and all roundings, and inside the margin x and the
coin get further bits, with enclosures, until they part.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import flint
import numpy as np
from scipy.special import ndtr, ndtri

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.mechanisms.canonical.noise import GRID_BITS, LARGEST, CanonicalNoise, place, require_room
from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.sampling.decisions import GUARD_BITS, Enclosure, Real, compare, enclose, is_below, uniforms
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.gaussian import DiscreteGaussian
from holdfast.sampling.rejection import until_accepted
from holdfast.system.errors import GuaranteeError, SamplingError

SMALLEST, LARGEST_MU = Fraction(1, 1 << 20), 1 << 24
CELLS = 4
"""The least deviation, in coarse cells: step 2 then accepts four in five."""
MARGIN = 2.0**-45
"""Covers a dozen roundings of 2^-53 in an exponent E >= 0, as E exp(-E) < 1, the bits of x that are not
drawn yet, and an error of the exponential function of one part in 2^48."""


@dataclass(frozen=True)
class Normal(CanonicalNoise):
    """The canonical noise N(0, 1 / mu^2)."""

    mu: Fraction

    certified: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.mu <= 0:
            raise GuaranteeError(f"normal noise is not defined for mu {self.mu}: give a positive mu.")

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return Phi(mu x)."""
        return np.asarray(ndtr(np.asarray(x, dtype=np.float64) * float(self.mu)))

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return Phi^-1(u) / mu."""
        return np.asarray(ndtri(np.asarray(u, dtype=np.float64)) / float(self.mu))

    def add_to(self, counts: IntArray, entropy: Entropy) -> FloatArray:
        """Return counts plus noise on the grid, exactly distributed."""
        cells = np.empty(counts.size, dtype=np.int64)
        until_accepted(lambda places: self._attempt(places.size, entropy), cells)
        return place(counts, cells)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The law is canonical, and drawn exactly."""
        return (
            Proved(_canonical(self.mu), "semi-dp, Definition 35; semi-dp, Section 5.3"),
            Proved(_drawn(), "holdfast, mechanisms/canonical/normal.py"),
            Assumed(_exponential()),
        )

    def _attempt(self, size: int, entropy: Entropy) -> tuple[IntArray, BoolArray]:
        z = self._integers.sample(entropy, size)
        require_room(z, LARGEST << self._shift if self._shift > 0 else LARGEST >> -self._shift)
        heads = entropy.words(size) >> np.uint64(63) == 1
        k, negative = np.abs(z), np.where(z == 0, heads, z < 0)
        x, coin = entropy.words(size), entropy.words(size)
        position = x * 2.0**-64
        chance = np.exp(-position * (2 * k + position) / (2 * float(self._variance)))
        accepted, unsure = compare(uniforms(coin), chance, MARGIN)
        for i in np.flatnonzero(unsure):
            accepted[i] = is_below(int(coin[i]), 64, self._chance(int(k[i]), int(x[i]), entropy), entropy)
        fine = GRID_BITS - self._shift  # bits of x down to the grid
        cells = (k << fine) + (x >> np.uint64(64 - fine)).astype(np.int64)
        return np.where(negative, -1 - cells, cells), accepted & (heads | (z == 0))

    def _chance(self, k: int, x: int, entropy: Entropy) -> Real:
        """Return exp(-x (2 k + x) / (2 sigma^2)) for a uniform x that begins with these 64 bits."""
        known, length = x, 64

        def at(bits: int) -> Enclosure:
            nonlocal known, length
            while length < bits + GUARD_BITS:
                known, length = (known << 64) | int(entropy.words(1)[0]), length + 64
            with flint.ctx.workprec(bits + 2 * GUARD_BITS):
                return (
                    enclose(self._power(k, Fraction(known + 1, 1 << length)), bits)[0],
                    enclose(self._power(k, Fraction(known, 1 << length)), bits)[1],
                )

        return at

    def _power(self, k: int, x: Fraction) -> flint.arb:
        exponent = x * (2 * k + x) / (2 * self._variance)
        return (flint.arb(-exponent.numerator) / exponent.denominator).exp()

    def require_drawable(self) -> None:
        """Raise where the noise is too wide or too narrow for integers."""
        if not SMALLEST <= self.mu <= LARGEST_MU:
            raise SamplingError(
                "this mu is out of reach of noise in 64-bit integers: give one between 1e-6 and 1e7 (or a rho"
                " between 1e-12 and 1e14)."
            )

    @cached_property
    def _shift(self) -> int:
        """The least s with 2^s >= CELLS mu."""
        self.require_drawable()
        least = CELLS * self.mu
        s = least.numerator.bit_length() - least.denominator.bit_length() - 1
        while Fraction(2) ** s < least:
            s += 1
        return s

    @cached_property
    def _variance(self) -> Fraction:
        """sigma^2, in coarse cells."""
        return (Fraction(2) ** self._shift / self.mu) ** 2

    @cached_property
    def _integers(self) -> DiscreteGaussian:
        return DiscreteGaussian(self._variance)


@claim("canonical-normal")
def _canonical(mu: Fraction) -> str:
    return (
        f"normal noise with deviation 1 / mu, mu = {mu}, is canonical: a count that moves by at most 1 keeps"
        " mu"
    )


@claim("drawn-by-enclosures")
def _drawn() -> str:
    return "the noise is drawn exactly: enclosures decide what floats leave open"


@claim("exponential-of-the-computer")
def _exponential() -> tuple[str, str]:
    return (
        "the exponential function of this computer is right to one part in 2^48",
        "floats tell which draws are clear; enclosures decide all the others",
    )
