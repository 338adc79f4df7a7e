"""Two passes give what one dense problem over all leaves gives."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.estimation.hierarchy.dense import close, dense, over_leaves, problem, tree

from holdfast.estimation.hierarchy.linear import LevelMeasurements, estimate, responses
from holdfast.estimation.hierarchy.variances import covariances, variances
from holdfast.system.errors import DataError

SEEDS = st.integers(0, 10**6)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_estimates_and_covariances_are_those_of_one_dense_problem(seed: int) -> None:
    asked = problem(seed, detailed=True, kinds=1 + seed % 3)
    found, slow = estimate(asked.spine, asked.measured), dense(asked.spine, asked.measured)
    for name in asked.spine.levels.names:
        rows = over_leaves(asked.spine, name, np.eye(slow.cells))
        close(found.at(name).ravel(), slow.estimate(rows))
        each = covariances(found, name)
        assert each.shape == (len(found.at(name)), slow.cells, slow.cells)
        for C, block in zip(each, rows.reshape(-1, slow.cells, rows.shape[1]), strict=True):
            close(C, block @ slow.covariance @ block.T)


@settings(max_examples=100, deadline=None)
@given(seed=SEEDS)
def test_what_is_not_measured_is_open_and_nothing_else(seed: int) -> None:
    asked = problem(seed, detailed=False, kinds=1 + seed % 3)
    found, slow = estimate(asked.spine, asked.measured), dense(asked.spine, asked.measured)
    queries = np.vstack(
        [np.eye(slow.cells), np.ones((1, slow.cells)), *(m.queries.toarray() for m in asked.measured)]
    )
    for name in asked.spine.levels.names:
        each = variances(found, name, queries)
        for place, query in enumerate(queries):
            rows = slow.rows(name, query)
            exact = slow.variance(rows)
            close(each[:, place], exact)
            known = np.isfinite(exact)
            close((found.at(name) @ query)[known], slow.estimate(rows)[known])


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, detailed=st.booleans())
def test_invariants_and_sums_hold(seed: int, detailed: bool) -> None:
    asked = problem(seed, detailed=detailed, kinds=1 + seed % 3)
    found = estimate(asked.spine, asked.measured)
    for name, level in zip(asked.spine.levels.names, asked.measured, strict=True):
        np.testing.assert_allclose(found.at(name) @ level.invariants.toarray().T, level.exact, atol=1e-8)
        assert not variances(found, name, level.invariants.toarray()).any()
    for above, below, parent in zip(found.tables, found.tables[1:], asked.spine.parent, strict=False):
        sums = np.zeros_like(above)
        np.add.at(sums, parent, below)
        np.testing.assert_allclose(sums, above, atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, detailed=st.booleans())
def test_the_responses_to_noise_are_the_estimates_of_noise_alone(seed: int, detailed: bool) -> None:
    asked = problem(seed, detailed=detailed, kinds=1 + seed % 3)
    found = estimate(asked.spine, asked.measured)
    generator = np.random.default_rng(seed)
    noise = [generator.normal(size=(3, *level.values.shape)) for level in asked.measured]
    tables = responses(found, noise)
    for draw in range(3):
        alone = [
            replace(level, values=part[draw], exact=np.zeros_like(level.exact))
            for level, part in zip(asked.measured, noise, strict=True)
        ]
        for table, expected in zip(tables, estimate(asked.spine, alone).tables, strict=True):
            close(table[draw], expected)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_invariants_never_make_a_variance_larger(seed: int) -> None:
    asked = problem(seed, detailed=True, kinds=1 + seed % 3)
    kept, free = estimate(asked.spine, asked.measured), estimate(asked.spine, asked.without_invariants())
    queries = np.random.default_rng(seed).normal(size=(4, asked.leaves.shape[1]))
    for name in asked.spine.levels.names:
        with_them, without = variances(kept, name, queries), variances(free, name, queries)
        assert (with_them <= without * (1 + 1e-9)).all()


def test_without_noise_the_truth_is_found() -> None:
    asked = problem(7, detailed=True)
    exact = [
        LevelMeasurements.of(
            len(level.values),
            level.cells,
            queries=level.queries,
            values=asked.truth(name) @ level.queries.toarray().T,
            variances=level.variances,
            invariants=level.invariants,
            exact=level.exact,
        )
        for name, level in zip(asked.spine.levels.names, asked.measured, strict=True)
    ]
    found = estimate(asked.spine, exact)
    assert len(asked.leaves) > 3
    for name in asked.spine.levels.names:
        np.testing.assert_allclose(found.at(name), asked.truth(name), atol=1e-9)


def test_an_only_child_is_its_parent() -> None:
    spine = tree(np.random.default_rng(0), 2, most=1)
    root = LevelMeasurements.of(
        1, 2, queries=csr_array(np.eye(2)), values=np.array([[3, 4]]), variances=np.array([2.0, 5.0])
    )
    found = estimate(spine, [root, LevelMeasurements.of(1, 2)])
    assert found.at("l1").tolist() == [[3, 4]]
    assert variances(found, "l1", np.eye(2)).tolist() == [[2, 5]]


def test_a_level_that_nobody_measured_is_shared_out_and_open() -> None:
    spine = tree(np.random.default_rng(3), 2, most=3)
    children = len(spine.codes("l1"))
    assert children > 1
    total = csr_array(np.ones((1, 2)))
    root = LevelMeasurements.of(
        1, 2, queries=csr_array(np.eye(2)), values=np.array([[6, 12]]), variances=np.ones(2)
    )
    leaves = LevelMeasurements.of(children, 2, invariants=total, exact=np.full((children, 1), 18 / children))
    found = estimate(spine, [root, leaves])
    np.testing.assert_allclose(found.at("l1").sum(axis=0), found.at("l0")[0])
    each = variances(found, "l1", np.array([[1, 1], [1, 0]]))
    assert each[:, 0].tolist() == [0] * children
    assert np.isinf(each[:, 1]).all()


def test_contradictions_are_named() -> None:
    spine = tree(np.random.default_rng(0), 2, most=3)
    children = len(spine.codes("l1"))
    total = csr_array(np.ones((1, 2)))
    leaves = LevelMeasurements.of(children, 2, invariants=total, exact=np.ones((children, 1)))
    root = LevelMeasurements.of(1, 2, invariants=total, exact=np.array([[children + 1]]))
    with pytest.raises(
        DataError, match=r"^the invariants of l0 '0\.0' contradict each other or those of the lev"
    ):
        estimate(spine, [root, leaves])


def test_names_what_is_wrong() -> None:
    spine = tree(np.random.default_rng(0), 1)
    rows, value, one = csr_array(np.ones((1, 2))), np.ones((1, 1)), np.ones(1)
    with pytest.raises(DataError, match="no positive variance: give what is exact as an invariant"):
        LevelMeasurements.of(1, 2, queries=rows, values=value, variances=0 * one)
    with pytest.raises(DataError, match="missing or not a number"):
        LevelMeasurements.of(1, 2, queries=rows, values=value * np.nan, variances=one)
    with pytest.raises(DataError, match="over the same cells"):
        LevelMeasurements.of(1, 3, queries=rows, values=value, variances=one)
    with pytest.raises(DataError, match="give one value a node and query"):
        LevelMeasurements.of(2, 2, queries=rows, values=value, variances=one)
    with pytest.raises(DataError, match="the levels have 1 nodes, the measurements 2"):
        estimate(spine, [LevelMeasurements.of(2, 2)])
