"""A file of records: from a spec to a release of which only the draw is missing.

All that can fail is looked at first, by the mechanism that the spec names. What is settled then is public;
nothing has been drawn or charged.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from holdfast.certificate.certify import certify_records
from holdfast.certificate.model import Certificate
from holdfast.certificate.protection import planned_warnings, require_hope
from holdfast.data.identity import identity_of_batches
from holdfast.data.microdata import Microdata, series
from holdfast.data.schema import Schema
from holdfast.ledger.account import Ledger
from holdfast.ledger.charge import records_charge
from holdfast.ledger.rows import Charge
from holdfast.mechanisms.catalogue import of_records, require_neighbours, target_of
from holdfast.mechanisms.records import ConfidentialFile, RecordsMechanism
from holdfast.releases.expected import WhatIfBudgets
from holdfast.releases.part import Draw, PreparedPart
from holdfast.releases.plan import PartPlan, ReleaseCosts
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.spec.model import Spec
from holdfast.system.errors import ReleaseError, SpecError
from holdfast.system.progress import steps
from holdfast.system.text import counted
from holdfast.system.ways import about, option, setting

SPARE = 1 << 20
"""Bytes beside the records."""
WIDTH = 64
"""Bytes of a record that is in memory alone."""
TIMES = 3
"""How many times as long as its plan a release takes, which deals the file out, draws and writes it."""
START = 300_000_000
"""Bytes of the program itself."""


@dataclass(frozen=True, eq=False)
class PreparedRecords(PreparedPart):
    """Confidential records, and everything that is settled before their release is drawn."""

    name: str
    spec: Spec = field(repr=False)
    file: ConfidentialFile = field(repr=False)
    mechanism: RecordsMechanism[Any, Any] = field(repr=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a curator should look at in the data."""
        return self.file.warnings

    @property
    def size(self) -> str:
        """How many rows there are."""
        return counted(self.file.public.records.rows, "row")

    @cached_property
    def identity(self) -> bytes:
        """What tells the file by all its records, which are read for it."""
        records = self.file.records
        batches = steps(records.batches(), "telling the file by its records", records.number)
        return identity_of_batches([series(column) for column in batch.columns] for batch in batches)

    @property
    def schema(self) -> Schema:
        """The cells of the table that was asked for; raises SpecError where none was."""
        if self.file.table is None:
            raise SpecError(f"{setting('data', 'cells')} is missing: name the columns of a table to count.")
        return self.file.table.cells.to_schema()

    def certify(self, *, secure: bool, microdata: bool = False) -> Certificate:
        """Record a release; nothing in the record depends on the draw."""
        del microdata  # is what is released
        return certify_records(
            self.spec.privacy,
            self.mechanism,
            secure=secure,
            table=self.file.table,
            publication=self.spec.publication,
        )

    def draw(self, source: Entropy, engine: str) -> Draw:
        """Settle everything but the draw; a seeded source is for tests and studies."""
        seed = source.seed if isinstance(source, SeededEntropy) else None
        if seed is None and not source.secure:
            raise ReleaseError("records are drawn from the system's randomness, or from a seed.")
        self.file.require_engine(engine)
        outputs, report = self.mechanism.draw(self.file, seed, engine)
        return Draw(lambda _: outputs(), report)

    def room(self, *, microdata: bool) -> int:
        """About as many bytes as the files take beside the certificate."""
        del microdata
        return sum(map(_bytes, self.file.files)) + SPARE

    def charge(self, ledger: Ledger, certificate: Certificate) -> Charge:
        """Return what a ledger is told of the release."""
        columns, guarantee = self.file.public.columns, self.mechanism.guarantee
        return records_charge(
            dataset=ledger.fingerprint(self.identity),
            stratify=columns.stratify,
            swap=columns.swap,
            held=columns.held,
            intensity=self.mechanism.intensity,
            unit=guarantee.unit,
            scope=guarantee.scope.digest,
            stated=certificate.guarantee.model_dump(mode="json"),
            certificate=certificate.settled,
            header=self.file.records.columns,
        )

    def plan(self, spent: float, what_if: WhatIfBudgets | None = None) -> PartPlan:
        """Return how they would be released; reading the file once is what was done so far."""
        if what_if is not None:
            raise ReleaseError(
                "the epsilon of a swap follows from its rate, and its errors from the records: leave out"
                f" {option('what_if')}."
            )
        self.file.require_engine("embedded")
        certificate = self.certify(secure=True)
        head, part = certificate.to_dict(), certificate.records.model_dump(mode="json")
        return PartPlan(
            self.mechanism,
            certificate.verdict,
            ReleaseCosts(spent, (TIMES - 1) * spent, 0.0, START + self.file.memory),
            (*planned_warnings(certificate.verdict), *self.warnings),
            {
                **part["details"],
                "invariants": part["invariants"],
                **{name: head[name] for name in ("guarantee", "verdict", "caveats")},
            },
            certificate,
        )


def prepare_records(spec: Spec, data: Any = None) -> PreparedRecords:
    """Look through the records of a spec, and settle their release and its guarantee."""
    kind = of_records(spec.mechanism.name)
    with about(spec.file):
        require_neighbours(kind, spec.privacy.neighbours)
        file = kind.survey(spec, data)
        mechanism = kind.answer(file.public, target_of(spec.privacy), spec.mechanism)
    return PreparedRecords("records", spec, file, mechanism)


def require_hope_of(spec: Spec, *, accepted: bool) -> None:
    """Raise GuaranteeError where no file of a spec could be protected to speak of: none is read for it."""
    kind, privacy = of_records(spec.mechanism.name), spec.privacy
    with about(spec.file):
        require_neighbours(kind, privacy.neighbours)
        require_hope(kind.least_loss(target_of(privacy), privacy.whom, spec.mechanism), accepted=accepted)


def _bytes(records: Microdata) -> int:
    path = Path(records.name)
    return path.stat().st_size if path.is_file() else WIDTH * (records.rows or 0)
