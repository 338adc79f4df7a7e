"""The files of a swapped release. What is drawn goes to its file at once: it is never held whole."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from holdfast.data.microdata import Microdata, MicrodataWriter, open_microdata
from holdfast.data.public_table import PublicTable
from holdfast.data.schema import Schema
from holdfast.lattice.arrays import IntArray
from holdfast.outputs import Output
from holdfast.private import Private
from holdfast.spec.model import MISSING
from holdfast.swapping.households import Persons, follow
from holdfast.swapping.mandated import RECORDS, Tally
from holdfast.swapping.renumber import Numbering


@dataclass(frozen=True, eq=False)
class SwappedOutput(Output):
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
class RowsOutput(Output):
    """The rows of a file that follow their households, which were made of them."""

    rows: Microdata = field(repr=False)
    households: SwappedOutput = field(repr=False)
    id: str
    swap: tuple[str, ...]
    renumber: bool

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:  # noqa: ARG002 - as the input is
        """Draw the households, and write their rows."""
        households = pa.concat_tables(list(self.households.groups(folder)))
        file = f"{name}.{self.rows.kind}"
        with MicrodataWriter(folder.create(file), self.rows) as writer:
            writer.write(follow(self.rows.whole(), households, self.id, self.swap, renumber=self.renumber))
        return file


@dataclass(frozen=True, eq=False)
class PersonsOutput(Output):
    """Persons who follow the households that were written before."""

    persons: Persons = field(repr=False)
    households: Microdata = field(repr=False)
    numbering: Numbering

    def write(self, folder: Private, name: str, *, parquet: bool, quote_formulas: bool = False) -> str:  # noqa: ARG002 - as the input is
        """Write the persons in the order of their households."""
        released = open_microdata(folder.named(f"microdata.{self.households.kind}"), self.households.writing)
        known = released.whole([self.persons.id, *self.persons.swap])
        if self.persons.renumbered:
            known = known.set_column(0, self.persons.id, self.numbering.ids)
        file = f"{name}.{self.persons.records.kind}"
        with MicrodataWriter(folder.create(file), self.persons.records) as writer:
            persons = self.persons.records.whole()
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
        file = f"{name}.parquet" if parquet else f"{name}.csv"
        table = PublicTable(self.schema, cell_counts(self.tally, self.schema), self.count)
        with folder.create(file) as opened:
            table.write(file, quote_formulas=quote_formulas, file=opened)
        return file


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
