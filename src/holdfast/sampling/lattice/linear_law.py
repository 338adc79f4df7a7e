"""The law of a linear form of the noise, in closed form where it has one.

Let q(z) be proportional to a^||z||_1 on L, with a = exp(-kappa), and write every double geometric variable
as the difference of two geometric ones. The weight of all vectors of m free integers with sum s is, up to
a factor (1 - a^2)^m that cancels everywhere,

    g_m(s) = sum over j >= 0 of C(m-1+j, j) C(m-1+j+|s|, j+|s|) a^(2j+|s|)
           = a^|s| C(m-1+|s|, |s|) 2F1(m, m+|s|; |s|+1; a^2).

Let w be an integer query whose cells lie in one block of L [theory, 6].

    n cells tied by one total    If w takes the value v on m of them and v' on the others, then w'z is
                                 (v - v') S for the sum S of the m cells, and
                                     P(S = s) = g_m(s) g_(n-m)(s) / g_n(0);
    m cells in no invariant      if w takes one value v on them, w'z = v S, P(S = s) = (1 - a)^(2m) g_m(s).

Where cells are in no invariant, or where anchors close the invariants [theory, 12], w'z is a sum of
independent double geometric numbers with whole coefficients, for any w. Where few of these have one size v
it is v S as above; elsewhere its probabilities are the Fourier sum of its characteristic function over a
period that all but `ROUNDING` of it lies in, and what floats leave open counts as not covered.

Ball arithmetic [johansson2017] encloses these numbers. A quantile asks whether P(|S| <= c) reaches a rational
level. It is a rational function of a, and a is transcendental (kappa is rational and not 0), so the two
are never equal and enough precision always tells.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from itertools import count
from math import asinh, comb, gcd, log, log1p, sinh, sqrt

import flint
import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.components import Component, components
from holdfast.sampling.decisions import exp_of_minus
from holdfast.sampling.entropy import IntegerLaw
from holdfast.sampling.lattice.anchored import AnchoredLaw, Coefficients
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw

MOST_CELLS = 300
"""Larger blocks, and laws that spread over more steps, are simulated, or told by Fourier sums where cells are
free."""
MOST_STEPS = 2_000
FIRST_BITS, MOST_BITS = 128, 4_096
ROUNDING = 1e-12
"""How far Fourier sums of probabilities may be off, and what a period may leave out."""
CLOSE = 1e-25
"""How wide the enclosure of a chance may be that is told as a float."""
MOST_VALUES = 1 << 22
"""Values of a sum in one period: wider ones are simulated."""


@dataclass(frozen=True)
class SumLaw:
    """The law of the sum of ``inside`` cells: tied with ``outside`` further ones by a total, or free."""

    kappa: Fraction
    inside: int
    outside: int | None

    def half_width(self, level: Fraction) -> int:
        """Return the least c with P(|S| <= c) >= level."""
        return _half_width(self, level)

    def probability(self, s: int) -> flint.arb:
        """Return a ball around P(S = s), at the working precision."""
        a = exp_of_minus(self.kappa)
        if self.outside is None:
            return (1 - a) ** (2 * self.inside) * _weight(self.inside, s, a)
        weight = _weight(self.inside, s, a) * _weight(self.outside, s, a)
        return weight / _weight(self.inside + self.outside, 0, a)

    def within(self, c: int) -> flint.arb:
        """Return a ball around P(|S| <= c), at the working precision."""
        tail = sum((self.probability(s) for s in range(1, c + 1)), flint.arb(0))
        return (self.probability(0) if c >= 0 else flint.arb(0)) + 2 * tail

    def share(self, c: int, level: Fraction) -> float:
        """Return how often the values -c and c must be kept for the coverage to be the level, in floats."""
        inner, edge = _told(lambda: [self.within(c - 1), self.probability(c)])
        return (float(level) - inner) / (2 * edge)

    @property
    def spread(self) -> float:
        """The standard deviation of S, about: that of independent cells, shrunk by the total."""
        a = float(np.exp(-float(self.kappa)))
        share = 1.0 if self.outside is None else self.outside / (self.inside + self.outside)
        return sqrt(self.inside * share * 2 * a) / (1 - a)

    @cached_property
    def _sizes(self) -> FloatArray:
        """P(|S| = s) for s = 0, 1, 2, ..., in floats."""

        def listed() -> Iterator[flint.arb]:
            for s in count():
                chance = self.probability(s) * (2 if s else 1)
                yield chance
                if s > self.spread and chance < ROUNDING:
                    return

        return np.array(_told(listed))

    @property
    def deviation(self) -> float:
        """The standard deviation of S."""
        return sqrt(float(self._sizes @ np.arange(self._sizes.size) ** 2.0))

    @property
    def mean_absolute(self) -> float:
        """E |S|."""
        return float(self._sizes @ np.arange(self._sizes.size))


def _told(chances: Callable[[], Iterable[flint.arb]]) -> list[float]:
    """Return chances as floats, at the least precision that encloses each of them closely."""
    bits = FIRST_BITS
    while bits <= MOST_BITS:
        with flint.ctx.workprec(bits):
            found: list[float] = []
            for chance in chances():
                if not chance.rad() < CLOSE:  # without an end, where a series needs more bits
                    break
                found.append(float(chance))
            else:
                return found
        bits *= 2
    raise ArithmeticError("the enclosures of chances do not shrink")


@lru_cache(maxsize=4096)
def _half_width(law: SumLaw, level: Fraction) -> int:
    bits = FIRST_BITS
    while bits <= MOST_BITS:
        with flint.ctx.workprec(bits):
            target = flint.arb(level.numerator) / level.denominator
            reached = flint.arb(0)
            for c in count():
                reached += law.probability(c) * (1 if c == 0 else 2)
                if reached >= target:
                    return c
                if not reached < target:  # the balls overlap: ask again with more bits
                    break
        bits *= 2
    raise ArithmeticError("the enclosures of a quantile do not shrink")


def _weight(m: int, s: int, a: flint.arb) -> flint.arb:
    """Return g_m(s)."""
    size = abs(s)
    series = (a * a).hypgeom_2f1(m, m + size, size + 1)
    return a**size * comb(m - 1 + size, size) * series


@dataclass(frozen=True)
class MixedSumLaw:
    """The law of a sum of independent double geometric numbers with whole coefficients."""

    kappa: Fraction
    coefficients: Coefficients

    def half_width(self, level: Fraction) -> int:
        """Return the least c with P(|S| <= c) >= level, as far as floats can tell."""
        return int(np.searchsorted(_within(self), float(level) + 2 * ROUNDING))

    def share(self, c: int, level: Fraction) -> float:
        """Return how often the values -c and c must be kept for the coverage to be the level."""
        within = _within(self)
        return float((float(level) - within[c - 1]) / (within[c] - within[c - 1]))

    @property
    def deviation(self) -> float:
        """The standard deviation of S."""
        return sqrt(_variance(self.kappa) * sum(times * size**2 for size, times in self.coefficients))

    @property
    def mean_absolute(self) -> float:
        """E |S|, the sum of P(|S| > c)."""
        return float(np.maximum(1 - _within(self), 0).sum())

    @property
    def period(self) -> int:
        """Whole numbers around 0 of which a sum is one, but for `ROUNDING`, by its moments exp(s S)."""
        variance = _variance(self.kappa)
        widest = max(size for size, _ in self.coefficients)
        deviation = sqrt(variance * sum(times * size**2 for size, times in self.coefficients))
        # 1 - v (cosh s - 1) = 1 - 2 v sinh(s / 2)^2, whose digits are not lost where noise is wide
        most, reach = 2 * asinh(sqrt(1 / (2 * variance))) / widest, float(MOST_VALUES)
        for s in [*np.geomspace(most / 1e4, most * 0.99, 60).tolist(), min(8 / deviation, most / 2)]:
            logs = (
                times * log1p(-2 * variance * sinh(s * size / 2) ** 2) for size, times in self.coefficients
            )
            reach = min(reach, (log(2 / ROUNDING) - sum(logs)) / s)
        return 1 << int(2 * reach + 1).bit_length()


def _variance(kappa: Fraction) -> float:
    """Return the variance of one double geometric number."""
    return float(2 * np.exp(-float(kappa)) / np.expm1(-float(kappa)) ** 2)


@lru_cache(maxsize=32)
def _within(law: MixedSumLaw) -> FloatArray:
    """Return P(|S| <= c) for c = 0, 1, 2, ..., from its characteristic function."""
    period, variance = law.period, _variance(law.kappa)
    half_turns = np.arange(period // 2 + 1) / period
    logs = np.zeros(half_turns.size)
    for size, times in law.coefficients:
        logs -= times * np.log1p(2 * variance * np.sin(np.pi * (size * half_turns % 1)) ** 2)
    chances = np.maximum(np.fft.irfft(np.exp(logs), period)[: period // 2], 0.0)
    return np.asarray(np.cumsum(np.concatenate([chances[:1], 2 * chances[1:]])))


class LinearLaws:
    """The closed forms of a noise law on the kernel of a matrix, query by query."""

    def __init__(self, noise: IntegerLaw, matrix: csr_array) -> None:
        self._laplace = noise if isinstance(noise, LatticeLaplaceLaw) and noise.norm == "l1" else None
        self._anchored = noise if isinstance(noise, AnchoredLaw) else None
        if self._anchored is not None:
            return  # the law knows of no blocks
        blocks = components(matrix)
        self._size = np.array([block.cells.size for block in blocks], dtype=np.int64)
        self._block = np.empty(matrix.shape[1], dtype=np.int64)
        for number, block in enumerate(blocks):
            self._block[block.cells] = number
        self._free = np.array([block.rows.size == 0 for block in blocks], dtype=np.bool_)
        self._total = np.array([_is_total(matrix, block) for block in blocks], dtype=np.bool_)

    def of(self, cells: IntArray, weights: IntArray) -> tuple[int, SumLaw | MixedSumLaw | None] | None:
        """Return (v, law of S) with w'z = v S, for the query with these nonzero weights.

        None where there is no closed form here; v = 0, without a law, where blocks of one total are
        weighted evenly and w'z is 0 for certain.
        """
        if self._anchored is not None:
            return _of_free(self._anchored.kappa, self._anchored.coefficients(cells, weights))
        if self._laplace is None:
            return None
        found: tuple[int, SumLaw | MixedSumLaw | None] = (0, None)
        of_cell = self._block[cells]
        for number in np.unique(of_cell):
            part = self._of_block(int(number), weights[of_cell == number], self._laplace.epsilon)
            if part is None or (part[0] and found[0]):  # sums over several blocks are simulated
                return None
            found = part if part[0] else found
        return found

    def _of_block(
        self, number: int, weights: IntArray, kappa: Fraction
    ) -> tuple[int, SumLaw | MixedSumLaw | None] | None:
        values, times = np.unique(weights, return_counts=True)
        if self._total[number]:
            rest = int(self._size[number]) - weights.size
            if rest:
                values, times = np.append(values, 0), np.append(times, rest)
            if values.size == 1:
                return 0, None
            if values.size != 2:
                return None
            outside = int(times[1])
            law = SumLaw(kappa, int(times[0]), outside)
            if law.inside + outside > MOST_CELLS or 10 * law.spread > MOST_STEPS:
                return None
            return int(values[0]) - int(values[1]), law
        if not self._free[number]:
            return None
        sizes, times = np.unique(np.abs(weights), return_counts=True)
        return _of_free(kappa, tuple(zip(sizes.tolist(), times.tolist(), strict=True)))


def _of_free(kappa: Fraction, coefficients: Coefficients) -> tuple[int, SumLaw | MixedSumLaw | None] | None:
    """Return (v, law of S) for a sum of free cells with these coefficients; None where it is too wide."""
    if not coefficients:
        return 0, None
    common = reduce(gcd, (size for size, _ in coefficients))
    plain = SumLaw(kappa, coefficients[0][1], None)
    if len(coefficients) == 1 and plain.inside <= MOST_CELLS and 10 * plain.spread <= MOST_STEPS:
        return common, plain
    law = MixedSumLaw(kappa, tuple((size // common, times) for size, times in coefficients))
    return (common, law) if law.period <= MOST_VALUES else None


def _is_total(matrix: csr_array, block: Component) -> bool:
    """Whether one row ties the block, with the same entry at every cell."""
    if block.rows.size != 1:
        return False
    row = int(block.rows[0])
    entries = matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]]
    return bool((entries == entries[0]).all())
