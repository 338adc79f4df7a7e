"""Least squares under any system: the optimum of another formulation, certified, by both roads."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, vstack
from tests.estimation.hierarchy.independent import least_squares as independent

from holdfast.estimation.hierarchy.run import one_thread
from holdfast.programs.quadratic import squares
from holdfast.programs.quadratic.interior import interior
from holdfast.programs.quadratic.newton import Priced, by_prices
from holdfast.programs.quadratic.program import Quadratic
from holdfast.programs.quadratic.squares import Aims, IntegerSystem, float_bounds, least_squares
from holdfast.programs.solver import UNBOUNDED

Table = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Problem:
    aims: Aims
    system: IntegerSystem


def problem(seed: int, *, weighted: float, ranges: bool, signed: bool = False) -> Problem:
    """Return a random problem with some whole counts that keep the system."""
    generator = np.random.default_rng(seed)
    cells = int(generator.integers(2, 25))
    table = generator.poisson(generator.choice([0.3, 3, 30]), cells)

    def some(count: int) -> csr_array:
        entries = generator.choice([1, 1, 2, -1] if signed else [1, 1, 2], (count, cells))
        return csr_array(entries * (generator.random((count, cells)) < generator.choice([0.2, 0.5])))

    asked, kept, wide = (
        some(int(generator.integers(1, 6))),
        some(int(generator.integers(0, 4))),
        some(3 * ranges),
    )
    sums = wide @ table
    least = np.where(
        generator.random(sums.size) < 0.3, -UNBOUNDED, sums - generator.integers(0, 4, sums.size)
    )
    most = np.where(generator.random(sums.size) < 0.3, UNBOUNDED, sums + generator.integers(0, 4, sums.size))
    low, high = np.zeros(cells, dtype=np.int64), np.full(cells, UNBOUNDED)
    if generator.random() < 0.4:
        low, high = (
            np.maximum(table - generator.integers(0, 3, cells), 0),
            table + generator.integers(0, 3, cells),
        )
    return Problem(
        Aims(
            np.rint(generator.normal(table, 5)),
            np.where(generator.random(cells) < weighted, float(generator.choice([0.1, 1, 10])), 0.0),
            asked,
            asked @ table + np.rint(generator.normal(0, 5, asked.shape[0])),
            np.full(asked.shape[0], float(generator.choice([0.1, 1, 10]))),
        ),
        IntegerSystem(
            csr_array(vstack([kept, wide], format="csr")),
            np.concatenate([kept @ table, least]),
            np.concatenate([kept @ table, most]),
            low,
            high,
        ),
    )


def best(each: Problem) -> float:
    """Return the optimum by another formulation."""
    aims, system = each.aims, each.system
    some = aims.weights > 0
    detailed = csr_array(eye_array(some.size, format="csr")[np.flatnonzero(some)])
    return independent(
        csr_array(vstack([detailed, aims.rows])),
        np.concatenate([aims.targets[some], aims.values]),
        np.concatenate([aims.weights[some], aims.row_weights]),
        system.rows,
        float_bounds(system.least),
        float_bounds(system.most),
        float_bounds(system.low),
        float_bounds(system.high),
    )


@pytest.mark.parametrize("ranges", [False, True])
@pytest.mark.parametrize("weighted", [1.0, 0.5, 0.0])
def test_the_optimum_is_that_of_another_formulation(weighted: float, ranges: bool) -> None:
    for seed in range(15):
        each = problem(100 * seed + int(10 * weighted), weighted=weighted, ranges=ranges)
        found, optimum = least_squares(each.aims, each.system), best(each)
        assert found.objective == pytest.approx(optimum, rel=1e-8, abs=1e-8)
        assert found.off <= 1e-9 * (1 + np.abs(found.counts).max())
        assert (found.counts >= each.system.low).all()
        assert (found.counts <= each.system.high).all()
        # where a count is in no row and has no bound there is nothing to tell how far it could go
        assert found.gap <= 1e-6 * max(1.0, optimum) or weighted < 1


def test_rows_with_signs_are_solved_as_well() -> None:
    for seed in range(15):
        each = problem(seed, weighted=1.0, ranges=True, signed=True)
        found, optimum = least_squares(each.aims, each.system), best(each)
        assert found.objective == pytest.approx(optimum, rel=1e-8, abs=1e-8)
        assert found.gap <= 1e-6 * max(1.0, optimum)


def test_a_gap_is_never_too_small() -> None:
    """At any point and prices, good or not, the certificate covers the distance from the optimum."""
    generator = np.random.default_rng(5)
    worse = 0
    for seed in range(30):
        each = problem(seed, weighted=1.0, ranges=False)
        aims, system = each.aims, each.system
        rows = csr_array(vstack([aims.rows, system.rows], format="csr"))
        program = Quadratic(
            aims.targets,
            aims.weights,
            float_bounds(system.low),
            float_bounds(system.high),
            rows,
            np.concatenate([aims.values, float_bounds(system.least)]),
            np.concatenate([1 / aims.row_weights, np.zeros(system.least.size)]),
        )
        point = least_squares(aims, system).counts
        near = point + generator.normal(0, 1, point.size) @ _kernel(system.rows)
        near = point + 0.9 * _room(point, near - point, program) * (near - point)
        prices = by_prices(program).prices + generator.normal(0, 0.1, rows.shape[0])
        above = aims.objective(near) - best(each)
        assert 2 * program.gap(near, prices, program.low, program.high) >= above - 1e-6 * (1 + abs(above))
        worse += int(above > 0.01)
    assert worse > 5


def _room(point: NDArray[np.float64], move: NDArray[np.float64], program: Quadratic) -> float:
    """Return how far a point can move within the bounds, once at most."""
    ends = np.where(move > 0, program.high, program.low) - point
    some = np.abs(move) > 1e-12
    return float(np.clip((ends[some] / move[some]).min(initial=1.0), 0.0, 1.0))


def _kernel(rows: csr_array) -> NDArray[np.float64]:
    """Return the projection onto the directions that keep rows."""
    dense = rows.toarray().astype(np.float64)
    return np.asarray(np.eye(dense.shape[1]) - np.linalg.pinv(dense) @ dense)


def test_both_roads_lead_to_one_point() -> None:
    for seed in range(20):
        each = problem(seed, weighted=1.0, ranges=False)
        system = each.system
        program = Quadratic(
            each.aims.targets,
            each.aims.weights,
            float_bounds(system.low),
            np.maximum(float_bounds(system.high), system.low + 1.0),
            system.rows.astype(np.float64),
            float_bounds(system.least),
            np.zeros(system.least.size),
        )
        priced, (point, _) = by_prices(program), interior(program)
        assert priced.error <= 1e-9
        assert np.abs(priced.point - point).max() <= 1e-6 * (1 + np.abs(point).max())


def test_where_newton_steps_do_not_end_the_other_road_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    each = problem(3, weighted=1.0, ranges=False)

    def lost(program: Quadratic) -> Priced:
        nothing = np.zeros(program.values.size)
        return Priced(nothing, program.targets, program.targets, program.values, 1.0, 0.0)

    monkeypatch.setattr(squares, "by_prices", lost)
    found = least_squares(each.aims, each.system)
    assert found.objective == pytest.approx(best(each), rel=1e-8)
    assert found.gap <= 1e-6 * found.objective


def test_rows_that_leave_no_room_inside() -> None:
    """Three cells add up to 3 and each two of them to at most 2: only together rows say that all are 1."""
    rows = csr_array(np.array([[1, 1, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]]))
    least, most = np.array([3, -UNBOUNDED, -UNBOUNDED, -UNBOUNDED]), np.array([3, 2, 2, 2])
    for weights in (np.ones(3), np.zeros(3)):
        aims = Aims(np.array([9.0, -4, 1]), weights, csr_array((0, 3)), np.zeros(0), np.zeros(0))
        found = least_squares(aims, IntegerSystem(rows, least, most, *_open(3)))
        assert found.counts == pytest.approx([1, 1, 1], abs=1e-6)
        assert found.off < 1e-6


def test_forced_cells_need_no_program() -> None:
    aims = Aims(np.array([7.0, 8, 9]), np.ones(3), csr_array((0, 3)), np.zeros(0), np.zeros(0))
    rows, none = csr_array(np.array([[1, 1, 0], [0, 0, 1]])), np.full(3, UNBOUNDED)
    found = least_squares(
        aims, IntegerSystem(rows, np.array([0, 4]), np.array([0, 4]), np.zeros(3, np.int64), none)
    )
    assert found.counts.tolist() == [0, 0, 4]
    assert (found.gap, found.off) == (0, 0)


def test_what_no_counts_keep_is_off() -> None:
    aims = Aims(np.ones(3), np.ones(3), csr_array((0, 3)), np.zeros(0), np.zeros(0))
    crossing = csr_array(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]]))
    for sums in ([4, 4, 4, 4], [9, 0, 0, 9]):
        values = np.array(sums)
        system = IntegerSystem(crossing, values, values, np.zeros(3, dtype=np.int64), np.full(3, UNBOUNDED))
        assert least_squares(aims, system).off > 0.5


def test_a_count_that_nothing_is_known_of_stays_at_its_target() -> None:
    asked = csr_array(np.array([[1, 1, 0]]))
    aims = Aims(np.array([1.0, 1, 5]), np.zeros(3), asked, np.array([6.0]), np.ones(1))
    none = np.zeros(0, dtype=np.int64)
    system = IntegerSystem(csr_array((0, 3), dtype=np.int64), none, none, *_open(3))
    found = least_squares(aims, system)
    assert found.counts == pytest.approx([3, 3, 5], abs=1e-5)
    assert found.objective == pytest.approx(0, abs=1e-9)


def _open(cells: int) -> tuple[Table, Table]:
    return np.zeros(cells, dtype=np.int64), np.full(cells, UNBOUNDED)


def test_a_large_table_is_certified() -> None:
    """Hundreds of rows over thousands of cells, with and without a detailed query."""
    generator = np.random.default_rng(0)
    cells = 4_000
    labels = [generator.integers(0, 80, cells) for _ in range(4)]
    rows = csr_array(
        vstack(
            [csr_array((np.ones(cells), (label, np.arange(cells))), shape=(80, cells)) for label in labels]
        )
    )
    table = generator.poisson(2, cells)
    kept = csr_array(rows[:80].astype(np.int64))
    sums = np.asarray(kept @ table)
    system = IntegerSystem(kept, sums, sums, *_open(cells))
    for weight in (1.0, 0.0):
        aims = Aims(
            table + generator.normal(0, 3, cells),
            np.full(cells, weight),
            rows,
            rows @ table + generator.normal(0, 3, rows.shape[0]),
            np.ones(rows.shape[0]),
        )
        with one_thread():
            found = least_squares(aims, system)
        assert found.gap <= 1e-6 * found.objective
        assert found.off <= 1e-6
