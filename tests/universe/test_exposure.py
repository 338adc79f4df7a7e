from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.programs.solver import UNBOUNDED, Program
from holdfast.universe import exposure as module
from holdfast.universe.bounds import upper_bound
from holdfast.universe.exposure import exposure, frechet
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

Design = Callable[..., Universe]
Table = tuple[int, ...]
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


@pytest.fixture
def closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no program be solved: what is found is found at once, whatever the number of cells."""

    def solve(*_: object, **__: object) -> None:
        raise AssertionError("a program is solved")

    monkeypatch.setattr(Program, "solve", solve)


@pytest.mark.usefixtures("closed_form")
def test_large_tables_take_no_program(margins: Design) -> None:
    counts = np.random.default_rng(0).poisson(3, (30, 30))
    universes = [margins(counts, TWO_WAY), margins(np.arange(3_000).reshape(500, 6), [(0,)])]
    first, second = (exposure(universe) for universe in universes)
    total, by_row, by_column = counts.sum(), counts.sum(axis=1)[:, None], counts.sum(axis=0)[None, :]
    np.testing.assert_array_equal(first.low, np.maximum(0, by_row + by_column - total).ravel())
    np.testing.assert_array_equal(first.high, np.minimum(by_row, by_column).ravel())
    assert (second.low == 0).all()


# The same recognition of products, and what records can be made, bound the semi-adjacency.


def from_definition(tables: list[Table]) -> tuple[int, int]:
    """Both readings of the semi-adjacency over all datasets: worst case and literal [theory, 2]."""
    if len(tables) == 1:
        return 0, 0
    costs: dict[tuple[int, int], list[int]] = {}
    for X in tables:
        for x, y in permutations(range(len(X)), 2):
            others = [
                sum(abs(a - (k == x) - b + (k == y)) for k, (a, b) in enumerate(zip(X, Y, strict=True)))
                for Y in tables
                if X[x] and Y[y] and sum(Y) == sum(X)
            ]
            if others:
                costs.setdefault((x, y), []).append(1 + min(others) // 2)
    return max(map(max, costs.values()), default=0), max(map(min, costs.values()), default=0)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([((2, 3), [(0,), (1,)]), ((3, 3), [(0,), (1,)]), ((2, 2, 2), [(0,), (1,), (2,)])]),
    st.lists(st.integers(0, 8), max_size=4),
    st.sets(st.integers(0, 8), max_size=3),
)
def test_structural_zeros_against_the_definition(
    design: tuple[tuple[int, ...], list[tuple[int, ...]]], cells: list[int], zeros: set[int]
) -> None:
    shape, cliques = design
    levels = list(product(*map(range, shape)))
    kept = [cell for cell in range(len(levels)) if cell not in zeros]
    matrix = np.array(
        [
            [int(tuple(levels[cell][a] for a in clique) == value) for cell in kept]
            for clique in cliques
            for value in product(*(range(shape[a]) for a in clique))
        ]
    )
    table = np.zeros(len(kept), dtype=np.int64)
    for cell in cells:
        table[cell % len(kept)] += 1
    values = matrix @ table
    universe = Universe.of(csr_array(matrix), values)
    worst, literal = from_definition(conforming(universe))
    found = semi_adjacency(universe)
    assert (found.worst_case, found.literal, found.exact) == (worst, literal, True)
    bound = upper_bound(universe)
    assert bound is None or bound.value >= worst


def conforming(universe: Universe) -> list[Table]:
    return [tuple(map(int, row)) for row in conforming_tables(universe, 10**4)]


@pytest.mark.parametrize(
    ("cliques", "worst"), [([(0,), (1, 2)], 3), ([(0, 1), (0, 2)], 3), ([(0,), (1,)], 3), ([(0, 1)], 2)]
)
@pytest.mark.usefixtures("closed_form")
def test_products_are_recognised_without_names(margins: Design, cliques: object, worst: int) -> None:
    counts = np.random.default_rng(0).poisson(1, (12, 5, 4))
    found = semi_adjacency(margins(counts, cliques, named=False))
    assert (found.worst_case, found.literal, found.exact) == (worst, 2, True)


def test_a_structural_zero_in_a_table_of_a_hundred_cells(rows: Design) -> None:
    # all that is left of row k and column l may be (k, 0) and (0, l), and (0, 0) cannot be
    levels = np.indices((10, 10)).reshape(2, -1)[:, 1:]
    matrix = np.vstack([level == np.arange(10)[:, None] for level in levels]).astype(int)
    found = semi_adjacency(rows(matrix, np.random.default_rng(1).poisson(3, 99)))
    assert (found.worst_case, found.literal, found.exact) == (4, 2, True)
