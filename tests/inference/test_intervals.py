"""Intervals cover as often as they say, by enumeration and by simulation, and are points on invariants."""

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import binom

from holdfast.inference.intervals import interval, intervals, simultaneous
from holdfast.lattice.rows import in_row_space
from holdfast.sampling.bounded.truncated import TruncatedLaw
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.system.errors import DataError, SamplingError, SpecError
from holdfast.testing.goodness import LEVEL, lattice_law, two_way

MARGINS = csr_array(two_way(4, 4))
LAW = LatticeLaplaceLaw(MARGINS, Fraction(1, 6), "l1")
TABLE = np.array([15, 1, 3, 1, 20, 10, 10, 15, 3, 10, 10, 2, 12, 14, 7, 2])
RELEASES = 20_000
"""Enough for a share near 0.9 to be known to 0.002, a seventh of what is allowed."""
QUERIES = csr_array(np.random.default_rng(5).integers(-3, 4, size=(10, 16)))


@cache
def noises() -> NDArray[np.int64]:
    """Return the noise of many releases, one a row."""
    return LAW.sample(SeededEntropy(77), RELEASES)


def covered(queries: csr_array, half_width: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return, for each query and release, whether the interval around the release covers the truth."""
    return np.asarray(np.abs(np.asarray(queries @ noises().T)) <= half_width[:, None])


def test_ten_random_queries_are_covered_nine_times_in_ten() -> None:
    # half widths do not depend on the release
    found = intervals(TABLE, LAW, MARGINS, QUERIES, Fraction(9, 10))
    shares = covered(QUERIES, found.half_width).mean(axis=1)
    assert np.abs(shares - 0.9).max() <= 0.015


@pytest.mark.parametrize("factor", [Fraction(5, 6), Fraction(6, 5)])
def test_the_wrong_scale_of_noise_is_noticed(factor: Fraction) -> None:
    wrong = LatticeLaplaceLaw(MARGINS, LAW.epsilon * factor, "l1")
    half = intervals(TABLE, wrong, MARGINS, QUERIES, 0.9).half_width
    assert np.abs(covered(QUERIES, half).mean(axis=1) - 0.9).min() > 0.015


def test_the_interval_is_around_the_release() -> None:
    release = TABLE + LAW.sample(SeededEntropy(3), 1)[0]
    found = intervals(release, LAW, MARGINS, QUERIES, 0.9)
    assert found.estimate.tolist() == (QUERIES @ release).tolist()
    assert (found.high - found.estimate == found.estimate - found.low).all()
    alone = interval(release, LAW, MARGINS, QUERIES.toarray()[2].tolist(), Fraction(9, 10))
    assert alone.low <= alone.estimate <= alone.high
    assert alone.estimate == found.estimate[2]


def test_closed_forms_are_the_enumerated_quantiles() -> None:
    total = np.ones((1, 4), dtype=np.int64)
    law = LatticeLaplaceLaw(csr_array(total), Fraction(1), "l1")
    points = lattice_law(total, 1.0, "l1", 18, rarest=0)
    queries = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 3, 3, 3]])
    for level in (0.5, 0.9, 0.99):
        found = intervals(np.zeros(4, dtype=np.int64), law, csr_array(total), csr_array(queries), level)
        assert found.closed.all()
        assert found.draws == 0
        for query, half in zip(queries, found.half_width.tolist(), strict=True):
            errors = np.abs(np.array(list(points)) @ query)
            shares = np.array(list(points.values()))
            assert shares[errors < half].sum() < level <= shares[errors <= half].sum()


# On 2 x 2 tables with both margins the noise is k (1, -1, -1, 1), k double geometric with a = exp(-4 kappa).
SQUARE = csr_array(two_way(2, 2))
SQUARE_LAW = LatticeLaplaceLaw(SQUARE, Fraction(1, 12), "l1")


def within(half: float) -> float:
    a = np.exp(-4 * float(SQUARE_LAW.epsilon))
    return 1 - 2 * a ** (np.floor(half) + 1) / (1 + a) if half >= 0 else 0.0


def half_widths(times: int, level: float, **asked: Any) -> list[int]:
    cell = csr_array(np.array([[1, 0, 0, 0]]))
    return [
        int(intervals(np.zeros(4, int), SQUARE_LAW, SQUARE, cell, level, seed=seed, **asked).half_width[0])
        for seed in range(times)
    ]


def test_few_draws_cover_in_exact_proportion() -> None:
    """With N = 9 the k-th of the N simulated errors covers in at least k of N + 1 cases, on average."""
    nine = np.array([within(half) for half in half_widths(160, 0.9, draws=9)])
    error = nine.std() / 160**0.5
    assert nine.mean() >= 0.9 - 3 * error
    eight = np.array([within(half) for half in half_widths(160, 0.8, draws=9)])
    assert 0.8 - 3 * error <= eight.mean() < 0.9 - 3 * error  # one place less is another level


def test_randomising_takes_the_excess_away() -> None:
    conservative = np.array([within(half) for half in half_widths(150, 0.8, draws=99)])
    randomised = np.array([within(half) for half in half_widths(150, 0.8, draws=99, randomised=True)])
    error = 3 * randomised.std() / 150**0.5
    assert conservative.mean() > 0.8 + error
    assert abs(randomised.mean() - 0.8) <= error


def test_randomising_takes_the_excess_of_closed_forms_away() -> None:
    law = LatticeLaplaceLaw(csr_array((0, 1), dtype=np.int64), Fraction(1), "l1")
    many = csr_array(np.ones((2000, 1), dtype=np.int64))  # each query has its own coin
    found = intervals(np.zeros(1, int), law, csr_array(law.matrix), many, 0.8, randomised=True)
    half = found.half_width.tolist()
    a = np.exp(-1)
    shares = np.array([1 - 2 * a ** (h + 1) / (1 + a) for h in half])
    assert len(set(half)) == 2
    assert shares.mean() == pytest.approx(0.8, abs=4 * shares.std() / 2000**0.5)


def test_invariants_are_points_and_certain() -> None:
    margin = two_way(4, 4)
    total = np.ones((1, 16), dtype=np.int64)
    last_column = total - margin[4:].sum(axis=0)
    fixed = csr_array(np.vstack([margin, last_column, total, 3 * margin[:1] - 2 * margin[5:6]]))
    open_ = csr_array(np.eye(16, dtype=np.int64)[[0]])
    queries = csr_array(np.vstack([fixed.toarray(), open_.toarray()]))
    release = TABLE + LAW.sample(SeededEntropy(4), 1)[0]
    for found in (
        intervals(release, LAW, MARGINS, queries, 0.9, draws=99),
        simultaneous(release, LAW, MARGINS, queries, 0.9, draws=99),
    ):
        assert found.determined.tolist() == [True] * fixed.shape[0] + [False]
        assert (found.half_width == 0).tolist() == found.determined.tolist()
        assert found.low[:-1].tolist() == (fixed @ TABLE).tolist()
    none = simultaneous(release, LAW, MARGINS, fixed, 0.9)
    assert none.draws == 0
    assert not none.half_width.any()


def test_rows_are_told_from_others_over_the_rationals() -> None:
    matrix = csr_array(np.array([[2, 2, 2, 0], [0, 0, 1, 1]]))
    queries = csr_array(
        np.array([[1, 1, 1, 0], [1, 1, 0, -1], [1, 0, 0, 0], [2, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]])
    )
    assert in_row_space(matrix, queries).tolist() == [True, True, False, False, False, True]


def test_rational_weights_scale_the_interval() -> None:
    release = TABLE + LAW.sample(SeededEntropy(4), 1)[0]
    whole = interval(release, LAW, MARGINS, [3, -2, *[0] * 13, 1], 0.9, draws=999)
    sixth = interval(
        release, LAW, MARGINS, [Fraction(1, 2), Fraction(-1, 3), *[0] * 13, Fraction(1, 6)], 0.9, draws=999
    )
    assert (sixth.low * 6, sixth.estimate * 6, sixth.high * 6) == (whole.low, whole.estimate, whole.high)
    mean = interval(release, LAW, MARGINS, [Fraction(1, 16)] * 16, Fraction(9, 10))
    assert mean.determined
    assert mean.low == mean.high == Fraction(int(TABLE.sum()), 16)


def test_simultaneous_intervals_cover_together() -> None:
    cells = csr_array(np.eye(16, dtype=np.int64))
    queries = csr_array(np.vstack([cells.toarray(), QUERIES.toarray()]))
    share = {}
    for method in ("max", "bonferroni"):
        found = simultaneous(TABLE, LAW, MARGINS, queries, 0.9, method=method)
        assert found.level == Fraction(9, 10)
        share[method] = covered(queries, found.half_width).all(axis=0).mean()
    alone = intervals(TABLE, LAW, MARGINS, queries, 0.9)
    assert covered(queries, alone.half_width).all(axis=0).mean() < 0.6
    assert abs(share["max"] - 0.9) <= 0.015
    assert share["bonferroni"] > 0.915


def test_simultaneous_intervals_are_never_short_of_a_tie() -> None:
    """With N = 9 and level 0.9 the largest simulated error must be inside, to the last unit."""
    queries = csr_array(np.array([[7, 0, 0, 0]]))
    for seed in range(50):
        found = simultaneous(np.zeros(4, int), SQUARE_LAW, SQUARE, queries, 0.9, draws=9, seed=seed)
        assert found.half_width[0] % 7 == 0


def test_l2_noise() -> None:
    law = LatticeLaplaceLaw(SQUARE, Fraction(1, 4), "l2")
    cell = csr_array(np.array([[1, 0, 0, 0]]))
    found = intervals(np.zeros(4, int), law, SQUARE, cell, 0.9)
    errors = np.abs(law.sample(SeededEntropy(5), RELEASES)[:, 0])
    inside, inner = (errors <= found.half_width[0]).sum(), (errors < found.half_width[0]).sum()
    # the least h that covers, up to the error of the simulation
    assert binom.cdf(inside, RELEASES, 0.89) > LEVEL
    assert binom.sf(inner, RELEASES, 0.91) > LEVEL


def test_intervals_can_be_repeated() -> None:
    one, two, other = (intervals(TABLE, LAW, MARGINS, QUERIES, 0.9, draws=99, seed=s) for s in (1, 1, 2))
    assert one.half_width.tolist() == two.half_width.tolist() != other.half_width.tolist()


def test_what_makes_no_sense_is_refused() -> None:
    cut = TruncatedLaw(SQUARE, low=np.full(4, -3), epsilon=Fraction(1, 2))
    with pytest.raises(SamplingError, match="depends on the confidential table"):
        intervals(np.full(4, 3), cut, SQUARE, csr_array(np.array([[1, 0, 0, 0]])), 0.9)  # type: ignore[arg-type]
    for level in (0, 1, 1.5, -0.1):
        with pytest.raises(SpecError, match="between 0 and 1"):
            intervals(TABLE, LAW, MARGINS, QUERIES, level)
    with pytest.raises(SamplingError, match="ask for 9 or more"):
        intervals(TABLE, LAW, MARGINS, QUERIES, 0.9, draws=8)
    with pytest.raises(DataError, match="over the same cells"):
        intervals(TABLE[:-1], LAW, MARGINS, QUERIES, 0.9)
    with pytest.raises(SpecError, match="64 bits"):
        intervals(TABLE, LAW, MARGINS, csr_array(np.full((1, 16), 2**58)), 0.9)
    with pytest.raises(SpecError, match="64 bits"):
        interval(TABLE, LAW, MARGINS, [Fraction(1, 2**40 + i) for i in range(16)], 0.9)
