"""Controlled rounding: exact sums, neighbours, the least distance of all listed, always the same."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.estimation.hierarchy import rounding
from holdfast.estimation.hierarchy.rounding import nearest_whole, rounded, rounded_under
from holdfast.programs.quadratic.squares import IntegerSystem
from holdfast.programs.solver import UNBOUNDED

Table = NDArray[np.int64]
Real = NDArray[np.float64]
TOTAL = csr_array(np.ones((1, 3), dtype=np.int64))
TRIANGLE = csr_array(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]]))


def mixed(seed: int, rows: int, columns: int, largest: int = 3) -> tuple[Real, Table]:
    """Return a mixture of whole tables with the same row and column sums, and one of them."""
    generator = np.random.default_rng(seed)
    first = generator.integers(0, largest + 1, (rows, columns))
    found = np.zeros(first.shape)
    for weight in generator.dirichlet(np.ones(4)):
        table = first.copy()
        for _ in range(20):
            (i, k), (j, h) = (generator.choice(size, 2, replace=False) for size in first.shape)
            if table[i, j] and table[k, h]:
                table[[i, k], [j, h]] -= 1
                table[[i, k], [h, j]] += 1
        found += weight * table
    return found, first


def listed(counts: Real, wide: int = 0) -> Table:
    """Return all whole tables of neighbours of the counts, or of those so much farther."""
    floor = np.floor(np.round(counts, 9)).astype(np.int64).ravel()
    ranges = [range(max(0, low - wide), low + 2 + wide) for low in floor.tolist()]
    return np.array(list(product(*ranges))).reshape(-1, *counts.shape)


def distance(tables: Table, counts: Real) -> Real:
    return np.asarray(np.abs(tables - counts).sum(axis=(-2, -1)))


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), (3, 3), (4, 2), (1, 4)])
@pytest.mark.parametrize("known", [False, True])
def test_nothing_is_nearer(shape: tuple[int, int], known: bool) -> None:
    for seed in range(15):
        counts, table = mixed(seed, *shape) if min(shape) > 1 else (np.full(shape, 2.0), np.full(shape, 2))
        parent, totals = table.sum(axis=0), table.sum(axis=1)
        found = rounded(counts, parent, totals if known else None)
        assert found is not None
        assert found.sum(axis=0).tolist() == parent.tolist()
        assert not known or found.sum(axis=1).tolist() == totals.tolist()
        every = listed(counts, wide=int(counts.size <= 6))
        kept = (every.sum(axis=1) == parent).all(axis=1)
        if known:
            kept &= (every.sum(axis=2) == totals).all(axis=1)
        assert distance(found, counts) <= distance(every[kept], counts).min() + 1e-6
        assert (np.abs(found - counts) < 1).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 12), st.integers(2, 8), st.booleans())
def test_sums_are_exact_and_cells_are_neighbours(seed: int, rows: int, columns: int, known: bool) -> None:
    counts, table = mixed(seed, rows, columns, largest=1000)
    found = rounded(counts, table.sum(axis=0), table.sum(axis=1) if known else None)
    assert found is not None
    assert found.dtype == np.int64
    assert (found.sum(axis=0) == table.sum(axis=0)).all()
    assert not known or (found.sum(axis=1) == table.sum(axis=1)).all()
    assert (found >= np.floor(counts + 1e-9)).all()
    assert (found <= np.ceil(counts - 1e-9)).all()


def test_ties_go_to_the_first() -> None:
    counts = np.array([[0.5, 1.25], [0.5, 1.25], [0.5, 1.25], [0.5, 1.25]])
    found = rounded(counts, np.array([2, 5]))
    assert found is not None
    assert found.tolist() == [[1, 2], [1, 1], [0, 1], [0, 1]]
    noise = 1e-9 * np.array([[-1, 1], [1, -1], [1, 1], [1, 1]])  # rounding of floats is no reason
    again = rounded(counts + noise, np.array([2, 5]))
    assert again is not None
    assert again.tolist() == found.tolist()


def test_sums_that_the_counts_do_not_have_are_told() -> None:
    counts = np.array([[1.5, 2.0], [1.5, 2.0]])
    assert rounded(counts, np.array([3, 5])) is None
    assert rounded(counts, np.array([5, 4])) is None
    assert rounded(counts, np.array([3, 4]), np.array([4, 4])) is None
    assert rounded(counts, np.array([3, 4]), np.array([5, 2])) is None


def test_totals_as_equalities_have_the_same_distance() -> None:
    for seed in range(10):
        counts, table = mixed(seed, 4, 3)
        parent, totals = table.sum(axis=0), table.sum(axis=1)
        found = rounded(counts, parent, totals)
        other = rounded_under(counts, parent, TOTAL, totals[:, None])
        assert found is not None
        assert other is not None
        assert (other.sum(axis=0) == parent).all()
        assert (other.sum(axis=1) == totals).all()
        assert distance(found, counts) == pytest.approx(distance(other, counts), abs=1e-5)


def test_other_equalities_by_listing_even_where_no_neighbours_keep_them() -> None:
    generator = np.random.default_rng(4)
    far = 0
    for _ in range(15):
        table = generator.integers(0, 3, (2, 3))
        parent, values = table.sum(axis=0), np.asarray(TRIANGLE @ table.T).T
        counts = np.maximum(table + generator.normal(0, 0.7, table.shape), 0)
        found = rounded_under(counts, parent, TRIANGLE, values)
        assert found is not None
        assert (found.sum(axis=0) == parent).all()
        assert (values == np.asarray(TRIANGLE @ found.T).T).all()
        assert (found == table).all()  # three sums tell three cells
        far += int((np.abs(found - counts) >= 1).any())
    assert far > 0
    assert rounded_under(np.full((1, 3), 0.5), np.array([1, 1, 1]), TRIANGLE, np.array([[1, 1, 1]])) is None


def test_bounds_are_kept_where_counts_pass_them() -> None:
    found = rounded_under(
        np.array([[0.2, 3.3, 1.5], [2.8, 0.7, 1.5]]),
        np.array([3, 4, 3]),
        TOTAL,
        np.array([[5], [5]]),
        low=np.array([[1, 0, 0], [0, 0, 0]]),
        high=np.array([[9, 2, 9], [9, 9, 9]]),
    )
    assert found is not None
    assert found.tolist() == [[1, 2, 2], [2, 2, 1]]


def total(point: Table, counts: Real) -> float:
    return float(np.abs(point - counts).sum())


def test_ranges_by_listing() -> None:
    """Nothing that keeps rows, ranges and bounds is nearer, whether neighbours keep them or not."""
    generator = np.random.default_rng(7)
    far = 0
    for _ in range(40):
        table = generator.integers(0, 3, 4)
        matrix = generator.integers(0, 2, (3, 4))
        sums = matrix @ table
        most = sums + np.array([0, 1, 2])
        system = IntegerSystem(
            csr_array(matrix),
            sums - np.array([0, 1, 0]),
            np.where(generator.random(3) < 0.2, UNBOUNDED, most),
            np.maximum(table - 1, 0),
            table + 1,
        )
        counts = np.maximum(table + generator.normal(0, 0.8, 4), 0)
        found = nearest_whole(counts, system)
        every = np.array(list(product(range(4), repeat=4)))
        kept = every[[system.holds(point) for point in every]]
        assert found is not None
        assert system.holds(found)
        assert total(found, counts) <= min(total(point, counts) for point in kept) + 1e-5
        far += int((np.abs(found - counts) >= 1).any())
    assert far > 5


def test_sums_without_a_common_cell_need_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounding, "Program", None)
    generator = np.random.default_rng(8)
    for _ in range(20):
        label = generator.integers(0, 4, 8)  # cells of the label 3 are in no sum
        matrix = csr_array(np.array([label == each for each in range(3)], dtype=np.int64))
        table = generator.integers(0, 3, 8)
        counts = 1.0 * table
        for each in range(3):
            inside = np.flatnonzero(label == each)
            shift = generator.uniform(0, 0.3, inside.size)
            counts[inside] += shift - shift.mean() if inside.size else 0
        counts = np.abs(counts + np.where(label == 3, generator.uniform(0, 1, 8), 0))
        sums = np.rint(matrix @ counts).astype(np.int64)
        if np.abs(matrix @ counts - sums).max() > 1e-9:
            continue  # a negative count was turned
        system = IntegerSystem(matrix, sums, sums, np.zeros(8, dtype=np.int64), np.full(8, UNBOUNDED))
        found = nearest_whole(counts, system)
        assert found is not None
        assert system.holds(found)
        floor = np.floor(counts).astype(np.int64)
        every = floor + np.array(list(product(range(2), repeat=8)))
        kept = every[(sums == np.asarray(matrix @ every.T).T).all(axis=1)]
        assert total(found, counts) <= min(total(point, counts) for point in kept) + 1e-5


def test_a_system_without_whole_counts_has_none() -> None:
    half = np.full(3, 0.5)
    one = np.ones(3, dtype=np.int64)
    assert (
        nearest_whole(half, IntegerSystem(TRIANGLE, one, one, np.zeros(3, dtype=np.int64), 5 * one)) is None
    )
