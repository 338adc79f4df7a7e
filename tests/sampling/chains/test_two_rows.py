"""Two rows given their margins: the law by enumeration, whatever the order, the bits and the range."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.sampling.replayed import ReplayedEntropy

from holdfast.sampling.chains.two_rows import TwoRowLaw, TwoRows
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, p_value

Array = NDArray[np.int64]
EPSILON = Fraction(1, 4)
TOTAL, SUMS, UPPER, LOWER = 6, [3, 5, 0, 4, 2], [1, 4, 1, 0, 2], [1, 0, 2, 3, 0]


def problem(size: int, sums: list[int] = SUMS, total: int = TOTAL) -> TwoRows:
    parts = (np.tile(row, (size, 1)) for row in (sums, UPPER[: len(sums)], LOWER[: len(sums)]))
    return TwoRows(np.full(size, total), *parts)


def enumerated(epsilon: Fraction = EPSILON) -> dict[tuple[int, ...], float]:
    rows = [v for v in product(*(range(s + 1) for s in SUMS)) if sum(v) == TOTAL]
    size = [
        sum(abs(v - a) + abs(s - v - b) for v, s, a, b in zip(row, SUMS, UPPER, LOWER, strict=True))
        for row in rows
    ]
    weight = np.exp(-float(epsilon) * (np.array(size) - min(size)))
    return dict(zip(rows, (weight / weight.sum()).tolist(), strict=True))


def drawn(law: TwoRowLaw, tables: TwoRows, seed: int) -> Array:
    entropy = SeededEntropy(seed)
    size, columns = tables.sums.shape
    return law.draw(tables, entropy.words(size * (columns - 1)).reshape(size, columns - 1), entropy)


def test_the_draws_have_the_enumerated_law() -> None:
    draws = drawn(TwoRowLaw(EPSILON), problem(40_000), 1)
    assert p_value(draws, enumerated()) > LEVEL
    assert p_value(draws, enumerated(Fraction(3, 10))) < LEVEL / 1000
    assert p_value(draws, enumerated(Fraction(1, 5))) < LEVEL / 1000


@pytest.mark.parametrize("order", [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3]])
def test_the_order_of_the_columns_does_not_matter(order: list[int]) -> None:
    tables = problem(20_000).reordered(np.tile(order, (20_000, 1)))
    assert tables.sums[0].tolist() == [SUMS[j] for j in order]
    draws = drawn(TwoRowLaw(EPSILON), tables, 2)
    assert p_value(draws[:, np.argsort(order)], enumerated()) > LEVEL
    assert p_value(draws, enumerated()) < LEVEL / 1000  # not put back


def test_a_word_that_is_refined_decides_as_the_whole_word() -> None:
    # 3 bits of a word first, then its other bits: the same uniform number, so the same rows
    one = TwoRows(np.array([3]), np.array([[3, 4]]), np.array([[1, 0]]), np.array([[1, 3]]))
    whole, few = TwoRowLaw(EPSILON), TwoRowLaw(EPSILON, bits=3)
    refined = 0
    for word in SeededEntropy(3).words(120):
        rest = np.array([word << np.uint64(3)])
        more = ReplayedEntropy(rest, SeededEntropy(0))
        given = np.array([[word]])
        assert (few.draw(one, given, more) == whole.draw(one, given, SeededEntropy(0))).all()
        refined += more.words(1)[0] != rest[0]
    assert 5 < refined < 100


def test_few_bits_draw_the_same_law() -> None:
    draws = drawn(TwoRowLaw(EPSILON, bits=7), problem(2_000), 4)
    assert p_value(draws, enumerated()) > LEVEL
    assert p_value(draws, enumerated(Fraction(1, 2))) < LEVEL


def test_masses_beyond_floats_are_decided_by_enclosures() -> None:
    # the total forces the upper row 70 away from its centre: exp(-2 * 3 * 70 * 2) is below what floats keep
    steep = TwoRowLaw(Fraction(3))
    ones, none = np.ones((100, 2), dtype=np.int64), np.zeros((100, 2), dtype=np.int64)
    tables = TwoRows(np.full(100, 142), 71 * ones, none, 71 * ones)
    assert (drawn(steep, tables, 5) == 71).all()
    tables = TwoRows(np.full(100, 141), 71 * ones, none, 71 * ones)
    draws = drawn(steep, tables, 5)
    assert set(map(tuple, draws.tolist())) == {(70, 71), (71, 70)}
    assert 30 < (draws[:, 0] == 70).sum() < 70  # they weigh the same


def test_columns_that_hold_more_than_the_row() -> None:
    # v_1 + v_2 = 2 with sums of 40 and 30: distances 9 - v_1 from [9, 30], and 1 from [1, 2] at v_2 = 0
    parts = (np.tile(row, (20_000, 1)) for row in ([40, 30], [9, 2], [10, 29]))
    draws = drawn(TwoRowLaw(EPSILON), TwoRows(np.full(20_000, 2), *parts), 8)[:, :1]
    weight = np.exp(-0.5 * np.array([9, 8, 7 + 1]))
    assert p_value(draws, {(v,): float(weight[v] / weight.sum()) for v in range(3)}) > LEVEL
    assert p_value(draws, {(v,): 1 / 3 for v in range(3)}) < LEVEL / 1000


def test_rows_that_are_too_long_are_refused() -> None:
    parts = (np.full((1, 2), n) for n in (20_000, 1, 1))
    with pytest.raises(SamplingError, match="20000 records in one of them are too many"):
        drawn(TwoRowLaw(EPSILON), TwoRows(np.array([20_000]), *parts), 1)


def test_tables_without_a_choice() -> None:
    assert (drawn(TwoRowLaw(EPSILON), problem(3, [4], 3), 6) == 3).all()
    assert (drawn(TwoRowLaw(EPSILON), problem(3, [0, 0, 0], 0), 6) == 0).all()
    assert (drawn(TwoRowLaw(EPSILON), problem(3, [2, 3, 1], 6), 6) == [2, 3, 1]).all()
    assert drawn(TwoRowLaw(EPSILON), problem(0), 6).shape == (0, 5)


@pytest.mark.parametrize(("epsilon", "bits"), [(Fraction(0), 53), (Fraction(1), 54), (Fraction(1), 0)])
def test_a_law_without_sense_is_refused(epsilon: Fraction, bits: int) -> None:
    with pytest.raises(ValueError, match="epsilon is positive"):
        TwoRowLaw(epsilon, bits=bits)
