"""The bias has the sign that theory says, and is measured on public tables only."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.estimation.conforming import Conforming
from holdfast.estimation.l2 import stand_in
from holdfast.processing.methods import METHODS, method_of
from holdfast.processing.processed import bias
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.system.errors import DataError
from holdfast.testing.goodness import two_way

TOTAL = csr_array(np.ones((1, 12), dtype=np.int64))
SKEWED = np.array([0] * 6 + [1] * 3 + [20, 40, 100])
SET = Conforming.of(TOTAL, TOTAL @ SKEWED)
NOISE = LatticeLaplaceLaw(TOTAL, Fraction(1, 3), "l1")


@pytest.mark.parametrize("name", METHODS)
def test_small_cells_gain_what_large_cells_lose(name: str) -> None:
    found = bias(NOISE, SKEWED, SET, method_of(name).measure, draws=100)
    assert found.small.bias > 5 * found.small.standard_error > 0
    assert found.large.bias < -5 * found.large.standard_error < 0
    assert found.mean.sum() == pytest.approx(0, abs=1e-9)
    assert (found.small.cells, found.small.stand_in, found.large.stand_in) == (3, 0.0, 160 / 3)


def test_doing_nothing_has_no_bias() -> None:
    found = bias(NOISE, SKEWED, SET, lambda counts, _: counts, draws=10)
    assert not found.mean.any()
    assert not found.standard_error.any()


def test_a_known_bias_is_found_to_its_standard_error() -> None:
    """One free cell at 0, cut off below zero: E max(z, 0) = a / (1 - a^2) for double geometric z."""
    free = csr_array((0, 1), dtype=np.int64)
    law = LatticeLaplaceLaw(free, Fraction(1, 2), "l1")
    conforming = Conforming.of(free, np.zeros(0, dtype=np.int64))
    found = bias(law, np.zeros(1, dtype=np.int64), conforming, method_of("integers-l1").measure, draws=800)
    a = np.exp(-0.5)
    assert found.mean[0] == pytest.approx(a / (1 - a * a), abs=4 * found.standard_error[0])
    assert found.standard_error[0] < 0.1


def test_it_can_be_repeated_and_is_refused_where_it_says_nothing() -> None:
    run = method_of("integers-l1").measure
    one, two = (bias(NOISE, SKEWED, SET, run, draws=5, seed=1).mean.tolist() for _ in range(2))
    assert one == two
    with pytest.raises(DataError, match="2 or more"):
        bias(NOISE, SKEWED, SET, run, draws=1)
    with pytest.raises(DataError, match="does not keep"):
        bias(NOISE, SKEWED + 1, SET, run, draws=2)


def test_the_stand_in_is_the_independence_fit() -> None:
    matrix = csr_array(two_way(3, 4))
    rows, columns = np.array([10, 30, 60]), np.array([10, 20, 30, 40])
    fit = np.outer(rows, columns).ravel() // 100
    found = stand_in(np.full(12, -5), matrix, matrix @ fit, Conforming.of(matrix, matrix @ fit))
    assert found.tolist() == fit.tolist()


def test_the_stand_in_does_not_follow_the_release_where_invariants_are() -> None:
    matrix = csr_array(np.array([[1, 1, 1, 1, 0, 0]]))
    conforming = Conforming.of(matrix, np.array([21]))
    found = stand_in(np.array([100, -50, 3, -32, 4, 8]), matrix, np.array([21]), conforming)
    assert sorted(found[:4].tolist()) == [5, 5, 5, 6]
    assert found[4:].tolist() == [6, 6]
    below = stand_in(np.array([100, -50, 3, -32, -4, -8]), matrix, np.array([21]), conforming)
    assert below[4:].tolist() == [0, 0]


def test_other_weights_and_zeros_have_a_stand_in_too() -> None:
    matrix = csr_array(np.array([[1, 2, 3, 0], [0, 1, 1, 1]]))
    values = matrix @ np.array([4, 0, 5, 2])
    conforming = Conforming.of(matrix, values, most=np.array([99, 0, 99, 99]))
    assert conforming.holds(stand_in(np.zeros(4, dtype=np.int64), matrix, values, conforming))
    margins = csr_array(two_way(2, 2))
    values = margins @ np.array([0, 3, 5, 7])
    zero = Conforming.of(margins, values, most=np.array([0, 99, 99, 99]))
    assert stand_in(np.zeros(4, dtype=np.int64), margins, values, zero).tolist() == [0, 3, 5, 7]
