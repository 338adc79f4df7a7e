"""Matrices held by distinct columns, and the cells of some of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from holdfast.lattice.spread import SpreadCells, SpreadColumns


@st.composite
def spreads(draw: st.DrawFn) -> SpreadColumns:
    """Return a few rows over runs that stand up to five times."""
    times = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    width, rows = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    entries = st.lists(st.integers(0, 1), min_size=len(times) * width, max_size=len(times) * width).filter(
        any
    )
    columns = np.array(draw(st.lists(entries, min_size=rows, max_size=rows)), dtype=np.int64)
    return SpreadColumns(csr_array(columns.reshape(rows, len(times) * width)), np.array(times))


@given(spreads(), st.data())
def test_cells_of_columns_are_those_that_have_them(spread: SpreadColumns, data: st.DataObject) -> None:
    every = spread.columns.shape[1]
    some = data.draw(st.lists(st.integers(0, every - 1), min_size=1, max_size=every, unique=True))
    expected = np.concatenate([np.flatnonzero(spread.of_cell == column) for column in some])
    cells = spread.cells(np.array(some))
    assert cells.size == expected.size
    assert np.array_equal(cells.all(), expected[None])
    begin = data.draw(st.integers(0, cells.size - 1))
    end = data.draw(st.integers(begin + 1, cells.size))
    assert np.array_equal(cells.part(begin, end), expected[begin:end])
    one, other = (np.flatnonzero(spread.of_cell == column) for column in (some[0], some[-1]))
    both = SpreadCells.joined([spread.cells(np.array([some[0]])), spread.cells(np.array([some[-1]]))])
    assert np.array_equal(both.all()[0], np.concatenate([one, other]))


def test_components_that_are_alike_are_rows() -> None:
    spread = SpreadColumns(csr_array(np.eye(4, dtype=np.int64)), np.array([3, 3]))
    cells = SpreadCells.joined([spread.cells(np.array([column])) for column in range(4)], rows=4)
    assert cells.shape == (4, 3)
    assert cells.all().tolist() == [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11]]


@given(spreads())
def test_every_entry_is_that_of_its_column(spread: SpreadColumns) -> None:
    assert np.array_equal(spread.expanded.toarray(), spread.columns.toarray()[:, spread.of_cell])
