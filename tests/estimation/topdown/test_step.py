"""One step: whole counts with exact sums by every road, and what contradicts where there are none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, eye_array

from holdfast.estimation.topdown.conflict import UnmetError
from holdfast.estimation.topdown.general import Query
from holdfast.estimation.topdown.step import Step
from holdfast.programs.solver import UNBOUNDED

DETAILED = Query(csr_array(eye_array(6)), 1.0)
TOTAL = Query(csr_array(np.ones((1, 6))), 0.5)
ROWS = csr_array(np.kron(np.eye(2, dtype=np.int64), np.ones((1, 3), dtype=np.int64)))
COLUMNS = csr_array(np.kron(np.ones((1, 2), dtype=np.int64), np.eye(3, dtype=np.int64)))
ONE = csr_array(np.ones((1, 6), dtype=np.int64))
STEPS = {
    "simple": Step((DETAILED, TOTAL)),
    "total kept": Step((DETAILED, TOTAL), ONE),
    "marginal": Step((DETAILED, Query(COLUMNS, 2.0))),
    "disjoint sums kept": Step((DETAILED, TOTAL), ROWS),
    "one sum kept": Step((DETAILED, TOTAL), csr_array(ROWS[:1])),
    "crossing sums kept": Step((DETAILED,), csr_array(np.vstack([ROWS.toarray(), COLUMNS.toarray()]))),
    "no detailed query": Step((Query(ROWS, 1.0), TOTAL)),
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
    step = Step((Query(csr_array(eye_array(17)), 1.0), Query(csr_array(np.ones((1, 17))), 1e4)))
    for seed in (76, 494, 764):
        generator = np.random.default_rng(seed)
        table = generator.poisson(1.0, (17, 17))
        detailed = table - 1000 + generator.normal(0, 300, table.shape)
        measured = table.sum(axis=1) + generator.normal(0, 50, 17)
        found = step.solve([detailed, measured[:, None]], table.sum(axis=0)).estimate
        assert found.gap <= 1e-7 * found.objective
        assert found.off <= 1e-6
