from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import GuaranteeError
from holdfast.universe import space as space_module
from holdfast.universe.sensitivity import sensitivity
from holdfast.universe.space import sensitivity_space
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

Design = Callable[..., Universe]
Vector = tuple[int, ...]
TWO_WAY = [(0,), (1,)]
LARGE = np.full((3, 3), 4)


def from_definition(universe: Universe, adjacency: int) -> set[Vector]:
    """Every difference of two enumerated tables."""
    tables = conforming_tables(universe, 2_000)
    u = (tables[:, None] - tables[None]).reshape(-1, universe.cells)
    u = u[(u.sum(axis=1) == 0) & (np.abs(u).sum(axis=1) <= 2 * adjacency) & u.any(axis=1)]
    return as_set(u)


def as_set(vectors: IntArray) -> set[Vector]:
    return {tuple(map(int, row)) for row in vectors}


def in_hull(point: np.ndarray, vectors: IntArray) -> bool:
    solved = linprog(
        np.zeros(len(vectors)),
        A_eq=np.vstack([vectors.T, np.ones((1, len(vectors)))]),
        b_eq=np.append(point, 1),
        method="highs",
    )
    return solved.status == 0


designs = st.tuples(st.integers(1, 3), st.integers(2, 5)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.sampled_from([-1, 0, 0, 1, 1, 2])),
        arrays(np.int64, shape[1], elements=st.integers(0, 2)),
    )
)


@settings(max_examples=60, deadline=None)
@given(designs, st.integers(0, 4))
def test_any_rows_against_the_definition(design: tuple[IntArray, IntArray], adjacency: int) -> None:
    matrix, table = design
    while table.sum() > 5:  # keep the enumeration small
        table[np.argmax(table)] -= 1
    matrix = np.vstack([matrix, np.ones(table.size, dtype=np.int64)])
    universe = Universe.of(csr_array(matrix), matrix @ table)
    space = sensitivity_space(universe, adjacency, 10**5)
    assert len(space) == len(as_set(space))
    assert as_set(space) == from_definition(universe, adjacency)
    norms, sizes = sensitivity(universe, adjacency), np.abs(space)
    assert norms.l1 == sizes.sum(axis=1).max(initial=0)
    assert norms.l2_squared == (sizes**2).sum(axis=1).max(initial=0)
    assert norms.linf == sizes.max(initial=0)


def test_an_open_number_of_records(rows: Design) -> None:
    # two records of weight 1 against one of weight 2 and one of weight 0
    space = sensitivity_space(rows([[1, 2, 0]], [2, 0, 1]), 3, 100)
    assert as_set(space) == {(2, -1, -1), (-2, 1, 1)}


def test_three_changes_of_a_three_by_three_table_move_six_cells(margins: Design) -> None:
    space = sensitivity_space(margins(LARGE, TWO_WAY), 3, 1_000)
    norms = {(int(np.abs(u).sum()), int((u**2).sum())) for u in space}
    assert norms == {(4, 4), (6, 6)}
    # 9 pairs of rows and columns and 6 pairs of disjoint permutations that differ in sign, both ways
    assert len(space) == 2 * 9 + 2 * 6
    assert len(sensitivity_space(margins(LARGE, TWO_WAY), 2, 1_000)) == 18


def test_a_table_with_few_records_cannot_move_everywhere(margins: Design) -> None:
    universe = margins([[1, 0, 0], [0, 1, 0], [0, 0, 0]], TWO_WAY)
    assert as_set(sensitivity_space(universe, 3, 100)) == from_definition(universe, 3)
    assert len(sensitivity_space(universe, 3, 100)) == 2


def test_too_many_vectors_are_refused(margins: Design) -> None:
    universe = margins(LARGE, TWO_WAY)
    assert len(sensitivity_space(universe, 3, 30)) == 30
    with pytest.raises(GuaranteeError, match="more than 29 vectors"):
        sensitivity_space(universe, 3, 29)
    with pytest.raises(GuaranteeError, match="out of reach"):
        sensitivity_space(margins(np.ones((20, 20)), TWO_WAY), 3, 10)


@pytest.mark.parametrize(
    ("table", "cliques", "adjacency"),
    [
        (np.full((2, 3), 3), TWO_WAY, 3),
        (np.full((3, 3), 3), TWO_WAY, 2),
        (np.full((2, 2), 2), [(0,)], 2),
        (np.full((2, 2, 2), 1), [(0, 1), (1, 2)], 2),
        ([[3, 0], [1, 1]], TWO_WAY, 3),
    ],
)
def test_proposition_24(margins: Design, table: object, cliques: object, adjacency: int) -> None:
    semi = sensitivity_space(margins(table, cliques), adjacency, 10**5)
    group = sensitivity_space(margins(table, [()]), adjacency, 10**5)
    one = sensitivity_space(margins(table, [()]), 1, 10**5)
    assert as_set(semi) <= as_set(group)
    half = group[len(group) // 2 :]  # the others are their negatives
    assert all(in_hull(u / adjacency, one) for u in half)


def test_what_is_asked_of_the_solver_is_counted(margins: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    """Margins of 1 leave no table with a record in each cell, so that sums have to be asked about."""
    tight = margins(np.eye(3), TWO_WAY)
    monkeypatch.setattr(space_module, "MOST_ASKED", 2)
    with pytest.raises(GuaranteeError, match="more than 2 questions"):
        sensitivity_space(tight, 3)


def test_a_table_with_room_in_every_cell_answers_for_all(
    margins: Design, monkeypatch: pytest.MonkeyPatch
) -> None:
    roomy = margins(np.full((3, 3), 3), TWO_WAY)
    expected = as_set(sensitivity_space(roomy, 3))
    monkeypatch.setattr(space_module, "MOST_ASKED", 0)
    assert as_set(sensitivity_space(roomy, 3)) == expected
    assert len(expected) == 30


def test_the_entries_that_are_listed_are_counted(margins: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    universe = margins(np.ones((3, 3)), TWO_WAY)
    vectors = sensitivity_space(universe, 3)
    monkeypatch.setattr(space_module, "MOST_ENTRIES", vectors.size)
    assert np.array_equal(sensitivity_space(universe, 3), vectors)
    monkeypatch.setattr(space_module, "MOST_ENTRIES", vectors.size - 1)
    with pytest.raises(GuaranteeError, match="entries: use a smaller table"):
        sensitivity_space(universe, 3)
