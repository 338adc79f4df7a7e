"""The swap of some whole strata, in memory: the same on every engine.

Who takes whose values is drawn by `sampling/permute.py`. Strata leave in the order of their words, records
of a stratum in an order that is drawn: neither tells where a record stood, or whether it moved.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa

from holdfast.data.fingerprint import Words, mixed, row_words
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


def stratum_words(records: pa.Table, columns: Columns) -> Words:
    """Return the word of each record's stratum, by which strata are told apart and put in order."""
    return mixed(row_words(records, columns.stratify))


def own_words(records: pa.Table, columns: Columns) -> Words:
    """Return the word of what each record has beside its stratum."""
    return row_words(records, (*columns.swap, *columns.held))


def first_places(strata: Words) -> IntArray:
    """Return where each stratum begins, from the words of records in order."""
    return np.flatnonzero(np.concatenate([[True], strata[1:] != strata[:-1]]))


def seeded_keys(strata: Words, seed: int) -> Words:
    """Return the key of each stratum's draw, from their words and a seed."""
    return mixed(strata + mixed(np.array([seed % 2**64], dtype=np.uint64)))


def swap_group(records: pa.Table, swap: Swap) -> Swapped:
    """Swap the records of whole strata; dictionaries are made anew."""
    schema, records = records.schema, records.cast(plain(records.schema))
    columns = swap.columns
    strata = stratum_words(records, columns)
    if swap.seed is None:
        places = np.argsort(strata, kind="stable")
    else:  # one draw on every engine, wherever records come from
        places = np.lexsort((own_words(records, columns), strata))
    firsts = first_places(strata[places])
    sizes = np.diff(np.append(firsts, strata.size))
    if swap.seed is None:
        drawn = permute(sizes, swap.rate, SystemEntropy())
    else:
        drawn = permute(sizes, swap.rate, None, seeded_keys(strata[places[firsts]], swap.seed))
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
