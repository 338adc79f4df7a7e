"""Where parents are solved: on the cores of this machine, or on Spark. The counts are the same."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from holdfast.estimation.hierarchy.run import Run, Workers

TaskT = TypeVar("TaskT")
AnswerT = TypeVar("AnswerT")

ENGINES = ("embedded", "spark")
SLICES = 4
"""Tasks for each core of a cluster."""


def workers(engine: str) -> AbstractContextManager[Run]:
    """Return what solves parents, for a ``with`` block."""
    return Workers() if engine == "embedded" else nullcontext(on_spark)


def on_spark(solve: Callable[[TaskT], AnswerT], tasks: Iterable[TaskT]) -> Iterator[AnswerT]:
    """Solve tasks on the workers of Spark, and return their answers in order."""
    from holdfast.engines.spark_session import spark_context  # noqa: PLC0415 - an extra

    listed = list(tasks)
    if not listed:
        return iter(())
    context = spark_context()
    slices = min(len(listed), SLICES * context.defaultParallelism)
    return iter(context.parallelize(listed, slices).map(solve).collect())
