"""Parents whose counts have no children: levels above are set free, as few as will do, and no other subtree.

Each block has two rows of people in four groups; the sums of rows and groups are kept. Blocks A have one
person of the first row, in group 0 or 1, blocks B one in group 2 or 3. No bound of a single cell says that of
such two blocks one person is in the first two groups: a tract that was measured otherwise has no blocks.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.estimation.hierarchy.families import Step
from tests.estimation.hierarchy.trees import Tree, added, keeps, margin, rows

from holdfast.estimation.hierarchy.conflict import Constraint, UnmetError
from holdfast.estimation.hierarchy.descent import Descent, descend
from holdfast.estimation.hierarchy.level import Level, LevelQuery
from holdfast.estimation.hierarchy.subtree import Subtree
from holdfast.programs.solver import UNBOUNDED
from holdfast.system.errors import DataError

Table = NDArray[np.int64]

SHAPE = (2, 4)
MARGINS = rows(np.vstack([margin(SHAPE, (0,)).toarray(), margin(SHAPE, (1,)).toarray()]))
A, OTHER_A = np.array([[1, 0, 0, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0, 0, 0]])
B, OTHER_B = np.array([[0, 0, 1, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0, 1, 0]])
BLOCKS = np.array([A, B, OTHER_A, OTHER_B])
"""Two tracts of two blocks: together one person in each row and group."""
FIRST_TWO = np.array([1, 1, 0, 0, 0, 0, 1, 1])
"""Both people of the first row in the first two groups: no tract of such blocks."""
LAST_TWO = np.array([0, 0, 1, 1, 1, 1, 0, 0])


def level(name: str, answers: Table, **known: Any) -> Level:
    return Level.of(
        name, *answers.shape, queries=(LevelQuery(rows(np.eye(8)), 1.0),), answers=(answers,), **known
    )


def blocks(truth: Table) -> Level:
    return level("block", truth, invariants=MARGINS, values=truth @ MARGINS.toarray().T)


def county(tracts: Table) -> Tree:
    """Return a county of two tracts with two blocks each, whose tracts were measured to be something."""
    truth = BLOCKS
    levels = level("county", truth.sum(axis=0, keepdims=True)), level("tract", tracts), blocks(truth)
    return Tree((np.zeros(2, dtype=np.int64), np.array([0, 0, 1, 1])), levels, ())


def joint(found: Descent) -> list[tuple[str, ...]]:
    return [fit.levels for fit in found.fits if len(fit.levels) > 1]


def test_the_plain_step_fails() -> None:
    step = Step((LevelQuery(rows(np.eye(8)), 1.0),), MARGINS)
    truth = np.array([A, B])
    with pytest.raises(UnmetError) as caught:
        step.solve([1.0 * truth], FIRST_TWO, values=truth @ MARGINS.toarray().T)
    assert {each.kind for each in caught.value.conflict} <= {"parent", "invariant"}


def test_one_level_is_set_free() -> None:
    tree = county(np.array([FIRST_TWO, LAST_TWO]))
    found = descend(tree.parents, tree.levels)
    assert keeps(tree, found)
    assert joint(found) == [("tract", "block")]
    assert found.counts[0][0].tolist() == [1] * 8
    assert [fit.families for fit in found.fits] == [1, 0, 0, 1]
    again = descend(tree.parents, tree.levels)
    assert all(np.array_equal(a, b) for a, b in zip(found.counts, again.counts, strict=True))


def test_what_can_stay_stays() -> None:
    tree = county(np.array([A + B, OTHER_A + OTHER_B]))
    assert joint(descend(tree.parents, tree.levels)) == []


def test_levels_are_set_free_up_to_the_root() -> None:
    """The county, too, was measured to be what no blocks add up to."""
    tree = county(np.array([FIRST_TWO, FIRST_TWO]))
    wrong = level("county", (2 * FIRST_TWO)[None, :])
    found = descend(tree.parents, (wrong, *tree.levels[1:]))
    assert keeps(replace(tree, levels=(wrong, *tree.levels[1:])), found)
    assert joint(found) == [("county", "tract", "block")]
    # as near as they can be: all first rows of blocks A in the first two groups, those of B in the others
    assert found.counts[0][0, :4].reshape(2, 2).sum(axis=1).tolist() == [2, 2]


def test_other_subtrees_are_unchanged() -> None:
    """Of two counties the first has a tract that is measured wrongly or not: the other one is the same."""
    truth = np.tile(BLOCKS, (2, 1))
    parents = np.zeros(2, dtype=np.int64), np.repeat(np.arange(2), 2), np.repeat(np.arange(4), 2)
    generator = np.random.default_rng(0)
    state, counties = (truth.sum(axis=0, keepdims=True), added(np.repeat(np.arange(2), 4), truth))
    noise = generator.integers(-1, 2, truth.shape)
    kept: list[Descent] = []
    for tract in (A + B, FIRST_TWO):
        tracts = np.array([tract, 1 - tract, A + B, OTHER_A + OTHER_B])
        levels = (
            level("state", state),
            level("county", counties),
            level("tract", tracts),
            level("block", truth + noise, invariants=MARGINS, values=truth @ MARGINS.toarray().T),
        )
        kept.append(descend(parents, levels))
        assert keeps(Tree(parents, levels, ()), kept[-1])
    right, wrong = kept
    assert joint(right) == []
    assert joint(wrong) == [("tract", "block")]
    assert all(np.array_equal(right.counts[place], wrong.counts[place]) for place in (0, 1))
    assert right.counts[2][2:].tolist() == wrong.counts[2][2:].tolist()
    assert right.counts[3][4:].tolist() == wrong.counts[3][4:].tolist()


def test_two_parents_below_one_node_are_one_problem_and_what_lies_below_is_estimated_anew() -> None:
    """The level below the rescued one has constraints of its own, and its parents are the new counts."""
    truth = np.repeat(BLOCKS, 2, axis=0)
    parents = np.zeros(2, dtype=np.int64), np.array([0, 0, 1, 1]), np.repeat(np.arange(4), 2)
    parts = truth * np.tile([[1], [0]], (4, 1))
    levels = (
        level("county", np.ones((1, 8), dtype=np.int64)),
        level("tract", np.array([FIRST_TWO, LAST_TWO])),
        blocks(BLOCKS),
        level("part", parts, invariants=rows(np.ones((1, 8))), values=parts.sum(axis=1, keepdims=True)),
    )
    found = descend(parents, levels)
    assert keeps(Tree(parents, levels, ()), found)
    assert joint(found) == [("tract", "block")]
    assert found.counts[3].sum(axis=1).tolist() == [2, 0] * 4


def test_random_trees_with_margins_that_cross() -> None:
    """Of 2 x 5 tables all margins are kept at the leaves, and much noise is above them."""
    rescued = 0
    for seed in range(8):
        generator = np.random.default_rng(seed)
        shape = (2, 5)
        both = rows(np.vstack([margin(shape, (0,)).toarray(), margin(shape, (1,)).toarray()]))
        parents = np.zeros(3, dtype=np.int64), np.repeat(np.arange(3), 3)
        truth = [generator.poisson(0.4, (9, 10))]
        for parent in reversed(parents):
            truth.insert(0, added(parent, truth[0]))
        noisy = [table + np.rint(generator.normal(0, 4, table.shape)).astype(np.int64) for table in truth]
        every = (LevelQuery(rows(np.eye(10)), 1.0),)
        levels = [
            Level.of(f"level {k}", *each.shape, queries=every, answers=(each,))
            for k, each in enumerate(noisy)
        ]
        values = truth[2] @ both.toarray().T
        levels[2] = Level.of(
            "leaves", 9, 10, queries=every, answers=(noisy[2],), invariants=both, values=values
        )
        found = descend(parents, levels)
        assert keeps(Tree(parents, tuple(levels), tuple(truth)), found)
        rescued += len(joint(found)) > 0
    assert rescued >= 2


def test_totals_that_do_not_add_up_are_named() -> None:
    total = rows([[1, 1]])
    levels = (
        Level.of("root", 1, 2),
        Level.of("county", 2, 2, invariants=total, values=np.array([[5], [6]])),
        Level.of("block", 3, 2, invariants=total, values=np.array([[2], [3], [7]])),
    )
    with pytest.raises(UnmetError) as caught:
        descend((np.zeros(2, dtype=np.int64), np.array([0, 0, 1])), levels)
    assert caught.value.conflict == (
        Constraint("invariant", 0, 1, 6, 1),
        Constraint("invariant", 0, 1, 7, 1, 2),
    )
    assert str(caught.value) == (
        "no counts of the nodes keep the value 6 of invariant 0 of node 1 of level 1, the value 7 of"
        " invariant 0 of level 2, summed over node 1 of level 1, at once: correct one of these."
    )


def test_two_sums_are_named_where_parts_of_one_of_them_would_contradict_as_well() -> None:
    """Blocks say their total beside its parts: what follows from others may be one of the fewest."""
    parts = rows([[1, 0], [0, 1], [1, 1]])
    levels = (
        Level.of("county", 1, 2, invariants=rows([[1, 1]]), values=np.array([[9]])),
        Level.of("block", 2, 2, invariants=parts, values=np.array([[1, 2, 3], [4, 1, 5]])),
    )
    with pytest.raises(UnmetError) as caught:
        descend((np.zeros(2, dtype=np.int64),), levels)
    assert caught.value.conflict == (
        Constraint("invariant", 0, 0, 9, 0),
        Constraint("invariant", 2, 0, 8, 0, 1),
    )


def test_bounds_and_ranges_that_contradict_are_named() -> None:
    parents = (np.zeros(2, dtype=np.int64),)
    root = Level.of("root", 1, 2, high=np.array([[2, UNBOUNDED]]))
    children = Level.of("children", 2, 2, low=np.array([[1, 0], [2, 4]]))
    with pytest.raises(UnmetError) as caught:
        descend(parents, (root, children))
    assert caught.value.conflict == (Constraint("least", 0, 0, 3, 0, 1), Constraint("most", 0, 0, 2, 0))
    root = Level.of("root", 1, 2, ranges=rows([[1, 1]]), most=np.array([[6]]))
    with pytest.raises(UnmetError) as caught:
        descend(parents, (root, children))
    assert {(each.kind, each.below) for each in caught.value.conflict} == {("least", 1), ("range most", -1)}


def test_what_only_fractions_keep_is_named_where_it_is() -> None:
    """Three sums of 1 over three pairs of cells: each cell would be a half. Their parent has whole counts."""
    pairs = rows([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    every = (LevelQuery(rows(np.eye(3)), 1.0),)
    levels = (
        Level.of("root", 1, 3, queries=every, answers=(np.array([[3, 3, 3]]),)),
        Level.of("county", 2, 3, queries=every, answers=(np.array([[2, 2, 2], [1, 1, 1]]),)),
        Level.of("block", 4, 3, invariants=pairs, values=np.array([[2] * 3, [2] * 3, [1] * 3, [1] * 3])),
    )
    with pytest.raises(UnmetError) as caught:
        descend((np.zeros(2, dtype=np.int64), np.array([0, 0, 1, 1])), levels)
    assert caught.value.conflict in {
        tuple(Constraint("invariant", place, block, 1, 2) for place in range(3)) for block in (2, 3)
    }


def test_a_solver_that_finds_nothing_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = county(np.array([FIRST_TWO, LAST_TWO]))
    monkeypatch.setattr(Subtree, "solve", lambda subtree: None)
    with pytest.raises(DataError, match="out of the solver's reach"):
        descend(tree.parents, tree.levels)


def test_what_contradicts_is_found_among_others_that_are_only_unmet() -> None:
    """The first tract has no blocks as it was measured; only the second one can never have any."""
    pairs = rows([[1, 1, 0, 0, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0, 0, 0]])
    invariants = rows(np.vstack([MARGINS.toarray(), pairs.toarray()]))
    values = np.hstack([BLOCKS @ MARGINS.toarray().T, BLOCKS @ pairs.toarray().T])
    values[3, -3:] = 1  # what only halves of the first three cells keep
    tree = county(np.array([FIRST_TWO, LAST_TWO]))
    last = level("block", BLOCKS, invariants=invariants, values=values)
    with pytest.raises(UnmetError) as caught:
        descend(tree.parents, (*tree.levels[:2], last))
    assert {(each.level, each.child) for each in caught.value.conflict} == {(2, 3)}
