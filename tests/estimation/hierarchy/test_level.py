"""What is known of a level fits together, or is refused with the way out."""

import numpy as np
import pytest
from tests.estimation.hierarchy.trees import rows

from holdfast.estimation.hierarchy.level import Level, LevelQuery
from holdfast.programs.solver import UNBOUNDED
from holdfast.system.errors import DataError

TOTAL = LevelQuery(rows([[1, 1]]), 1.0)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"queries": (TOTAL,)}, "one line a node"),
        ({"queries": (TOTAL,), "answers": (np.zeros((2, 1)),)}, "one line a node"),
        ({"queries": (TOTAL,), "answers": (np.full((3, 1), np.nan),)}, "not a number"),
        ({"queries": (LevelQuery(rows([[1, 1]]), -1.0),), "answers": (np.zeros((3, 1)),)}, "weight"),
        ({"invariants": rows([[1, 1, 1]]), "values": np.zeros((3, 1))}, "over the same cells"),
        ({"invariants": rows([[1, 1]])}, "one line a node"),
        ({"ranges": rows([[1, 1]]), "most": np.zeros((3, 2))}, "one line a node"),
        ({"low": np.zeros((3, 1))}, "one line a node"),
        ({"invariants": rows([[1, 1]]).astype(np.float64) / 2, "values": np.zeros((3, 1))}, "whole"),
    ],
)
def test_what_does_not_fit_is_refused(known: dict[str, object], words: str) -> None:
    with pytest.raises(DataError, match=rf"^[^.]*{words}.*\.$") as caught:
        Level.of("blocks", 3, 2, **known)  # type: ignore[arg-type]
    assert "'blocks'" in str(caught.value)


def test_nothing_need_be_known() -> None:
    level = Level.of("blocks", 3, 2)
    assert level.kept(np.zeros((3, 2), dtype=np.int64)).all()
    assert level.kept(np.array([[0, 0], [-1, 0], [5, 5]])).tolist() == [True, False, True]
    assert level.roof.tolist() == [[UNBOUNDED] * 2] * 3


def test_each_constraint_is_looked_at_node_by_node() -> None:
    level = Level.of(
        "blocks",
        2,
        2,
        invariants=rows([[1, 1]]),
        values=np.array([[3], [4]]),
        ranges=rows([[0, 1]]),
        least=np.array([[1], [0]]),
        most=np.array([[UNBOUNDED], [2]]),
        low=np.array([[0, 0], [1, 0]]),
        high=np.array([[2, 9], [9, 9]]),
    )
    for counts, expected in (
        ([[2, 1], [3, 1]], [True, True]),
        ([[2, 2], [3, 0]], [False, False]),
        ([[3, 0], [1, 3]], [False, False]),
        ([[0, 3], [0, 4]], [True, False]),
    ):
        assert level.kept(np.array(counts)).tolist() == expected
        for node in range(2):
            assert (
                level.part(node, node + 1).kept(np.array(counts)[node : node + 1]).tolist()
                == expected[node : node + 1]
            )
