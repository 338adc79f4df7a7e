"""What lower levels ask of upper ones: the truth keeps it, whoever keeps it keeps all, and it is no more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimation.hierarchy.trees import Tree, grown, kept, rows

from holdfast.estimation.hierarchy import propagation
from holdfast.estimation.hierarchy.level import Level
from holdfast.estimation.hierarchy.propagation import propagated
from holdfast.programs.solver import UNBOUNDED

TOTAL = rows([[1, 1]])
PAIR = np.zeros(2, dtype=np.int64)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_the_truth_keeps_what_is_asked(seed: int) -> None:
    tree = grown(seed)
    found = propagated(tree.parents, tree.levels)
    assert found.wrong is None
    for asked, truth in zip(found.levels, tree.truth, strict=True):
        assert kept(asked.level, truth)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_whoever_keeps_what_is_asked_keeps_the_level(seed: int) -> None:
    """Rows and bounds that were dropped follow from those that stayed."""
    tree = grown(seed)
    generator = np.random.default_rng(seed)
    for own, asked, truth in zip(
        tree.levels, propagated(tree.parents, tree.levels).levels, tree.truth, strict=True
    ):
        dense = asked.level.invariants.toarray()
        assert np.linalg.matrix_rank(dense) == len(dense)
        for _ in range(10):
            other = np.maximum(truth + generator.integers(-1, 2, truth.shape), 0)
            for node in range(own.nodes):
                line = other[node : node + 1]
                if kept(asked.level.part(node, node + 1), line):
                    assert kept(own.part(node, node + 1), line)


def family(own: dict[str, object], below: dict[str, object]) -> Tree:
    """Return a parent of two children over two cells."""
    levels = Level.of("parent", 1, 2, **own), Level.of("children", 2, 2, **below)  # type: ignore[arg-type]
    return Tree((PAIR,), levels, ())


def test_totals_add_up_and_say_something_once() -> None:
    totals = {"invariants": TOTAL, "values": np.array([[3], [4]])}
    tree = family({"invariants": TOTAL, "values": np.array([[7]])}, totals)
    parent = propagated(tree.parents, tree.levels).levels[0]
    assert parent.level.invariants.toarray().tolist() == [[1, 1]]
    assert parent.level.values.tolist() == [[7]]
    assert parent.invariants.tolist() == [[0, 0]]
    parent = propagated(tree.parents, (Level.of("parent", 1, 2), tree.levels[1])).levels[0]
    assert parent.level.values.tolist() == [[7]]
    assert parent.invariants.tolist() == [[1, 0]]
    assert parent.level.high is None  # the total says as much as what children's totals allow


def test_bounds_of_children_are_closed_by_their_totals_before_they_add_up() -> None:
    below = {
        "invariants": TOTAL,
        "values": np.array([[3], [4]]),
        "high": np.array([[UNBOUNDED, UNBOUNDED], [UNBOUNDED, 1]]),
    }
    tree = family({}, below)
    parent = propagated(tree.parents, tree.levels).levels[0].level
    assert parent.floor.tolist() == [[3, 0]]
    assert parent.roof[0, 1] == 4


def test_ranges_add_up_and_those_that_follow_are_dropped() -> None:
    ranges = {"ranges": rows([[1, 0]]), "least": np.array([[1], [2]]), "most": np.array([[5], [UNBOUNDED]])}
    parent = propagated((PAIR,), family({}, ranges).levels).levels[0].level
    assert parent.low is not None  # a range of one cell is a bound
    assert parent.low.tolist() == [[3, 0]]
    both = {"ranges": TOTAL, "least": np.array([[1], [2]]), "most": np.array([[5], [6]])}
    asked = propagated((PAIR,), family({"ranges": TOTAL, "most": np.array([[9]])}, both).levels).levels[0]
    assert (asked.level.least.tolist(), asked.level.most.tolist()) == ([[3]], [[9]])
    assert asked.ranges.tolist() == [[0, 0]]
    known = {"invariants": TOTAL, "values": np.array([[8]])}
    assert propagated((PAIR,), family(known, both).levels).levels[0].level.ranges.shape[0] == 0


@pytest.mark.parametrize(
    ("own", "below"),
    [
        ({"invariants": TOTAL, "values": [[7]]}, {"invariants": TOTAL, "values": [[3], [5]]}),
        ({"high": [[2, UNBOUNDED]]}, {"low": [[1, 0], [2, 0]]}),
        ({"invariants": TOTAL, "values": [[3]]}, {"low": [[1, 1], [2, 0]]}),
        ({"ranges": TOTAL, "most": [[3]]}, {"ranges": TOTAL, "least": [[2], [2]]}),
        ({"invariants": TOTAL, "values": [[3]]}, {"ranges": TOTAL, "least": [[2], [2]]}),
        ({"invariants": rows([[1, 1], [2, 2]]), "values": [[3, 7]]}, {}),
        ({"invariants": rows([[0, 0]]), "values": [[1]]}, {}),
        ({"invariants": TOTAL, "values": [[9]]}, {"high": [[2, 2], [2, 2]]}),
    ],
)
def test_what_contradicts_is_found_where_it_does(own: dict[str, object], below: dict[str, object]) -> None:
    def arrays(known: dict[str, object]) -> dict[str, object]:
        return {name: np.array(each) if isinstance(each, list) else each for name, each in known.items()}

    tree = family(arrays(own), arrays(below))
    assert propagated(tree.parents, tree.levels).wrong == (0, 0)


def test_large_values_are_compared_exactly() -> None:
    large = 1 << 61
    known = {
        "invariants": rows([[1, 0], [0, 1], [1, 1]]),
        "values": np.array([[large, large - 1, 2 * large - 1]]),
    }
    assert propagated((), family(known, {}).levels[:1]).wrong is None
    known["values"] = np.array([[large, large - 1, 2 * large - 2]])
    assert propagated((), family(known, {}).levels[:1]).wrong == (0, 0)


def test_a_range_that_bounds_imply_is_dropped_though_other_cells_are_open() -> None:
    known = {
        "ranges": rows([[1, 0], [1, -1]]),
        "least": np.array([[1, -UNBOUNDED]]),
        "most": np.array([[UNBOUNDED, 5]]),
        "low": np.array([[1, 0]]),
        "high": np.array([[5, UNBOUNDED]]),
    }
    assert propagated((), family(known, {}).levels[:1]).levels[0].level.ranges.shape[0] == 0
    known["low"] = np.array([[0, 0]])
    known["high"] = np.array([[6, UNBOUNDED]])
    assert propagated((), family(known, {}).levels[:1]).levels[0].level.ranges.shape[0] == 2


@pytest.mark.parametrize("seed", range(12))
def test_few_nodes_at_once_are_asked_for_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = grown(seed)
    found = propagated(tree.parents, tree.levels)
    monkeypatch.setattr(propagation, "AT_ONCE", 5)
    again = propagated(tree.parents, tree.levels)
    for one, other in zip(found.levels, again.levels, strict=True):
        assert np.array_equal(one.invariants, other.invariants)
        assert np.array_equal(one.ranges, other.ranges)
        for name in ("values", "least", "most", "floor", "roof"):
            assert np.array_equal(getattr(one.level, name), getattr(other.level, name)), name
