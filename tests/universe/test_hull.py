"""The norm of the hull against its definition, solved by another program on small cases."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

from holdfast.lattice.points import lattice_points
from holdfast.programs import decompose
from holdfast.programs.decompose import Decompose, Decomposition, OptimalBasis
from holdfast.system.errors import GuaranteeError, SamplingError
from holdfast.testing.goodness import two_way
from holdfast.universe.hull.moves import HullMoves, UnlistedError, basic_moves, sensitivity_moves, span_matrix
from holdfast.universe.hull.norm import HullNorm
from holdfast.universe.space import sensitivity_space
from holdfast.universe.universe import Universe

IntArray = NDArray[np.int64]


def universe(rows: IntArray, table: list[int]) -> Universe:
    return Universe.of(csr_array(rows), rows @ np.array(table))


def binary_features() -> IntArray:
    """Return the level counts of three binary features."""
    cells = np.indices((2, 2, 2)).reshape(3, -1)
    return np.vstack([np.ones((1, 8), dtype=np.int64), cells])


THREE = universe(two_way(3, 3), [2, 1, 1, 0, 2, 1, 1, 1, 2])
UNIVERSES = {
    "3 x 3": THREE,
    "features": universe(binary_features(), [1, 0, 0, 1, 0, 1, 1, 0]),
    "weights": universe(np.array([[1, 2, 1, 0], [1, 1, 1, 1]]), [1, 1, 1, 1]),
}
MOVES: dict[str, HullMoves] = {
    "basic 3 x 3": basic_moves(3, 3),
    "basic 3 x 4": basic_moves(3, 4),
    **{name: sensitivity_moves(on, 3) for name, on in UNIVERSES.items()},
    "crossing": sensitivity_moves(
        universe(np.array([[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]]), [2, 2, 1, 2]), 2
    ),
    "two blocks": sensitivity_moves(universe(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), [2, 1, 1, 2]), 2),
}
NORMS = {name: HullNorm(moves) for name, moves in MOVES.items()}


def by_definition(moves: HullMoves, point: IntArray) -> float:
    columns = moves.vectors.toarray().T
    both = np.hstack([columns, -columns])
    fun = linprog(np.ones(both.shape[1]), A_eq=both, b_eq=point, method="highs-ipm").fun
    assert fun is not None
    return fun


def points_of(moves: HullMoves, size: int, seed: int = 0) -> IntArray:
    weights = np.random.default_rng(seed).integers(-4, 5, (size, moves.basis.shape[0]))
    return np.asarray(weights @ moves.basis)


def signed(vectors: IntArray) -> set[tuple[int, ...]]:
    return {tuple(row) for row in np.vstack([vectors, -vectors]).tolist()}


@pytest.mark.parametrize("adjacency", [2, 3])
@pytest.mark.parametrize(
    "table",
    [
        [[2, 1, 1], [0, 2, 1], [1, 1, 2]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[1, 2, 0], [2, 0, 1]],
        [[1, 0, 0, 1], [0, 0, 0, 0], [1, 0, 2, 0], [0, 0, 1, 0]],  # a row and a column without records
    ],
)
def test_the_cycles_of_a_table_are_its_sensitivity_space(table: list[list[int]], adjacency: int) -> None:
    counts = np.array(table)
    rows = two_way(*counts.shape)
    order = np.random.default_rng(1).permutation(counts.size)  # the order of the cells does not matter
    on = universe(rows[:, order], counts.ravel()[order].tolist())
    moves = sensitivity_moves(on, adjacency)
    assert moves.table is not None
    assert not moves.searched
    found = moves.vectors.toarray()
    assert len(signed(found)) == 2 * len(moves)
    assert signed(found) == signed(sensitivity_space(on, adjacency))


@pytest.mark.parametrize("name", MOVES)
def test_the_basis_spans_every_move(name: str) -> None:
    basis, vectors = MOVES[name].basis, MOVES[name].vectors.toarray()
    assert np.linalg.matrix_rank(basis) == basis.shape[0] == np.linalg.matrix_rank(vectors)


def test_basic_moves_are_too_few_for_three_records() -> None:
    three, two = sensitivity_moves(THREE, 3), sensitivity_moves(THREE, 2)
    assert (len(two), len(three), two.l1, three.l1) == (9, 15, 4, 6)
    assert signed(basic_moves(3, 3).vectors.toarray()) == signed(two.vectors.toarray())
    assert basic_moves(3, 3).adjacency == 2
    six = [move for move in three.vectors.toarray() if np.abs(move).sum() == 6]
    assert all(HullNorm(basic_moves(3, 3)).exact(move) > 1 for move in six)


@pytest.mark.parametrize("name", MOVES)
def test_the_norm_is_its_definition(name: str) -> None:
    norm, points = NORMS[name], points_of(MOVES[name], 25)
    low, high = norm.bounds(points)
    for point, least, most in zip(points, low, high, strict=True):
        exact = norm.exact(point)
        assert float(exact) == pytest.approx(by_definition(MOVES[name], point), abs=1e-6)
        assert least <= exact <= most
    assert (high - low <= 1e-7 * (1 + high)).all()
    assert np.allclose(norm(points), low)


def test_every_small_3_x_3_table() -> None:
    points = lattice_points(two_way(3, 3), 1)
    for name in ("basic 3 x 3", "3 x 3"):
        low, high = NORMS[name].bounds(points)
        true = [by_definition(MOVES[name], point) for point in points]
        assert np.allclose(low, true, atol=1e-6)
        assert np.allclose(high, true, atol=1e-6)


@pytest.mark.parametrize("name", ["3 x 3", "features", "weights"])
def test_the_norm_of_a_move_is_1_at_vertices_and_at_most_1_elsewhere(name: str) -> None:
    space = sensitivity_space(UNIVERSES[name], 3)
    assert max(NORMS[name].exact(move) for move in space) == 1
    # u is a vertex where it is farther in its own direction than all others
    products = space @ space.T
    vertices = space[(products < np.diag(products)[:, None]).sum(axis=1) == len(space) - 1]
    assert len(vertices)
    assert {NORMS[name].exact(vertex) for vertex in vertices} == {1}


coefficients = st.lists(st.integers(-6, 6), min_size=4, max_size=4)


@settings(deadline=None, max_examples=40)
@given(coefficients, coefficients, st.integers(-5, 5))
def test_it_is_a_norm(one: list[int], other: list[int], factor: int) -> None:
    norm, basis = NORMS["3 x 3"], MOVES["3 x 3"].basis
    x, y = np.array(one) @ basis, np.array(other) @ basis
    assert norm.exact(factor * x) == abs(factor) * norm.exact(x)
    assert norm.exact(x + y) <= norm.exact(x) + norm.exact(y)
    assert (norm.exact(x) == 0) == (not x.any())
    assert norm.exact(x) >= Fraction(int(np.abs(x).sum()), norm.l1)


@pytest.mark.parametrize(
    "moves",
    [
        basic_moves(2, 5),
        basic_moves(4, 2),
        sensitivity_moves(universe(two_way(2, 4), [1, 2, 0, 1, 1, 0, 3, 1]), 3),
        sensitivity_moves(universe(np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]]), [1, 1, 0, 2, 1]), 1),
    ],
)
def test_closed_forms_are_what_the_program_finds(moves: HullMoves) -> None:
    assert moves.additive
    points = points_of(moves, 20)
    slow = HullNorm(replace(moves, additive=False))
    for point in points:
        assert (
            slow.exact(point) == HullNorm(moves).exact(point) == Fraction(int(np.abs(point).sum()), moves.l1)
        )
    assert np.allclose(slow(points), HullNorm(moves)(points))


@pytest.mark.parametrize("name", ["3 x 3", "basic 3 x 4", "features"])
def test_moves_taken_in_as_needed_give_the_same_norm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompose, "ALL", 0)
    monkeypatch.setattr(decompose, "MORE", 1)
    monkeypatch.setattr(decompose, "KEPT", 2)
    points = points_of(MOVES[name], 20)
    lazy = HullNorm(MOVES[name])
    assert [lazy.exact(point) for point in points] == [NORMS[name].exact(point) for point in points]
    assert np.allclose(lazy(points), NORMS[name](points))


def test_a_bad_suggestion_widens_the_bounds_and_never_breaks_them(monkeypatch: pytest.MonkeyPatch) -> None:
    points = points_of(MOVES["3 x 3"], 60)
    exact = [NORMS["3 x 3"].exact(point) for point in points]
    generator, solve = np.random.default_rng(0), Decompose.solve

    def disturbed(self: Decompose, point: NDArray[np.float64]) -> Decomposition:
        found = solve(self, point)
        return Decomposition(
            found.moves,
            found.coefficients * generator.uniform(0.9, 1.1, found.coefficients.size),
            found.direction + generator.normal(0, 0.05, found.direction.size),
        )

    monkeypatch.setattr(Decompose, "solve", disturbed)
    low, high = HullNorm(MOVES["3 x 3"]).bounds(points)
    inside = np.array(exact, dtype=object)
    assert ((low <= inside) & (inside <= high)).all()
    assert (low < high)[points.any(axis=1)].all()


def test_a_basis_that_is_not_optimal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = MOVES["3 x 3"]
    signs = np.array([1, -1, -1, 1])
    basis = OptimalBasis(moves.independent, signs, np.zeros(0, dtype=np.int64))
    monkeypatch.setattr(Decompose, "basis", lambda self: basis)
    norm = HullNorm(moves)
    with pytest.raises(SamplingError, match="decided exactly"):
        norm.exact(-signs @ moves.basis)  # negative weights
    with pytest.raises(SamplingError, match="decided exactly"):
        norm.exact(signs @ moves.basis)  # feasible, but a lighter decomposition exists


def test_points_off_the_span_have_no_norm() -> None:
    assert NORMS["3 x 3"](np.eye(9, dtype=np.int64)[:2]).tolist() == [np.inf, np.inf]


def test_points_far_out_are_refused() -> None:
    norm = NORMS["3 x 3"]
    far = (1 << 27) * MOVES["3 x 3"].basis[:1]
    assert norm.exact(far[0]) == (1 << 27) * norm.exact(MOVES["3 x 3"].basis[0])
    low, high = norm.bounds(far)
    assert low[0] <= norm.exact(far[0]) <= high[0]
    with pytest.raises(SamplingError, match="larger epsilon"):
        norm.bounds(4 * far)


def test_rows_and_columns_may_change_places() -> None:
    norm, point = NORMS["3 x 3"], points_of(MOVES["3 x 3"], 1, seed=3)[0].reshape(3, 3)
    values = {norm.exact(point[list(order)].ravel()) for order in permutations(range(3))}
    assert values == {norm.exact(point.T.ravel())}


def test_cells_that_must_be_0_get_no_noise() -> None:
    table = [1, 2, 0, 2, 1, 0, 0, 0, 0]  # neither row 3 nor column 3 has records
    on = universe(two_way(3, 3), table)
    matrix = span_matrix(on, sensitivity_moves(on, 3))
    points = lattice_points(matrix.toarray(), 1)
    assert sorted(points.tolist()) == [[c, -c, 0, -c, c, 0, 0, 0, 0] for c in (-1, 0, 1)]
    full = span_matrix(THREE, MOVES["3 x 3"])
    assert np.array_equal(full.toarray(), THREE.matrix.toarray())


def test_cells_that_are_fixed_above_0_get_no_noise() -> None:
    # 2 x + y = 1 with x, y >= 0 whole: x = 0 and y = 1, whatever the solver's relaxation says
    on = universe(np.array([[2, 1, 0, 0], [0, 0, 1, 1]]), [0, 1, 1, 1])
    matrix = span_matrix(on, sensitivity_moves(on, 1))
    assert sorted(lattice_points(matrix.toarray(), 1).tolist()) == [[0, 0, c, -c] for c in (-1, 0, 1)]


def test_a_sum_that_is_no_invariant_is_not_published() -> None:
    on = universe(np.array([[1, 1, 0, 0]]), [2, 1, 1, 3])  # the number of records is open
    with pytest.raises(GuaranteeError, match="number of records"):
        span_matrix(on, sensitivity_moves(on, 1))


def test_what_cannot_be_listed_is_refused() -> None:
    on = universe(np.ones((1, 500), dtype=np.int64), [1] * 500)
    with pytest.raises(UnlistedError, match="for 500 cells: use coarser attributes"):
        sensitivity_moves(on, 2)
    one = universe(two_way(2, 2), [3, 0, 0, 0])
    with pytest.raises(GuaranteeError, match="nothing is left"):
        sensitivity_moves(one, 2)
