"""Work that takes long: one thread, progress that can be read, and a way to end it before it costs anything.

A job can be ended wherever a stage of its work begins, until it says that it is committed: after that it
draws, and runs to its end.
"""

from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from threading import Lock, Thread
from time import monotonic
from typing import Any

from holdfast.system.errors import HoldfastError
from holdfast.system.machine import short_of_memory
from holdfast.system.progress import Progress, Stage, heard

FAULT = "this is a fault of Holdfast: look into the folder for what was written, and report it."
MEMORY = "there is not enough memory for this: name fewer columns, merge levels, or use a larger machine."


class EndedError(HoldfastError):
    """A job was ended before it cost anything."""


class _Watched(Progress):
    """Progress of a job, in whose stages it may be ended."""

    def __init__(self, job: "Job") -> None:
        super().__init__()
        self.job = job

    def begin(self, stage: Stage) -> None:
        self.job.look()
        super().begin(stage)

    def look(self) -> None:
        self.job.look()


@dataclass(eq=False)
class Job:
    """What is being done, and what came of it."""

    words: str
    work: Callable[["Job"], Any] = field(repr=False)
    result: Any = field(default=None, repr=False)
    problem: str = ""
    """Why it failed, in a sentence."""
    committed: bool = False
    over: bool = False
    ended: bool = False
    """Whether somebody ended it."""
    of: Any = field(default=None, repr=False)
    """What it was begun for, where it is done once for that."""

    def __post_init__(self) -> None:
        self._progress, self._lock = _Watched(self), Lock()
        self._asked_to_end = False
        self._thread = Thread(target=copy_context().run, args=(self._run,), daemon=True)

    def start(self) -> "Job":
        """Begin."""
        self._thread.start()
        return self

    def look(self) -> None:
        """Raise EndedError where somebody asked for the end, and it is not too late."""
        with self._lock:
            self._look()

    def commit(self) -> None:
        """Say that from here on it runs to its end; raises EndedError where it was to end before."""
        with self._lock:
            self._look()
            self.committed = True

    def _look(self) -> None:
        if self._asked_to_end and not self.committed:
            raise EndedError("it was ended before anything was charged or drawn.")

    def end(self) -> bool:
        """Ask for the end; whether it is in time."""
        with self._lock:
            self._asked_to_end = self._asked_to_end or not (self.committed or self.over)
            return self._asked_to_end

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(seconds)

    @property
    def sentence(self) -> str:
        """How far it is."""
        return self._progress.sentence(monotonic()) or self.words

    def _run(self) -> None:
        try:
            with heard(self._progress):
                self.result = self.work(self)
        except EndedError as error:
            self.ended, self.problem = True, str(error)
        except HoldfastError as error:
            self.problem = str(error)
        except BaseException as error:  # its words may hold what is confidential
            self.problem = MEMORY if short_of_memory(error) else f"{type(error).__name__}: {FAULT}"
        finally:
            self.over = True
