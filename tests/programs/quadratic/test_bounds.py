"""Bounds that follow from rows: nothing that keeps the rows is beyond them, and simple ones are met."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from holdfast.programs.quadratic.bounds import reach

MOST = 4


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_every_point_that_keeps_the_rows_is_within(seed: int, whole: bool) -> None:
    generator = np.random.default_rng(seed)
    rows = generator.integers(-1, 3, (generator.integers(0, 4), 3))
    nodes = 3
    least = rows @ generator.integers(0, MOST + 1, (3, nodes)) - generator.integers(0, 2, (len(rows), nodes))
    most = least + generator.integers(0, 4, least.shape)
    low = generator.integers(0, 2, (nodes, 3)).astype(np.float64)
    high = np.where(generator.random((nodes, 3)) < 0.3, np.inf, MOST)
    sides = least.T.astype(np.float64), np.where(generator.random(least.T.shape) < 0.2, np.inf, most.T)
    floor, roof = reach(csr_array(rows), *sides, low, high, whole=whole)
    points = np.array(list(product(range(MOST + 1), repeat=3)))
    sums = points @ rows.T
    for node in range(nodes):
        kept = ((sums >= sides[0][node]) & (sums <= sides[1][node])).all(axis=1)
        kept &= ((points >= low[node]) & (points <= high[node])).all(axis=1)
        assert (points[kept] >= floor[node]).all()
        assert (points[kept] <= roof[node]).all()


def test_a_total_bounds_each_of_its_cells() -> None:
    rows, total = csr_array(np.ones((1, 3))), np.array([[5.0], [2.0]])
    low, high = np.array([[0.0, 0, 3], [0, 0, 0]]), np.array([[1.0, np.inf, np.inf], [0, 0, np.inf]])
    floor, roof = reach(rows, total, total, low, high)
    assert floor.tolist() == [[0, 0, 3], [0, 0, 2]]
    assert roof.tolist() == [[1, 2, 5], [0, 0, 2]]


def test_what_one_row_says_another_one_uses() -> None:
    rows = csr_array(np.array([[1, 1, 0], [0, 1, 1]]))
    sums = np.array([2.0, 5.0])
    floor, roof = reach(rows, sums, sums, np.zeros(3), np.array([0.0, np.inf, np.inf]))
    assert floor.tolist() == roof.tolist() == [0, 2, 3]


def test_whole_counts_are_bounded_by_whole_numbers() -> None:
    rows, none = csr_array(np.array([[2, 1]])), (np.zeros(2), np.full(2, np.inf))
    _, roof = reach(rows, np.array([-np.inf]), np.array([5.0]), *none)
    assert roof.tolist() == [2.5, 5]
    _, roof = reach(rows, np.array([-np.inf]), np.array([5.0]), *none, whole=True)
    assert roof.tolist() == [2, 5]


def test_bounds_that_cross_tell_that_nothing_is_left() -> None:
    floor, roof = reach(
        csr_array(np.ones((1, 2))), np.array([9.0]), np.array([9.0]), np.zeros(2), np.full(2, 3.0)
    )
    assert (floor > roof).any()


def test_many_nodes_are_bounded_as_each_alone() -> None:
    generator = np.random.default_rng(0)
    rows = csr_array(generator.integers(0, 2, (3, 5)))
    table = generator.integers(0, 4, (50, 5))
    sums = (table @ rows.toarray().T).astype(np.float64)
    bounds = np.zeros(table.shape), np.where(generator.random(table.shape) < 0.5, np.inf, table + 1.0)
    found = reach(rows, sums, sums, *bounds)
    for node in range(50):
        alone = reach(rows, sums[node], sums[node], bounds[0][node], bounds[1][node])
        assert found[0][node].tolist() == alone[0].tolist()
        assert found[1][node].tolist() == alone[1].tolist()
