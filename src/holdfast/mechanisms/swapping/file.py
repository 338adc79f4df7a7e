"""A file of records, before its swap and after it.

Before it, all that can fail is looked at: names, types, missing values, invariants that a swap would break,
memory. What was released is surveyed as the confidential file was: whatever a swap keeps must come out the
same.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from holdfast.data.databases import records_of
from holdfast.data.files import Writing
from holdfast.data.lakes import located
from holdfast.data.microdata import Microdata, holds_levels, open_microdata, series
from holdfast.data.sections import TableSection
from holdfast.data.validation import doubts_of_records
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.records import (
    ColumnRoles,
    ConfidentialFile,
    DrawAndReport,
    RecordsPartLike,
    ReleasedFile,
)
from holdfast.mechanisms.swapping import embedded
from holdfast.mechanisms.swapping.details import swapping_of
from holdfast.mechanisms.swapping.embedded import Swap, Swapped
from holdfast.mechanisms.swapping.options import options_of
from holdfast.mechanisms.swapping.outputs import (
    Numbering,
    PersonsOutput,
    RowsOutput,
    SwappedOutput,
    TalliedOutput,
    are_numbers,
    cell_counts,
    require_numbers,
)
from holdfast.mechanisms.swapping.public import PublicStrata, Survey, survey, tally_of
from holdfast.mechanisms.swapping.rounds import require_known_levels, survey_rounds
from holdfast.mechanisms.swapping.tallies import Tallies, Tally, require_levels, table_of
from holdfast.mechanisms.swapping.units import Units, agree
from holdfast.mechanisms.swapping.utility import SwapMonitor, counted_before
from holdfast.mechanisms.swapping.warnings import telling_columns
from holdfast.outputs import Output
from holdfast.spec.model import Spec
from holdfast.spec.privacy import ProtectedUnit
from holdfast.system.checks import Check
from holdfast.system.private import Private


@dataclass(frozen=True, eq=False)
class ConfidentialStrata(ConfidentialFile):
    """Confidential records by their strata."""

    units: Units = field(repr=False)
    survey: Survey = field(repr=False)
    public: PublicStrata = field(repr=False)
    table: TableSection | None = field(repr=False)
    monitor: SwapMonitor = field(repr=False)
    """Has counted what is compared with a swap of it."""
    warnings: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, spec: Spec, data: Any) -> "ConfidentialStrata":
        """Look through the file of a spec, once."""
        options, said = options_of(spec), spec.data
        writing = Writing(said.separator, said.encoding)
        if data is None and said.database is not None:
            source = records_of(spec)
        else:
            source = open_microdata(located(spec) if data is None else data, writing)
        columns = ColumnRoles.of(
            options.stratify, options.swap, source.columns, source.name, options.renumber
        )
        require_levels(source.schema, columns.keys, source.name)
        tallies = Tallies.of(spec, columns, source)
        persons = None if said.persons is None else open_microdata(spec.resolve(said.persons), writing)
        units = Units.of(source, columns, said.id, persons)
        if units.persons is not None:
            units.persons.checked(source)
        require_numbers(units.records, units.columns)
        if units.of_rows:
            tallies.require_of_units(units.columns)
        first = next(units.records.batches(), units.records.schema.empty_table())
        watch = SwapMonitor.of(units.columns, first, said.id)
        watched = replace(units.records, read=lambda names: counted_before(watch, units.records.read(names)))
        found = survey(watched, units.columns, tallies.all, nulls=options.nulls == "level")
        require_known_levels(units.records, options.every_round)
        rounds = survey_rounds(units.records, options.every_round)
        public = units.public(found, found.counts[: len(tallies.kept)], spec.privacy.whom, rounds)
        table = None if tallies.cells is None else table_of(spec, found.counts[-1])
        some = {
            name: series(first.column(name))
            for name in first.column_names
            if holds_levels(first.column(name).type, floats=True)
        }
        told = (
            *telling_columns(first, units.columns),
            *doubts_of_records(spec, some, [name for name in units.columns.keys if name in some]),
        )
        return cls(units, found, public, table, watch, told)

    @property
    def records(self) -> Microdata:
        """One record for each unit."""
        return self.units.records

    @property
    def files(self) -> tuple[Microdata, ...]:
        """The records, and their persons where they have a file."""
        persons = self.units.persons
        return (self.units.source, *(() if persons is None else (persons.records,)))

    def require_engine(self, engine: str) -> None:
        """Raise where the largest group of records does not fit what is there."""
        if engine == "spark":
            from holdfast.mechanisms.swapping.spark import require_spark  # noqa: PLC0415 - an extra

            require_spark(self.records, self.survey)
        else:
            embedded.require_room(self.records, self.survey)

    @property
    def memory(self) -> int:
        """About as many bytes as the largest group takes."""
        return embedded.group_memory(self.records, self.survey)

    def draw(self, swap: Swap, engine: str) -> DrawAndReport:
        """Settle a swap, which is drawn as it is written, and a report of what it did."""
        watch = self.monitor.anew()

        def report() -> Mapping[str, Any] | None:
            return watch.report(str(swap.rate)).to_dict() if watch.strata else None

        return lambda: self._outputs(swap, engine, watch), report

    def _outputs(self, swap: Swap, engine: str, watch: SwapMonitor) -> Mapping[str, Output]:
        """Return what is published by the names of the files."""
        units, tally = self.units, None
        if self.table is not None:
            schema = self.table.cells.to_schema()
            tally = TalliedOutput(Tally("cells", schema.names), schema, self.table.count)
        renumber, persons = units.columns.renumber, units.persons
        remembered = units.id if persons is not None and persons.renumbered else None
        numbering = Numbering(renumber, remembered)

        def watched(folder: Private) -> Iterator[pa.Table]:
            for group in self._groups(swap, engine, folder):
                watch.saw(group)
                if tally is not None:
                    tally.saw(group.records)
                yield group.records

        drawn = SwappedOutput(units.source, watched, numbering)
        found: dict[str, Output] = {"microdata": drawn}
        if units.of_rows and units.id is not None:
            found["microdata"] = RowsOutput(
                units.source, drawn, units.id, units.columns.swap, units.id in renumber
            )
        if persons is not None:
            found["persons"] = PersonsOutput(persons.records, persons, units.source, numbering)
        if tally is not None:
            found["table"] = tally
        return found

    def _groups(self, swap: Swap, engine: str, folder: Private) -> Iterator[Swapped]:
        """Draw a swap, group after group; on Spark, what is on its way is in a folder."""
        if engine == "spark":
            from holdfast.mechanisms.swapping.spark import spark_groups  # noqa: PLC0415 - an extra

            return spark_groups(self.records, self.survey, swap, folder)
        return embedded.swapped_groups(self.records, self.survey, swap)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedStrata(ReleasedFile):
    """Released records by their strata."""

    units: Units
    public: PublicStrata
    cells: Tally | None
    """The counts of the table that was asked for."""

    @classmethod
    def of(cls, part: RecordsPartLike, folder: Path, whom: ProtectedUnit) -> "ReleasedStrata":
        """Look through the files of a release, by the columns that its certificate names."""
        record, _ = swapping_of(part)
        section = part.records
        source = open_microdata(
            folder / f"microdata.{section.kind}", Writing(section.separator, section.encoding)
        )
        columns = ColumnRoles.of(record.stratify, record.swap, source.columns, "the file", record.renumber)
        persons = None
        if section.persons is not None:
            theirs = Writing(section.persons.separator, section.persons.encoding)
            persons = open_microdata(folder / f"persons.{section.persons.kind}", theirs)
        units = Units.of(source, columns, section.id, persons)
        kept = tuple(tally_of(one) for one in part.invariants)
        cells = None if part.table is None else Tally("cells", part.table.cells.to_schema().names)
        tallies = Tallies(kept, cells).checked(units.records)
        found = survey(units.records, units.columns, tallies.all, nulls=record.nulls == "level")
        rounds = survey_rounds(units.records, record.every_round)
        public = units.public(found, found.counts[: len(kept)], whom, rounds)
        return cls(units, public, None if cells is None else found.counts[-1])

    def checks(self, stated: PublicStrata) -> Iterator[Check]:
        """Compare columns, strata, all that is kept, new ids, and where persons are."""
        own, units = self.public, self.units
        yield Check.that(
            "columns and types",
            own.records == stated.records and own.columns == stated.columns,
            "the file has other columns, types or rows",
        )
        same = own.strata == stated.strata
        yield Check.that("strata", same, "the strata are not of the sizes that are stated")
        if own.rounds or stated.rounds:
            same = own.rounds == stated.rounds
            yield Check.that("rounds", same, "the strata of its rounds are not of the sizes that are stated")
        for mine, theirs in zip(own.induced, stated.induced, strict=False):
            yield Check.that(
                f"induced invariant {theirs.name}",
                mine == theirs,
                "the released records have other joint counts",
            )
        same = len(own.induced) == len(stated.induced) and len(own.invariants) == len(stated.invariants)
        yield Check.that("invariants", same, "the certificate lists others than the records have")
        for counted, asked in zip(own.invariants, stated.invariants, strict=False):
            yield Check.that(
                f"invariant {asked.name}: {len(asked.values)} kept",
                counted == asked,
                "the records give other numbers",
            )
        for name in stated.columns.renumber:
            numbered = are_numbers(units.source, name, own.strata.records)
            yield Check.that(f"{name} renumbered", numbered, "it has others than the numbers of the records")
        if units.persons is not None:
            names = [units.persons.id, *units.persons.swap]
            people, households = units.persons.records.whole(names), units.source.whole(names)
            same = agree(people, households, units.persons.id, units.persons.swap)
            yield Check.that("persons", same, "persons are not where their household is")

    def counts(self, table: TableSection) -> IntArray | None:
        """Return the counts of a table's cells; None where levels that were inferred are other ones."""
        if self.cells is None:
            return None
        schema = table.cells.to_schema()
        inferred = tuple(name for name in schema.names if name in table.inferred)
        found = (self.cells.levels(name) == schema.attribute(name).levels for name in inferred)
        return cell_counts(self.cells, schema) if table.inferred == inferred and all(found) else None
