import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import coo_array, csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import components, patterns

matrices = st.tuples(st.integers(1, 4), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 1))
)


@settings(deadline=None)
@given(matrices)
def test_patterns_are_the_distinct_columns(dense: IntArray) -> None:
    found = patterns(csr_array(dense))
    expected = list(dict.fromkeys(tuple(column) for column in dense.T))
    assert [tuple(column) for column in found.columns.toarray().T] == expected
    assert [expected[k] for k in found.of_cell] == [tuple(column) for column in dense.T]
    assert found.size.tolist() == [sum(found.of_cell == k) for k in range(found.count)]


@settings(deadline=None)
@given(matrices)
def test_components_partition_and_never_share_an_entry(dense: IntArray) -> None:
    blocks = components(csr_array(dense))
    assert sorted(cell for block in blocks for cell in block.cells) == list(range(dense.shape[1]))
    used = [row for row in range(dense.shape[0]) if dense[row].any()]
    assert sorted(row for block in blocks for row in block.rows) == used
    for block in blocks:
        outside = np.delete(dense[block.rows], block.cells, axis=1)
        assert not outside.any()


def test_components_are_not_larger_than_needed() -> None:
    dense = np.array([[1, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]])
    found = [(b.cells.tolist(), b.rows.tolist()) for b in components(csr_array(dense))]
    assert found == [([0, 1], [0, 1]), ([2], [2]), ([3, 4], [])]


def test_stored_zeros_and_duplicates_do_not_count() -> None:
    entries = ([1, 1, 0], ([0, 0, 0], [0, 0, 1]))
    matrix = coo_array((np.array(entries[0]), entries[1]), shape=(1, 3))
    found = patterns(csr_array(matrix))
    assert found.of_cell.tolist() == [0, 1, 1]
    assert len(components(csr_array(matrix))) == 2
