"""Reading data: the confidential table or records of a spec, from a file or a frame, and released tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from holdfast.data.areas import with_areas
from holdfast.data.columns import Columns, closed, unmet
from holdfast.data.files import MOST_ROWS, PLAIN, TIMES, Source, Writing, open_file, open_frame
from holdfast.data.geography import unfolded
from holdfast.data.grid import Nesting
from holdfast.data.grid import count as cells_of
from holdfast.data.lakes import located
from holdfast.data.levels import number
from holdfast.data.schema import MOST_CELLS, Attributes, Schema, quoted_schema
from holdfast.data.selection import schema_of
from holdfast.data.shape import shaped
from holdfast.data.table import AT_ONCE, Records, Table, first_repeat
from holdfast.data.validation import table_warnings
from holdfast.data.warnings import alike_levels, nested_in_words, nested_pairs
from holdfast.lattice.arrays import IntArray
from holdfast.spec.model import Spec
from holdfast.system.errors import DataError, SpecError
from holdfast.system.paged import paged
from holdfast.system.text import in_quotes
from holdfast.system.ways import assigned, command, setting

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

MOST_RECORDS = 2**53
"""The solver's numbers hold every count up to here exactly, and a release stays far from 64 bits."""


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A confidential table, and the attributes whose levels were taken from the data."""

    table: Table
    inferred: tuple[str, ...]
    source: Source = field(repr=False)
    """Where the rows are, as they were before a spec gave them another shape."""
    header: tuple[str, ...] = field(repr=False)
    """The names of all columns of the source in the shape that a spec gave it."""
    rows: Mapping[str, IntArray] = field(repr=False)
    """For each attribute, on how many rows each of its levels stands."""
    warnings: tuple[str, ...] = field(default=(), repr=False)
    """What a curator should look at, a sentence each, without a count."""

    @cached_property
    def identity(self) -> bytes:
        """The identity of all that the source holds, not only of what the table counts: confidential."""
        from holdfast.data.identity import identity_of_batches  # noqa: PLC0415 - loaded late

        return identity_of_batches(self.source.batches())

    @property
    def marks(self) -> dict[str, bytes]:
        """The identity of the column of each attribute: confidential."""
        from holdfast.data.identity import column_identity  # noqa: PLC0415 - for ledgers alone

        attributes = self.table.schema.attributes
        return {each.name: column_identity(each.levels, self.rows[each.name]) for each in attributes}


def read_table(spec: Spec, data: "str | Path | IntoFrame | None" = None) -> ReadTable:
    """Read the confidential table of a spec, from counts or from records.

    The data are a file or a frame; without any, the file or the database that the spec names.
    """
    asked = spec.data
    if spec.of_records:
        raise SpecError(
            f"{setting('mechanism', 'name')} = {spec.mechanism.name!r} releases records, and this is for"
            f" tables of counts: see `{command('plan')}` for what it protects, or name another mechanism."
        )
    merging = asked.aggregate or bool(asked.recode)
    rows = MOST_ROWS if asked.count is None or merging or asked.missing else MOST_CELLS  # each cell once
    writing = Writing(asked.separator, asked.encoding)
    if data is None and asked.database is not None:
        from holdfast.data.databases import grouped  # noqa: PLC0415 - for databases alone

        source = grouped(spec)
    else:
        source = open_source(located(spec) if data is None else data, most_rows=rows, writing=writing)
    numbers = (*(() if asked.count is None else (asked.count,)), *((TIMES,) if source.grouped else ()))
    names = asked.attributes
    source, doubts = with_areas(unfolded(shaped(source, asked), asked.geography), spec)
    columns = Columns.of(source, names, numbers, missing=asked.missing, recode=asked.recode)
    if columns.frame.is_empty():
        raise DataError(
            f"{source.name} has no rows, and an empty table has nothing to release, also where"
            f" {setting('data.levels')} are declared: check the file."
        )
    declared = _declared(spec)
    attributes = _attributes(columns, names, declared, ordered=asked.count is not None and not source.grouped)
    records = columns.records(attributes)
    raw = columns.raw.select(name for name in names if asked.missing or name in asked.recode)
    columns = columns.numbers(numbers)
    times = columns.integers(TIMES) if source.grouped else None
    said = (*doubts, *_warnings(spec, columns, raw, records, times))
    schema = schema_of(spec, attributes, nestings(columns, records, asked.nestings, asked.regions))
    inferred = tuple(name for name in names if name not in declared)
    stand_on = {each.name: records.rows(each.name, times) for each in attributes}

    def read(counts: IntArray) -> ReadTable:
        table, own = Table(schema, counts), source.origin or source
        warnings = (*said, *table_warnings(spec, columns, records, table))
        return ReadTable(table, inferred, own, source.names, stand_on, warnings)

    cells = records.cells(schema)
    if asked.count is None:
        times = np.ones(records.size, dtype=np.int64) if times is None else times
        return read(_spread(columns, schema, cells, times, names[0]))
    values = columns.integers(asked.count)
    _nonnegative(columns, asked.count, values)
    if not merging:
        _each_once(columns, schema, cells, raw if asked.missing else None)
    counts = _spread(columns, schema, cells, values, asked.count)
    if not counts.any():
        raise DataError(
            f"{source.name}, column {asked.count!r} counts nobody, so there is one possible table, and an"
            " empty table has nothing to release: check the counts."
        )
    if counts.sum() > MOST_RECORDS:
        raise DataError(
            f"{source.name}, column {asked.count!r} sums to more than the {MOST_RECORDS:,} records that"
            " are handled: check the counts."
        )
    return read(counts)


def _declared(spec: Spec) -> dict[str, Sequence[str]]:
    """Return the levels that are known without the data: declared, or bins that take every value."""
    asked = spec.data
    binned = {name: tuple(bins) for name, bins in asked.recode.items() if closed(bins) and not asked.missing}
    return {**binned, **asked.levels}


def _warnings(
    spec: Spec, columns: Columns, raw: pl.DataFrame, records: Records, times: IntArray | None
) -> tuple[str, ...]:
    """Return what looks wrong; raises SpecError where nested attributes alone make too many cells."""
    asked, attributes = spec.data, records.attributes
    said = list(alike_levels(attributes))
    for name, bins in asked.recode.items():
        if absent := unmet(raw[name], bins):
            said.append(
                f"{setting('data.recode', name)} lists {in_quotes(absent[0])}, which no row has: check its"
                " spelling."
            )
    within = {**asked.nested, **dict.fromkeys(asked.areas, "")}
    pairs = nested_pairs(records, within, listed=asked.count is not None, times=times)
    if pairs:
        levels = {attribute.name: len(attribute.levels) for attribute in attributes}
        known = nestings(columns, records, asked.nestings, asked.regions)
        cells = cells_of(levels, known)
        seen = _parents(records, pairs)
        words = nested_in_words(pairs, cells, cells_of(levels, (*known, *seen)))
        if cells > MOST_CELLS:
            raise SpecError(f"{setting('data', 'cells')}: {words}")
        said.append(words)
    return tuple(said)


def _parents(records: Records, within: Sequence[tuple[str, str]]) -> tuple[Nesting, ...]:
    """Return what each level lies in by the last row that has it; those that no row has lie in the first."""
    found = []
    for inner, outer in within:
        parents = np.zeros(len(records.attributes.attribute(inner).levels), dtype=np.int64)
        parents[records.column(inner)] = records.column(outer)
        places = range(len(records.attributes.attribute(outer).levels))  # few numbers, each held once
        found.append(Nesting(inner, outer, tuple(map(list(places).__getitem__, parents.tolist()))))
    return tuple(found)


def nestings(
    columns: Columns, records: Records, within: Sequence[tuple[str, str]], regions: Sequence[str] = ()
) -> tuple[Nesting, ...]:
    """Return what each level of nested attributes lies in, as the rows say; all must say the same.

    ``regions`` are levels of a geography.
    """
    found = _parents(records, within)
    for nesting in found:
        inner, outer = (records.attributes.attribute(name) for name in (nesting.attribute, nesting.within))
        children = records.column(inner.name)
        parents = np.array(nesting.parents, dtype=records.column(outer.name).dtype)
        apart = parents[children] != records.column(outer.name)
        if apart.any():
            row = int(np.argmax(apart))
            child = int(children[row])
            one, other = (
                outer.levels[int(place)] for place in (records.column(outer.name)[row], parents[child])
            )
            raise DataError(
                f"{columns.source.name}: {inner.name} {in_quotes(inner.levels[child])} lies in {outer.name}"
                f" {in_quotes(one)} and in {outer.name} {in_quotes(other)}: correct one of them, or "
                + (
                    f"put the code of its {outer.name} in front of it."
                    if inner.name in regions
                    else f"take {inner.name} out of {setting('data', 'within')}."
                )
            )
        seen = np.zeros(len(inner.levels), dtype=np.bool_)
        seen[children] = True
        absent = np.flatnonzero(~seen)
        if absent.size:
            level = in_quotes(inner.levels[int(absent[0])])
            raise DataError(
                f"{columns.source.name} has no row with {inner.name} {level}, so which"
                f" {outer.name} it lies in is not known: take it out of {setting('data.levels')}"
                + ("." if not columns.frame.columns else ", or list it with a count of 0.")
            )
    return found


def ordered_counts(path: Path, schema: Schema, *, quoted_formulas: bool = False) -> IntArray:
    """Count released records by the cells of a schema; every row must be in one."""
    if quoted_formulas:
        return ordered_counts(path, quoted_schema(schema))
    columns = Columns.of(open_file(Path(path), most_rows=MOST_ROWS, released=True), schema.names)
    return np.bincount(columns.cells(schema), minlength=schema.size)


def open_source(
    data: "str | Path | IntoFrame", *, most_rows: int = MOST_ROWS, writing: Writing = PLAIN
) -> Source:
    """Return a file or a frame as a source of rows."""
    if isinstance(data, str | Path):
        return open_file(Path(data), most_rows=most_rows, writing=writing)
    return open_frame(data)


def _attributes(
    columns: Columns, names: Sequence[str], levels: Mapping[str, Sequence[str]], *, ordered: bool
) -> Attributes:
    """Return the attributes with their levels as declared or, where they are not, as they occur."""
    for name in names:
        if name not in levels and columns.frame.is_empty():
            raise DataError(f"{columns.source.name} has no rows: declare the levels of {name!r}.")
    found = {name: columns.levels(name) for name in names if name not in levels}
    inferred = found if ordered else {name: ordered_levels(own) for name, own in found.items()}
    return Attributes.of({name: levels[name] if name in levels else inferred[name] for name in names})


def ordered_levels(levels: Sequence[str]) -> tuple[str, ...]:
    """Return levels as numbers in order if all are, else by letters: not as records have them."""
    values = {level: number(level) for level in levels}
    if None in values.values():
        return tuple(sorted(levels))
    return tuple(sorted(levels, key=lambda level: (values[level], level)))


def _each_once(columns: Columns, schema: Schema, cells: IntArray, raw: pl.DataFrame | None) -> None:
    """Raise where two rows are of one cell; codes of missing values that are several are not one row."""
    seen = np.zeros(schema.size, dtype=np.bool_)
    seen[cells] = True
    if np.count_nonzero(seen) == cells.size:
        return
    keys = cells
    if raw is not None:
        keys = raw.select(pl.struct(pl.all()).rank("dense")).to_series().cast(pl.Int64).to_numpy()
    repeated = first_repeat(keys)
    if repeated is None:
        return
    first, second = repeated
    raise DataError(
        f"{columns.source.name}, {columns.source.row(second)} repeats the cell"
        f" {schema.in_words(int(cells[first]))} of {columns.source.row(first)}: list each cell once, set"
        f" {assigned('aggregate', True)} in {setting('data')} to sum them, or leave out count if rows are"
        " records."
    )


def _spread(
    columns: Columns,
    schema: Schema,
    cells: IntArray,
    values: IntArray,
    count: str,
) -> IntArray:
    """Return the values summed over all cells."""
    _no_structural_zeros(columns, schema, cells, values, count)
    rough = max(float(values.max()), -float(values.min())) * values.size
    if rough >= 2**62 and sum(abs(value) for value in values.tolist()) >= 2**63:
        raise DataError(
            f"{columns.source.name}, column {count!r} sums to more than fits 64 bits: check the counts."
        )
    counts = paged(schema.size, np.int64)
    for begin in range(0, cells.size, AT_ONCE):
        some = slice(begin, begin + AT_ONCE)
        np.add.at(counts, cells[some], values[some])
    counts.setflags(write=False)
    return counts


def _nonnegative(columns: Columns, count: str, values: IntArray) -> None:
    if (values < 0).any():
        record = int(np.argmax(values < 0))
        raise DataError(
            f"{columns.source.place(record, count)} is {values[record]}: "
            "a count is never below zero, so correct it."
        )


def _no_structural_zeros(
    columns: Columns,
    schema: Schema,
    cells: IntArray,
    values: IntArray,
    column: str,
) -> None:
    if not schema.impossible:
        return
    wrong = (values != 0) & ~schema.possible[cells]
    if wrong.any():
        record = int(np.argmax(wrong))
        raise DataError(
            f"{columns.source.place(record, column)} counts in the cell "
            f"{schema.in_words(int(cells[record]))}, a structural zero: "
            f"correct the row, or take the cell out of {setting('constraints', 'structural_zeros')}."
        )
