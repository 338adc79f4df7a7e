"""The units of a file that are swapped: its records, or households with all their rows."""

from dataclasses import dataclass

from holdfast.certificate.records.model import FileSection, InducedSection
from holdfast.data.microdata import Microdata
from holdfast.errors import SpecError
from holdfast.swapping.design import Columns
from holdfast.swapping.facts import Facts, facts_of, file_section, persons_section, records_section
from holdfast.swapping.households import Households, Persons
from holdfast.swapping.mandated import Tally
from holdfast.swapping.survey import Survey


@dataclass(frozen=True, eq=False, repr=False)
class Units:
    """A file, one record for each unit of it, and the persons who follow them.

    ``records`` is the file itself, or the households that its rows make; ``columns`` are those of records.
    """

    source: Microdata
    records: Microdata
    columns: Columns
    id: str | None = None
    persons: Persons | None = None

    @classmethod
    def of(
        cls, source: Microdata, columns: Columns, unit_id: str | None, persons: Microdata | None
    ) -> "Units":
        """Return the units of a file; with an id, rows are put together unless persons have a file."""
        if unit_id is None:
            return cls(source, source, columns)
        if persons is not None:
            return cls(source, source, columns, unit_id, Persons.of(persons, unit_id, columns, source))
        for name in columns.renumber:
            if name != unit_id:
                raise SpecError(
                    f"[mechanism] renumber names {name!r}, and of rows that are put together only the id"
                    f" {unit_id!r} can be: leave it out."
                )
        households = Households.of(source, unit_id, columns)
        return cls(source, households.records, households.columns, unit_id)

    @property
    def of_rows(self) -> bool:
        """Whether a unit is made of several rows of the file."""
        return self.records is not self.source

    def facts(self, found: Survey, counts: tuple[Tally, ...]) -> Facts:
        """Return what is public, from a survey of the records and counts that were asked for."""
        rows = found.rows
        if self.of_rows:
            rows = sum(batch.num_rows for batch in self.source.batches(self.source.columns[:1]))
        file, followers = self._persons()
        section = records_section(self.source, rows, unit_id=self.id, persons=file)
        return facts_of(section, found, counts, self.columns, followers)

    def _persons(self) -> tuple[FileSection | None, InducedSection | None]:
        if self.persons is None:
            return None, None
        records, whole = self.persons.records, self.persons.fingerprint
        return file_section(records, whole.rows), persons_section(self.persons.held, whole.rows, whole)
