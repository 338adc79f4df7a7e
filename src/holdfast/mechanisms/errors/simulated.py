"""Errors of counts from seeded draws of a public law, where no formula tells them.

Of each count its mean square is kept, and of all together how often each size was seen. Where the mean
squares differ no more than chance lets them, all counts have one law. Else the same draws are looked at
again, and sizes are counted beside the root of each count's own mean square: one shape, a scale for each.

Whether counts are within a number with a probability p is a test, whose level is 1 - `CONFIDENCE`: that they
are not is rejected. Where N draws can do so for one count, each stands alone: so many of N are within that a
binomial law of N and p has as many with 1 - `CONFIDENCE` at most. Where some count is not within as often,
all are taken for it only if that very one is, so the level is that of one test, however many counts there
are. Fewer draws, of large tables, are asked for all counts together, unless these are seen to differ: the
mean share of a draw is above p by a quantile of Student's law times its standard error, which is taken to be
no smaller than that of independent counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt

import numpy as np
import scipy
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.errors.accuracy import BATCH, MOST_DRAWS, batches, repeats
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.laws import CountErrors, Empirical
from holdfast.mechanisms.mechanism import NoiseLaw
from holdfast.public import Public

ALIKE = 2.0
"""How far mean squares spread beside what chance does to those of one law."""
STEP = 256.0
"""Steps that the unit of real errors, and of scaled ones, is told in."""
DIGITS = 3
"""Of scales: counts that agree in these have one law."""
HINT = 1e7
"""Integers that may be proposed for errors that are told in passing: some seconds."""
APART = 4.0
"""Standard deviations of a chi-square law by which counts differ in how often they are within a number."""
CONFIDENCE = Fraction(999, 1000)
"""How sure draws make that counts are within a number as often as was asked for."""


def simulated_errors(
    noise: NoiseLaw, public: Public, asked: Sequence[Counts], *, hint: bool = False
) -> tuple[CountErrors, ...] | None:
    """Return the errors of counts; None where too few draws can be made.

    Of a ``hint`` there is one draw at least, and no more work than one that is asked for in passing may take.
    """
    draws = _hinted(noise.work) if hint else repeats(noise.work, MOST_DRAWS)
    if draws is None:
        return None
    cells = public.universe.cells
    parts = [_Sizes(counts.rows(public)) for counts in asked]
    few = list(batches(noise, cells, draws)) if draws * cells <= BATCH else None
    for sample in few or batches(noise, cells, draws):
        for part in parts:
            part.add(sample)
    apart = [part for part in parts if part.differ]
    for part in apart:
        part.begin_again()
    if apart:
        for sample in few or batches(noise, cells, draws):
            for part in apart:
                part.add(sample)
    return tuple(
        CountErrors((), part.rows.shape[0])
        if not part.squares.any() and counts.fixed(public)
        else part.errors
        for part, counts in zip(parts, asked, strict=True)
    )


def _hinted(work: float) -> int | None:
    """Return how many draws a hint is made of; each cell of one is a draw of the law of a cell."""
    return min(MOST_DRAWS, int(HINT / max(work, 1.0))) or None


def count_errors(
    mechanism: AnyMechanism, public: Public, asked: Sequence[Counts], *, hint: bool = False
) -> tuple[CountErrors, ...] | None:
    """Return how far counts of a release are off: as formulas tell it, and simulated where none does.

    None where only the confidential table could tell, or too few draws can be made; a ``hint`` is less exact.
    """
    found = mechanism.errors(public, asked)
    rest = [counts for counts, one in zip(asked, found, strict=True) if one is None]
    if rest and mechanism.noise is None:
        return None
    simulated = simulated_errors(mechanism.noise, public, rest, hint=hint) if rest and mechanism.noise else ()
    if simulated is None:
        return None
    more = iter(simulated)
    return tuple(next(more) if one is None else one for one in found)


@dataclass(frozen=True)
class SimulatedTest:
    """What draws show of how often counts are within a number.

    Attributes:
        draws: how many there are.
        holds: whether each is as often within it, at `CONFIDENCE`.
        able: whether they could show it of any noise.

    """

    draws: int
    holds: bool
    able: bool


def shown_within(
    noise: NoiseLaw, public: Public, counts: Counts, most: Fraction, level: Fraction
) -> SimulatedTest | None:
    """Look whether each of some counts is off by no more than ``most`` with a probability of ``level``.

    None where too few draws can be made.
    """
    draws = repeats(noise.work, MOST_DRAWS)
    if draws is None:
        return None
    rows = counts.rows(public)
    within, shares = np.zeros(rows.shape[0], dtype=np.int64), []
    for sample in batches(noise, public.universe.cells, draws):
        inside = np.abs(rows @ sample.T) <= float(most)
        within += inside.sum(axis=1)
        shares.append(inside.mean(axis=0))
    if each_alone(draws, level):
        return SimulatedTest(draws, holds=int(within.min()) >= _least_within(draws, level), able=True)
    share, least = np.concatenate(shares), sqrt(float(level * (1 - level)) / within.size)
    error = max(float(share.std(ddof=1)), least) / sqrt(draws)
    above = float(level) + float(scipy.special.stdtrit(draws - 1, float(CONFIDENCE))) * error
    able = above <= 1 and not _differ(within, draws)
    return SimulatedTest(draws, holds=able and float(share.mean()) >= above, able=able)


def each_alone(draws: int, level: Fraction) -> bool:
    """Whether so many draws can show of each count alone how often it is within a number."""
    return draws * log(level) <= log(1 - CONFIDENCE)


def _differ(within: IntArray, draws: int) -> bool:
    """Whether counts differ by more than chance in how often they are within, by a chi-square test."""
    mean, free = float(within.mean()), within.size - 1
    chance = mean * (1 - mean / draws)
    return float(((within - mean) ** 2).sum()) > chance * (free + APART * sqrt(2 * free))


def _least_within(draws: int, level: Fraction) -> int:
    """Return the least k with P(B >= k) <= 1 - `CONFIDENCE` for a binomial B of so many draws."""
    beyond = scipy.special.bdtrc(np.arange(draws), draws, float(level))  # P(B >= k) for k = 1, 2, ...
    return 1 + int(np.flatnonzero(beyond <= float(1 - CONFIDENCE))[0])


class _Sizes:
    """Sizes of the errors of some sums, over all draws so far."""

    def __init__(self, rows: csr_array) -> None:
        self.rows = rows
        self.squares: FloatArray = np.zeros(rows.shape[0])
        self._fourth = 0.0
        self._draws = 0
        self._seen: dict[float, int] = {}
        self._scales: FloatArray | None = None

    def add(self, sample: IntArray | FloatArray) -> None:
        """Take some draws, one a row."""
        sizes = np.abs(np.asarray(self.rows @ sample.T, dtype=np.float64))
        if self._scales is None:
            self.squares += (sizes**2).sum(axis=1)
            self._fourth += float((sizes**4).sum())
            self._draws += len(sample)
        else:
            sizes = np.rint(sizes / self._scales[:, None] * STEP) / STEP
        if sample.dtype.kind == "f":
            sizes = np.rint(sizes * STEP) / STEP
        for size, times in zip(
            *(each.tolist() for each in np.unique(sizes, return_counts=True)), strict=True
        ):
            self._seen[size] = self._seen.get(size, 0) + times

    @property
    def differ(self) -> bool:
        """Whether the mean squares differ by more than chance."""
        mean = self.squares.mean() / self._draws
        chance = (self._fourth / self.rows.shape[0] / self._draws - mean**2) / self._draws
        spread = (self.squares / self._draws).var()
        return bool(spread > ALIKE * max(chance, 0.0) + 1e-12 * mean**2) and self.rows.shape[0] > 1

    def begin_again(self) -> None:
        """Take the next draws beside the scale of each sum."""
        root = np.sqrt(self.squares / self._draws)
        self._scales = np.where(root > 0, root, 1.0)
        self._seen = {}

    @property
    def errors(self) -> CountErrors:
        """The law of all of them, or of each."""
        sizes = np.array(sorted(self._seen))
        times = np.array([self._seen[size] for size in sizes.tolist()], dtype=np.int64)
        if self._scales is None:
            return CountErrors(((Empirical(sizes, times), self.rows.shape[0]),), draws=self._draws)
        scales, number = self._rounded
        laws = tuple(
            (Empirical(sizes, times, scale), count) for scale, count in zip(scales, number, strict=True)
        )
        return CountErrors(laws, int((self.squares == 0).sum()), draws=self._draws)

    @property
    def _rounded(self) -> tuple[list[float], list[int]]:
        root = np.sqrt(self.squares[self.squares > 0] / self._draws)
        unit = 10.0 ** (np.floor(np.log10(root)) - DIGITS + 1)
        values, number = np.unique(np.rint(root / unit) * unit, return_counts=True)
        return values.tolist(), number.tolist()
