"""Other processes give what this one gives, start only when there is much to do, and may be lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from tests.estimation.hierarchy.trees import grown

from holdfast.estimation.hierarchy import family, run
from holdfast.estimation.hierarchy.descent import descend
from holdfast.estimation.hierarchy.run import Workers, here


def process(_: int) -> int:
    return os.getpid()


def lost(task: tuple[int, int]) -> int:
    number, main = task
    if number == 3 and os.getpid() != main:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers after the first task, however little is left."""
    monkeypatch.setattr(run, "START", -1.0)


def test_a_tree_is_the_same_by_workers(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family, "AT_ONCE", 8)
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


def test_little_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "monotonic", lambda: 0.0)  # however busy the machine is
    with Workers(2) as workers:
        assert set(workers(process, range(20))) == {os.getpid()}
    with Workers(1) as workers:
        assert set(workers(process, range(20))) == {os.getpid()}


def test_what_a_lost_worker_leaves_is_done_here(at_once: None) -> None:
    with Workers(2) as workers:
        assert list(workers(lost, [(number, os.getpid()) for number in range(8)])) == [
            2 * number for number in range(8)
        ]


def test_workers_end_with_a_process_that_is_killed() -> None:
    """The process that started them tells their ids and is killed; nobody is left to tell them to end."""
    script = """
import os, signal
from holdfast.estimation.hierarchy.run import Workers

def main():
    workers = Workers(2)
    executor = workers._started()
    print(*{executor.submit(os.getpid).result() for _ in range(8)}, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    main()
"""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "killed.py"
        path.write_text(script)
        # a pipe that all of them hold: it ends when the last of them has ended
        told = subprocess.run([sys.executable, path], stdout=subprocess.PIPE, check=False)
    assert told.returncode == -signal.SIGKILL
    assert told.stdout.split()
