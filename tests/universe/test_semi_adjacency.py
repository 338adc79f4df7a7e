from collections.abc import Callable
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.programs.solver import IntegerSolution, Status
from holdfast.system.errors import GuaranteeError
from holdfast.universe import witness
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.space import SETS
from holdfast.universe.universe import Universe

Design = Callable[..., Universe]
Table = tuple[int, ...]

DEMO = [[15, 1, 3, 1], [20, 10, 10, 15], [3, 10, 10, 2], [12, 14, 7, 2]]


def every_table(matrix: IntArray, values: IntArray, most: int) -> list[Table]:
    grid = product(range(most + 1), repeat=matrix.shape[1])
    return [x for x in grid if (matrix @ np.array(x) == values).all()]


def from_definition(tables: list[Table]) -> tuple[int, int]:
    """Both readings over all datasets: person i holds x in X and y in Y of the same size."""
    if len(tables) == 1:
        return 0, 0
    costs: dict[tuple[int, int], list[int]] = {}
    every, one = np.array(tables), np.eye(len(tables[0]), dtype=np.int64)
    for X in every:
        same = every[every.sum(axis=1) == X.sum()]
        for x, y in product(range(len(X)), repeat=2):
            if x == y or X[x] == 0:
                continue
            others = same[same[:, y] > 0]
            if len(others):
                apart = np.abs((X - one[x]) - (others - one[y])).sum(axis=1)
                costs.setdefault((x, y), []).append(1 + int(apart.min()) // 2)
    worst = max((max(cost) for cost in costs.values()), default=0)
    literal = max((min(cost) for cost in costs.values()), default=0)
    return worst, literal


def records(*cells: Table) -> IntArray:
    table = np.zeros((2, 2, 2), dtype=np.int64)
    for cell in cells:
        table[cell] += 1
    return table


ONE_EACH_OF_FOUR = records((1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0))
TWO_EACH_OF_FOUR = records((1, 1, 1), (1, 1, 1), (0, 0, 0), (0, 0, 0))
ONE_EACH_OF_THREE = records((1, 1, 1), (0, 0, 0), (0, 0, 0))


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("table", "cliques", "literal", "worst"),
    [
        ([[1, 1], [1, 0]], [(0,), (1,)], 2, 3),
        ([[1, 1], [1, 1]], [(0,), (1,)], 2, 2),
        ([[3, 0], [1, 1]], [(0,), (1,)], 2, 3),
        (np.eye(3), [(0,), (1,)], 2, 3),
        (DEMO, [(0,), (1,)], 2, 3),
        (ONE_EACH_OF_FOUR, [(0,), (1,), (2,)], 2, 4),
        (TWO_EACH_OF_FOUR, [(0,), (1,), (2,)], 2, 3),
        (ONE_EACH_OF_THREE, [(0,), (1,), (2,)], 2, 3),
        ([[2, 0, 1], [1, 1, 1]], [(0,)], 2, 2),
        ([[0, 0], [1, 2]], [(0,), (1,)], 0, 0),
        ([[0, 0], [0, 0]], [(0,), (1,)], 0, 0),
        ([[1, 0], [1, 2]], [(0, 1)], 0, 0),
        ([[1, 0], [1, 2]], [()], 1, 1),
    ],
)
def test_known_values(
    margins: Design, table: object, cliques: object, literal: int, worst: int, *, named: bool
) -> None:
    found = semi_adjacency(margins(table, cliques, named=named))
    assert (found.literal, found.worst_case, found.exact) == (literal, worst, True)


def test_no_invariants_cost_one_change() -> None:
    def free(cells: int) -> Universe:
        return Universe.of(csr_array((0, cells), dtype=np.int64), np.zeros(0, dtype=np.int64))

    assert semi_adjacency(free(5)).worst_case == 1
    assert semi_adjacency(free(1)).worst_case == 0


def test_the_definition_agrees_with_example_5() -> None:
    matrix = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    assert from_definition(every_table(matrix, np.array([2, 1, 2, 1]), 3)) == (3, 2)


def check(matrix: IntArray, table: IntArray, cliques: tuple[frozenset[str], ...] | None) -> None:
    values = matrix @ table
    universe = Universe.of(csr_array(matrix), values, cliques)
    reachable = [
        min(values[r] // matrix[r, j] for r in range(len(values)) if matrix[r, j]) for j in range(table.size)
    ]
    tables = every_table(matrix, values, max(reachable, default=0))
    worst, literal = from_definition(tables)
    found = semi_adjacency(universe)
    assert found.exact
    assert (found.worst_case, found.literal) == (worst, literal)


weighted = st.tuples(st.integers(1, 3), st.integers(2, 5)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.sampled_from([0, 0, 1, 1, 2])),
        arrays(np.int64, shape[1], elements=st.integers(0, 2)),
    )
)


@settings(max_examples=60, deadline=None)
@given(weighted, st.booleans())
def test_any_rows_against_the_definition(design: tuple[IntArray, IntArray], with_total: bool) -> None:
    matrix, table = design
    if with_total or not matrix.any(axis=0).all():
        matrix = np.vstack([matrix, np.ones(table.size, dtype=np.int64)])
    while table.sum() > 5:  # keep the enumeration small
        table[np.argmax(table)] -= 1
    check(matrix, table, None)


CLIQUES = [[(0,), (1,), (2,)], [(0, 1), (1, 2)], [(0, 1), (2,)], [(0, 1), (1, 2), (0, 2)]]


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(CLIQUES), st.lists(st.integers(0, 7), max_size=4), st.booleans())
def test_margins_against_the_definition(
    cliques: list[tuple[int, ...]], cells: list[int], named: bool
) -> None:
    levels = list(product(range(2), repeat=3))
    matrix = np.array(
        [
            [int(tuple(record[a] for a in clique) == value) for record in levels]
            for clique in cliques
            for value in product(range(2), repeat=len(clique))
        ]
    )
    table = np.bincount(np.array(cells, dtype=np.int64), minlength=8)
    names = tuple(frozenset("abc"[a] for a in clique) for clique in cliques)
    check(matrix, table, names if named else None)


@pytest.mark.parametrize(
    ("matrix", "table", "worst"),
    [
        ([[1, 1, 0]], [1, 1, 5], 2),  # cells outside the invariant: exchange with one inside
        ([[1, 1, 0, 0]], [0, 0, 5, 5], 1),  # no record inside
        ([[1, 0]], [3, 0], 2),
        ([[1, 2, 0]], [2, 0, 1], 3),  # n records: 1 + 1 become 2 + free, or 2 + 0 becomes 1 + 1
    ],
)
def test_an_open_number_of_records(
    rows: Design, matrix: list[list[int]], table: list[int], worst: int
) -> None:
    dense, values = np.array(matrix), np.array(matrix) @ np.array(table)
    tables = every_table(dense, values, 5)
    truth = from_definition([x for x in tables if sum(x) <= 5])
    found = semi_adjacency(rows(matrix, table))
    assert found.exact
    assert found.worst_case == worst
    assert (found.worst_case, found.literal) == truth


def test_beyond_the_work_limit_a_bound_is_returned(margins: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness, "WORK", 0)
    found = semi_adjacency(margins(TWO_EACH_OF_FOUR, [(0,), (1,), (2,)]))
    assert (found.worst_case, found.exact) == (4, False)
    assert found.literal <= found.worst_case


def test_beyond_the_work_limit_without_a_bound_nothing_is_claimed(
    rows: Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witness, "WORK", 0)
    with pytest.raises(GuaranteeError, match="total number of records"):
        semi_adjacency(rows([[1, 2, 1, 0], [0, 1, 2, 0]], [1, 1, 1, 1]))


def test_no_pair_is_asked_about_once_one_is_open_and_none_can_attain_the_bound(
    margins: Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = np.random.default_rng(0).integers(0, 4, (3, 3, 3))
    universe = margins(counts, [(0, 1), (0, 2), (1, 2)])
    answers: list[Status] = []
    asking = witness.Witnesses.expensive

    def counted(self: witness.Witnesses, x: int, y: int, level: int) -> IntegerSolution:
        found = asking(self, x, y, level)
        answers.append(found.status)
        return found

    monkeypatch.setattr(witness.Witnesses, "expensive", counted)
    found = semi_adjacency(universe)
    assert not found.exact
    assert found.worst_case > witness.Witnesses(universe).reach
    assert answers.index(Status.UNKNOWN) == len(answers) - 1


@pytest.mark.parametrize(("cells", "reach"), [(16, 10), (27, 7), (2, 16)])
def test_reach_is_the_last_level_that_is_answered(cells: int, reach: int) -> None:
    universe = Universe.of(csr_array(np.ones((1, cells), dtype=np.int64)), np.array([3]))
    search = witness.Search(universe, csr_array(np.eye(cells, dtype=np.int64)), witness.WORK, None)
    found = search._countable(SETS)
    assert min(witness.LEVELS, found + 2) == reach
    assert found == witness.LEVELS or comb(cells + found, found + 1) > SETS
    assert comb(cells + found - 1, found) <= SETS
