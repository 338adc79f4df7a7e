import os

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.programs import solver as module
from holdfast.programs.solver import UNBOUNDED, Program, Status


def knapsack() -> Program:
    """3 v + 5 w = 19 in integers: (3, 2) only."""
    return Program(csr_array(np.array([[3, 5]])), np.array([19]), np.array([19]), most=np.full(2, UNBOUNDED))


def test_integers_are_found_where_the_relaxation_has_none() -> None:
    outcome = knapsack().solve(maximise=np.array([1, 0]))
    assert outcome.status is Status.SOLVED
    assert outcome.point is not None
    assert outcome.point.tolist() == [3, 2]


def test_bounds_hold_for_one_call_only() -> None:
    program = knapsack()
    assert program.solve(least={0: 4}).status is Status.INFEASIBLE
    assert program.solve(most={1: 1}).status is Status.INFEASIBLE
    assert program.solve().status is Status.SOLVED


def test_an_objective_without_end_is_not_called_infeasible() -> None:
    program = Program(
        csr_array(np.array([[1, -1]])), np.array([0]), np.array([0]), most=np.full(2, UNBOUNDED)
    )
    assert program.solve(maximise=np.array([1, 1])).status is Status.UNKNOWN


def test_inequalities_and_optimality() -> None:
    program = Program(
        csr_array(np.array([[2, 3], [1, -1]])),
        np.array([-UNBOUNDED, -1]),
        np.array([12, UNBOUNDED]),
        most=np.full(2, UNBOUNDED),
    )
    best = max(3 * v + 5 * w for v in range(7) for w in range(5) if 2 * v + 3 * w <= 12 and v >= w - 1)
    outcome = program.solve(maximise=np.array([3, 5]))
    assert outcome.point is not None
    assert 3 * outcome.point[0] + 5 * outcome.point[1] == best


def test_no_variables() -> None:
    empty = csr_array((1, 0), dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    assert Program(empty, np.array([0]), np.array([0]), most=none).solve().status is Status.SOLVED
    failed = Program(empty, np.array([1]), np.array([1]), most=none).solve()
    assert failed.status is Status.INFEASIBLE


def test_a_solver_that_stops_early_never_says_infeasible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NODES", 0)
    rng = np.random.default_rng(1)
    row = rng.integers(10**5, 10**6, size=(1, 20))
    value = row[0] @ rng.integers(0, 2, size=20) + 1
    hard = Program(csr_array(row), np.array([value]), np.array([value]), most=np.full(20, 1))
    assert hard.solve().status in (Status.UNKNOWN, Status.SOLVED)


def test_a_forked_process_can_solve() -> None:
    knapsack().solve()
    child = os.fork()
    if child == 0:
        os._exit(0 if knapsack().solve().status is Status.SOLVED else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
