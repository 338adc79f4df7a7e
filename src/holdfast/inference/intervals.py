"""Confidence intervals for linear queries of the confidential table, from an additive release of it.

The release is y = x + z with z ~ q on L = {z : A z = 0}, and q does not depend on x [theory, 4]. For an
integer query w the error w'y - w'x is w'z, whose law is public. So {c : |w'y - c| <= h} covers w'x with
probability P(|w'z| <= h), for every table x. The invariants make it narrow: they are built into q. Where w is
in the row space of A, w'z = 0 and the interval is a point; this is decided exactly, over the rationals.

**h in closed form** where the law of w'z has one [holdfast, sampling/lattice/linear_law.py]: the least h with
P(|w'z| <= h) >= level.

**h by simulation** elsewhere, with coverage that is exact rather than approximate. Let z_1, ..., z_N be drawn
from q, and h be the k-th smallest of |w'z_i|, k = ceil(level (N + 1)). The noise z of the release and
z_1, ..., z_N are independent with one law, so every place of |w'z| among all N + 1 values is equally likely.
|w'z| <= h holds when its place is k or less, ties to its favour: with probability at least
k/(N + 1) >= level and, ties aside, at most level + 1/(N + 1). The probability is over the release and the
simulation together; given the simulation it varies, with a standard deviation of about
sqrt(level (1 - level)/N). That q is symmetric is not needed here; it makes the centre w'y unbiased.

**Whole numbers.** w'z is whole, so intervals are closed sets of whole numbers and cover with the level *at
least*. The excess is below P(|w'z| = h): next to nothing for wide noise, much for noise of a step or two. No
h that is a function of the law alone can do better. ``randomised=True`` leaves out the outermost values
-h and h with the probability that makes the coverage the level itself (up to 1/(N + 1)): every value gets an
independent uniform number that breaks its ties. A point is never emptied.

**Many queries at once.** For scales s_q that do not depend on z_1, ..., z_N, the largest |w_q'z|/s_q over all
queries is again exchangeable with its simulated values, so h_q = s_q times the k-th smallest of them
covers all queries together. The scales are root mean squares over further draws. Bonferroni's h_q are
those of single queries at level 1 - (1 - level)/Q.

Nothing here sees the table or decides a release: the simulation uses the public law alone, so a seeded
source serves. The release was drawn from another source, so coverage holds whatever the seed. Seeds are
shifted, so that a study that seeds its releases with small numbers does not meet its own noise here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import ceil, gcd, lcm
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.lattice.rows import in_row_space
from holdfast.mechanisms.mechanism import NoiseLaw
from holdfast.sampling.bounded.truncated import TruncatedLaw
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.linear_law import LinearLaws, MixedSumLaw, SumLaw
from holdfast.system.errors import DataError, SamplingError, SpecError
from holdfast.system.progress import steps

MOST_DRAWS = 19_999
"""With N + 1 = 20,000 the usual levels have whole k."""
SCALE_DRAWS = 400
"""Draws for the scales of simultaneous intervals."""
WORK = 1e8
"""Integers that may be proposed for all draws together: a quarter of a minute."""
VALUES = 1 << 24
"""Simulated values of queries that are held at once."""
BATCH = 1 << 22
"""Cells drawn at once."""
LOOKS = 16
"""Draws that may show a query not to be fixed before algebra is asked."""
SHIFT = 1 << 64
MOST = 2.0**62


@dataclass(frozen=True)
class Interval:
    """The interval [low, high] for one query."""

    estimate: Fraction
    low: Fraction
    high: Fraction
    level: Fraction
    determined: bool
    """Whether the invariants fix the query: then it is a point, and certain."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """The intervals estimate -+ half_width for many integer queries.

    Attributes:
        estimate: w'y for each query.
        half_width: h for each query.
        determined: whether the invariants fix the query.
        closed: whether h comes from a closed form.
        level: the probability of covering, of each interval or of all together.
        draws: N, the simulated noises behind the other h; 0 where none was needed.

    """

    estimate: IntArray
    half_width: IntArray
    determined: BoolArray
    closed: BoolArray
    level: Fraction
    draws: int

    @property
    def low(self) -> IntArray:
        """The lower ends."""
        return self.estimate - self.half_width

    @property
    def high(self) -> IntArray:
        """The upper ends."""
        return self.estimate + self.half_width


def interval(
    counts: IntArray,
    noise: NoiseLaw,
    matrix: csr_array,
    query: Sequence[int | Fraction],
    level: Fraction | float,
    *,
    draws: int | None = None,
    seed: int = 0,
    randomised: bool = False,
) -> Interval:
    """Return the interval of one query with whole or rational weights.

    ``counts`` is the release, ``noise`` its law on the kernel of ``matrix``, all over the same cells.
    """
    exact = [Fraction(weight) for weight in query]
    scale = lcm(*(weight.denominator for weight in exact))
    whole = [int(weight * scale) for weight in exact]
    # a common factor of the weights scales the interval and nothing else
    common = reduce(gcd, whole, 0) or 1
    if max((abs(weight) // common for weight in whole), default=0) >= MOST:
        raise SpecError("a weight of the query does not fit 64 bits: give it simpler fractions.")
    row = csr_array(np.array([[weight // common for weight in whole]], dtype=np.int64))
    found = intervals(counts, noise, matrix, row, level, draws=draws, seed=seed, randomised=randomised)
    unit = Fraction(common, scale)
    return Interval(
        estimate=int(found.estimate[0]) * unit,
        low=int(found.low[0]) * unit,
        high=int(found.high[0]) * unit,
        level=found.level,
        determined=bool(found.determined[0]),
    )


def intervals(
    counts: IntArray,
    noise: NoiseLaw,
    matrix: csr_array,
    queries: csr_array,
    level: Fraction | float,
    *,
    draws: int | None = None,
    seed: int = 0,
    randomised: bool = False,
) -> Intervals:
    """Return an interval for each row of ``queries``, each by itself covering with the level."""
    asked = IntervalQueries.of(counts, noise, matrix, queries, level)
    return asked.each(asked.level, draws, source(seed), randomised=randomised)


def simultaneous(
    counts: IntArray,
    noise: NoiseLaw,
    matrix: csr_array,
    queries: csr_array,
    level: Fraction | float,
    *,
    method: Literal["max", "bonferroni"] = "max",
    draws: int | None = None,
    seed: int = 0,
) -> Intervals:
    """Return intervals that all cover together with the level."""
    asked = IntervalQueries.of(counts, noise, matrix, queries, level)
    entropy = source(seed)
    if method == "bonferroni":
        # determined queries are certain and use up nothing of what may fail
        return asked.each(1 - (1 - asked.level) / max(asked.open, 1), draws, entropy, stated=asked.level)
    return asked.together(draws, entropy)


@dataclass(frozen=True, eq=False)
class IntervalQueries:
    """Queries that fit, with what is known of them before anything is simulated."""

    estimate: IntArray
    noise: NoiseLaw
    queries: csr_array
    level: Fraction
    determined: BoolArray
    forms: tuple[tuple[int, SumLaw | MixedSumLaw] | None, ...]

    @classmethod
    def of(
        cls,
        counts: IntArray,
        noise: NoiseLaw,
        matrix: csr_array,
        queries: csr_array,
        level: Fraction | float,
    ) -> "IntervalQueries":
        """Return queries (rows over the cells) of a release; raises where these do not go together."""
        if isinstance(noise, TruncatedLaw):
            raise SamplingError(
                "intervals need noise with one law for all tables, and this noise was cut off where counts"
                " would fall below zero, so its law depends on the confidential table: use a release with"
                " additive noise."
            )
        exact = level if isinstance(level, Fraction) else Fraction(str(level))
        if not 0 < exact < 1:
            raise SpecError(f"the level is {level}: give a probability between 0 and 1, such as 0.9.")
        rows = csr_array(queries.astype(np.int64))
        rows.sum_duplicates()
        rows.eliminate_zeros()
        cells = counts.shape[0]
        if rows.shape[1] != cells or matrix.shape[1] != cells:
            raise DataError(
                f"the release has {cells} cells, the queries {rows.shape[1]} and the invariants"
                f" {matrix.shape[1]}: give all of them over the same cells."
            )
        sizes = abs(rows).astype(np.float64) @ np.abs(counts.astype(np.float64))
        if np.max(sizes, initial=0.0) >= MOST:
            raise SpecError("a query of the release does not fit 64 bits: give it smaller weights.")
        laws = LinearLaws(noise, matrix)
        found = [
            laws.of(rows.indices[begin:end].astype(np.int64), rows.data[begin:end])
            for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        ]
        certain = np.array([form is not None and form[1] is None for form in found], dtype=np.bool_)
        unknown = np.flatnonzero([form is None for form in found])
        certain[unknown] = fixed(noise, matrix, csr_array(rows[unknown]))
        forms = tuple(None if form is None or form[1] is None else (form[0], form[1]) for form in found)
        estimate = np.asarray(rows @ counts, dtype=np.int64)
        return cls(estimate, noise, rows, exact, certain, forms)

    @property
    def open(self) -> int:
        """The number of queries that the invariants do not fix."""
        return int((~self.determined).sum())

    def each(
        self,
        level: Fraction,
        draws: int | None,
        entropy: Entropy,
        *,
        stated: Fraction | None = None,
        randomised: bool = False,
    ) -> Intervals:
        """Return the intervals, each at the level; closed forms first, one simulation for the rest."""
        half = np.zeros(self.estimate.size, dtype=np.int64)
        closed = np.array([form is not None for form in self.forms], dtype=np.bool_)
        coins = _uniform(entropy, self.estimate.size)
        for i, (step, law) in ((i, form) for i, form in enumerate(self.forms) if form is not None):
            steps = law.half_width(level)
            if randomised and steps > 0 and coins[i] >= law.share(steps, level):
                steps -= 1
            half[i] = abs(step) * steps
        rest = np.flatnonzero(~closed & ~self.determined)
        size = 0
        if rest.size:
            size = self.draws(draws, rest.size, level)
            errors = self._errors(csr_array(self.queries[rest]), size, entropy)
            place = ceil(level * (size + 1)) - 1
            half[rest] = _outermost(errors, place, entropy) if randomised else _ranked(errors, place)
        return Intervals(self.estimate, half, self.determined, closed, stated or level, size)

    def together(self, draws: int | None, entropy: Entropy) -> Intervals:
        """Return intervals from the largest studentised error."""
        half = np.zeros(self.estimate.size, dtype=np.int64)
        closed = np.zeros(self.estimate.size, dtype=np.bool_)
        rest = np.flatnonzero(~self.determined)
        if not rest.size:
            return Intervals(self.estimate, half, self.determined, closed, self.level, 0)
        queries = csr_array(self.queries[rest])
        size = self.draws(draws, rest.size, self.level)
        pilot = self._errors(queries, min(size, SCALE_DRAWS), entropy).astype(np.float64)
        scale = np.maximum(np.sqrt((pilot**2).mean(axis=1)), 1e-3)
        largest = np.zeros(0)
        for errors in self.batches(queries, size, entropy):
            largest = np.append(largest, (np.abs(errors) / scale[:, None]).max(axis=0))
        place = ceil(self.level * (size + 1)) - 1
        # rounded up by more than the divisions can be off, so that ties stay covered
        half[rest] = np.floor(np.partition(largest, place)[place] * scale * (1 + 2.0**-40)).astype(np.int64)
        return Intervals(self.estimate, half, self.determined, closed, self.level, size)

    def draws(self, asked: int | None, queries: int, level: Fraction) -> int:
        """Return N: as asked, or as many as are quick; ceil(level (N + 1)) <= N must hold."""
        fewest = ceil(level / (1 - level))
        quick = min(MOST_DRAWS, WORK / max(self.noise.work, 1.0), VALUES / queries)
        size = max(int(quick), fewest) if asked is None else asked
        if size < fewest:
            raise SamplingError(
                f"{size} simulated draws cannot tell a level of {float(level):g}: ask for {fewest} or more."
            )
        if asked is None and size * max(self.noise.work, 1.0) > 10 * WORK:
            raise SamplingError(
                f"one draw of this noise takes about {self.noise.work:.0e} steps, and a level of"
                f" {float(level):g} needs {fewest} draws: lower the level, or give the number of draws."
            )
        return size

    def _errors(self, queries: csr_array, size: int, entropy: Entropy) -> IntArray:
        """Return |w'z| for each query (a row) and simulated noise (a column)."""
        return np.asarray(np.abs(np.concatenate(list(self.batches(queries, size, entropy)), axis=1)))

    def batches(self, queries: csr_array, size: int, entropy: Entropy) -> Iterator[IntArray]:
        """Yield w'z for each query (a row) and simulated noise (a column), some noises at a time."""
        batch = max(1, min(BATCH // max(queries.shape[1], 1), VALUES // queries.shape[0]))
        for begin in steps(range(0, size, batch), "simulating the noise"):
            sample = self.noise.sample(entropy, min(batch, size - begin))
            yield np.asarray(queries @ sample.T, dtype=np.int64)


def fixed(noise: NoiseLaw, matrix: csr_array, queries: csr_array) -> BoolArray:
    """Return which queries the invariants fix: an error that is seen settles it, else algebra does."""
    errors: IntArray = np.asarray(queries @ noise.sample(SeededEntropy(0), LOOKS).T)
    fixed = np.array(errors.any(axis=1) == 0, dtype=np.bool_)
    still = np.flatnonzero(fixed)
    fixed[still] = in_row_space(matrix, csr_array(queries[still]))
    return fixed


def _ranked(errors: IntArray, place: int) -> IntArray:
    """Return the value at a place of each row's order, counted from 0."""
    return np.asarray(np.partition(errors, place, axis=1)[:, place], dtype=np.int64)


def _outermost(errors: IntArray, place: int, entropy: Entropy) -> IntArray:
    """Return the ranked values, less 1 where the release's own uniform number loses the tie.

    The pairs (|w'z_i|, u_i) are ordered by their first entry, then by the second. The release's pair has a
    place of k or less with probability k/(N + 1) exactly. It can only be told at |w'z| = h, where it is
    if its u_0 is at most that of the k-th pair.
    """
    half = _ranked(errors, place)
    own = _uniform(entropy, half.size)
    for i, row in enumerate(errors):
        tied = int((row == half[i]).sum())
        below = int((row < half[i]).sum())
        threshold = np.partition(_uniform(entropy, tied), place - below)[place - below]
        half[i] -= bool(own[i] > threshold and half[i] > 0)
    return half


def source(seed: int) -> SeededEntropy:
    """Return what simulations draw from."""
    return SeededEntropy(SHIFT + seed)


def _uniform(entropy: Entropy, size: int) -> FloatArray:
    return (entropy.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
