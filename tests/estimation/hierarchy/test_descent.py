"""Down a whole tree: all is kept with ==, every step is the best one, and the same wherever it is done."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimation.hierarchy.independent import least_squares, optimum
from tests.estimation.hierarchy.trees import Tree, grown, keeps, margin, rows

from holdfast.data.geography import Spine
from holdfast.data.schema import Attributes
from holdfast.estimation.hierarchy import family
from holdfast.estimation.hierarchy.descent import Descent, descend
from holdfast.estimation.hierarchy.level import Level, LevelQuery
from holdfast.estimation.hierarchy.propagation import propagated
from holdfast.programs.quadratic.squares import float_bounds
from holdfast.programs.solver import UNBOUNDED
from holdfast.system.errors import DataError
from holdfast.system.progress import Progress, heard

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def same(one: Descent, other: Descent) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.counts, other.counts, strict=True))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_everything_is_kept_exactly(seed: int) -> None:
    tree = grown(seed)
    assert keeps(tree, descend(tree.parents, tree.levels))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_tasks_of_any_size_in_any_order_give_the_same(seed: int, size: int) -> None:
    tree = grown(seed, depth=2)

    def backwards(solve: Callable[[Task], Answer], tasks: Iterable[Task]) -> Iterator[Answer]:
        sent = [pickle.loads(pickle.dumps(task)) for task in tasks]  # noqa: S301 - what it has just written
        return reversed([solve(task) for task in reversed(sent)])

    found = descend(tree.parents, tree.levels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(family, "AT_ONCE", size)
        assert same(found, descend(tree.parents, tree.levels, run=backwards))


def best(level: Level, parent: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """Return the optimum of a family by another solver."""
    return optimum(
        [
            (query, answers.astype(np.float64))
            for query, answers in zip(level.queries, level.answers, strict=True)
        ],
        parent,
        invariants=level.invariants,
        values=level.values,
        low=level.low,
        high=None if level.high is None else float_bounds(level.high),
        ranges=level.ranges,
        least=float_bounds(level.least),
        most=float_bounds(level.most),
    )


def test_every_step_is_the_best_by_another_solver() -> None:
    """Level by level, given the whole counts above: many families."""
    compared = 0
    for seed in range(35):
        tree = grown(seed, depth=2, widest=3)
        found = descend(tree.parents, tree.levels, reals=True)
        if len(found.fits) > len(tree.levels):
            continue
        asked = [each.level for each in propagated(tree.parents, tree.levels).levels]
        for place, parent in enumerate(tree.parents, start=1):
            if not asked[place].queries:
                continue
            optima = 0.0
            for node, counts in enumerate(found.counts[place - 1]):
                begin, end = np.searchsorted(parent, [node, node + 1]).tolist()
                optima += best(asked[place].part(begin, end), counts)
                compared += 1
            assert found.fits[place].objective == pytest.approx(optima, rel=1e-6, abs=1e-6)
            assert found.fits[place].gap <= 1e-6 * max(1.0, optima)
            assert found.reals is not None
            assert asked[place].objective(found.reals[place]) == pytest.approx(optima, rel=1e-6, abs=1e-6)
    assert compared > 70


def test_the_root_is_the_best_by_another_solver() -> None:
    for seed in range(30):
        tree = grown(seed, depth=0)
        level = propagated((), tree.levels).levels[0].level
        found = descend((), tree.levels)
        assert keeps(tree, found)
        if level.queries:
            objective = least_squares(
                rows(np.vstack([query.matrix.toarray() for query in level.queries])),
                np.concatenate([1.0 * answers[0] for answers in level.answers]),
                np.concatenate([np.full(query.matrix.shape[0], query.weight) for query in level.queries]),
                rows(np.vstack([level.invariants.toarray(), level.ranges.toarray()])),
                np.concatenate([1.0 * level.values[0], float_bounds(level.least[0])]),
                np.concatenate([1.0 * level.values[0], float_bounds(level.most[0])]),
                1.0 * level.floor[0],
                float_bounds(level.roof[0]),
            )
            assert found.fits[0].objective == pytest.approx(objective, rel=1e-6, abs=1e-6)


def measured(
    name: str,
    table: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    spread: float,
    seed: int,
    **known: Any,
) -> Level:
    """Return a level whose cells and totals were measured."""
    generator = np.random.default_rng(seed)
    cells = table.shape[1]
    queries = LevelQuery(rows(np.eye(cells)), 1.0), LevelQuery(rows(np.ones((1, cells))), 1.0)
    answers = [
        table @ query.matrix.toarray().T
        + np.rint(generator.normal(0, spread, (len(table), query.matrix.shape[0])))
        for query in queries
    ]
    return Level.of(name, *table.shape, queries=queries, answers=answers, **known)


def test_exact_measurements_give_the_truth() -> None:
    for seed in range(10):
        tree = grown(seed, depth=2, ranges=False)
        levels = [measured("exact", table, 0.0, seed) for table in tree.truth]
        found = descend(tree.parents, levels)
        assert all(np.array_equal(a, b) for a, b in zip(found.counts, tree.truth, strict=True))


def test_a_geography_gives_its_parents() -> None:
    names = {"state": ["A"], "county": ["A1", "A2"], "block": ["A1x", "A1y", "A2x", "A2y"]}
    spine = Spine(Attributes.of(names), (np.array([0, 0]), np.array([0, 0, 1, 1])))
    blocks = np.array([[3, 1], [0, 2], [5, 0], [1, 1]])
    tables = [blocks.sum(axis=0, keepdims=True), blocks.reshape(2, 2, 2).sum(axis=1), blocks]
    levels = [
        measured(name, table, 4.0, place, invariants=rows([[1, 1]]), values=table.sum(axis=1, keepdims=True))
        for place, (name, table) in enumerate(zip(spine.levels.names, tables, strict=True))
    ]
    found = descend(spine.parent, levels)
    assert [counts.sum(axis=1).tolist() for counts in found.counts] == [[13], [6, 7], [4, 2, 5, 2]]
    assert [fit.families for fit in found.fits] == [1, 1, 2]
    assert found.reals is None


def test_a_level_without_queries_is_spread_evenly() -> None:
    root = measured("root", np.array([[8, 4]]), 0.0, 0)
    found = descend((np.zeros(4, dtype=np.int64),), (root, Level.of("quarters", 4, 2)))
    assert found.counts[1].tolist() == [[2, 1]] * 4
    totals = Level.of("parts", 2, 2, invariants=rows([[1, 1]]), values=np.array([[9], [3]]))
    found = descend((np.zeros(2, dtype=np.int64),), (root, totals))
    assert found.counts[1].tolist() == [[6, 3], [2, 1]]


def test_a_root_without_queries_is_what_is_known() -> None:
    level = Level.of(
        "root", 1, 4, invariants=rows([[1, 1, 0, 0]]), values=np.array([[6]]), low=np.array([[0, 0, 0, 2]])
    )
    assert descend((), (level,)).counts[0].tolist() == [[3, 3, 0, 2]]


def test_lower_levels_bind_upper_ones() -> None:
    """The root's measurements are far from what its children's bounds and totals allow."""
    root = measured("root", np.array([[50, 0, 0]]), 0.0, 0)
    children = measured(
        "children",
        np.array([[9, 9, 9], [9, 9, 9]]),
        0.0,
        0,
        invariants=rows([[1, 1, 1]]),
        values=np.array([[4], [6]]),
        high=np.array([[UNBOUNDED, UNBOUNDED, UNBOUNDED], [1, UNBOUNDED, UNBOUNDED]]),
        low=np.array([[0, 0, 2], [0, 0, 0]]),
    )
    found = descend((np.zeros(2, dtype=np.int64),), (root, children))
    assert found.counts[0].sum() == 10
    assert found.counts[0][0, 0] == 3
    assert len(found.fits) == 2


def test_weights_matter() -> None:
    """Of two measurements of the root's cells the one with more weight is nearer."""
    answers = np.array([[10.0, 10]]), np.array([[20.0, 20]])
    every = rows(np.eye(2))
    level = Level.of("root", 1, 2, queries=(LevelQuery(every, 1.0), LevelQuery(every, 4.0)), answers=answers)
    assert descend((), (level,)).counts[0].tolist() == [[18, 18]]


def test_a_table_of_many_queries_without_a_geography() -> None:
    shape = (6, 5, 4)
    generator = np.random.default_rng(0)
    table = generator.poisson(3, (1, 120))
    matrices = [margin(shape, kept) for kept in ((0, 1), (0, 2), (1, 2), (0, 1, 2), ())]
    level = Level.of(
        "table",
        1,
        120,
        queries=[LevelQuery(each, 1.0) for each in matrices],
        answers=[
            table @ each.toarray().T + generator.integers(-3, 4, (1, each.shape[0])) for each in matrices
        ],
        invariants=rows(np.vstack([margin(shape, (0,)).toarray(), margin(shape, (1,)).toarray()])),
        values=np.hstack([table @ margin(shape, (0,)).toarray().T, table @ margin(shape, (1,)).toarray().T]),
    )
    found = descend((), (level,))
    assert keeps(Tree((), (level,), ()), found)
    assert found.fits[0].gap <= 1e-6 * found.fits[0].objective


def test_levels_are_named_while_they_are_worked_on() -> None:
    tree = grown(7, depth=2)
    progress, seen = Progress(), []

    def listening(solve: Callable[[Task], Answer], tasks: Iterable[Task]) -> Iterator[Answer]:
        for task in tasks:
            yield solve(task)
            seen.append(progress.stages[-1].words)

    with heard(progress):
        descend(tree.parents, tree.levels, run=listening)
    assert list(dict.fromkeys(seen)) == ["estimating level 1", "estimating level 2"]
    assert progress.stages == []


def test_levels_that_are_not_those_of_the_tree_are_refused() -> None:
    level = Level.of("root", 1, 2)
    with pytest.raises(DataError, match="give one line a node on every level"):
        descend((np.zeros(3, dtype=np.int64),), (level, Level.of("children", 2, 2)))
    with pytest.raises(DataError, match="give one line a node on every level"):
        descend((np.zeros(2, dtype=np.int64),), (level, Level.of("children", 2, 3)))
