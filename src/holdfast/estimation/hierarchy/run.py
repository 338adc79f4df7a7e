"""How tasks are run: here one after the other, or by other processes of this machine.

What runs them is any function of a function and tasks that returns the answers in order; what it computes
where, and how much at once, makes no difference to them.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager
from itertools import chain, islice
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
AHEAD = 4
"""Tasks that wait for each worker: as many are in memory at once, with their answers."""


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
        """Yield the answer of each task, in their order; tasks are made when their turn is near."""
        known: Iterable[TaskT] = tasks if isinstance(tasks, Sized) else list(tasks)
        total, rest = len(known), iter(known)  # type: ignore[arg-type]
        done, begin = 0, monotonic()
        while done < total and (self._executor is None or total == 1):
            yield solve(next(rest))
            done += 1
            left = (monotonic() - begin) / done * (total - done)
            if self._executor is None and left * (1 - 1 / self._count) > START:
                self._executor = self._started()
        if self._executor is not None:
            yield from self._by_workers(self._executor, solve, rest)

    def _by_workers(
        self, executor: Executor, solve: Callable[[TaskT], AnswerT], rest: Iterator[TaskT]
    ) -> Iterator[AnswerT]:
        """Yield the answers of what is left, with a few tasks under way at a time."""
        waiting: deque[TaskT] = deque()
        under_way: deque[Future[AnswerT]] = deque()
        try:
            while True:
                for task in islice(rest, AHEAD * self._count - len(waiting)):
                    waiting.append(task)
                    under_way.append(executor.submit(solve, task))
                if not waiting:
                    return
                answer = under_way[0].result()
                waiting.popleft()
                under_way.popleft()
                yield answer
        except BrokenExecutor:  # a worker was ended: what is left is done here
            self._executor = None
            yield from map(solve, chain(waiting, rest))

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
