"""Queries of many nodes have the variance of the dense problem."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimation.hierarchy.dense import close, dense, over_leaves, problem

from holdfast.estimation.hierarchy.linear import estimate
from holdfast.estimation.hierarchy.variances import NodeWeights, combined, union, variances
from holdfast.system.errors import DataError

SEEDS = st.integers(0, 10**6)


@settings(max_examples=80, deadline=None)
@given(seed=SEEDS, detailed=st.booleans())
def test_unions_of_leaves(seed: int, detailed: bool) -> None:
    asked = problem(seed, detailed=detailed, kinds=1 + seed % 3)
    found, slow = estimate(asked.spine, asked.measured), dense(asked.spine, asked.measured)
    rng = np.random.default_rng(seed)
    level, leaves = asked.spine.levels.names[-1], len(asked.leaves)
    nodes = rng.permutation(leaves)[: rng.integers(1, leaves + 1)]
    queries = np.vstack([np.eye(slow.cells), np.ones((1, slow.cells))])
    value, variance = combined(found, union(found, {level: nodes}, queries))
    rows = over_leaves(asked.spine, level, queries).reshape(leaves, *queries.shape[:1], -1)[nodes].sum(axis=0)
    exact = slow.variance(rows)
    close(variance, exact)
    close(value[np.isfinite(exact)], slow.estimate(rows)[np.isfinite(exact)])


@settings(max_examples=80, deadline=None)
@given(seed=SEEDS, detailed=st.booleans())
def test_any_weights_on_nodes_of_any_levels(seed: int, detailed: bool) -> None:
    asked = problem(seed, detailed=detailed, kinds=1 + seed % 3)
    found, slow = estimate(asked.spine, asked.measured), dense(asked.spine, asked.measured)
    rng = np.random.default_rng(seed)
    parts, rows = [], np.zeros((2, asked.leaves.size))
    for name in asked.spine.levels.names:
        nodes = rng.integers(0, len(asked.spine.codes(name)), size=3)
        weights = rng.integers(-2, 3, size=(3, 2, slow.cells)).astype(np.float64)
        parts.append(NodeWeights(name, nodes, weights))
        each = over_leaves(asked.spine, name, np.eye(slow.cells)).reshape(-1, slow.cells, asked.leaves.size)
        rows += np.einsum("nkc,ncl->kl", weights, each[nodes])
    value, variance = combined(found, parts)
    exact = slow.variance(rows)
    close(variance, exact)
    close(value[np.isfinite(exact)], slow.estimate(rows)[np.isfinite(exact)])


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, detailed=st.booleans())
def test_all_leaves_of_a_node_are_the_node(seed: int, detailed: bool) -> None:
    asked = problem(seed, detailed=detailed, kinds=1 + seed % 3)
    found = estimate(asked.spine, asked.measured)
    queries = np.vstack([np.eye(asked.leaves.shape[1]), *(m.invariants.toarray() for m in asked.measured)])
    leaf = asked.spine.levels.names[-1]
    for name in asked.spine.levels.names:
        each = variances(found, name, queries)
        for node in range(len(each)):
            inside = np.flatnonzero(asked.spine.ancestors(name) == node)
            _, variance = combined(found, union(found, {leaf: inside}, queries))
            close(variance, each[node])
            assert (variance == 0).tolist() == (each[node] == 0).tolist()


def test_what_cancels_is_certain() -> None:
    asked = problem(7, detailed=True)
    found = estimate(asked.spine, asked.measured)
    cells, names = asked.leaves.shape[1], asked.spine.levels.names
    all_leaves = NodeWeights(names[-1], np.arange(len(asked.leaves)), np.ones((len(asked.leaves), 1, cells)))
    value, variance = combined(
        found, [all_leaves, NodeWeights(names[0], np.array([0]), -np.ones((1, 1, cells)))]
    )
    assert len(asked.leaves) > 3
    assert variance.tolist() == [0]
    assert abs(value[0]) < 1e-9


def test_places_are_named_once() -> None:
    asked = problem(7, detailed=True)
    found = estimate(asked.spine, asked.measured)
    names, query = asked.spine.levels.names, np.ones((1, asked.leaves.shape[1]))
    with pytest.raises(DataError, match="lies in two of the nodes that are asked for: name each place once"):
        union(found, {names[0]: np.array([0]), names[-1]: np.array([1])}, query)
    with pytest.raises(DataError, match="no node is asked for"):
        combined(found, union(found, {}, query))
