"""A release of records of which only the draw is missing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.certificate.records.model import RecordsCertificate
from holdfast.certificate.records.page import render_records
from holdfast.data.microdata import Microdata
from holdfast.outputs import Output
from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.entry import Charge
from holdfast.private import Private
from holdfast.swapping.account import charge_of_records
from holdfast.swapping.asked import schema_of
from holdfast.swapping.mandated import Tally
from holdfast.swapping.outputs import PersonsOutput, RowsOutput, SwappedOutput, TalliedOutput
from holdfast.swapping.renumber import Numbering

if TYPE_CHECKING:
    from holdfast.swapping.prepare import PreparedRecords

SPARE = 1 << 20
"""Bytes beside the records."""
WIDTH = 64
"""Bytes of a record that is in memory alone."""


@dataclass(frozen=True, eq=False)
class RecordsDrawing:
    """Prepared records with the certificate of their release; a seed is for tests and studies."""

    prepared: "PreparedRecords" = field(repr=False)
    certificate: RecordsCertificate
    seed: int | None = field(repr=False)

    def page(self, *, parquet: bool) -> str:
        """Return the page of the certificate."""
        return render_records(self.certificate, parquet=parquet)

    @property
    def size(self) -> int:
        """About as many bytes as the files of the release take beside the page."""
        units = self.prepared.units
        files = [units.source, *([] if units.persons is None else [units.persons.records])]
        return sum(map(_bytes, files)) + 2 * len(self.certificate.to_json().encode()) + SPARE

    def charge(self, ledger: Ledger) -> Charge:
        """Return what a ledger is told of the release."""
        units, guarantee = self.prepared.units, self.prepared.mechanism.guarantee
        return charge_of_records(ledger, units.records, units.columns, guarantee, self.certificate)

    def draw(self) -> Mapping[str, Output]:
        """Return what is published by the names of the files; it is drawn as it is written."""
        units, table = self.prepared.units, self.prepared.table
        tally = None
        if table is not None:
            schema = schema_of(table)
            tally = TalliedOutput(Tally("cells", schema.names), schema, table.count)
        renumber, persons = units.columns.renumber, units.persons
        remembered = units.id if persons is not None and persons.renumbered else None
        numbering = Numbering(renumber, remembered)
        drawn = SwappedOutput(units.source, lambda folder: self._watched(tally, folder), numbering)
        found: dict[str, Output] = {"microdata": drawn}
        if units.of_rows and units.id is not None:
            found["microdata"] = RowsOutput(
                units.source, drawn, units.id, units.columns.swap, units.id in renumber
            )
        if persons is not None:
            found["persons"] = PersonsOutput(persons, units.source, numbering)
        if tally is not None:
            found["table"] = tally
        return found

    def _watched(self, tally: TalliedOutput | None, folder: Private) -> Iterator[pa.Table]:
        for group in self.prepared.groups(self.seed, folder):
            self.prepared.watch.saw(group)
            if tally is not None:
                tally.saw(group.records)
            yield group.records


def _bytes(records: Microdata) -> int:
    path = Path(records.name)
    return path.stat().st_size if path.is_file() else WIDTH * (records.rows or 0)
