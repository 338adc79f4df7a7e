"""How far a long computation is: loops report their steps, and whoever listens may show them.

Nobody listens unless a command does, and then nothing here costs more than a look at a variable.

    for batch in steps(batches, "measuring the bias"): ...
    with doing("reading the data"): ...

Stages nest. The share of the outermost one whose number of steps is known counts, in its current step, the
share of the one within. A time so far is that of what is being done, without what was done before.
"""

from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

ItemT = TypeVar("ItemT")

EARLY = 0.02
"""A share below which nobody can tell what is left: the first steps are of other sizes than most."""


@dataclass(eq=False)
class Stage:
    """What is being done, since when, and how many of its steps are behind it."""

    words: str
    total: int | None = None
    done: int = 0
    size: int = 1
    """What the current step counts for, where steps take longer or shorter."""
    since: float = field(default_factory=monotonic)
    again: float | None = None
    """Since when it goes on by itself, the last stage within being over."""


class Progress:
    """The stages that are under way, the outermost first."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []

    def begin(self, stage: Stage) -> None:
        """Note that a stage begins."""
        self.stages.append(stage)

    def end(self, stage: Stage) -> None:
        """Note that a stage has ended, and all within it."""
        if stage in self.stages:
            del self.stages[self.stages.index(stage) :]
            if self.stages:
                self.stages[-1].again = monotonic()

    def look(self) -> None:
        """Be told that another program of a search begins: who hears of the work may end it there."""

    def sentence(self, now: float) -> str:
        """Say what is being done and how far it is; nothing where nothing is under way.

        >>> progress = Progress()
        >>> progress.begin(Stage("comparing", total=4, done=1, since=0))
        >>> progress.begin(Stage("drawing", total=10, done=5, since=20))
        >>> progress.sentence(30.0)
        'drawing: 37 %, about 50 s left'
        """
        stages = tuple(self.stages)
        if not stages:
            return ""
        counted = [stage for stage in stages if stage.total]
        share = 0.0
        for stage in reversed(counted):
            share = min(1.0, (stage.done + stage.size * share) / (stage.total or 1))
        if share == 0:
            last = stages[-1]
            return f"{last.words}: {_time(now - (last.since if last.again is None else last.again))} so far"
        spent = now - counted[0].since
        if share < EARLY:
            return f"{stages[-1].words}: {_time(spent)} so far"
        left = spent * (1 - share) / share
        return f"{stages[-1].words}: {int(100 * share)} %, about {_time(left)} left"


_LISTENING: ContextVar[Progress | None] = ContextVar("progress", default=None)


def steps(items: Iterable[ItemT], words: str, total: int | None = None) -> Iterator[ItemT]:
    """Yield the items, and report each that is behind; without a length, say how many there are if known."""
    progress = _LISTENING.get()
    if progress is None:
        yield from items
        return
    stage = Stage(words, len(items) if total is None and isinstance(items, Sized) else total)
    progress.begin(stage)
    try:
        for item in items:
            yield item
            stage.done += 1
    finally:
        progress.end(stage)


def sized_steps(items: Iterable[ItemT], words: str, sizes: Sequence[int]) -> Iterator[ItemT]:
    """Yield the items, and report each that is behind by its size, by which it takes longer or shorter."""
    progress = _LISTENING.get()
    if progress is None:
        yield from items
        return
    stage = Stage(words, sum(sizes))
    progress.begin(stage)
    try:
        for item, size in zip(items, sizes, strict=True):
            stage.size = size
            yield item
            stage.done += size
    finally:
        progress.end(stage)


def look() -> None:
    """Tell whoever hears of the work that it goes on."""
    if (progress := _LISTENING.get()) is not None:
        progress.look()


@contextmanager
def doing(words: str) -> Iterator[None]:
    """Report what is being done, where nobody knows in how many steps."""
    progress = _LISTENING.get()
    if progress is None:
        yield
        return
    stage = Stage(words)
    progress.begin(stage)
    try:
        yield
    finally:
        progress.end(stage)


@contextmanager
def heard(progress: Progress) -> Iterator[None]:
    """Let all that is done within be reported to ``progress``."""
    token = _LISTENING.set(progress)
    try:
        yield
    finally:
        _LISTENING.reset(token)


def _time(seconds: float) -> str:
    """Return a time in words, as closely as anybody wants to know it."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 6000 else f"{round(seconds / 3600)} h"
