"""The groups of a swap on Spark: the kernel of the embedded engine, on workers.

Spark sees no column. A task reads some row groups, and hands on what belongs to each group of strata as bytes
of Arrow; Spark brings the bytes of a group together; a worker swaps it, by words of its own operating system,
and stores it in a folder that all share. So types, names and missing values are those of the file whatever
Spark can hold, and no log of it has a value. Groups come back in their order while others are under way.

A worker that fails says why in a sentence, and never with an exception: Spark would write that to its logs.
"""

import os
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from holdfast.data.microdata import Microdata
from holdfast.data.parquet import BATCH, parquet_batches, parquet_row_groups
from holdfast.engines.spark_session import is_local, spark_context
from holdfast.lattice.arrays import WordArray
from holdfast.mechanisms.swapping.embedded import (
    Swap,
    Swapped,
    group_bounds,
    parted,
    plain,
    record_memory,
    swap_group,
)
from holdfast.mechanisms.swapping.public import Survey
from holdfast.system.errors import DataError, HoldfastError, ReleaseError
from holdfast.system.machine import free_memory
from holdfast.system.private import Private
from holdfast.system.progress import doing, steps
from holdfast.version import VERSION

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

GROUP = 1 << 20
"""Records of a group, unless one stratum has more."""
NAP = 0.05
"""Seconds between looks for a group that a worker stored."""
PIECE = 1 << 23
"""Bytes of records that are dealt out at once, to up to a hundred groups."""
ItemT = TypeVar("ItemT")
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4", unify_dictionaries=False)


@dataclass(frozen=True)
class Task:
    """What a worker reads: some row groups of a Parquet file, or a file of Arrow."""

    path: Path
    row_groups: tuple[int, ...] | None = None

    def batches(self) -> Iterator[pa.Table]:
        """Yield the records."""
        if self.row_groups is not None:
            yield from parquet_batches(self.path, row_groups=self.row_groups)
            return
        with self.path.open("rb") as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                yield pa.Table.from_batches([batch])


@dataclass(frozen=True)
class Failure:
    """Why a worker could not go on: something to mend, or a fault."""

    sentence: str
    fault: bool = False


def require_spark(records: Microdata, survey: Survey) -> None:
    """Raise where Spark or Java is missing, workers cannot do the work, or a stratum does not fit one.

    Spark runs from then on, until the process ends.
    """
    context = spark_context()
    (has, whose), needed = worker_memory(context), survey.largest * record_memory(records.schema)
    if has is not None and needed > has:
        raise DataError(
            f"the largest stratum has {survey.largest:,} records, which take about {needed / 1e9:.1f} GB, and"
            f" a Spark worker has {has / 1e9:.1f} GB ({whose}): add a column to stratify, or give workers"
            " more memory."
        )
    tries = context.parallelize(range(context.defaultParallelism), context.defaultParallelism)
    with doing("trying Spark's workers"):
        _require_success(tries.flatMap(partial(_tried, VERSION, records.path)))


def spark_groups(records: Microdata, survey: Survey, swap: Swap, folder: Private) -> Iterator[Swapped]:
    """Yield the swapped records, group after group.

    On their way they are in a folder of their own within ``folder``, which all workers must share.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - an extra

    context, bounds = spark_context(), group_bounds(survey, GROUP)
    with (
        folder.shared("spark-") as shared,
        ThreadPoolExecutor(1) as pool,
    ):
        tasks = _tasks(records, shared)
        running = pool.submit(_run, context, tasks, plain(records.schema), swap, bounds, shared)
        try:
            for group in steps(range(len(bounds) + 1), "swapping on Spark"):
                path = _place(shared, group)
                _wait(path, running)
                yield _taken(path)
        finally:
            with suppress(Py4JError, OSError):  # Spark may be gone
                context.cancelJobGroup(str(shared))


def _run(
    context: "SparkContext", tasks: list[Task], schema: pa.Schema, swap: Swap, bounds: WordArray, shared: Path
) -> None:
    """Deal the records out to groups, and swap each, on workers."""
    context.setJobGroup(str(shared), "permutation swapping", interruptOnCancel=True)
    parts = context.parallelize(tasks, len(tasks)).flatMap(partial(_dealt, schema, swap, bounds))
    groups = parts.partitionBy(len(bounds) + 1, _itself)
    _require_success(groups.mapPartitionsWithIndex(partial(_swapped, shared, swap)))


def _require_success(failures: "RDD[Failure]") -> None:
    """Let workers work; raises what the first of them failed at, rather what can be mended."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - an extra

    try:
        found = failures.collect()
    except (Py4JError, OSError) as error:
        raise ReleaseError(_complaint(str(error))) from None
    for failure in sorted(found, key=lambda failure: failure.fault):
        if failure.fault:
            raise RuntimeError(failure.sentence)
        raise DataError(f"on a Spark worker, {failure.sentence}")


def _tasks(records: Microdata, shared: Path) -> list[Task]:
    """Return what workers read: row groups of a Parquet file, or else what is read here and stored."""
    if records.path is not None:
        return [Task(records.path, rows) for rows in _row_groups(records.path)]
    tasks = []
    for number, batch in enumerate(steps(records.batches(), "reading for Spark", records.number)):
        tasks.append(Task(shared / f"batch-{number}.arrow"))
        with tasks[-1].path.open("wb") as file:
            _write(file, batch.cast(records.schema))
    return tasks


def worker_memory(context: "SparkContext") -> tuple[int | None, str]:
    """Return the bytes that a worker has for one group, None where nobody says, and who says so."""
    conf = context.getConf()
    if (limit := conf.get("spark.executor.pyspark.memory")) is not None:
        return size(limit) // int(conf.get("spark.executor.cores", "1")), "spark.executor.pyspark.memory"
    if is_local(context):
        return free_memory(), "what this machine has free"
    return size(conf.get("spark.executor.memory", "1g")), "spark.executor.memory"


def size(setting: str) -> int:
    """Return the bytes of a setting of Spark, which counts in MiB where it names no unit.

    >>> size("4g"), size("512MB"), size("100"), size("100b")
    (4294967296, 536870912, 104857600, 100)
    """
    text = setting.strip().lower()
    digits = text.rstrip("bkmgtp")
    unit = text[len(digits) :][:1] or "m"
    return int(digits) * int(1024 ** "bkmgtp".index(unit))


def _row_groups(path: Path) -> list[tuple[int, ...]]:
    """Return runs of row groups of about as many records as a batch."""
    runs: list[tuple[int, ...]] = [()]
    read = 0
    for group, rows in enumerate(parquet_row_groups(path)):
        if read >= BATCH:
            runs, read = [*runs, ()], 0
        runs[-1] = (*runs[-1], group)
        read += rows
    return runs


def _itself(group: int) -> int:
    return group


def _with_failures(work: Iterator[ItemT]) -> Iterator[ItemT | Failure]:
    """Yield what some work yields; where it fails, why, without a value of the data."""
    try:
        yield from work
    except HoldfastError as error:
        yield Failure(str(error))
    except MemoryError:
        yield Failure("a group of strata is too large for the memory: give workers more.")
    except OSError as error:
        place = error.filename or "a file"
        yield Failure(f"{place} cannot be used ({error.strerror}): let every worker reach that folder.")
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        yield Failure(f"{type(error).__name__} in {frame.name}, line {frame.lineno}", fault=True)


def _tried(version: str, path: Path | None, _: int) -> Iterator[Failure]:
    """Yield why a worker could not do the work."""

    def failures() -> Iterator[Failure]:
        if version != VERSION:
            yield Failure(f"Holdfast is {VERSION}, and here it is {version}: install this version there.")
        if path is not None:
            with path.open("rb"):
                pass

    yield from _with_failures(failures())


def _dealt(
    schema: pa.Schema, swap: Swap, bounds: WordArray, task: Task
) -> Iterator[tuple[int, bytes | Failure]]:
    """Yield the records of a task by group; a failure goes to the first group, before which none is taken."""

    def parts() -> Iterator[tuple[int, bytes]]:
        for piece in _pieces(task.batches(), len(bounds) + 1):
            for group, part in parted(piece, schema, swap, bounds):
                sink = pa.BufferOutputStream()
                _write(sink, part)
                yield group, sink.getvalue().to_pybytes()

    for found in _with_failures(parts()):
        yield (0, found) if isinstance(found, Failure) else found


def _pieces(batches: Iterable[pa.Table], groups: int) -> Iterator[pa.Table]:
    """Yield records in pieces so small that what Spark gathers before it hands them on is small.

    That is ten parts for each group and a thousand at most, and all may be of one group.
    """
    most = PIECE * max(1, groups // 100)
    for batch in batches:
        rows = max(1, most * batch.num_rows // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def _swapped(
    folder: Path, swap: Swap, group: int, parts: Iterable[tuple[int, bytes | Failure]]
) -> Iterator[Failure]:
    """Swap a group and store it, whole or not at all; yields only why that failed."""

    def failures() -> Iterator[Failure]:
        tables = []
        for _, part in parts:
            if isinstance(part, Failure):
                yield part
                return
            with pa.ipc.open_stream(part) as reader:
                tables.append(reader.read_all())
        swapped = swap_group(pa.concat_tables(tables).combine_chunks(), swap)
        handle, draft = tempfile.mkstemp(dir=folder, suffix=".arrow")
        with os.fdopen(handle, "wb") as file:
            _write(file, pa.table({"sizes": swapped.sizes, "moved": swapped.moved}))
            _write(file, swapped.records)
        Path(draft).replace(_place(folder, group))

    yield from _with_failures(failures())


def _write(sink: object, table: pa.Table) -> None:
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table)


def _taken(path: Path) -> Swapped:
    """Read a group, and remove it."""
    with path.open("rb") as file:
        strata, records = (pa.ipc.open_stream(file).read_all() for _ in range(2))
    path.unlink()
    sizes, moved = (np.asarray(strata[name], dtype=np.int64) for name in ("sizes", "moved"))
    return Swapped(records, sizes, moved)


def _place(folder: Path, group: int) -> Path:
    return folder / f"group-{group}.arrow"


def _wait(path: Path, running: "Future[None]") -> None:
    """Return once a group is there; raises what ended the run before it was."""
    while not path.exists():
        if running.done():
            running.result()
            if not path.exists():
                raise ReleaseError(
                    f"what Spark's workers store in {path.parent} is not seen here: release to a folder that"
                    " all of them share with this machine."
                )
        time.sleep(NAP)


def _complaint(trace: str) -> str:
    """Return one sentence for a trace of Java."""
    if "No module named" in trace or "ModuleNotFoundError" in trace:
        return "Spark's workers do not have Holdfast: install this version of it in the Python that they run."
    if "PYTHON_VERSION_MISMATCH" in trace or "different minor version" in trace:
        return (
            "Spark's workers run another Python than this one: set PYSPARK_PYTHON to one of the same version."
        )
    if "No space left" in trace:
        return "the disk on which Spark stores records is full: make room, or set spark.local.dir to another."
    return (
        "Spark ended before all strata were swapped, most likely a worker for want of memory: give workers"
        " more (spark.executor.memory and spark.executor.memoryOverhead), or leave the engine out."
    )
