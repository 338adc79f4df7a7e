from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.spatial import ConvexHull

from holdfast.errors import GuaranteeError
from holdfast.lattice.arrays import IntArray
from holdfast.universe.enumerate import conforming_tables
from holdfast.universe.sensitivity import sensitivity
from holdfast.universe.space import SensitivitySpace, sensitivity_space
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


def of(*vectors: Vector) -> SensitivitySpace:
    both = np.array([*vectors, *(tuple(-e for e in v) for v in vectors)])
    return SensitivitySpace(np.unique(both, axis=0), np.arange(both.shape[1]))


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
    assert len(space) == len(as_set(space.vectors))
    assert as_set(space.vectors) == from_definition(universe, adjacency)
    norms = sensitivity(universe, adjacency)
    assert (space.l1, space.l2_squared, space.linf) == (norms.l1, norms.l2_squared, norms.linf)


def test_an_open_number_of_records(rows: Design) -> None:
    # two records of weight 1 against one of weight 2 and one of weight 0
    space = sensitivity_space(rows([[1, 2, 0]], [2, 0, 1]), 3, 100)
    assert as_set(space.vectors) == {(2, -1, -1), (-2, 1, 1)}


def test_three_changes_of_a_three_by_three_table_move_six_cells(margins: Design) -> None:
    space = sensitivity_space(margins(LARGE, TWO_WAY), 3, 1_000)
    norms = {(int(np.abs(u).sum()), int((u**2).sum())) for u in space.vectors}
    assert norms == {(4, 4), (6, 6)}
    # 9 pairs of rows and columns and 6 pairs of disjoint permutations that differ in sign, both ways
    assert len(space) == 2 * 9 + 2 * 6
    assert len(sensitivity_space(margins(LARGE, TWO_WAY), 2, 1_000)) == 18


def test_a_table_with_few_records_cannot_move_everywhere(margins: Design) -> None:
    universe = margins([[1, 0, 0], [0, 1, 0], [0, 0, 0]], TWO_WAY)
    assert as_set(sensitivity_space(universe, 3, 100).vectors) == from_definition(universe, 3)
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
    assert as_set(semi.vectors) <= as_set(group.vectors)
    assert all(in_hull(u / adjacency, one.vectors) for u in group.hull_vertices())
    assert semi.l1 <= group.l1 <= adjacency * one.l1


def test_the_hull_of_one_changed_record_has_all_its_vectors_as_vertices(margins: Design) -> None:
    one = sensitivity_space(margins([2, 2, 2, 2], [()]), 1, 100)
    assert as_set(one.hull_vertices()) == as_set(one.vectors)


@pytest.mark.parametrize(("cliques", "adjacency"), [(TWO_WAY, 3), (TWO_WAY, 4)])
def test_vertices_agree_with_quickhull(margins: Design, cliques: object, adjacency: int) -> None:
    space = sensitivity_space(margins(np.full((2, 4), 3), cliques), adjacency, 10**5)
    basis = space.span_basis
    coordinates = np.linalg.lstsq(basis.T.astype(float), space.vectors.T.astype(float), rcond=None)[0].T
    expected = as_set(space.vectors[ConvexHull(coordinates).vertices])
    assert as_set(space.hull_vertices()) == expected


def test_a_vector_between_others_is_no_vertex() -> None:
    square = of((1, 1), (1, -1), (1, 0), (0, 1), (2, 0), (0, 2))
    assert as_set(square.hull_vertices()) == {(2, 0), (-2, 0), (0, 2), (0, -2)}


@pytest.mark.parametrize("cliques", [TWO_WAY, [(0,)], [()], [(0, 1)]])
def test_the_projection_is_exact(margins: Design, cliques: object) -> None:
    universe = margins(np.full((2, 3), 3), cliques)
    space = sensitivity_space(universe, 2, 10**5)
    P = np.array(space.projection(), dtype=object)
    assert all(isinstance(entry, Fraction) for entry in P.ravel())
    assert (P @ P == P).all()
    assert (P.T == P).all()
    assert (P @ space.vectors.T == space.vectors.T).all()
    assert np.trace(P) == len(space.span_basis) == universe.dimension - (universe.rank == 0)


def test_the_image_of_a_query(margins: Design) -> None:
    space = sensitivity_space(margins(LARGE, TWO_WAY), 3, 1_000)
    corner = np.zeros((1, 9), dtype=np.int64)
    corner[0, 0] = 1
    assert as_set(space.image(corner).vectors) == {(1,), (-1,)}
    margin = np.repeat(np.eye(3, dtype=np.int64), 3, axis=1)
    assert len(space.image(margin)) == 0
    assert space.image(margin).l1 == 0
    block = np.array([[1, 1, 0, 1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 0]])
    expected = {tuple(map(int, block @ u)) for u in space.vectors} - {(0, 0)}
    assert as_set(space.image(block).vectors) == expected


def test_orbits(margins: Design) -> None:
    by_sign = sensitivity_space(margins(LARGE, TWO_WAY), 3, 1_000)
    assert len(by_sign.up_to_symmetry()) == 15
    # one of two rows: e_i - e_j, and with both rows fixed also sums of two such
    rows = sensitivity_space(margins(np.full((2, 3), 3), [(0,)]), 1, 1_000)
    assert as_set(rows.up_to_symmetry()) == {(1, 0, -1, 0, 0, 0), (0, 0, 0, 1, 0, -1)}
