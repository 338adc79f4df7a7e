"""The files of a swapped release. What is drawn goes to its file at once: it is never held whole.

New ids are the numbers 1, 2, ... of the released records, in the order in which they leave. That order is
drawn, and it is released: strata come in the order of their digests, the records of a stratum in an order
drawn by the operating system. A number that says the place of a record in the file adds nothing
to the file, so it is independent of the old id given all else that is released.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from holdfast.data.arrow import arrow_numbers
from holdfast.data.fingerprint import row_digests
from holdfast.data.microdata import Microdata, MicrodataWriter, level_texts, open_microdata
from holdfast.data.schema import Schema
from holdfast.data.table import PublicTable
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping.embedded import plain
from holdfast.mechanisms.swapping.tallies import RECORDS, Tally
from holdfast.mechanisms.swapping.units import Persons, ids, places
from holdfast.outputs import FileOutput, Output, TableOutput
from holdfast.spec.data import MISSING
from holdfast.system.errors import DataError, SpecError
from holdfast.system.private import Private
from holdfast.system.ways import setting


def require_numbers(records: Microdata, columns: ColumnRoles) -> None:
    """Raise where a column that is to be renumbered holds no ids: repeated, missing, or of another type."""
    for name in columns.renumber:
        kind = records.schema.field(name).type
        if not (_is_text(kind) or pa.types.is_integer(kind)):
            raise SpecError(
                f"{setting('mechanism', 'renumber')} names {name!r}, which holds {kind} values: ids are"
                " texts or whole numbers."
            )
        found = level_texts(records.whole([name]).column(name))
        if found.null_count() or found.n_unique() < len(found):
            raise DataError(
                f"{setting('mechanism', 'renumber')} names {name!r}, which is no id of the records, as values"
                " are missing or repeat: leave it out, and name it in swap or drop it if it tells a place."
            )
        if pa.types.is_integer(kind) and len(found) >= 2 ** (kind.bit_width - 1):
            raise DataError(
                f"{setting('mechanism', 'renumber')} names {name!r}, whose {kind} values cannot count"
                f" {len(found):,} records: store it as int64."
            )


@dataclass(eq=False)
class Numbering:
    """Numbers records as they leave, and remembers the old ids by which others find them."""

    names: tuple[str, ...]
    remembered: str | None = None
    given: int = 0
    old: list[pa.ChunkedArray] = field(default_factory=list, repr=False)

    def numbered(self, groups: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Yield records with new ids."""
        for records in groups:
            if self.remembered is not None:
                self.old.append(records.column(self.remembered))
            numbers = np.arange(self.given + 1, self.given + records.num_rows + 1)
            self.given += records.num_rows
            yield with_numbers(records, self.names, numbers)

    @property
    def ids(self) -> pa.ChunkedArray:
        """The old ids, in the new order."""
        return pa.chunked_array([chunk for part in self.old for chunk in part.chunks])


def with_numbers(records: pa.Table, names: Sequence[str], numbers: IntArray) -> pa.Table:
    """Return records with numbers in some columns, in the types of these."""
    for name in names:
        at, kind = records.column_names.index(name), records.schema.field(name)
        plain = kind.type.value_type if pa.types.is_dictionary(kind.type) else kind.type
        new = (
            arrow_numbers(numbers)
            .cast(pa.string() if _is_text(kind.type) else plain)
            .cast(plain)
            .cast(kind.type)
        )
        records = records.set_column(at, kind, new)
    return records


def are_numbers(records: Microdata, name: str, number: int) -> bool:
    """Whether a column holds the numbers from 1 to one, all of them and no others."""
    found = level_texts(records.whole([name]).column(name)).unique()
    return len(found) == number and set(found.to_list()) == {str(one) for one in range(1, number + 1)}


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def follow(
    persons: pa.Table, households: pa.Table, name: str, swap: Sequence[str], *, renumber: bool = False
) -> pa.Table:
    """Return persons in the order of their households, with what these have after a swap.

    ``renumber`` replaces ids by the places of households from 1.
    Persons of one household come in the order of the digests of what they hold: where they stood is not told.
    """
    persons = persons.cast(plain(persons.schema))
    place = places(ids(persons, name), ids(households, name))
    gone = {*swap, name} if renumber else set(swap)
    held = row_digests(persons, [column for column in persons.column_names if column not in gone])[:, 0]
    order = np.lexsort((held, place))
    theirs = arrow_numbers(place[order])
    moved = persons.take(arrow_numbers(order))
    for column in swap:
        at = persons.column_names.index(column)
        kind = persons.schema.field(column)
        moved = moved.set_column(at, kind, households.column(column).take(theirs).cast(kind.type))
    return with_numbers(moved, [name], place[order] + 1) if renumber else moved


class Drawn(Output):
    """What is drawn as it is written."""

    like: Microdata
    """In whose kind it is written."""

    def held(self, folder: Private, name: str) -> FileOutput:
        """Draw it into a folder, and return the file."""
        file = self.write(folder, name, parquet=False)
        with folder.open(file) as opened:
            return FileOutput(self.like.kind, opened.read(), self.like.writing)


@dataclass(frozen=True, eq=False)
class SwappedOutput(Drawn):
    """Swapped records, in the kind, the columns and the types of the file they come from."""

    like: Microdata = field(repr=False)
    groups: Callable[[Private], Iterator[pa.Table]] = field(repr=False)
    """Draws, with room in a folder for what is on its way."""
    numbering: Numbering

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:  # noqa: ARG002 - as the input is
        """Draw and write, group after group."""
        file = f"{name}.{self.like.kind}"
        with MicrodataWriter(folder.create(file), self.like) as writer:
            for group in self.numbering.numbered(self.groups(folder)):
                writer.write(group)
        return file


@dataclass(frozen=True, eq=False)
class RowsOutput(Drawn):
    """The rows of a file that follow their households, which were made of them."""

    like: Microdata = field(repr=False)
    households: SwappedOutput = field(repr=False)
    id: str
    swap: tuple[str, ...]
    renumber: bool

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:  # noqa: ARG002 - as the input is
        """Draw the households, and write their rows."""
        households = pa.concat_tables(list(self.households.groups(folder)))
        file = f"{name}.{self.like.kind}"
        with MicrodataWriter(folder.create(file), self.like) as writer:
            writer.write(follow(self.like.whole(), households, self.id, self.swap, renumber=self.renumber))
        return file


@dataclass(frozen=True, eq=False)
class PersonsOutput(Drawn):
    """Persons who follow the households that were written before."""

    like: Microdata = field(repr=False)
    persons: Persons = field(repr=False)
    households: Microdata = field(repr=False)
    numbering: Numbering

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:  # noqa: ARG002 - as the input is
        """Write the persons in the order of their households."""
        released = open_microdata(folder.named(f"microdata.{self.households.kind}"), self.households.writing)
        known = released.whole([self.persons.id, *self.persons.swap])
        if self.persons.renumbered:
            known = known.set_column(0, self.persons.id, self.numbering.ids)
        file = f"{name}.{self.like.kind}"
        with MicrodataWriter(folder.create(file), self.like) as writer:
            persons = self.like.whole()
            writer.write(
                follow(persons, known, self.persons.id, self.persons.swap, renumber=self.persons.renumbered)
            )
        return file


@dataclass(eq=False)
class TalliedOutput(Output):
    """The table that was asked for, counted from swapped records as they are drawn."""

    tally: Tally
    schema: Schema
    count: str

    def saw(self, records: pa.Table) -> None:
        """Count some more records."""
        self.tally = self.tally.with_rows(records)

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:
        """Write all cells in row-major order."""
        return self._counted.write(folder, name, parquet=parquet, quote_formulas=quote_formulas)

    def held(self, folder: Private, name: str) -> TableOutput:  # noqa: ARG002 - counted by then
        """Return the table."""
        return self._counted

    @property
    def _counted(self) -> TableOutput:
        return TableOutput(PublicTable(self.schema, cell_counts(self.tally, self.schema), self.count))


def cell_counts(tally: Tally, schema: Schema) -> IntArray:
    """Return the counts of a tally in the order of cells."""
    counts = tally.counts
    codes = {}
    for attribute in schema.attributes:
        known = {level: code for code, level in enumerate(attribute.levels)}
        levels = counts[attribute.name].fill_null(MISSING)
        codes[attribute.name] = levels.replace_strict(known, return_dtype=None).to_numpy().astype(np.int64)
    cells = np.zeros(schema.size, dtype=np.int64)
    np.add.at(cells, schema.grid.place(codes), counts[RECORDS].to_numpy())
    return cells
