"""Numbers that floats are too coarse for: false answers of the solver are not passed on."""

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import holdfast
from holdfast.lattice.arrays import IntArray
from holdfast.programs.solver import FAR, UNBOUNDED, HighsModel, Program, Sides, Status, suggest

# with columns up to 2^e the solver calls the first three infeasible, and never comes back from the last
CUT_OFF: list[tuple[int, list[list[int]], list[int]]] = [
    (36, [[-1, 3, 3], [-2, -1, 1]], [4, 0, 8]),
    (45, [[-1, -1, 3, 2], [2, 0, -2, 2], [3, -1, -2, 0]], [2, 3, 3, 2]),
    (60, [[3, 2, 3, -1, 2, -1], [-2, 3, 1, 0, 0, -1]], [6, 6, 3, 1, 2, 4]),
    (60, [[1, -2, 2, 1]], [7, 6, 3, 1]),
]
LARGE: list[tuple[list[list[int]], list[int]]] = [
    ([[1, 1, 1, 1], [3, 3, 2, 0], [3, 0, 0, 1], [0, 2, 3, 3]], [55290664697, 56626977582, 37574915164, 5]),
    ([[1, 1, 1, 1], [1, 1, 1, 3], [2, 2, 3, 3], [2, 2, 0, 3]], [935765007, 1013572042, 787247165, 47561506]),
]


def keeps(matrix: IntArray, values: IntArray, point: IntArray | None) -> bool:
    return point is not None and bool((matrix @ point == values).all() and (point >= 0).all())


@pytest.mark.parametrize(("bits", "rows", "table"), CUT_OFF)
def test_a_bound_that_is_far_away_hides_no_table(bits: int, rows: list[list[int]], table: list[int]) -> None:
    matrix, x = np.array(rows), np.array(table)
    most = np.full(x.size, 2**bits)
    outcome = Program(csr_array(matrix), matrix @ x, matrix @ x, most=most).solve()
    assert outcome.status is Status.SOLVED
    assert keeps(matrix, matrix @ x, outcome.point)


@pytest.mark.parametrize(("rows", "table"), LARGE)
def test_large_counts_are_not_called_impossible(rows: list[list[int]], table: list[int]) -> None:
    matrix, x = np.array(rows), np.array(table)
    most = np.full(x.size, UNBOUNDED)
    outcome = Program(csr_array(matrix), matrix @ x, matrix @ x, most=most).solve()
    assert outcome.status is not Status.INFEASIBLE
    assert outcome.point is None or keeps(matrix, matrix @ x, outcome.point)


def test_a_point_beyond_a_far_bound_does_not_count() -> None:
    far = np.array([4 * FAR])
    program = Program(csr_array(np.array([[1]])), -far, 3 * far, most=far)
    assert program.solve(maximise=np.array([1])).status is Status.UNKNOWN  # the relaxation has no end
    assert program.solve(maximise=np.array([-1])).status is Status.SOLVED
    wide = Program(csr_array(np.array([[1]])), 2 * far, 2 * far, most=far)
    assert wide.solve().status is Status.UNKNOWN  # v = 2 far, which the bound forbids


def test_bounds_as_the_solver_gets_them() -> None:
    low = np.array([0, -UNBOUNDED, -4 * FAR, 9 * FAR, -FAR])
    high = np.array([UNBOUNDED, 5, 4 * FAR, 9 * FAR, FAR])
    sides = Sides.of(low, high)
    assert sides.low.tolist() == [0, -np.inf, -np.inf, 9 * FAR, -FAR]
    assert sides.high.tolist() == [np.inf, 5, np.inf, 9 * FAR, FAR]
    assert not sides.near
    assert Sides.of(low[:3], high[:3]).near


def test_a_vertex_of_least_cost_or_none() -> None:
    plane, at_least = csr_array(np.array([[1.0, 1.0]])), Sides.of(np.array([1.0]), np.array([np.inf]))
    quadrant = Sides.of(np.zeros(2), np.full(2, np.inf))
    found = suggest(np.array([2.0, 1.0]), plane, at_least, quadrant)
    assert found is not None
    assert found.tolist() == pytest.approx([0, 1])
    assert suggest(np.array([-1.0, 0.0]), plane, at_least, quadrant) is None  # no end
    cube, beyond = Sides.of(np.zeros(2), np.ones(2)), Sides.of(np.array([3.0]), np.array([4.0]))
    assert suggest(np.zeros(2), plane, beyond, cube) is None


def test_an_unknown_option_is_refused() -> None:
    one = Sides.of(np.zeros(1), np.ones(1))
    with pytest.raises(ValueError, match="no_such_option"):
        HighsModel(csr_array(np.ones((1, 1))), one, one, no_such_option=1)


def test_one_file_knows_the_solver() -> None:
    package = Path(holdfast.__file__).parent
    knowing = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in imported(node)
        if name.startswith(("highspy", "scipy.optimize"))
    }
    # roots, and the extreme value of a function of one number, are no programs
    assert knowing == {
        "programs/solver.py",
        "testing/losses.py",
        "privacy/roots.py",
        "lab/tails.py",
        "inference/posterior/whole_tables.py",
    }


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{name.name}" for name in node.names]
    return [name.name for name in node.names] if isinstance(node, ast.Import) else []
