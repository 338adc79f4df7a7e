"""Other processes give what this one gives, start only when there is much to do, and may be lost."""

import os
import signal

import numpy as np
import pytest
from tests.estimation.topdown.trees import grown

from holdfast.estimation.topdown import families, run
from holdfast.estimation.topdown.descent import descend
from holdfast.estimation.topdown.run import Workers, here


def process(_: int) -> int:
    return os.getpid()


def lost(task: int) -> int:
    if task == 3 and os.getpid() != int(os.environ["HOLDFAST_TEST_MAIN"]):
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * task


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers after the first task, however little is left."""
    monkeypatch.setattr(run, "START", -1.0)
    monkeypatch.setenv("HOLDFAST_TEST_MAIN", str(os.getpid()))


def test_a_tree_is_the_same_by_workers(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "AT_ONCE", 8)
    with Workers(2) as workers:
        for seed in (3, 4):
            tree = grown(seed, depth=2, widest=3)
            found, other = (
                descend(tree.parents, tree.levels, run=each, reals=True) for each in (here, workers)
            )
            assert found.fits == other.fits
            assert found.reals is not None
            assert other.reals is not None
            for one, two in zip((*found.counts, *found.reals), (*other.counts, *other.reals), strict=True):
                assert np.array_equal(one, two)


def test_workers_are_other_processes_that_come_when_there_is_much_to_do(at_once: None) -> None:
    with Workers(2) as workers:
        first, *others = workers(process, range(20))
        assert first == os.getpid()
        assert os.getpid() not in others
        assert list(workers(process, [1])) == [os.getpid()]
        assert list(workers(process, [])) == []


def test_little_work_is_done_here() -> None:
    with Workers(2) as workers:
        assert set(workers(process, range(20))) == {os.getpid()}
    with Workers(1) as workers:
        assert set(workers(process, range(20))) == {os.getpid()}


def test_what_a_lost_worker_leaves_is_done_here(at_once: None) -> None:
    with Workers(2) as workers:
        assert list(workers(lost, range(8))) == [2 * task for task in range(8)]
