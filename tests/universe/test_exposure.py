from collections.abc import Callable
from time import perf_counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.universe import exposure as module
from holdfast.universe.enumerate import conforming_tables
from holdfast.universe.exposure import exposure, frechet
from holdfast.universe.program import UNBOUNDED
from holdfast.universe.universe import Universe

Design = Callable[..., Universe]
TWO_WAY = [(0,), (1,)]


def check(universe: Universe) -> None:
    tables = conforming_tables(universe, 10**5)
    found = exposure(universe)
    assert found.exact.all()
    np.testing.assert_array_equal(found.low, tables.min(axis=0))
    np.testing.assert_array_equal(found.high, tables.max(axis=0))


@pytest.mark.parametrize(
    ("table", "cliques"),
    [
        ([[2, 1], [0, 1]], TWO_WAY),
        ([[0, 0], [1, 2]], TWO_WAY),
        ([[3, 0, 1], [1, 1, 0], [0, 2, 1]], TWO_WAY),
        ([[3, 0, 1], [1, 1, 0]], [(0,)]),
        ([[3, 0, 1], [1, 1, 0]], [(), (0,), (1,)]),
        ([[[1, 0], [2, 1]], [[0, 1], [1, 0]]], [(0,), (1,), (2,)]),
        ([[[1, 0], [2, 1]], [[0, 1], [1, 0]]], [(0, 1), (2,)]),
        ([[[1, 0], [2, 1]], [[0, 1], [1, 0]]], [(0, 1), (1, 2)]),
        ([[[1, 0], [2, 1]], [[0, 1], [1, 0]]], [(0, 1), (1, 2), (0, 2)]),
        ([4, 1, 0], [()]),
        ([4, 1, 0], [(0,)]),
    ],
)
def test_margins_against_enumeration(margins: Design, table: object, cliques: object) -> None:
    check(margins(table, cliques))


designs = st.tuples(st.integers(1, 3), st.integers(2, 5)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.integers(-1, 2)),
        arrays(np.int64, shape[1], elements=st.integers(0, 2)),
    )
)


@settings(max_examples=80, deadline=None)
@given(designs)
def test_any_rows_against_enumeration(design: tuple[IntArray, IntArray]) -> None:
    matrix, table = design
    matrix = np.vstack([matrix, np.ones(table.size, dtype=np.int64)])
    check(Universe.of(csr_array(matrix), matrix @ table))


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.int64, (3, 4), elements=st.integers(0, 2)),
    st.sets(st.integers(0, 11), max_size=5),
)
def test_two_way_tables_with_structural_zeros_against_enumeration(table: IntArray, zeros: set[int]) -> None:
    levels = np.indices((3, 4)).reshape(2, -1)
    matrix = np.vstack([levels[0] == np.arange(3)[:, None], levels[1] == np.arange(4)[:, None]]).astype(int)
    kept = np.array([cell for cell in range(12) if cell not in zeros])
    assume(table.ravel()[kept].sum() <= 9)
    check(Universe.of(csr_array(matrix[:, kept]), matrix[:, kept] @ table.ravel()[kept]))


def test_nested_rows_are_levels_of_one_feature(rows: Design) -> None:
    # a state holds cells 0-3, its first county 0-1; sex is 0, 2, 4 against 1, 3, 5
    design = [[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 1, 0], [1, 1, 1, 1, 1, 1]]
    universe = rows(design, [2, 1, 0, 1, 3, 1])
    assert frechet(universe.patterns.columns, universe.values) is not None
    check(universe)


def test_a_missing_cell_is_not_a_product(rows: Design) -> None:
    universe = rows([[1, 1, 0], [1, 0, 1]], [1, 1, 1])
    assert frechet(universe.patterns.columns, universe.values) is None


def test_an_unbounded_cell_has_no_upper_end(rows: Design) -> None:
    found = exposure(rows([[1, 1, 0, 0, 0], [0, 0, 1, -1, 0]], [1, 1, 1, 0, 1]))
    assert found.exact.all()
    assert found.low.tolist() == [0, 0, 1, 0, 0]
    assert found.high.tolist() == [2, 2, UNBOUNDED, UNBOUNDED, UNBOUNDED]
    assert found.determined.size == 0


def test_beyond_the_work_limit_bounds_contain_the_intervals(
    margins: Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    universe = margins([[[1, 0], [2, 1]], [[0, 1], [1, 0]]], [(0, 1), (1, 2), (0, 2)])
    truth = exposure(universe)
    monkeypatch.setattr(module, "WORK", 0)
    found = exposure(universe)
    assert not found.exact.all()
    assert (found.low <= truth.low).all()
    assert (found.high >= truth.high).all()


def test_large_tables_take_seconds_at_most(margins: Design) -> None:
    counts = np.random.default_rng(0).poisson(3, (30, 30))
    universes = [margins(counts, TWO_WAY), margins(np.arange(3_000).reshape(500, 6), [(0,)])]
    start = perf_counter()
    first, second = (exposure(universe) for universe in universes)
    assert perf_counter() - start < 5
    total, by_row, by_column = counts.sum(), counts.sum(axis=1)[:, None], counts.sum(axis=0)[None, :]
    np.testing.assert_array_equal(first.low, np.maximum(0, by_row + by_column - total).ravel())
    np.testing.assert_array_equal(first.high, np.minimum(by_row, by_column).ravel())
    assert (second.low == 0).all()
