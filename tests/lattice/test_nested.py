"""Families of nested rows, and the relations and counts that follow from them, against elimination."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array, vstack

from holdfast.lattice import rows as module
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.kernel import to_flint
from holdfast.lattice.nested import Nested, nested_counts
from holdfast.lattice.rows import echelons, independent_and_wrong, independent_rows, ones_combination

COLUMNS = 8


@st.composite
def trees(draw: st.DrawFn) -> IntArray:
    """Draw the rows of a tree over some columns, some left out, in any order, maybe with rows that cross."""
    found: list[list[int]] = []

    def split(columns: list[int]) -> None:
        if draw(st.booleans()):
            found.append([int(column in columns) for column in range(COLUMNS)])
        if len(columns) > 1 and draw(st.booleans()):
            cut = draw(st.integers(1, len(columns) - 1))
            split(columns[:cut])
            split(columns[cut:])

    split(list(range(COLUMNS)))
    row = st.lists(st.integers(0, 1), min_size=COLUMNS, max_size=COLUMNS)
    found += [draw(row) for _ in range(draw(st.integers(0, 2)))]
    found = draw(st.permutations(found))
    return np.array(found, dtype=np.int64).reshape(len(found), COLUMNS)


@settings(deadline=None)
@given(trees())
def test_taken_rows_are_nested_and_tell_what_is_inside(dense: IntArray) -> None:
    nested = Nested.of(csc_array(dense))
    taken = np.flatnonzero(nested.taken)
    for one in taken:
        for other in taken:
            common = int((dense[one] & dense[other]).sum())
            assert common in (0, dense[one].sum(), dense[other].sum())
    for row in taken.tolist():
        left = sum(sign * dense[other] for other, sign in nested.beyond(row).items())
        assert np.array_equal(left, (nested.owner == row).astype(np.int64))
    x = np.arange(COLUMNS)
    beyond = nested.values_beyond(dense @ x)
    for row in taken.tolist():
        assert beyond[row] == x[nested.owner == row].sum()


@settings(deadline=None)
@given(trees())
def test_few_and_many_relations_are_reduced_alike(dense: IntArray) -> None:
    matrix = csr_array(dense)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", 1000)
        one_by_one = [(block.kept, block.combination) for block in echelons(matrix)]
        patch.setattr(module, "FEW", -1)
        together = [(block.kept, block.combination) for block in echelons(matrix)]
    assert one_by_one == together
    for _, combination in together:
        for row, terms in combination.items():
            whole = sum((weight * dense[other] for other, weight in terms.items()), Fraction(0) * dense[row])
            assert (whole == dense[row]).all()
            assert all(other < row for other in terms)


@settings(deadline=None)
@given(trees(), st.data())
def test_nested_counts_are_the_solution(dense: IntArray, data: st.DataObject) -> None:
    kept = dense[independent_rows(csr_array(dense))]
    distinct = np.unique(kept, axis=1)
    x = np.array(
        data.draw(st.lists(st.integers(0, 9), min_size=distinct.shape[1], max_size=distinct.shape[1]))
    )
    found = nested_counts(csr_array(distinct), distinct @ x)
    if found is not None:
        assert np.array_equal(found, x)
        assert to_flint(distinct).rank() == distinct.shape[1]
    elif distinct.shape[0] == distinct.shape[1] and distinct.any(axis=0).all():
        assert not Nested.of(csc_array(distinct)).taken.all()


def test_values_that_leave_no_whole_count_have_none() -> None:
    assert nested_counts(csr_array(np.array([[2]])), np.array([6])) == np.array([3])
    assert nested_counts(csr_array(np.array([[2]])), np.array([5])) is None


def levels(leaves: int, *sizes: int) -> csr_array:
    """Return the totals of groups of successive leaves, all groups of one size at a time."""
    parts = []
    for size in sizes:
        ones = np.ones(leaves, dtype=np.int64)
        parts.append(csr_array((ones, (np.arange(leaves) // size, np.arange(leaves)))))
    return csr_array(vstack(parts, format="csr"))


@pytest.mark.parametrize("sizes", [(20_000, 1000, 50, 1), (1, 50, 1000, 20_000), (50, 20_000, 1)])
def test_many_levels_of_many_rows(sizes: tuple[int, ...]) -> None:
    matrix = levels(20_000, *sizes)
    x = np.random.default_rng(0).integers(0, 9, 20_000)
    kept, wrong = independent_and_wrong(matrix, matrix @ x)
    assert kept.size == 20_000
    assert wrong.size == 0
    values = matrix @ x
    values[-1] += 1
    assert independent_and_wrong(matrix, values)[1].size > 0
    square = csr_array(matrix[kept])
    found = nested_counts(square, square @ x)
    assert found is not None
    assert np.array_equal(found, x)
    weights = ones_combination(square)
    assert weights is not None
    dense = np.zeros(kept.size)
    dense[list(weights)] = [float(weight) for weight in weights.values()]
    assert (square.T @ dense == 1).all()


def test_many_levels_that_one_margin_crosses() -> None:
    """Leaves of four cells in a tree of three levels, and the totals of the four kinds of cells."""
    leaves = 5_000
    cell = np.arange(4 * leaves)
    ones = np.ones(cell.size, dtype=np.int64)
    tree = levels(leaves, leaves, 100, 1) @ csr_array((ones, (cell // 4, cell)))
    matrix = csr_array(vstack([tree, csr_array((ones, (cell % 4, cell)))], format="csr"))
    x = np.random.default_rng(1).integers(0, 9, 4 * leaves)
    kept, wrong = independent_and_wrong(matrix, matrix @ x)
    assert kept.size == leaves + 3
    assert wrong.size == 0
    assert matrix.shape[0] - 1 not in kept  # the last kind follows from the total
