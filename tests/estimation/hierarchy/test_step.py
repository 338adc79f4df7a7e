"""One step: whole counts with exact sums by every road, and what contradicts where there are none."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, eye_array
from tests.estimation.hierarchy.families import Step
from tests.estimation.hierarchy.independent import optimum

from holdfast.estimation.hierarchy import family
from holdfast.estimation.hierarchy.conflict import UnmetError
from holdfast.estimation.hierarchy.level import LevelQuery
from holdfast.programs.quadratic.squares import float_bounds
from holdfast.programs.solver import UNBOUNDED

DETAILED = LevelQuery(csr_array(eye_array(6)), 1.0)
TOTAL = LevelQuery(csr_array(np.ones((1, 6))), 0.5)
ROWS = csr_array(np.kron(np.eye(2, dtype=np.int64), np.ones((1, 3), dtype=np.int64)))
COLUMNS = csr_array(np.kron(np.ones((1, 2), dtype=np.int64), np.eye(3, dtype=np.int64)))
ONE = csr_array(np.ones((1, 6), dtype=np.int64))
STEPS = {
    "simple": Step((DETAILED, TOTAL)),
    "total kept": Step((DETAILED, TOTAL), ONE),
    "marginal": Step((DETAILED, LevelQuery(COLUMNS, 2.0))),
    "disjoint sums kept": Step((DETAILED, TOTAL), ROWS),
    "one sum kept": Step((DETAILED, TOTAL), csr_array(ROWS[:1])),
    "crossing sums kept": Step((DETAILED,), csr_array(np.vstack([ROWS.toarray(), COLUMNS.toarray()]))),
    "no detailed query": Step((LevelQuery(ROWS, 1.0), TOTAL)),
}


@pytest.mark.parametrize("name", STEPS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32), bounded=st.booleans())
def test_sums_bounds_and_invariants_are_exact(name: str, seed: int, bounded: bool) -> None:
    step = STEPS[name]
    generator = np.random.default_rng(seed)
    table = generator.poisson(generator.choice([0.5, 20]), (generator.integers(1, 6), 6))
    answers = [
        table @ query.matrix.toarray().T
        + np.rint(generator.normal(0, 6, (len(table), query.matrix.shape[0])))
        for query in step.queries
    ]
    low, high = np.zeros_like(table), np.full_like(table, UNBOUNDED)
    if bounded:
        low, high = np.maximum(table - 2, 0), table + 2
    values = None if step.invariants is None else table @ step.invariants.toarray().T
    solved = step.solve(answers, table.sum(axis=0), values=values, low=low, high=high)
    assert solved.counts.dtype == np.int64
    assert (solved.counts.sum(axis=0) == table.sum(axis=0)).all()
    assert (solved.counts >= low).all()
    assert (solved.counts <= high).all()
    if step.invariants is not None:
        assert (solved.counts @ step.invariants.toarray().T == values).all()
    again = step.solve(answers, table.sum(axis=0), values=values, low=low, high=high)
    assert again.counts.tolist() == solved.counts.tolist()


@pytest.mark.parametrize("name", STEPS)
def test_what_contradicts_is_told(name: str) -> None:
    step = STEPS[name]
    answers = [np.ones((2, query.matrix.shape[0])) for query in step.queries]
    parent = np.full(6, 2)
    values = (
        None if step.invariants is None else np.ones((2, 6), dtype=np.int64) @ step.invariants.toarray().T
    )
    low = np.zeros((2, 6), dtype=np.int64)
    low[:, 4] = 2
    with pytest.raises(UnmetError, match=r"^no counts of the children keep .*\.$") as caught:
        step.solve(answers, parent, values=values, low=low)
    assert {(each.kind, each.child, each.place) for each in caught.value.conflict} == {
        ("least", 0, 4),
        ("least", 1, 4),
        ("parent", -1, 4),
    }


def test_weights_far_apart_are_certified_by_one_road_or_the_other() -> None:
    step = Step((LevelQuery(csr_array(eye_array(17)), 1.0), LevelQuery(csr_array(np.ones((1, 17))), 1e4)))
    for seed in (76, 494, 764):
        generator = np.random.default_rng(seed)
        table = generator.poisson(1.0, (17, 17))
        detailed = table - 1000 + generator.normal(0, 300, table.shape)
        measured = table.sum(axis=1) + generator.normal(0, 50, 17)
        found = step.solve([detailed, measured[:, None]], table.sum(axis=0)).estimate
        assert found.gap <= 1e-7 * found.objective
        assert found.off <= 1e-6


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), name=st.sampled_from(sorted(STEPS)))
def test_ranges_are_exact_and_the_best_by_another_solver(seed: int, name: str) -> None:
    generator = np.random.default_rng(seed)
    step = replace(STEPS[name], ranges=csr_array(generator.integers(0, 2, (2, 6))))
    assert step.ranges is not None
    table = generator.poisson(generator.choice([0.5, 20]), (generator.integers(1, 4), 6))
    sums = table @ step.ranges.toarray().T
    least, most = np.maximum(sums - 1, 0), np.where(generator.random(sums.shape) < 0.3, UNBOUNDED, sums + 1)
    answers = [
        table @ query.matrix.toarray().T
        + np.rint(generator.normal(0, 6, (len(table), query.matrix.shape[0])))
        for query in step.queries
    ]
    values = None if step.invariants is None else table @ step.invariants.toarray().T
    solved = step.solve(answers, table.sum(axis=0), values=values, least=least, most=most)
    found = solved.counts @ step.ranges.toarray().T
    assert (solved.counts >= 0).all()
    assert (solved.counts.sum(axis=0) == table.sum(axis=0)).all()
    assert (found >= least).all()
    assert (found <= most).all()
    best = optimum(
        list(zip(step.queries, answers, strict=True)),
        table.sum(axis=0),
        invariants=step.invariants,
        values=values,
        ranges=step.ranges,
        least=float_bounds(least),
        most=float_bounds(most),
    )
    assert solved.estimate.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


def test_ranges_that_contradict_are_told() -> None:
    step = Step((DETAILED,), ranges=ROWS)
    with pytest.raises(UnmetError) as caught:
        step.solve([np.ones((2, 6))], np.full(6, 2), least=np.array([[0, 0], [7, 0]]))
    assert {each.kind for each in caught.value.conflict} == {"parent", "range least"}


def test_without_queries_a_parent_is_spread() -> None:
    solved = Step((), ONE).solve([], np.array([6, 0, 3, 0, 0, 0]), values=np.array([[6], [3]]))
    assert solved.counts.tolist() == [[4, 0, 2, 0, 0, 0], [2, 0, 1, 0, 0, 0]]


def test_a_subtree_of_one_level_has_the_same_point(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    table = generator.poisson(3, (4, 6))
    for each in (STEPS["marginal"], STEPS["crossing sums kept"]):
        answers = [
            table @ query.matrix.toarray().T + generator.normal(0, 3, (4, query.matrix.shape[0]))
            for query in each.queries
        ]
        values = None if each.invariants is None else table @ each.invariants.toarray().T
        found = each.solve(answers, table.sum(axis=0), values=values)
        with monkeypatch.context() as patch:
            patch.setattr(family, "OFF", -1.0)
            other = each.solve(answers, table.sum(axis=0), values=values)
        assert other.estimate.counts == pytest.approx(found.estimate.counts, abs=1e-6)
        assert (other.counts.sum(axis=0) == table.sum(axis=0)).all()
