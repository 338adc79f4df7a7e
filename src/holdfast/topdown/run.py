"""Where parents are solved: on the cores of this machine, or on Spark. The counts are the same."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from holdfast.errors import ReleaseError
from holdfast.estimation.topdown.run import Run, Workers

Task = TypeVar("Task")
Answer = TypeVar("Answer")

ENGINES = ("embedded", "spark")
SLICES = 4
"""Tasks for each core of a cluster."""


def workers(engine: str) -> AbstractContextManager[Run]:
    """Return what solves parents, for a ``with`` block; raises ReleaseError where it is not there."""
    if engine not in ENGINES:
        raise ReleaseError(f"there is no engine {engine!r}: choose {' or '.join(ENGINES)}.")
    if engine == "embedded":
        return Workers()
    from holdfast.engines.spark_session import require_installed  # noqa: PLC0415 - an extra

    require_installed()
    return nullcontext(on_spark)


def on_spark(solve: Callable[[Task], Answer], tasks: Iterable[Task]) -> Iterator[Answer]:
    """Solve tasks on the workers of Spark, and return their answers in order."""
    from holdfast.engines.spark_session import spark_context  # noqa: PLC0415 - an extra

    listed = list(tasks)
    if not listed:
        return iter(())
    context = spark_context()
    slices = min(len(listed), SLICES * context.defaultParallelism)
    return iter(context.parallelize(listed, slices).map(solve).collect())
