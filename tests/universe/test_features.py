"""Products of features without a solver: the same as programs and enumeration say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.universe import semi_adjacency as semi
from holdfast.universe import sensitivity as sens
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.sensitivity import sensitivity
from holdfast.universe.spread import spread
from holdfast.universe.universe import Universe, product_of, small_product

NAMES = tuple("abc")


def universe(table: IntArray, *, named: bool = True) -> Universe:
    matrix = small_product(table.shape)
    cliques = tuple(frozenset(name) for name in NAMES[: table.ndim]) if named else None
    return Universe.of(matrix, matrix @ table.ravel(), cliques)


@pytest.mark.parametrize("shape", [(3, 4), (2, 5), (2, 2, 3)])
@pytest.mark.parametrize("changes", [2, 3, 4])
def test_norms_are_those_of_programs(
    shape: tuple[int, ...], changes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = np.full(shape, 4)
    known = sens._of_product(universe(table), changes)
    assert known is not None
    assert known.exact
    monkeypatch.setattr(sens, "_of_product", lambda *_: None)
    assert sensitivity(universe(table), changes) == known


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=6, max_size=6), st.sampled_from([(2, 3), (3, 2)]))
def test_changes_are_those_of_the_search(counts: list[int], shape: tuple[int, int]) -> None:
    table = np.array(counts).reshape(shape)
    known = semi._of_products(universe(table))
    found = semi_adjacency(universe(table, named=False))
    if known is not None:
        assert (known.worst_case, known.literal) == (found.worst_case, found.literal)
    elif found.worst_case == 3:  # where the theorem is attained, it is seen
        pytest.fail("a block that attains the bound was not seen")


def test_the_largest_step_does_not_depend_on_the_number_of_levels() -> None:
    assert spread(universe(np.full((7, 9), 3))) == spread(universe(np.full((2, 2), 3))) == 1


def test_many_thousand_rows() -> None:
    rows, columns = 5_000, 4
    cells = np.arange(rows * columns)
    place = np.concatenate([cells // columns, rows + cells % columns])
    matrix = csr_array((np.ones(2 * cells.size, dtype=np.int64), (place, np.tile(cells, 2))))
    large = Universe.of(matrix, matrix @ np.full(cells.size, 3), (frozenset("a"), frozenset("b")))
    assert large.rank == rows + columns - 1
    assert large.total == 3 * cells.size
    block = product_of(large)
    assert block is not None
    assert [feature.count.size for feature in block.features] == [rows, columns]
    assert semi_adjacency(large).worst_case == 3
    assert sensitivity(large, 3) == sens.Sensitivity(6, 6, 1, exact=True)


def test_values_that_no_table_has_are_refused() -> None:
    matrix = small_product((2, 3))
    with pytest.raises(Exception, match="contradict"):
        Universe.of(matrix, np.array([5, 5, 4, 4, 3]))
    with pytest.raises(Exception, match="no table"):
        Universe.of(matrix, np.array([5, 5, 12, -1, -1]))
