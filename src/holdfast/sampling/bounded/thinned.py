"""Laws that need no structure: another one thinned, or all vectors listed.

Where p(z) = q(z) exp(-more(z)) with more(z) >= 0, a draw of q that is kept with probability exp(-more(z)),
told by balls, is one of p. So the l1 law serves every norm that is at least c times l1, and every prior with
a largest value.

**Few vectors** are listed, with their weights, and drawn by inversion. The weights are told by balls of any
precision, so enclosures of their sums decide every draw.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import flint
import numpy as np

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.sampling.decisions import GUARD_BITS, Enclosure, Real, enclose, real, toss_coins
from holdfast.sampling.entropy import Entropy, IntegerLaw, SeededEntropy
from holdfast.sampling.numbers.inversion import Cumulated, Inversion
from holdfast.sampling.rejection import first_accepted, pilot_size, rows_at_once
from holdfast.system.errors import SamplingError

PILOT, SMALLEST_PILOT = 1000, 20
"""Proposals of a pilot, as many as `PILOT_WORK` allows."""
PILOT_WORK = 1e7
"""Integers that a pilot may propose in search of one vector that is kept: seconds."""
More = Callable[[IntArray], tuple[FloatArray, FloatArray]]
"""What the log of p is below that of q for each row, and how far off that may be; infinite outside of p."""


@dataclass(frozen=True, eq=False)
class ThinnedLaw:
    """The law of ``law`` times exp(-more); ``exact`` gives a ball around ``more`` for one row."""

    law: IntegerLaw
    more: More
    exact: Callable[[IntArray], flint.arb]
    cells: int

    @cached_property
    def acceptance(self) -> float:
        """The share of draws that is kept, from a seeded pilot; 0 where it kept none."""
        size = pilot_size(PILOT, self.cells)
        return int(self._kept(size, SeededEntropy(0)).shape[0]) / size

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        return first_accepted(
            lambda count: self._kept(count, entropy),
            size,
            chance=self.acceptance,
            most=rows_at_once(self.cells),
        )

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return the log probability of each row up to one constant, minus infinity outside."""
        more, _ = self.more(points)
        return np.where(np.isfinite(more), self.law.log_prob(points) - more, -np.inf)

    def _kept(self, size: int, entropy: Entropy) -> IntArray:
        points = self.law.sample(entropy, size)
        more, off = self.more(points)
        some = np.flatnonzero(np.isfinite(more))
        points, more, off = points[some], more[some], off[some]

        def exact(i: int) -> Real:
            return real(lambda: self._chance(points[i]))

        kept: IntArray = points[toss_coins(-more, off, exact, entropy)]
        return kept

    def _chance(self, point: IntArray) -> flint.arb:
        return (-self.exact(point)).exp()


class RejectionLaw:
    """Draws of a law, kept where a condition holds: the law given the condition, by rejection.

    ``effort`` is how many integers a draw takes. How long it is until one is kept depends on the condition,
    and tells of it [holdfast, sampling/bounded/truncated.py].
    """

    def __init__(
        self, law: IntegerLaw, inside: Callable[[IntArray], BoolArray], *, cells: int, effort: float
    ) -> None:
        self._law, self._inside, self._cells, self._effort = law, inside, cells, effort

    @classmethod
    def by_inequalities(
        cls,
        law: IntegerLaw,
        rows: IntArray,
        least: IntArray,
        *,
        effort: float | None = None,
        patient: bool = False,
    ) -> "RejectionLaw":
        """Return the law given B z >= least; unless ``patient``, refused where a pilot keeps no draw."""
        transposed, cells = np.ascontiguousarray(rows.T), rows.shape[1]
        kept = cls(
            law,
            lambda points: np.asarray((points @ transposed >= least).all(axis=1)),
            cells=cells,
            effort=cells if effort is None else effort,
        )
        if not kept.acceptance and not patient:
            raise SamplingError(
                "noise hardly ever keeps these inequalities: ask for less noise a cell, or for fewer of them."
            )
        return kept

    @cached_property
    def acceptance(self) -> float:
        """The share of draws that is kept, from a seeded pilot; 0 where it found none."""
        entropy, tried, kept = SeededEntropy(0), 0, 0
        size = int(min(PILOT, max(SMALLEST_PILOT, PILOT_WORK / 100 / self._effort)))
        while not kept and (tried == 0 or (tried + size) * self._effort <= PILOT_WORK):
            kept += int(self._inside(self._law.sample(entropy, size)).sum())
            tried, size = tried + size, 4 * size
        return kept / tried

    @property
    def work(self) -> float:
        """Integers drawn for one that is kept, expected."""
        return self._effort / self.acceptance if self.acceptance else np.inf

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent exact draws, one a row."""

        def attempt(count: int) -> IntArray:
            drawn = self._law.sample(entropy, count)
            return drawn[self._inside(drawn)]

        return first_accepted(attempt, size, chance=self.acceptance, most=rows_at_once(self._cells))

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return the log probability of each row up to one constant, minus infinity outside."""
        return np.where(self._inside(points), self._law.log_prob(points), -np.inf)


ExactLogWeight = Callable[[IntArray], flint.arb]
"""Asked for a vector, a ball around the log of its weight, at the working precision."""


@dataclass(frozen=True, eq=False)
class ListedLaw:
    """A law on the rows of ``points``, with probabilities in proportion to their weights."""

    points: IntArray = field(repr=False)
    log_weight: ExactLogWeight = field(repr=False)
    _sums: dict[int, Cumulated] = field(default_factory=dict, repr=False)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        drawn: IntArray = self.points[self._inversion.sample(entropy, size)]
        return drawn

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return the log probability of each row, minus infinity for what is not listed."""
        place = {tuple(point): number for number, point in enumerate(self.points.tolist())}
        found = [place.get(tuple(point)) for point in points.tolist()]
        return np.array([-np.inf if number is None else self._log_shares[number] for number in found])

    @cached_property
    def _inversion(self) -> Inversion:
        return Inversion(self._cdf)

    @cached_property
    def _log_shares(self) -> FloatArray:
        with flint.ctx.workprec(128):
            logs = np.array([float(self.log_weight(point).mid()) for point in self.points])
        highest = logs.max()
        return np.asarray(logs - highest - np.log(np.exp(logs - highest).sum()))

    def _cdf(self, k: int, bits: int) -> Enclosure:
        """Enclose P(K <= k)."""
        if k >= self.points.shape[0] - 1:
            return 1 << bits, 1 << bits
        if bits not in self._sums:
            precision = bits + GUARD_BITS
            with flint.ctx.workprec(precision + GUARD_BITS):
                highest = self.log_weight(self.points[int(np.argmax(self._log_shares))])
                weights = [enclose((self.log_weight(z) - highest).exp(), precision) for z in self.points]
            self._sums[bits] = Cumulated.of(weights, precision)
        return self._sums[bits].cdf(k, bits)
