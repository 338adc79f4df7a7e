"""How tasks are run: here one after the other, or by other processes of this machine.

What runs them is any function of a function and tasks that returns the answers in order; what it computes
where, and how much at once, makes no difference to them.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import wait
from threading import Thread
from time import monotonic
from types import TracebackType
from typing import Protocol, Self, TypeVar

from threadpoolctl import threadpool_limits

TaskT = TypeVar("TaskT")
AnswerT = TypeVar("AnswerT")

START = 2.0
"""Seconds that workers take to start, about: less work than that is done here."""


class Run(Protocol):
    """Runs tasks."""

    def __call__(self, solve: Callable[[TaskT], AnswerT], tasks: Iterable[TaskT]) -> Iterable[AnswerT]:
        """Return the answer of each task, in their order."""
        ...


def here(solve: Callable[[TaskT], AnswerT], tasks: Iterable[TaskT]) -> Iterator[AnswerT]:
    """Run tasks one after the other."""
    return map(solve, tasks)


class Workers:
    """Runs tasks on several processes, which start when there is enough to do; for a ``with`` block.

    The first tasks are run here until it is known how long they take. Workers import the main module, as all
    that are not forked do: a script guards its work by ``if __name__ == "__main__"``.
    """

    def __init__(self, count: int | None = None) -> None:
        self._count = count or _cores()
        self._executor: Executor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None

    def __call__(self, solve: Callable[[TaskT], AnswerT], tasks: Iterable[TaskT]) -> Iterator[AnswerT]:
        """Yield the answer of each task, in their order."""
        rest = list(tasks)
        done, begin = 0, monotonic()
        while done < len(rest) and (self._executor is None or len(rest) == 1):
            yield solve(rest[done])
            done += 1
            left = (monotonic() - begin) / done * (len(rest) - done)
            if self._executor is None and left * (1 - 1 / self._count) > START:
                self._executor = self._started()
        if done < len(rest) and self._executor is not None:
            try:
                for answer in self._executor.map(solve, rest[done:]):
                    yield answer
                    done += 1
            except BrokenExecutor:  # a worker was ended: what is left is done here
                self._executor = None
                yield from map(solve, rest[done:])

    def _started(self) -> Executor:
        """Return workers with linear algebra on one thread each."""
        method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
        context = get_context(method)
        if method == "forkserver":
            context.set_forkserver_preload(["holdfast.estimation.hierarchy.descent"])
        return ProcessPoolExecutor(self._count, mp_context=context, initializer=_begin)


def one_thread() -> AbstractContextManager[object]:
    """Return a context with linear algebra on one thread: sums are then added in one order everywhere."""
    import scipy.linalg  # noqa: F401, PLC0415 - what is loaded later would not be limited

    limited: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limited


def _cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _begin() -> None:
    """Limit a worker for good, and let it end with the process that started it, however that ends."""
    one_thread().__enter__()
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait for the end of the process that started this one: a killed one cannot tell its workers."""
    if (parent := parent_process()) is not None:
        wait([parent.sentinel])
        os._exit(1)
