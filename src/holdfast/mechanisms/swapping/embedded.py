"""A file of any size, swapped on this machine, a group of whole strata after the other.

A small file is one group. A large one is read once and dealt out to a file for each group, which has no name
and vanishes with the process; then each group is read, swapped and handed on. Groups are ranges of the first
words of digests of strata, so that together they come in one order.

A group is swapped in memory, by the same function on every engine. Who takes whose values is drawn by
`permute.py`. Strata leave in the order of their digests, records of a stratum in an order that is drawn:
neither tells where a record stood, or whether it moved.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from holdfast.data.arrow import arrow_numbers
from holdfast.data.fingerprint import Digests, row_digests
from holdfast.data.microdata import Microdata
from holdfast.data.parquet import width
from holdfast.lattice.arrays import IntArray, WordArray
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping.permute import Permuted, permute_at
from holdfast.mechanisms.swapping.public import Survey, require_told_apart
from holdfast.mechanisms.swapping.rounds import Round
from holdfast.sampling.entropy import Entropy, SystemEntropy
from holdfast.system.errors import DataError
from holdfast.system.machine import free_memory
from holdfast.system.progress import doing, steps

GROUP = 4_000_000
"""Records of a group at most, unless one stratum has more."""
GROUP_MEMORY = 1 << 30
"""Bytes that a group takes at most, and no more than half of those that are free; unless one stratum does."""
COPIES = 4
"""How often a group stands in memory at its peak."""
WORDS_EACH = 80
"""Bytes for each record of a group beside its columns."""


@dataclass(frozen=True)
class Swap:
    """What is swapped, and how often; a seed is for studies alone, and draws each stratum by itself."""

    columns: ColumnRoles
    rate: Fraction
    seed: int | None = None
    rounds: tuple[Round, ...] = ()
    """All rounds, the last one last, where there are several, or several rates."""

    @property
    def every(self) -> tuple[Round, ...]:
        """The rounds, one where nothing else was asked for."""
        return self.rounds or (Round(self.columns.stratify, (), self.rate),)


@dataclass(frozen=True, eq=False)
class Arranged:
    """Records side by side by the strata of a round: where they stand, and the rate of each stratum."""

    places: IntArray
    words: WordArray
    """One for each stratum."""
    sizes: IntArray
    rates: tuple[Fraction, ...]
    kinds: IntArray
    """The place of each stratum's rate."""

    @classmethod
    def of(cls, design: Round, strata: Digests, bits: IntArray, own: WordArray | None) -> "Arranged":
        """Arrange records by the digests of their strata; by their ``own`` words, too, for a seed.

        ``bits`` are the rules whose levels a record's stratum has.
        """
        words = strata[:, 0]
        places = np.argsort(words, kind="stable") if own is None else np.lexsort((own, words))
        firsts = first_places(strata[places])
        sizes = np.diff(np.append(firsts, words.size))
        kinds, index = np.unique(design.classes(bits[places[firsts]], sizes), return_inverse=True)
        rates = tuple(design.rate_of(kind) for kind in kinds.tolist())
        return cls(places, words[places[firsts]], sizes, rates, index.astype(np.int64))

    def drawn(self, entropy: Entropy | None, seed: int = 0, number: int = 0) -> Permuted:
        """Draw by a source, or by a seed and the number of the round, counted from the last."""
        keys = None if entropy is not None else seeded_keys(self.words, seed + (number << 40))
        return permute_at(self.sizes, self.rates, self.kinds, entropy, keys)

    def taken(self, drawn: Permuted) -> IntArray:
        """Return for each record the one whose values it takes, where records stand as they are given."""
        found = np.empty_like(self.places)
        found[self.places] = self.places[drawn.source]
        return found


def composed(
    arranged: Sequence[Arranged], entropy: Entropy | None, seed: int = 0
) -> tuple[IntArray, Permuted]:
    """Draw all rounds; return whose values each record has in the end, and what the last round drew."""
    source = np.arange(arranged[-1].places.size)
    for number, one in reversed(list(enumerate(reversed(arranged)))):
        drawn = one.drawn(entropy, seed, number)
        source = source[one.taken(drawn)]
    return source, drawn


@dataclass(frozen=True, eq=False)
class Swapped:
    """Records after a swap; of each of their strata the size, and how many records were deranged."""

    records: pa.Table = field(repr=False)
    sizes: IntArray
    moved: IntArray


def strata_digests(records: pa.Table, columns: ColumnRoles) -> Digests:
    """Return the digest of each record's stratum; strata are put in order by its first word."""
    return row_digests(records, columns.stratify)


def own_words(records: pa.Table, columns: ColumnRoles) -> WordArray:
    """Return a word of what each record has beside its stratum."""
    return row_digests(records, (*columns.swap, *columns.held))[:, 0]


def first_places(strata: Digests) -> IntArray:
    """Return where each stratum begins, from the digests of records in the order of their first words.

    Raises DataError where two strata share a word: records of one could stand among those of the other, and
    would be swapped with them.
    """
    starts = np.concatenate([[True], strata[1:, 0] != strata[:-1, 0]])
    require_told_apart(bool((strata[1:] == strata[:-1])[~starts[1:]].all()))
    return np.flatnonzero(starts)


def seeded_keys(strata: WordArray, seed: int) -> WordArray:
    """Return the key of each stratum's draw, from their words and a seed."""
    return _mixed(strata + _mixed(np.array([seed % 2**64], dtype=np.uint64)))


def _mixed(words: WordArray) -> WordArray:
    """Return words in which each bit depends on all bits of another, by the finaliser of SplitMix64."""
    with np.errstate(over="ignore"):
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))


def swap_group(records: pa.Table, swap: Swap) -> Swapped:
    """Swap the records of whole strata; dictionaries are made anew."""
    schema, records = records.schema, records.cast(plain(records.schema))
    columns = swap.columns
    # one draw on every engine, wherever records come from
    own = None if swap.seed is None else own_words(records, columns)
    arranged = [
        Arranged.of(one, row_digests(records, one.stratify), one.fits(records), own) for one in swap.every
    ]
    source, drawn = composed(arranged, SystemEntropy() if swap.seed is None else None, swap.seed or 0)
    last, moved = arranged[-1], drawn.moved
    if len(arranged) > 1:  # some of those that moved may be back
        firsts = np.cumsum(last.sizes) - last.sizes
        moved = np.add.reduceat((source != np.arange(source.size))[last.places].astype(np.int64), firsts)
    stays = last.places[drawn.order]
    return Swapped(_taken(records, columns, stays, source[stays]).cast(schema), last.sizes, moved)


def _taken(records: pa.Table, columns: ColumnRoles, stays: IntArray, comes: IntArray) -> pa.Table:
    held, moved = arrow_numbers(stays), arrow_numbers(comes)
    return pa.table(
        [records.column(name).take(moved if name in columns.swap else held) for name in records.column_names],
        schema=records.schema,
    )


def plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema with values in place of dictionaries.

    These differ from batch to batch, and have the order of the input, which must not show, unless that order
    means something.
    """
    return pa.schema(
        [
            field.with_type(field.type.value_type)
            if pa.types.is_dictionary(field.type) and not field.type.ordered
            else field
            for field in schema
        ]
    )


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


def group_bounds(survey: Survey, size: int | None = None) -> WordArray:
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


def group_of(words: WordArray, bounds: WordArray) -> IntArray:
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


def _dealt(records: Microdata, swap: Swap, bounds: WordArray, stack: ExitStack) -> list[IO[bytes]]:
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


def parted(
    records: pa.Table, schema: pa.Schema, swap: Swap, bounds: WordArray
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the records of each group that has any, in the types of a schema."""
    groups = group_of(strata_digests(records, swap.columns)[:, 0], bounds)
    ends = np.cumsum(np.bincount(groups)).tolist()
    records = records.cast(schema).take(arrow_numbers(np.argsort(groups, kind="stable")))
    for group, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        if end > start:
            yield group, records.slice(start, end - start)


def _read(file: IO[bytes]) -> pa.Table:
    with pa.ipc.open_stream(file) as reader:
        return reader.read_all()
