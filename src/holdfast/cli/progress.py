"""Progress on standard error: for whatever takes over two seconds, what it does, its share and the time left.

On a terminal one line changes; elsewhere a line is added now and then.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import TextIO

from holdfast.cli.arguments import QUIET
from holdfast.system.progress import Progress, Stage, heard
from holdfast.system.text import visible

FIRST, LIVE, SELDOM = 2.0, 0.5, 10.0
"""Seconds before anything is shown, and between two lines: on a terminal, elsewhere."""
CLEAR = "\r\x1b[K"


class ProgressLine(Progress):
    """The stages of a command, and the line that shows them."""

    def __init__(self, stream: TextIO, *, live: bool) -> None:
        super().__init__()
        self.stream, self.live = stream, live
        self.shown = ""
        self.lock = Lock()

    def begin(self, stage: Stage) -> None:
        """Note that a stage begins, unless nobody wants to know."""
        if not QUIET.get():
            super().begin(stage)

    def end(self, stage: Stage) -> None:
        """Take the line away with the last stage, before anything else is printed."""
        with self.lock:
            super().end(stage)
            if self.live and self.shown and not self.stages:
                self._write(CLEAR)
                self.shown = ""

    def show(self) -> None:
        """Show what is under way."""
        with self.lock:
            sentence = visible(self.sentence(monotonic()))
            if sentence and sentence != self.shown:
                self._write(CLEAR + sentence if self.live else f"{sentence}\n")
                self.shown = sentence

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self.stream.write(text)
            self.stream.flush()


@contextmanager
def showing_progress() -> Iterator[None]:
    """Show the progress of all that is done within, unless HOLDFAST_PROGRESS=never."""
    if os.environ.get("HOLDFAST_PROGRESS") == "never":
        yield
        return
    watch = ProgressLine(sys.stderr, live=sys.stderr.isatty())
    over = Event()
    thread = Thread(target=_look, args=(watch, over), daemon=True)
    thread.start()
    try:
        with heard(watch):
            yield
    finally:
        over.set()
        thread.join()


def _look(watch: ProgressLine, over: Event) -> None:
    pause = FIRST
    while not over.wait(pause):
        watch.show()
        pause = LIVE if watch.live else SELDOM
