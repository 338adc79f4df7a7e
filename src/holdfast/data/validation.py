"""Doubts about a table that was read: what a curator would want to know before it is released.

Each says which line of a spec mends it. They name columns, levels and numbers of cells, and no count.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from holdfast.data.columns import Columns
from holdfast.data.table import Records, Table
from holdfast.data.warnings import COUNTS, IDS, TOTALS, listed, looks_like_id, words_of
from holdfast.lattice.arrays import IntArray
from holdfast.spec.model import Spec
from holdfast.system.text import in_quotes
from holdfast.system.ways import assigned, setting, table_of

STRONG = frozenset({"count", "counts", "n", "freq", "frequency"})
"""Names that mean a count whatever the rows are."""
CELLS_A_ROW = 1_000
"""More cells for each row of the file are a table of zeros."""
EMPTY, LEAST = 100, 10_000
"""A table of so many cells is nearly empty where fewer than one in a hundred has anybody."""


def table_warnings(spec: Spec, columns: Columns, records: Records, table: Table) -> Iterator[str]:
    """Yield what looks wrong with a table, and what mends it."""
    yield from _spaced(records)
    if columns.source.grouped:  # rows stand for several there, and what is not asked for is not read
        return
    yield from _ids_as_cells(records)
    yield from _size(records, table)
    if spec.data.count is None:
        yield from _uncounted(columns, records, table)
        yield from _repeated_ids(spec, columns)
    else:
        values = columns.integers(spec.data.count)
        yield from _totals(records, values)
        if records.size < table.schema.size:
            yield from _vanished(spec, records, values)


def doubts_of_records(spec: Spec, columns: Mapping[str, pl.Series], keys: Sequence[str]) -> Iterator[str]:
    """Yield what looks wrong with records that are to be released, and what mends it; ``keys`` have levels.

    They may be the first of many.
    """
    for name, values in columns.items():
        if name.lower() in STRONG and values.dtype != pl.Object and _whole(values) and values.n_unique() > 1:
            yield (
                f"{in_quotes(name)} looks like a count, and every row is one record here: write a row for"
                f" each record, or release a table with {assigned('count', words=in_quotes(name))} in"
                f" {setting('data')}."
            )
    if spec.data.id is None:
        for name, found in columns.items():
            if found.dtype == pl.Object or not words_of(name) & IDS:
                continue
            known, most = found.drop_nulls(), spec.privacy.whom.records
            if looks_like_id(name, known.n_unique(), len(known)) and _most_times(known) > most:
                yield (
                    f"{in_quotes(name)} stands on more rows than {setting('privacy', 'records_per_unit')} ="
                    f" {most} says of one {spec.privacy.whom.one}, so the guarantee is weaker for these: set"
                    f" {assigned('id', words=in_quotes(name))} in {setting('data')}, with a file of persons,"
                    f" or records_per_unit and unit in {setting('privacy')}."
                )
                break
    for name in keys:
        levels = columns[name].drop_nulls().unique().cast(pl.String).sort().to_list()
        for level in levels:
            if " ".join(level.split()).casefold() in TOTALS:
                yield (
                    f"{name} has the level {in_quotes(level)}, whose rows look like sums of others and would"
                    " be swapped as records: leave them out of the file."
                )
        if spaced := [level for level in levels if level != " ".join(level.split())]:
            yield (
                f"{name} has {listed(spaced)} with spaces at an end or several in a row, which are levels of"
                " their own: take the spaces away in the file."
            )


def _whole(values: pl.Series) -> bool:
    return values.dtype.is_integer() or bool(values.cast(pl.String).str.contains(r"^[0-9]+$").all())


def _most_times(values: pl.Series) -> int:
    """Return on how many rows the value stands that stands on most."""
    return int(values.value_counts(name="times")["times"].max() or 0)  # type: ignore[arg-type]


def _ids_as_cells(records: Records) -> Iterator[str]:
    for attribute in records.attributes:
        if looks_like_id(attribute.name, len(attribute.levels), records.size):
            yield (
                f"{attribute.name} looks like an id, whose levels are people and would be published: take it"
                f" out of cells in {setting('data')}."
            )


def _spaced(records: Records) -> Iterator[str]:
    for attribute in records.attributes:
        spaced = [level for level in attribute.levels if level != " ".join(level.split())]
        if spaced:
            yield (
                f"{attribute.name} has {listed(spaced)} with spaces at an end or several in a row: set"
                f" {assigned('fold', True)} in {setting('data')}, which takes them away."
            )


def _size(records: Records, table: Table) -> Iterator[str]:
    cells = table.schema.size
    if cells > CELLS_A_ROW * records.size:
        yield (
            f"the table has {cells:,} cells, more than {CELLS_A_ROW:,} for each row of the file: name fewer"
            f" columns in cells of {setting('data')}, or merge levels in {setting('data.recode')}."
        )
    elif cells >= LEAST and np.count_nonzero(table.counts) * EMPTY < cells:
        yield (
            f"the table is nearly empty, fewer than one of {EMPTY} cells has anybody, and noise goes to all"
            f" of them: name fewer columns in cells of {setting('data')}, or merge levels in"
            f" {setting('data.recode')}."
        )


def _column(columns: Columns, name: str) -> pl.Series:
    return columns.source.load([columns.source.header.index(name)])[0]


def _uncounted(columns: Columns, records: Records, table: Table) -> Iterator[str]:
    """Yield a column of counts that is not named, where rows are then taken for records."""
    header = columns.source.header
    for name in header:
        if name in records.attributes.names or header.count(name) > 1 or not words_of(name) & COUNTS:
            continue
        if name.lower() not in STRONG and (table.counts.max() > 1 or records.size < 2):
            continue
        values = _column(columns, name)
        if _whole(values):
            yield (
                f"{in_quotes(name)} looks like a count and is not named, so every row is one record: set"
                f" {assigned('count', words=in_quotes(name))} in {setting('data')} if rows are cells."
            )
            return


def _repeated_ids(spec: Spec, columns: Columns) -> Iterator[str]:
    """Yield a column of ids that stand on more rows than the guarantee speaks of."""
    source, most = columns.source, spec.privacy.whom.records
    for name in source.header:
        if source.header.count(name) > 1 or not words_of(name) & IDS:
            continue
        found = _column(columns, name).drop_nulls()
        if found.dtype == pl.Object or not looks_like_id(name, found.n_unique(), len(found)):
            continue
        if _most_times(found) > most:
            yield (
                f"{in_quotes(name)} stands on more rows than {setting('privacy', 'records_per_unit')} ="
                f" {most} says of one {spec.privacy.whom.one}, so the guarantee is weaker for these: set"
                f" records_per_unit and unit in {setting('privacy')}, or leave out rows."
            )
            return


def _totals(records: Records, values: IntArray) -> Iterator[str]:
    """Yield levels whose rows sum to all others: everybody counts twice."""
    for attribute in records.attributes:
        for place, level in enumerate(attribute.levels):
            if " ".join(level.split()).casefold() not in TOTALS:
                continue
            total = records.column(attribute.name) == place
            if total.any() and sum(values[total].tolist()) == sum(values[~total].tolist()):
                rows = assigned("omit", words=table_of({attribute.name: f"[{in_quotes(level)}]"}))
                yield (
                    f"{attribute.name} has the level {in_quotes(level)}, whose counts are the sums of the"
                    f" others, so everybody counts twice: set {rows} in {setting('data')}."
                )


def _vanished(spec: Spec, records: Records, values: IntArray) -> Iterator[str]:
    """Yield places that only rows tell of, in a file that has no row of nobody."""
    inner = [name for name in spec.data.nested if name not in spec.data.levels]
    if inner and values.size and values.min() > 0 and records.size >= EMPTY // 5:
        yield (
            f"no row counts 0, and which {inner[-1]} there is is taken from the rows, so places with nobody"
            " vanish, and that shows who lives where: list all of them with a count of 0 where nobody is."
        )
