"""Estimation in passes: each is the best one given those before it, by another solver, and all is kept."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack
from tests.estimation.hierarchy.families import Table
from tests.estimation.hierarchy.independent import optimum
from tests.estimation.hierarchy.trees import Tree, added, grown, keeps, margin, rows

from holdfast.estimation.hierarchy.descent import descend
from holdfast.estimation.hierarchy.family import FamilySolver
from holdfast.estimation.hierarchy.level import Level, LevelQuery
from holdfast.estimation.hierarchy.passes import MANY
from holdfast.estimation.hierarchy.propagation import propagated
from holdfast.programs.quadratic.squares import float_bounds
from holdfast.programs.solver import UNBOUNDED


def in_turns(tree: Tree, seed: int) -> Tree:
    """Return a tree whose queries are estimated in up to three passes."""
    generator = np.random.default_rng(seed)
    levels = [
        replace(
            level,
            queries=tuple(replace(query, turn=int(generator.integers(3))) for query in level.queries),
        )
        for level in tree.levels
    ]
    return replace(tree, levels=tuple(levels))


def best(level: Level, parent: Table, counts: Table) -> float:
    """Return the sum of the optima of all passes, each given what the ones before it found."""
    found = 0.0
    for turn in sorted({query.turn for query in level.queries}):
        before = [query.matrix for query in level.queries if query.turn < turn]
        kept = csr_array(vstack([level.invariants, *before], format="csr"))
        found += optimum(
            [
                (query, answers.astype(np.float64))
                for query, answers in zip(level.queries, level.answers, strict=True)
                if query.turn == turn
            ],
            parent,
            invariants=kept,
            values=counts @ kept.toarray().T,
            low=level.low,
            high=None if level.high is None else float_bounds(level.high),
            ranges=level.ranges,
            least=float_bounds(level.least),
            most=float_bounds(level.most),
        )
    return found


@pytest.mark.parametrize("seed", range(30))
def test_every_pass_is_the_best_by_another_solver(seed: int) -> None:
    tree = in_turns(grown(seed, depth=2, widest=3), seed)
    found = descend(tree.parents, tree.levels)
    assert keeps(tree, found)
    if len(found.fits) > len(tree.levels):
        return  # levels that were estimated at once have one pass
    known = [each.level for each in propagated(tree.parents, tree.levels).levels]
    for place, parent in enumerate(tree.parents, start=1):
        optima = 0.0
        if not known[place].queries:
            continue
        for node, counts in enumerate(found.counts[place - 1]):
            begin, end = np.searchsorted(parent, [node, node + 1]).tolist()
            optima += best(known[place].part(begin, end), counts, found.counts[place][begin:end])
        assert found.fits[place].objective == pytest.approx(optima, rel=1e-6, abs=1e-6)


def test_what_a_pass_found_stays() -> None:
    """A total that was measured as 3 stays 3, though four cells were measured that add up to 40."""
    cells = csr_array(np.eye(4, dtype=np.int64))
    level = Level.of(
        "leaf",
        2,
        4,
        queries=[LevelQuery(rows([[1, 1, 1, 1]]), 1.0, 0), LevelQuery(cells, 100.0, 1)],
        answers=[np.array([[3], [97]]), np.full((2, 4), 10)],
    )
    parent = np.array([25, 25, 25, 25])
    found = FamilySolver(level).solve(level, parent)
    assert found is not None
    assert found.counts.sum(axis=1).tolist() == [3, 97]
    at_once = FamilySolver(level).at_once(level, parent)
    assert at_once is not None
    assert at_once.counts.sum(axis=1).tolist() != [3, 97]


def wide(seed: int, turns: Sequence[int]) -> tuple[Level, Table]:
    """Return children with many cells, few of which are open, one kind of them closed in some children."""
    generator = np.random.default_rng(seed)
    shape = (4, 5, 6)
    assert np.prod(shape) >= MANY
    truth = generator.poisson(0.15, (5, 120))
    truth[1, 30:60] = 0
    high = np.full(truth.shape, UNBOUNDED)
    high[1, 30:60] = 0
    queries = [margin(shape, ()), margin(shape, (0, 1)), margin(shape, (0, 1, 2))]
    level = Level.of(
        "leaf",
        5,
        120,
        queries=[
            LevelQuery(each, 1.0 + at, turn)
            for at, (each, turn) in enumerate(zip(queries, turns, strict=True))
        ],
        answers=[
            truth @ each.toarray().T + np.rint(generator.normal(0, 2, (5, each.shape[0]))) for each in queries
        ],
        invariants=margin(shape, (0,)),
        values=truth @ margin(shape, (0,)).toarray().T,
        high=high,
    )
    return level, added(np.zeros(5, dtype=np.int64), truth)[0]


@pytest.mark.parametrize("turns", [(0, 0, 0), (0, 1, 2), (0, 1, 1), (1, 0, 1)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_closed_cells_are_no_variables_and_the_optimum_is_the_same(seed: int, turns: tuple[int, ...]) -> None:
    level, parent = wide(seed, turns)
    found = FamilySolver(level).solve(level, parent)
    assert found is not None
    assert np.array_equal(found.counts.sum(axis=0), parent)
    assert level.kept(found.counts).all()
    assert (found.counts[:, parent == 0] == 0).all()
    assert found.estimate.objective == pytest.approx(best(level, parent, found.counts), rel=1e-6)


def test_a_parent_of_none_has_children_of_none() -> None:
    level, parent = wide(1, (0, 1, 2))
    none = replace(level, values=np.zeros_like(level.values))
    found = FamilySolver(none).solve(none, np.zeros_like(parent))
    assert found is not None
    assert not found.counts.any()
    assert FamilySolver(level).solve(level, np.zeros_like(parent)) is None
