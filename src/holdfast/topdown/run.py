"""Where parents are solved: on the cores of this machine, or on Spark. The counts are the same."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from holdfast.errors import ReleaseError
from holdfast.lattice.arrays import IntArray

if TYPE_CHECKING:
    from holdfast.estimation.topdown.descent import Family, Run

Engine = Literal["embedded", "spark"]
ENGINES = ("embedded", "spark")
SLICES = 4
"""Tasks for each core of a cluster."""


def run_on(engine: str) -> "Run":
    """Return how families of nodes are solved by an engine; raises ReleaseError where it is not there."""
    if engine not in ENGINES:
        raise ReleaseError(f"there is no engine {engine!r}: choose {' or '.join(ENGINES)}.")
    if engine == "embedded":
        from holdfast.estimation.topdown.descent import pooled

        return pooled
    from holdfast.engines.spark_session import require_installed  # noqa: PLC0415 - an extra

    require_installed()
    return on_spark


def on_spark(solve: "Callable[[Family], IntArray]", families: "Iterable[Family]") -> Iterator[IntArray]:
    """Solve families on the workers of Spark, and return their counts in order."""
    from holdfast.engines.spark_session import spark_context  # noqa: PLC0415 - an extra

    context = spark_context()
    listed = list(families)
    if not listed:
        return iter(())
    slices = min(len(listed), SLICES * context.defaultParallelism)
    return iter(context.parallelize(listed, slices).map(solve).collect())
