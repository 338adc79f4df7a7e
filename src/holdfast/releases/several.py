"""Several tables of one file, released together: one budget, one guarantee.

Every table is prepared as if it were released alone, for files as far apart as the joint scope takes, and
calibrated for its part of the budget.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar

from holdfast.certificate.certify import certify_tables
from holdfast.certificate.model import Certificate
from holdfast.data.read import ReadTable, read_table
from holdfast.ledger.charge import tables_charge
from holdfast.ledger.rows import Charge
from holdfast.mechanisms.catalogue import AnyMechanism, answer, at_target, mechanism_of, target_of
from holdfast.mechanisms.errors.least_budget import AccuracyBudget, Spending
from holdfast.outputs import Output
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.intensity import Intensity
from holdfast.public import Public, publish
from holdfast.releases.division import divide, table_privacy
from holdfast.releases.joint import JointPremises, joint_guarantee, joint_intensity
from holdfast.releases.part import Draw
from holdfast.releases.shared import shared_margins
from holdfast.releases.shared_budget import SharedBudget
from holdfast.releases.table import PreparedTable, budget_of
from holdfast.sampling.entropy import Entropy
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
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
    budget: SharedBudget | None = field(default=None, repr=False)
    """What the budget follows from, where tables have to be so accurate."""

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
    specs = _any_budget(spec)
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
    parts = {
        name: partial(_part, spec.privacy, fraction, scope)
        for name, fraction in zip(spec.names, fractions, strict=True)
    }
    found = {name: _budget_of(name, one, parts[name], publics[name]) for name, one in specs.items()}
    wanted = {name: needed for name, (needed, _) in found.items() if needed is not None}
    budget = SharedBudget(wanted) if wanted else None
    privacy = spec.privacy if budget is None else spec.privacy.spending(budget.value)
    spec = spec.model_copy(update={"privacy": privacy})
    tables = {}
    for table, fraction in zip(spec.tables, fractions, strict=True):
        name, target = table.name, table_privacy(privacy, fraction, scope)
        own, public, shape = specs[name].model_copy(update={"privacy": target}), publics[name], found[name][1]
        with _named(name):
            mechanism = (shape and at_target(shape, public, target_of(target))) or answer(own, public)
        tables[name] = PreparedTable(
            name, own, readings[name], public, mechanism, budget=wanted.get(name), part=parts[name]
        )
    return Together(spec, scope, tables, fractions, budget)


def _part(privacy: Privacy, fraction: Fraction, scope: JointPremises, budget: Fraction) -> Privacy:
    """Return the target of a table at a budget of all tables."""
    return table_privacy(privacy.spending(budget), fraction, scope)


def _budget_of(
    name: str, spec: Spec, at: Spending, public: Public
) -> tuple[AccuracyBudget | None, AnyMechanism | None]:
    with _named(name):
        return budget_of(spec, at, public)


def _any_budget(spec: TablesSpec) -> dict[str, Spec]:
    """Return the spec of each table, with some budget where it is still to follow from others."""
    privacy = spec.privacy.spending(Fraction(1)) if spec.by_accuracy else spec.privacy
    if target_of(privacy).intensity is None:
        raise SpecError(
            f'{setting("privacy", "epsilon")} is missing: give the budget that the tables share, such as "1".'
        )
    return {table.name: spec.spec(table, privacy) for table in spec.tables}


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
    except (GuaranteeError, InvariantError, SpecError) as error:
        raise type(error)(f"{setting('tables')} {table!r}: {error}") from None


def _require_one_file(readings: Mapping[str, ReadTable]) -> None:
    """Raise where the file changed while its tables were read."""
    if len({int(reading.table.counts.sum()) for reading in readings.values()}) > 1:
        raise DataError("the data changed while they were read: run the command again.")
