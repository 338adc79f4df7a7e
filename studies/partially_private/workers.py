"""Work that is spread over all processors; results do not depend on how many there are."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from studies.outcome import Bar

FEW = 60
"""Tasks for which no processes are started."""

Task = TypeVar("Task")
Result = TypeVar("Result")


def spread(work: Callable[[Task], Result], tasks: Sequence[Task], bar: Bar[Any], what: str) -> list[Result]:
    """Return what comes of each task, in their order."""
    if len(tasks) <= FEW:
        with threadpool_limits(1):
            return [work(task) for task in bar(tasks, what)]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), threadpool_limits, (1,)) as pool:
        coming = [pool.submit(work, task) for task in tasks]
        return [each.result() for each in bar(coming, what)]
