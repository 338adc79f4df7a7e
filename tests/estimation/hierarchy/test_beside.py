"""Two tables on one tree: the best counts of both together by another solver, all kept with ==."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from tests.estimation.hierarchy.families import Table
from tests.estimation.hierarchy.test_descent import best
from tests.estimation.hierarchy.trees import Tree, added, asked, keeps

from holdfast.estimation.hierarchy.beside import RowsAcross, beside, emptied, placed
from holdfast.estimation.hierarchy.descent import descend
from holdfast.estimation.hierarchy.family import FamilySolver
from holdfast.estimation.hierarchy.level import Level, LevelQuery
from holdfast.estimation.hierarchy.propagation import propagated
from holdfast.estimation.hierarchy.rounding import FINE, nearest_whole
from holdfast.estimation.hierarchy.subtree import Subtree
from holdfast.programs.quadratic.squares import float_bounds

PEOPLE, UNITS = (2, 2), (3,)


def two(seed: int) -> Tree:
    """Return people by two attributes and units by kind on a tree, with what is known across them.

    At the leaves the first two kinds of people are at least the first kind of units, and none where there is
    none; the last kind of people, the householders, are as many as the second kind of units.
    """
    generator = np.random.default_rng(seed)
    parents: list[Table] = []
    for _ in range(2):
        nodes = len(parents[-1]) if parents else 1
        parents.append(np.repeat(np.arange(nodes), generator.integers(1, 4, nodes)))
    leaves = len(parents[-1])
    units = generator.poisson(2, (leaves, 3))
    people = generator.poisson(3, (leaves, 4))
    people[:, 0] = units[:, 0] + people[:, 0] * (units[:, 0] > 0)
    people[:, 1] *= units[:, 0] > 0
    people[:, 3] = units[:, 1]
    truth = [np.hstack([people, units])]
    for parent in reversed(parents):
        truth.insert(0, added(parent, truth[0]))
    levels = []
    for place, both in enumerate(truth):
        own = [
            asked(place, both[:, :4], generator, PEOPLE, ranges=True),
            asked(place, both[:, 4:], generator, UNITS, ranges=False),
        ]
        across = []
        if place == len(truth) - 1:
            more = csr_array(np.array([[1, 1, 0, 0, -1, 0, 0]]))
            same = csr_array(np.array([[0, 0, 0, 1, 0, -1, 0]]))
            across = [
                RowsAcross.of(more, leaves, least=True, most=False),
                RowsAcross.of(same, leaves, least=True, most=True),
            ]
        level = beside(own, across)
        if place == len(truth) - 1:
            none = np.flatnonzero(units[:, 0] == 0)
            level = emptied(level, np.tile([0, 1], none.size), np.repeat(none, 2))
        levels.append(level)
    return Tree(tuple(parents), tuple(levels), tuple(truth))


@pytest.mark.parametrize("seed", range(30))
def test_both_tables_are_the_best_together_by_another_solver(seed: int) -> None:
    tree = two(seed)
    found = descend(tree.parents, tree.levels, reals=True)
    assert keeps(tree, found)
    leaves = found.counts[-1]
    assert (leaves[:, :2].sum(axis=1) >= leaves[:, 4]).all()
    assert (leaves[:, :2][leaves[:, 4] == 0] == 0).all() or (tree.truth[-1][:, 4] > 0).any()
    assert (leaves[:, 3] == leaves[:, 5]).all()
    if len(found.fits) > len(tree.levels):
        return  # levels that were estimated at once are compared elsewhere
    known = [each.level for each in propagated(tree.parents, tree.levels).levels]
    for place, parent in enumerate(tree.parents, start=1):
        if known[place].queries:
            optima = 0.0
            for node, counts in enumerate(found.counts[place - 1]):
                begin, end = np.searchsorted(parent, [node, node + 1]).tolist()
                optima += best(known[place].part(begin, end), counts)
            assert found.fits[place].objective == pytest.approx(optima, rel=1e-6, abs=1e-6)


def nearest(family: Level, parent: Table, reals: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    """Return the least sum of distances of whole counts that keep everything, by an integer program."""
    system = Subtree((family,), (), parent).system
    cells = reals.size
    # z and e with e >= |z - x|
    rows = np.vstack(
        [
            np.hstack([system.rows.toarray(), np.zeros((system.rows.shape[0], cells))]),
            np.hstack([np.eye(cells), -np.eye(cells)]),
            np.hstack([np.eye(cells), np.eye(cells)]),
        ]
    )
    flat, none = reals.ravel(), np.full(cells, np.inf)
    low = np.concatenate([float_bounds(system.least), -none, flat])
    high = np.concatenate([float_bounds(system.most), flat, none])
    found = milp(
        np.concatenate([np.zeros(cells), np.ones(cells)]),
        constraints=LinearConstraint(rows, low, high),
        bounds=Bounds(
            np.concatenate([system.low, np.zeros(cells)]), np.concatenate([float_bounds(system.high), none])
        ),
        integrality=np.concatenate([np.ones(cells), np.zeros(cells)]),
    )
    assert found.success
    return float(found.fun)


def test_whole_counts_are_nearest_by_an_independent_integer_program() -> None:
    compared = 0
    for seed in range(12):
        tree = two(seed)
        found = descend(tree.parents, tree.levels)
        if len(found.fits) > len(tree.levels):
            continue
        known = [each.level for each in propagated(tree.parents, tree.levels).levels]
        for place, parent in enumerate(tree.parents, start=1):
            if not known[place].queries:
                continue
            solver = FamilySolver(known[place])
            for node, counts in enumerate(found.counts[place - 1]):
                begin, end = np.searchsorted(parent, [node, node + 1]).tolist()
                family = known[place].part(begin, end)
                solved = solver.solve(family, counts)
                assert solved is not None
                reals = solved.estimate.counts
                distance = np.abs(solved.counts - reals).sum()
                # fractions are told in units, and ties are broken by parts of one
                assert distance <= nearest(family, counts, reals) + 4 * reals.size / FINE
                compared += 1
    assert compared > 30


def test_ranges_that_do_not_bind_and_those_that_do_have_one_optimum() -> None:
    """A family within its ranges is solved without them; a slightly tighter range is found to bind."""
    parent = np.array([10, 6])
    answers = np.array([[4, 1], [6, 4]])
    rows = csr_array(np.array([[1, 0]]))

    def solved(most: int) -> tuple[Table, float]:
        level = Level.of(
            "leaf",
            2,
            2,
            queries=[LevelQuery(csr_array(np.eye(2, dtype=np.int64)), 1.0)],
            answers=[answers],
            ranges=rows,
            most=np.full((2, 1), most),
        )
        found = FamilySolver(level).solve(level, parent)
        assert found is not None
        assert found.estimate.objective == pytest.approx(best(level, parent), abs=1e-9)
        return found.counts, found.estimate.objective

    free, least = solved(9)
    bound, more = solved(5)
    assert free[:, 0].max() == 6
    assert bound[:, 0].tolist() == [5, 5]
    assert more > least


def test_a_query_of_some_cells_is_a_target_of_these() -> None:
    """Cells of two tables, each with a detailed query of its own weight, are the best together."""
    generator = np.random.default_rng(5)
    parent = np.array([9, 3, 7])
    level = Level.of(
        "leaf",
        4,
        3,
        queries=[
            LevelQuery(placed(csr_array(np.eye(2, dtype=np.int64)), 0, 3), 2.0),
            LevelQuery(placed(csr_array(np.eye(1, dtype=np.int64)), 2, 3), 0.5),
            LevelQuery(csr_array(np.ones((1, 3), dtype=np.int64)), 1.0),
        ],
        answers=[generator.integers(-3, 9, (4, 2)), generator.integers(-3, 9, (4, 1)), np.full((4, 1), 5)],
    )
    assert [query.detailed for query in level.queries] == [True, True, False]
    found = FamilySolver(level).solve(level, parent)
    assert found is not None
    assert found.estimate.objective == pytest.approx(best(level, parent), rel=1e-9)
    assert found.counts.sum(axis=0).tolist() == parent.tolist()


def test_a_system_across_tables_is_kept_where_no_neighbours_keep_it() -> None:
    """Reals of one half each, with householders as many as units: whole counts are found."""
    level = beside(
        [Level.of("leaf", 2, 1), Level.of("leaf", 2, 1)],
        [RowsAcross.of(csr_array(np.array([[1, -1]])), 2, least=True, most=True)],
    )
    found = nearest_whole(np.full(4, 0.5), Subtree((level,), (), np.array([1, 1])).system)
    assert found is not None
    table = found.reshape(2, 2)
    assert (table[:, 0] == table[:, 1]).all()
    assert table.sum(axis=0).tolist() == [1, 1]
