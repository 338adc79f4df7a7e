"""Tulap noise: canonical for (epsilon, delta) [semi-dp, Section 5.3].

With b = exp(-epsilon), let K have P(k) = (1 - b)/(1 + b) b^|k| on the integers (discrete Laplace) and V be
uniform on (-1/2, 1/2). Then N_0 = K + V has, for x <= 0 in [-m - 1/2, -m + 1/2),

    F_0(x) = b^m (b + (x + m + 1/2)(1 - b)) / (1 + b),

and F_0(x - 1) = b F_0(x) there, which is F_0(x - 1) = f(1 - F_0(x)) for f of pure epsilon. For delta > 0
the law is that of N_0 between its quantiles q/2 and 1 - q/2, where

    q = 2 delta b / (1 - b + 2 delta b).

Drawing: K is drawn in integers, and the cell of V on the grid is a uniform 32-bit word, since cells of K
begin on the grid. Between the quantiles means |N_0| < t with F_0(-t) = q/2; a draw beyond is drawn again.
Enclosures of t decide all cells but the one that t cuts, and there t is refined together with the
position of N_0. For 0 < delta < 1 the quantile -t is never at an end of a cell of K: that would make b a
root of delta (1 + b) = b^m (1 - b + 2 delta b), but b = exp(-epsilon) is transcendental.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar

import flint
import numpy as np

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.mechanisms.canonical.grid import GRID_BITS, LARGEST, place, require_room
from holdfast.mechanisms.canonical.noise import FARTHEST, CanonicalNoise
from holdfast.mechanisms.mechanism import in_integers
from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.sampling.decisions import exp_of_minus, is_below, real
from holdfast.sampling.entropy import Entropy, short_words
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.sampling.rejection import until_accepted
from holdfast.system.errors import GuaranteeError, SamplingError

SMALLEST = Fraction(1, 1 << 20)
LARGEST_EPSILON = 10**6
SMALLEST_DELTA = Fraction(1, 10**300)
LEAST_KEPT = Fraction(1, 1000)
PRECISION = 256


@dataclass(frozen=True)
class Tulap(CanonicalNoise):
    """The canonical noise of (epsilon, delta)."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    certified: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= LARGEST_EPSILON:
            raise GuaranteeError("Tulap noise needs a positive epsilon of at most 1e6: give such a one.")
        if self.delta != 0 and not SMALLEST_DELTA <= self.delta < 1:
            raise GuaranteeError(
                "Tulap noise needs a delta of 0, or from 1e-300 to below 1: give such a one."
            )

    def cdf(self, x: FloatArray) -> FloatArray:
        """Return F(x), from the left half by symmetry."""
        size = np.minimum(np.abs(np.asarray(x, dtype=np.float64)), FARTHEST)
        m = np.floor(size + 0.5)
        inside = m + 0.5 - size
        lower = np.exp(-self._epsilon * m) * (self._b + inside * self._step) / (1 + self._b)
        lower = np.maximum(0.0, lower - self._cut) / self._kept
        return np.where(x <= 0, lower, 1 - lower)

    def quantile(self, u: FloatArray) -> FloatArray:
        """Return F^-1(u)."""
        u = np.asarray(u, dtype=np.float64)
        lower = self._cut + self._kept * np.minimum(u, 1 - u)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = -np.log(lower * (1 + self._b)) / self._epsilon  # b^ratio = lower (1 + b)
            m = np.maximum(0.0, np.ceil(ratio - 1))
            inside = (np.exp(self._epsilon * (m - ratio)) - self._b) / self._step
            size = np.where(lower > 0, m + 0.5 - np.clip(inside, 0.0, 1.0), np.inf)
        return np.where(u <= 0.5, -size, size)

    def add_to(self, counts: IntArray, entropy: Entropy) -> FloatArray:
        """Return counts plus noise on the grid, exactly distributed."""

        def attempt(places: IntArray) -> tuple[IntArray, BoolArray]:
            drawn = self._cells(places.size, entropy)
            return drawn, self._within(drawn, entropy)

        cells = np.empty(counts.size, dtype=np.int64)
        until_accepted(attempt, cells)
        return place(counts, cells)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The law is canonical, and drawn exactly."""
        return (
            Proved(_canonical(self.epsilon, self.delta), "semi-dp, Definition 35; semi-dp, Section 5.3"),
            Proved(in_integers(), "holdfast, mechanisms/canonical/tulap.py"),
        )

    def _cells(self, size: int, entropy: Entropy) -> IntArray:
        whole = self._integers.sample(entropy, size)
        require_room(whole, LARGEST)
        return (whole << GRID_BITS) + short_words(entropy, size).astype(np.int64) - (1 << (GRID_BITS - 1))

    def _within(self, cells: IntArray, entropy: Entropy) -> BoolArray:
        """Decide |N_0| < t for an N_0 that is uniform in its cell."""
        if self.delta == 0:
            return np.ones(cells.size, dtype=np.bool_)
        outwards = np.where(cells < 0, -1 - cells, cells)  # the cell of |N_0|
        low, high = real(self._reach)(0)
        within: BoolArray = outwards < low
        for i in np.flatnonzero(~within & (outwards <= high)):
            j, word = int(outwards[i]), int(entropy.words(1)[0])
            within[i] = is_below(word, 64, real(partial(self._reach, j)), entropy)
        return within

    def _reach(self, cell: int = 0) -> flint.arb:
        """Return a ball around 2^32 t - cell, at the working precision."""
        b = exp_of_minus(self.epsilon)
        m = self._last
        inside = (self._half_cut() * (1 + b) * exp_of_minus(-m * self.epsilon) - b) / (1 - b)
        return (m + flint.arb(1) / 2 - inside) * flint.arb(2) ** GRID_BITS - cell

    def _half_cut(self) -> flint.arb:
        b = exp_of_minus(self.epsilon)
        delta: flint.arb = flint.arb(self.delta.numerator) / self.delta.denominator
        return delta * b / (1 - b + 2 * delta * b)

    @cached_property
    def _last(self) -> int:
        """The least m with F_0(-m - 1/2) = b^(m + 1) / (1 + b) < q / 2."""
        m = max(0, int(-np.log(self._cut * (1 + self._b)) / self._epsilon) - 3)
        while not self._beyond(m):
            m += 1
        return m

    def _beyond(self, m: int) -> bool:
        bits = PRECISION
        while True:
            with flint.ctx.workprec(bits):
                b = exp_of_minus(self.epsilon)
                one, other = exp_of_minus((m + 1) * self.epsilon), self._half_cut() * (1 + b)
                if one < other or one > other:
                    return bool(one < other)
            bits *= 2

    def require_drawable(self) -> None:
        """Raise where the noise is too wide for integers, or hardly any is left."""
        if self.epsilon < SMALLEST:
            raise SamplingError(
                f"an epsilon of {float(self.epsilon):.1e} is too small for noise in 64-bit integers: give at"
                " least 1e-6."
            )
        if self._kept < LEAST_KEPT:
            raise SamplingError(
                f"a delta of {float(self.delta):.2g} beside an epsilon of {float(self.epsilon):.2g} leaves"
                " hardly any noise to draw from: give a smaller delta."
            )

    @cached_property
    def _integers(self) -> DoubleGeometric:
        self.require_drawable()
        return DoubleGeometric(self.epsilon)

    @cached_property
    def _epsilon(self) -> float:
        return float(self.epsilon)

    @cached_property
    def _b(self) -> float:
        return float(np.exp(-self._epsilon))

    @cached_property
    def _step(self) -> float:
        """1 - b."""
        return float(-np.expm1(-self._epsilon))

    @cached_property
    def _cut(self) -> float:
        """Q / 2."""
        delta = float(self.delta)
        return delta * self._b / (self._step + 2 * delta * self._b)

    @cached_property
    def _kept(self) -> float:
        """1 - q."""
        return self._step / (self._step + 2 * float(self.delta) * self._b)


@claim("canonical-tulap")
def _canonical(epsilon: Fraction, delta: Fraction) -> str:
    return (
        f"Tulap noise with epsilon {epsilon} and delta {delta} is canonical: a count that moves by at most 1"
        " keeps them"
    )
