"""A file of any size, swapped on this machine, a group of whole strata after the other.

A small file is one group. A large one is read once and dealt out to a file for each group, which has no name
and vanishes with the process; then each group is read, swapped and handed on. Groups are ranges of the first
words of digests of strata, so that together they come in one order.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from holdfast.data.fingerprint import Words
from holdfast.data.microdata import Microdata, width
from holdfast.errors import DataError
from holdfast.lattice.arrays import IntArray
from holdfast.machine import free_memory
from holdfast.progress import doing, steps
from holdfast.swapping.group import Swap, Swapped, plain, strata_digests, swap_group
from holdfast.swapping.survey import Survey

GROUP = 4_000_000
"""Records of a group at most, unless one stratum has more."""
GROUP_MEMORY = 1 << 30
"""Bytes that a group takes at most, and no more than half of those that are free; unless one stratum does."""
COPIES = 4
"""How often a group stands in memory at its peak."""
WORDS_EACH = 80
"""Bytes for each record of a group beside its columns."""


def swapped_groups(records: Microdata, survey: Survey, swap: Swap) -> Iterator[Swapped]:
    """Yield the swapped records, group after group."""
    bounds = group_bounds(survey, group_size(records.schema))
    if len(bounds) == 0:
        with doing("swapping"):
            yield swap_group(records.whole(), swap)
        return
    with ExitStack() as stack:
        groups = _dealt(records, swap, bounds, stack)
        for file in steps(groups, "swapping", len(groups)):
            yield swap_group(_read(file), swap)


def group_bounds(survey: Survey, size: int | None = None) -> Words:
    """Return the words at which groups after the first begin: of about as many records each."""
    ends = np.cumsum(survey.sizes)
    most = GROUP if size is None else size
    number = -(-int(ends[-1]) // most)
    cuts = np.searchsorted(ends, np.arange(1, number) * (int(ends[-1]) / number)) + 1
    return survey.words[np.unique(cuts[cuts < survey.words.size])]


def group_size(schema: pa.Schema) -> int:
    """Return how many records a group may have, on this machine now."""
    free = free_memory()
    memory = GROUP_MEMORY if free is None else min(GROUP_MEMORY, free // 2)
    return min(GROUP, 1 + memory // record_memory(schema))


def group_of(words: Words, bounds: Words) -> IntArray:
    """Return the group of each record by the word of its stratum."""
    return np.searchsorted(bounds, words, side="right")


def group_memory(records: Microdata, survey: Survey) -> int:
    """Return about how many bytes the largest group takes; none is smaller than the largest stratum."""
    rows = max(min(survey.rows, group_size(records.schema)), survey.largest)
    return rows * record_memory(records.schema)


def require_room(records: Microdata, survey: Survey) -> None:
    """Raise DataError where the largest stratum does not fit this machine's memory; it is swapped whole."""
    free, largest = free_memory(), survey.largest
    needed = largest * record_memory(records.schema)
    if free is not None and needed > free:
        raise DataError(
            f"the largest stratum has {largest:,} records, which take about {needed / 1e9:.1f} GB, and this"
            f" machine has {free / 1e9:.1f} GB free: add a column to stratify, or take a larger machine."
        )


def record_memory(schema: pa.Schema) -> int:
    """Return about how many bytes a record takes while it is swapped."""
    return COPIES * width(schema) + WORDS_EACH


def _dealt(records: Microdata, swap: Swap, bounds: Words, stack: ExitStack) -> list[IO[bytes]]:
    """Deal the records out to a nameless file for each group."""
    files: list[IO[bytes]] = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(len(bounds) + 1)]  # noqa: SIM115
    options = pa.ipc.IpcWriteOptions(compression="lz4", unify_dictionaries=False)
    schema = plain(records.schema)
    writers = [pa.ipc.new_stream(file, schema, options=options) for file in files]
    for batch in steps(records.batches(), "dealing the records out by stratum", records.number):
        for group, part in parted(batch, schema, swap, bounds):
            writers[group].write_table(part.combine_chunks())
    for writer in writers:
        writer.close()
    for file in files:
        file.seek(0)
    return files


def parted(records: pa.Table, schema: pa.Schema, swap: Swap, bounds: Words) -> Iterator[tuple[int, pa.Table]]:
    """Yield the records of each group that has any, in the types of a schema."""
    groups = group_of(strata_digests(records, swap.columns)[:, 0], bounds)
    ends = np.cumsum(np.bincount(groups)).tolist()
    records = records.cast(schema).take(pa.array(np.argsort(groups, kind="stable")))
    for group, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        if end > start:
            yield group, records.slice(start, end - start)


def _read(file: IO[bytes]) -> pa.Table:
    with pa.ipc.open_stream(file) as reader:
        return reader.read_all()
