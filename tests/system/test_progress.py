"""Loops report how far they are, to whoever listens."""

from io import StringIO

import pytest

from holdfast.cli import progress as module
from holdfast.cli.progress import CLEAR, ProgressLine
from holdfast.system import progress as stages
from holdfast.system.progress import Progress, Stage, doing, heard, sized_steps, steps


def test_nobody_has_to_listen() -> None:
    assert list(steps([1, 2, 3], "counting")) == [1, 2, 3]
    with doing("reading"):
        pass


def test_a_listener_hears_the_share_of_the_innermost_stage() -> None:
    progress, said = Progress(), []
    with heard(progress), doing("comparing"):
        for _ in steps(range(4), "by name"):
            for _ in steps(range(2), "drawing"):
                progress.stages[1].since = 0.0
                said.append(progress.sentence(8.0))
    assert said[1] == "drawing: 12 %, about 56 s left"
    assert said[-1] == "drawing: 87 %, about 1 s left"
    assert progress.stages == []


def test_steps_count_by_their_sizes() -> None:
    progress, said = Progress(), []
    with heard(progress):
        for _ in sized_steps(range(2), "the tree", [10, 30]):
            for _ in steps(range(2), "a level"):
                progress.stages[0].since = progress.stages[1].since = 0.0
                said.append(progress.sentence(10.0))
    assert said == [
        "a level: 10 s so far",
        "a level: 12 %, about 70 s left",
        "a level: 25 %, about 30 s left",
        "a level: 62 %, about 6 s left",
    ]
    assert list(sized_steps("ab", "unheard", [1, 2])) == ["a", "b"]


def test_without_a_number_of_steps_the_time_so_far_is_told() -> None:
    progress = Progress()
    assert progress.sentence(0.0) == ""
    progress.begin(Stage("reading", since=0.0))
    assert progress.sentence(4.0) == "reading: 4 s so far"
    assert progress.sentence(600.0) == "reading: 10 min so far"


def test_each_phase_counts_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(stages, "monotonic", lambda: clock[0])
    progress = Progress()
    outer, inner = Stage("releasing", since=0.0), Stage("swapping", since=200.0)
    progress.begin(outer)
    progress.begin(inner)
    assert progress.sentence(203.0) == "swapping: 3 s so far"
    clock[0] = 300.0
    progress.end(inner)
    assert progress.sentence(305.0) == "releasing: 5 s so far"


def test_a_loop_that_breaks_off_has_ended() -> None:
    progress = Progress()
    with heard(progress):
        loop = steps(range(9), "counting")
        next(loop)
        assert len(progress.stages) == 1
        loop.close()  # type: ignore[attr-defined]
    assert progress.stages == []


def test_a_terminal_has_one_line_and_a_pipe_has_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "monotonic", lambda: 1.0)
    for live, expected in ((True, f"{CLEAR}a: 1 s so far{CLEAR}"), (False, "a: 1 s so far\n")):
        stream = StringIO()
        watch = ProgressLine(stream, live=live)
        watch.show()
        stage = Stage("a", since=0.0)
        watch.begin(stage)
        watch.show()
        watch.show()
        watch.end(stage)
        assert stream.getvalue() == expected


def test_nothing_is_said_of_what_is_left_before_much_is_done() -> None:
    progress = Progress()
    progress.begin(Stage("estimating the tree", total=1000, since=0))
    progress.begin(Stage("estimating county", total=10, done=5, since=0))
    assert progress.sentence(40.0) == "estimating county: 40 s so far"
    progress.stages[0].done = 20
    assert progress.sentence(40.0) == "estimating county: 2 %, about 32 min left"
