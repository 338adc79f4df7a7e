"""Several tables of one file, released together: one budget, one guarantee.

Every table is prepared as if it were released alone, for files as far apart as the joint scope takes, and
calibrated for its part of the budget.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from holdfast.certificate.certify import certify_tables
from holdfast.certificate.model import Certificate
from holdfast.data.read import ReadTable, read_table
from holdfast.ledger.charge import tables_charge
from holdfast.ledger.rows import Charge
from holdfast.mechanisms.catalogue import answer, mechanism_of, target_of
from holdfast.outputs import Output
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import Intensity
from holdfast.public import publish
from holdfast.releases.division import divide, table_privacy
from holdfast.releases.joint import JointPremises, joint_guarantee, joint_intensity
from holdfast.releases.part import Draw
from holdfast.releases.shared import shared_margins
from holdfast.releases.table import PreparedTable
from holdfast.sampling.entropy import Entropy
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec
from holdfast.system.errors import DataError, GuaranteeError, InvariantError, SpecError
from holdfast.system.machine import require_room
from holdfast.system.ways import setting


@dataclass(frozen=True, eq=False)
class Together:
    """What joins several tables: the scope of all, and the fraction of the budget that each gets."""

    spec: TablesSpec = field(repr=False)
    scope: JointPremises = field(repr=False)
    tables: Mapping[str, PreparedTable] = field(repr=False)
    fractions: tuple[Fraction, ...]

    drawn_together: ClassVar[bool] = False

    @property
    def identity(self) -> bytes:
        """What tells the file from others."""
        return next(iter(self.tables.values())).identity

    def draw(self, source: Entropy) -> Draw:
        """Tables of one file are drawn one by one."""
        raise NotImplementedError

    def restored(self, file: Any) -> Output:
        """Nothing of what is drawn is kept."""
        raise NotImplementedError

    @property
    def intensity(self) -> Intensity:
        """What all tables lose together."""
        tables = list(self.tables.values())
        asked = [target_of(one.spec.privacy).intensity for one in tables]
        return joint_intensity([one.guarantee for one in tables], [one for one in asked if one is not None])

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is proved of every release of all tables."""
        each = {name: one.guarantee for name, one in self.tables.items()}
        return joint_guarantee(self.scope, each, self.intensity)

    @property
    def shares(self) -> dict[str, dict[str, Fraction]]:
        """The numbers of the target of each table."""
        asked = {name: target_of(one.spec.privacy).intensity for name, one in self.tables.items()}
        return {name: {} if one is None else dict(one.parameters()) for name, one in asked.items()}

    def certify(self, chapters: Mapping[str, Certificate]) -> Certificate:
        """Record a release, from what is recorded of each table."""
        weights = [Fraction(1) if table.weight is None else table.weight for table in self.spec.tables]
        return certify_tables(
            self.spec.privacy,
            self.spec.budget.division,
            weights,
            self.fractions,
            shared_margins(self.scope.publics),
            self.guarantee,
            chapters,
            publication=next(iter(self.tables.values())).spec.publication,
        )

    def charge(self, charges: Mapping[str, Charge], certificate: Certificate) -> Charge:
        """Return what a ledger is told of the release: one charge that holds those of the tables."""
        return tables_charge(
            charges,
            scope=certificate.guarantee.scope.digest,
            intensity=self.intensity,
            guarantee=certificate.guarantee.model_dump(mode="json"),
            certificate=certificate.settled,
        )


def prepare_tables(spec: TablesSpec, data: Any = None) -> Together:
    """Read the tables of a spec, divide its budget, and settle each mechanism and the joint guarantee."""
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
    scope = JointPremises(publics, spec.privacy.adjacency, spec.privacy.distance).checked()
    premises = [public.premises(scope.adjacency, scope.distance) for public in publics.values()]
    fractions = divide(spec, premises)
    tables = {}
    for table, fraction in zip(spec.tables, fractions, strict=True):
        name = table.name
        own = spec.spec(table, table_privacy(spec.privacy, fraction, scope))
        with _named(name):
            tables[name] = PreparedTable(name, own, readings[name], publics[name], answer(own, publics[name]))
    return Together(spec, scope, tables, fractions)


def _require_budget(spec: TablesSpec) -> None:
    if target_of(spec.privacy).intensity is None:
        raise SpecError(
            f'{setting("privacy", "epsilon")} is missing: give the budget that the tables share, such as "1".'
        )


def _require_table(name: str, spec: Spec) -> None:
    """Refuse what cannot be answered, or is no table among others, before anything is read."""
    kind, _ = mechanism_of(spec)
    if kind.estimated:
        raise SpecError(
            f"{setting('tables')} {name!r}: {kind.name} releases its table with the measurements that it is"
            " estimated from, and not among others: give it a spec of its own, and charge both to one ledger."
        )
    if kind.output != "table":
        raise SpecError(
            f"{setting('tables')} {name!r}: {kind.name} releases no table: give it a spec of its own."
        )


@contextmanager
def _named(table: str) -> Iterator[None]:
    """Say of which table an error is."""
    try:
        yield
    except (GuaranteeError, InvariantError) as error:
        raise type(error)(f"{setting('tables')} {table!r}: {error}") from None


def _require_one_file(readings: Mapping[str, ReadTable]) -> None:
    """Raise where the file changed while its tables were read."""
    if len({int(reading.table.counts.sum()) for reading in readings.values()}) > 1:
        raise DataError("the data changed while they were read: run the command again.")
