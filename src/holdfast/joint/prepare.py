"""From a spec of several tables to each of them, calibrated for its part of the one budget.

Every table is prepared as if it were released alone, for files as far apart as the joint scope takes.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from holdfast.account.terms import tables_charge
from holdfast.certificate.model import Certificate, GuaranteeSection
from holdfast.certificate.several.model import TablesCertificate
from holdfast.certificate.several.page import render_tables
from holdfast.data.read import Reading, read_table
from holdfast.errors import DataError, GuaranteeError, InvariantError, SpecError
from holdfast.joint.certify import certify_tables
from holdfast.joint.divide import divide, part_of
from holdfast.joint.guarantee import joint_guarantee, joint_intensity
from holdfast.joint.scope import TablesScope
from holdfast.machine import require_room
from holdfast.mechanisms.catalogue import answer, mechanism_of, target_of
from holdfast.outputs import Output
from holdfast.privacy.intensity import Intensity
from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.entry import Charge
from holdfast.public import publish
from holdfast.release import Prepared, SingleDrawing
from holdfast.sampling.entropy import Entropy, SystemEntropy
from holdfast.spec.load import read_any_spec
from holdfast.spec.model import Privacy, Spec
from holdfast.spec.part import spoken_of
from holdfast.spec.tables import TablesSpec


def prepare_tables(spec: TablesSpec, data: Any = None) -> "PreparedTables":
    """Read the tables of a spec, divide its budget, and settle each mechanism and the joint guarantee."""
    with spoken_of(spec.file):
        return _prepared(spec, data)


def _prepared(spec: TablesSpec, data: Any) -> "PreparedTables":
    _require_budget(spec)
    specs = dict(zip(spec.names, spec.specs, strict=True))
    for name, one in specs.items():
        _require_table(name, one)
    readings = {name: read_table(one, data) for name, one in specs.items()}
    publics = {}
    for name, one in specs.items():
        with _named(name):
            require_room(readings[name].table.schema.size)
            publics[name] = publish(one, readings[name].table, readings[name].inferred)
            publics[name].premises(spec.privacy.adjacency).checked()
    _require_one_file(readings)
    scope = TablesScope(publics, spec.privacy.adjacency, spec.privacy.distance).checked()
    premises = [public.premises(scope.adjacency, scope.distance) for public in publics.values()]
    fractions = divide(spec, premises)
    tables = {}
    for table, fraction in zip(spec.tables, fractions, strict=True):
        name = table.name
        own = spec.spec(table, table_privacy(spec.privacy, fraction, scope))
        with _named(name):
            tables[name] = Prepared(own, readings[name], publics[name], answer(own, publics[name]))
    return PreparedTables(spec, scope, tables, fractions)


def table_privacy(privacy: Privacy, fraction: Fraction, scope: TablesScope) -> Privacy:
    """Return the target of a table: its part of the budget, at the distance of the joint scope."""
    asked = {**dict(privacy), **part_of(privacy, fraction), "distance": scope.distance}
    return Privacy(**asked)


@dataclass(frozen=True, eq=False)
class PreparedTables:
    """Several tables of one confidential file, and everything that is settled before they are drawn."""

    spec: TablesSpec
    scope: TablesScope = field(repr=False)
    tables: Mapping[str, Prepared] = field(repr=False)
    fractions: tuple[Fraction, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a curator should look at in the data, each once."""
        return tuple(dict.fromkeys(said for one in self.tables.values() for said in one.warnings))

    @property
    def intensity(self) -> Intensity:
        """What all tables lose together."""
        prepared = list(self.tables.values())
        asked = [target_of(one.spec.privacy).intensity for one in prepared]
        return joint_intensity([one.guarantee for one in prepared], [one for one in asked if one is not None])

    @property
    def guarantee(self) -> GuaranteeSection:
        """What is proved of every release of all tables."""
        each = {name: one.guarantee for name, one in self.tables.items()}
        return joint_guarantee(self.scope, each, self.intensity)

    def certify(self, *, secure: bool) -> TablesCertificate:
        """Record a release; nothing in the record depends on the draw."""
        return self._record({name: one.certify(secure=secure) for name, one in self.tables.items()})

    def drawing(self, entropy: Entropy | None = None) -> "TablesDrawing":
        """Settle everything but the noise; one source serves all tables, so that they are independent."""
        source = entropy or SystemEntropy()
        tables = {name: one.drawing(source) for name, one in self.tables.items()}
        record = self._record({name: one.certificate for name, one in tables.items()})
        return TablesDrawing(self, tables, record)

    def _record(self, chapters: Mapping[str, Certificate]) -> TablesCertificate:
        weights = [Fraction(1) if table.weight is None else table.weight for table in self.spec.tables]
        return certify_tables(
            self.spec.privacy,
            self.spec.budget.division,
            weights,
            self.fractions,
            self.scope,
            self.guarantee,
            chapters,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )


@dataclass(frozen=True, eq=False)
class TablesDrawing:
    """A release of several tables of which only the noise is missing."""

    prepared: PreparedTables = field(repr=False)
    tables: Mapping[str, SingleDrawing] = field(repr=False)
    certificate: TablesCertificate

    def page(self, *, parquet: bool) -> str:
        """Return the page of the certificate."""
        return render_tables(self.certificate, parquet=parquet)

    @property
    def size(self) -> int:
        """No fewer bytes than the files of the release take beside the page."""
        return sum(one.size for one in self.tables.values()) + 2 * len(self.certificate.to_json().encode())

    def charge(self, ledger: Ledger) -> Charge:
        """Return what a ledger is told of the release: one charge that holds those of the tables."""
        return tables_charge(
            {name: one.charge(ledger) for name, one in self.tables.items()},
            scope=self.certificate.guarantee.scope.digest,
            intensity=self.prepared.intensity,
            guarantee=self.certificate.guarantee.model_dump(mode="json"),
            certificate=self.certificate.settled,
        )

    def draw(self) -> Mapping[str, Output]:
        """Draw every table, by its name."""
        return {name: output for name, one in self.tables.items() for output in one.draw().values()}


def _require_budget(spec: TablesSpec) -> None:
    if target_of(spec.privacy).intensity is None:
        raise SpecError('[privacy] epsilon is missing: give the budget that the tables share, such as "1".')
    if spec.privacy.standard == "gaussian":
        raise SpecError(
            "[privacy] standard = 'gaussian' is not divided among tables: set standard = \"zcdp\" with a rho,"
            ' or "pure" with an epsilon.',
        )


def _require_table(name: str, spec: Spec) -> None:
    kind, _ = mechanism_of(
        spec, among_others=True
    )  # what cannot be answered is refused before anything is read
    if kind.estimated:
        raise SpecError(
            f"[[tables]] {name!r}: {kind.name} releases its table with the measurements that it is estimated"
            " from, and not among others: give it a spec of its own, and charge both to one ledger."
        )
    if kind.output != "table":
        raise SpecError(f"[[tables]] {name!r}: {kind.name} releases no table: give it a spec of its own.")


@contextmanager
def _named(table: str) -> Iterator[None]:
    """Say of which table an error is."""
    try:
        yield
    except (GuaranteeError, InvariantError) as error:
        raise type(error)(f"[[tables]] {table!r}: {error}") from None


def _require_one_file(readings: Mapping[str, Reading]) -> None:
    """Raise where the file changed while its tables were read."""
    if len({int(reading.table.counts.sum()) for reading in readings.values()}) > 1:
        raise DataError("the data changed while they were read: run the command again.")


def tables_of(spec: object) -> TablesSpec | None:
    """Return the spec of several tables that is given, or in a file; None for a spec of one table."""
    found = read_any_spec(spec) if isinstance(spec, str | Path) else spec
    return found if isinstance(found, TablesSpec) else None
