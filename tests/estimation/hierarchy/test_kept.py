"""Counts that were kept are not solved again, and are those that are found without."""

from collections.abc import Callable, Iterable

import numpy as np
import pytest
from tests.estimation.hierarchy.trees import grown

from holdfast.estimation.hierarchy import family, kept
from holdfast.estimation.hierarchy.descent import Descent, descend
from holdfast.estimation.hierarchy.family import FamilyTask
from holdfast.estimation.hierarchy.kept import KeptRun
from holdfast.estimation.hierarchy.run import AnswerT, TaskT, here


class Memory(dict[str, bytes]):
    """A shelf that ends the run after some pieces."""

    left = -1

    def put(self, name: str, content: bytes) -> None:
        self[name] = content
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


class Counted:
    """Counts the tasks that are solved."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self, solve: Callable[[TaskT], AnswerT], tasks: Iterable[TaskT]) -> Iterable[AnswerT]:
        for task in tasks:
            self.number += isinstance(task, FamilyTask)
            yield solve(task)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "AT_ONCE", 4)
    monkeypatch.setattr(kept, "TOGETHER", 2)


def same(one: Descent, other: Descent) -> bool:
    assert one.reals is not None
    assert other.reals is not None
    pairs = zip((*one.counts, *one.reals), (*other.counts, *other.reals), strict=True)
    return one.fits == other.fits and all(np.array_equal(*pair) for pair in pairs)


@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_ends_after_any_piece_goes_on(seed: int) -> None:
    tree = grown(seed, depth=3, widest=3)
    expected = descend(tree.parents, tree.levels, reals=True)
    whole, counted = Memory(), Counted()
    assert same(expected, descend(tree.parents, tree.levels, run=KeptRun(counted, whole), reals=True))
    for pieces in range(1, len(whole) + 1):
        shelf, before, after = Memory(), Counted(), Counted()
        shelf.left = pieces
        with pytest.raises(KeyboardInterrupt):
            descend(tree.parents, tree.levels, run=KeptRun(before, shelf), reals=True)
        found = descend(tree.parents, tree.levels, run=KeptRun(after, shelf), reals=True)
        assert same(expected, found)
        assert shelf == whole
        assert after.number == counted.number - 2 * pieces


def test_damaged_pieces_and_those_of_another_version_are_solved_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = grown(1, depth=3, widest=3)
    expected = descend(tree.parents, tree.levels, reals=True)
    shelf = Memory()
    descend(tree.parents, tree.levels, run=KeptRun(here, shelf), reals=True)
    assert shelf
    whole = dict(shelf)
    for name, content in whole.items():
        for damaged in (b"", content[:-1], bytes([content[0] ^ 1]) + content[1:]):
            shelf[name] = damaged
            assert same(expected, descend(tree.parents, tree.levels, run=KeptRun(here, shelf), reals=True))
            assert shelf == whole
    monkeypatch.setattr(kept, "VERSION", "another")
    counted = Counted()
    assert same(expected, descend(tree.parents, tree.levels, run=KeptRun(counted, shelf), reals=True))
    again = Counted()
    descend(tree.parents, tree.levels, run=again, reals=True)
    assert counted.number == again.number
