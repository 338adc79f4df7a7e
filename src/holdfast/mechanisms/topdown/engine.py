"""Where parents are solved: on the cores of this machine, or on Spark. The counts are the same."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from holdfast.estimation.hierarchy.kept import KeptRun
from holdfast.estimation.hierarchy.run import Run, Workers
from holdfast.mechanisms.mechanism import Making

TaskT = TypeVar("TaskT")
AnswerT = TypeVar("AnswerT")

ENGINES = ("embedded", "spark")
SLICES = 4
"""Tasks for each core of a cluster."""
ROUNDS = 4
"""Times as many tasks are handed to a cluster together: their answers are in memory at once."""


@contextmanager
def workers(making: Making) -> Iterator[Run]:
    """Return what solves parents, for a ``with`` block; what a run before this one solved is not again."""
    with Workers(making.jobs) as embedded:
        run: Run = embedded if making.engine == "embedded" else on_spark
        yield run if making.shelf is None else KeptRun(run, making.shelf)


def on_spark(solve: Callable[[TaskT], AnswerT], tasks: Iterable[TaskT]) -> Iterator[AnswerT]:
    """Solve tasks on the workers of Spark, and yield their answers in order."""
    from holdfast.engines.spark_session import spark_context  # noqa: PLC0415 - an extra

    rest = iter(tasks)
    first = list(islice(rest, 1))
    if not first:
        return
    context = spark_context()
    at_once = SLICES * context.defaultParallelism
    some = first + list(islice(rest, ROUNDS * at_once - 1))
    while some:
        yield from context.parallelize(some, min(len(some), at_once)).map(solve).collect()
        some = list(islice(rest, ROUNDS * at_once))
