"""The swap of some whole strata, in memory: the same on every engine.

Who takes whose values is drawn by `sampling/permute.py`. Strata leave in the order of their digests, records
of a stratum in an order that is drawn: neither tells where a record stood, or whether it moved.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa

from holdfast.data.fingerprint import Digests, Words, row_digests
from holdfast.errors import DataError
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import SystemEntropy
from holdfast.sampling.permute import permute
from holdfast.swapping.design import Columns


@dataclass(frozen=True)
class Swap:
    """What is swapped, and how often; a seed is for studies alone, and draws each stratum by itself."""

    columns: Columns
    rate: Fraction
    seed: int | None = None


@dataclass(frozen=True, eq=False)
class Swapped:
    """Records after a swap; of each of their strata the size, and how many records were deranged."""

    records: pa.Table = field(repr=False)
    sizes: IntArray
    moved: IntArray


def strata_digests(records: pa.Table, columns: Columns) -> Digests:
    """Return the digest of each record's stratum; strata are put in order by its first word."""
    return row_digests(records, columns.stratify)


def own_words(records: pa.Table, columns: Columns) -> Words:
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


def require_told_apart(told: bool, file: str = "the file") -> None:
    """Raise DataError unless the words of strata tell them apart."""
    if not told:
        raise DataError(
            f"{file} has two strata whose digests begin with the same 64 bits: respell a level of one."
        )


def seeded_keys(strata: Words, seed: int) -> Words:
    """Return the key of each stratum's draw, from their words and a seed."""
    return _mixed(strata + _mixed(np.array([seed % 2**64], dtype=np.uint64)))


def _mixed(words: Words) -> Words:
    """Return words in which each bit depends on all bits of another, by the finaliser of SplitMix64."""
    with np.errstate(over="ignore"):
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))


def swap_group(records: pa.Table, swap: Swap) -> Swapped:
    """Swap the records of whole strata; dictionaries are made anew."""
    schema, records = records.schema, records.cast(plain(records.schema))
    columns = swap.columns
    strata = strata_digests(records, columns)
    words = strata[:, 0]
    if swap.seed is None:
        places = np.argsort(words, kind="stable")
    else:  # one draw on every engine, wherever records come from
        places = np.lexsort((own_words(records, columns), words))
    firsts = first_places(strata[places])
    sizes = np.diff(np.append(firsts, words.size))
    if swap.seed is None:
        drawn = permute(sizes, swap.rate, SystemEntropy())
    else:
        drawn = permute(sizes, swap.rate, None, seeded_keys(words[places[firsts]], swap.seed))
    stays, comes = places[drawn.order], places[drawn.source[drawn.order]]
    return Swapped(_taken(records, columns, stays, comes).cast(schema), sizes, drawn.moved)


def _taken(records: pa.Table, columns: Columns, stays: IntArray, comes: IntArray) -> pa.Table:
    held, moved = pa.array(stays), pa.array(comes)
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
