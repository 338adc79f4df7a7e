"""The nearest table without negative counts: the conditions of Karush, Kuhn and Tucker, and exact sums."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array
from tests.estimation.small import problems

from holdfast.estimation.conforming import Conforming
from holdfast.estimation.l2 import FixedPoint, nonnegative_l2
from holdfast.lattice.forms import Form
from holdfast.lattice.margins import LevelledAxis, MarginStrategy
from holdfast.system.errors import DataError
from holdfast.testing.goodness import two_way


def stationary(found: NDArray[np.float64], target: NDArray[np.float64], matrix: NDArray[np.int64]) -> bool:
    """Whether multipliers exist: v - y = A'm + n with n >= 0, and n = 0 where v > 0.

    Three units of the last place are allowed.
    """
    positive = found > 1e-5
    slack = 3e-6 * matrix.shape[1]
    gap = found - target
    equal, above = matrix.T[positive], matrix.T[~positive]
    rows = np.vstack([equal, -equal, above])
    bounds = np.concatenate([gap[positive] + slack, -gap[positive] + slack, gap[~positive] + slack])
    return bool(linprog(np.zeros(matrix.shape[0]), rows, bounds, bounds=(None, None)).status == 0)


@settings(max_examples=25, deadline=None)
@given(problems())
def test_it_conforms_exactly_and_is_stationary(
    problem: tuple[str, Conforming, NDArray[np.int64]],
) -> None:
    _, conforming, noisy = problem
    found = nonnegative_l2(noisy, conforming)
    assert conforming.times(10**6).holds(found.numerators)
    matrix = conforming.rows.toarray()
    assert stationary(found.values, noisy.astype(np.float64), matrix)


def test_another_table_is_not_stationary() -> None:
    matrix = two_way(2, 3)
    conforming = Conforming.of(csr_array(matrix), matrix @ np.array([3, 1, 2, 4, 0, 1]))
    noisy = np.array([-2.0, 3, 5, 9, -1, -3])
    found = nonnegative_l2(noisy, conforming).values
    assert stationary(found, noisy, matrix)
    other = found + 0.01 * np.array([1, -1, 0, -1, 1, 0])
    assert not stationary(np.where(other < 0, found, other), noisy, matrix)


def test_one_total_is_the_projection_onto_a_simplex() -> None:
    conforming = Conforming.of(csr_array(np.ones((1, 4), dtype=np.int64)), np.array([10]))
    # threshold: v = max(y - h, 0) with h = 1
    found = nonnegative_l2(np.array([-4, 0, 5, 7]), conforming)
    assert found.texts() == ["0.000000", "0.000000", "4.000000", "6.000000"]


def test_thirds_are_rounded_so_that_the_total_is_exact() -> None:
    conforming = Conforming.of(csr_array(np.ones((1, 3), dtype=np.int64)), np.array([10]))
    found = nonnegative_l2(np.array([3, 3, 3]), conforming, places=2)
    assert sorted(found.texts()) == ["3.33", "3.33", "3.34"]
    assert nonnegative_l2(np.array([3, 3, 3]), conforming, places=0).numerators.sum() == 10


def test_lattice_releases_without_negative_counts_stay() -> None:
    matrix = csr_array(two_way(3, 3))
    table = np.arange(1, 10)
    found = nonnegative_l2(table, Conforming.of(matrix, np.asarray(matrix @ table)))
    assert found.numerators.tolist() == (table * 10**6).tolist()


def test_bounds_zeros_and_inequalities_are_kept() -> None:
    conforming = Conforming.of(
        csr_array(np.ones((1, 3), dtype=np.int64)),
        np.array([9]),
        most=np.array([9, 0, 9]),
        rows=csr_array(np.array([[1, 0, -2]])),
        at_least=np.array([0]),
    )
    found = nonnegative_l2(np.array([3, 3, 6]), conforming)
    assert found.values.tolist() == [6.0, 0.0, 3.0]


def test_real_tables_may_exist_where_whole_ones_do_not() -> None:
    triangle = csr_array(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]]))
    found = nonnegative_l2(np.zeros(3), Conforming.of(triangle, np.array([1, 1, 1])))
    assert found.values.tolist() == [0.5, 0.5, 0.5]


def test_what_no_table_can_keep_is_refused() -> None:
    matrix = csr_array(np.ones((1, 3), dtype=np.int64))
    for conforming in (
        Conforming.of(matrix, np.array([-1])),
        Conforming.of(matrix, np.array([9]), most=np.array([1, 1, 1])),
        Conforming.of(matrix, np.array([9]), most=np.array([-1, 9, 9])),
    ):
        with pytest.raises(DataError, match="no table keeps all"):
            nonnegative_l2(np.array([1, 1, 1]), conforming)
    with pytest.raises(DataError, match="fewer decimal places"):
        nonnegative_l2(np.array([2**50, 0, 0]), Conforming.of(matrix, np.array([2**50])))


def test_fixed_points_are_written_with_every_digit() -> None:
    assert FixedPoint(np.array([0, -1, 1200, 10**15]), 3).texts() == [
        "0.000",
        "-0.001",
        "1.200",
        "1000000000000.000",
    ]
    assert FixedPoint(np.array([0, -1, 10**18])).texts() == ["0", "-1", "1000000000000000000"]


@pytest.mark.parametrize("seed", range(8))
def test_the_nearest_in_a_form_is_stationary_in_it(seed: int) -> None:
    """F (v - y) takes the place of v - y in the conditions; the plain projection does not meet them."""
    draw = np.random.default_rng(seed)
    axes = tuple(LevelledAxis(size, (np.arange(size),)) for size in (3, 4))
    measured = (((1, 1), Fraction(1, 3)), ((0, 1), Fraction(2)), ((1, 0), Fraction(1, 2)))
    form = Form.of(MarginStrategy(axes, ((0, 0),), measured))
    matrix = np.ones((1, 12), dtype=np.int64)
    if seed % 2:
        matrix = (np.indices((3, 4))[0].ravel() == np.arange(3)[:, None]).astype(np.int64)
    truth = draw.integers(0, 4, 12)
    conforming = Conforming.of(csr_array(matrix), matrix @ truth)
    noisy = truth + draw.integers(-4, 5, 12)
    found = nonnegative_l2(noisy, conforming, form)
    assert conforming.times(10**6).holds(found.numerators)

    def met(table: NDArray[np.float64]) -> bool:
        moved = form.gram() @ (table - noisy) / form.denominator
        return stationary(table, table - moved, matrix)

    assert met(found.values)
    plain = nonnegative_l2(noisy, conforming).values
    assert np.allclose(plain, found.values, atol=1e-4) or not met(plain)


def test_the_identity_is_the_plain_projection() -> None:
    matrix = two_way(2, 3)
    conforming = Conforming.of(csr_array(matrix), matrix @ np.array([3, 1, 2, 4, 0, 1]))
    noisy = np.array([-2, 3, 5, 9, -1, -3])
    form = Form(((csr_array(np.eye(6, dtype=np.int64)), Fraction(5)),))
    assert np.array_equal(
        nonnegative_l2(noisy, conforming, form).numerators, nonnegative_l2(noisy, conforming).numerators
    )
