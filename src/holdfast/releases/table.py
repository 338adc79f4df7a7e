"""A table of counts, or statistics of it: read, publish the invariants, calibrate, check.

spec -> public -> mechanism -> guarantee -> release -> certificate
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.certificate.certify import certify, expected_section
from holdfast.certificate.head import UnchangedSection
from holdfast.certificate.model import Certificate
from holdfast.certificate.verdict import unchanged_section
from holdfast.data.read import ReadTable, read_table
from holdfast.lattice.arrays import IntArray
from holdfast.laws import calibrated, secrets_of, stated_model
from holdfast.mechanisms.catalogue import AnyMechanism, at_target, for_accuracy, mechanism_of, target_of
from holdfast.mechanisms.details import MechanismDetails
from holdfast.mechanisms.errors.accuracy import Accuracy, accuracy
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.least_budget import AccuracyBudget, Spending, goals_of, least_budget
from holdfast.mechanisms.mechanism import DrawArray, NoiseLaw
from holdfast.mechanisms.weights.accurate import shaped
from holdfast.privacy.guarantee import Guarantee
from holdfast.public import Public, publish
from holdfast.releases.before import with_published
from holdfast.releases.expected import Expected, WhatIfBudgets, at_budgets, expected_errors
from holdfast.releases.part import SPARE, Draw, PreparedPart
from holdfast.releases.plan import PartPlan, plan_of
from holdfast.releases.ways_out import answered
from holdfast.sampling.entropy import Entropy, SeededEntropy, SystemEntropy
from holdfast.sampling.lattice.plan import Planned
from holdfast.spec.load import read_spec
from holdfast.spec.model import OF_TABLES, Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import GuaranteeError, SpecError
from holdfast.system.machine import require_room
from holdfast.system.text import counted
from holdfast.system.ways import about, assigned, setting

if TYPE_CHECKING:
    from holdfast.ledger.account import Ledger
    from holdfast.ledger.rows import Charge
    from holdfast.privacy.pufferfish.guarantee import TPGuarantee
    from holdfast.privacy.pufferfish.of_model import StatedModel

NARROW = 1.0
"""A mean error of cells above which no noise leaves nearly all of them as they are."""
LONGEST_COUNT = 22
"""Bytes of a count with its sign and the end of its line."""
PER_RECORD = 80
"""Bytes of a record that a count is written out as, about."""


@dataclass(frozen=True, eq=False)
class PreparedTable(PreparedPart):
    """A confidential table, and everything that is settled before its release is drawn."""

    name: str
    spec: Spec = field(repr=False)
    reading: ReadTable = field(repr=False)
    public: Public = field(repr=False)
    mechanism: AnyMechanism = field(repr=False)
    model: "StatedModel | None" = field(default=None, repr=False)
    """The laws of the data, where the spec names a file of them."""
    budget: AccuracyBudget | None = field(default=None, repr=False)
    """What the budget follows from, where the spec says how accurate the release has to be."""
    part: Spending | None = field(default=None, repr=False)
    """Its target at a budget of all tables, where it is one of several that share one."""

    @property
    def guarantee(self) -> Guarantee:
        """What is proved of every release."""
        return self.mechanism.guarantee

    @cached_property
    def secrets(self) -> "TPGuarantee | None":
        """The same in terms of secrets, where the spec says which laws the data may follow [theory, 7]."""
        return secrets_of(self.guarantee, self.public, self.spec.privacy, self.model)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a curator should look at in the data."""
        return self.reading.warnings

    @property
    def bounded(self) -> bool:
        """Whether its noise moves no count by more than a bound, at the price of a delta."""
        approximate = self.guarantee.intensity.standard == "approximate"
        return approximate and getattr(self.spec.mechanism, "bound", None) is not None

    @property
    def size(self) -> str:
        """How many cells may hold a count."""
        return counted(self.public.universe.cells, "cell")

    @property
    def identity(self) -> bytes:
        """What tells the records of the file from others."""
        return self.reading.identity

    @cached_property
    def accuracy(self) -> Accuracy | None:
        """How large the noise is expected to be; None where only the confidential table could tell."""
        if self.mechanism.noise is None:
            return None
        return accuracy(self.mechanism.noise, self.public.schema, self.public.universe)

    @cached_property
    def details(self) -> MechanismDetails | None:
        """What the mechanism says of itself beside its record; it may take a simulation."""
        return self.mechanism.details(self.public)

    @property
    def counts(self) -> IntArray:
        """The confidential counts of the possible cells."""
        counts = self.reading.table.counts
        return np.asarray(counts[self.public.possible] if self.public.schema.impossible else counts)

    def certify(self, *, secure: bool, microdata: bool = False) -> Certificate:
        """Record a release; nothing in the record depends on the draw."""
        extras = ("microdata",) if microdata else ()
        return certify(
            self.spec.privacy,
            self.public,
            self.mechanism,
            self.accuracy,
            secure=secure,
            publication=self.spec.publication,
            details=self.mechanism.details(self.public, extras, self.details) if extras else self.details,
            extras=extras,
            model=self.model,
            name=None if self.name == "table" else self.name,
            accuracy_goals=() if self.budget is None else self.budget.goals,
        )

    def sample(self, entropy: Entropy | None = None, size: int = 1) -> DrawArray:
        """Draw the counts of ``size`` independent releases, one a row: each would cost its own budget.

        Of a mechanism that measures first, it is the measurements that are drawn.
        """
        drawn = self.mechanism.law(self.counts).sample(entropy or SystemEntropy(), size)
        return self.public.spread(drawn) if self.mechanism.output == "table" else drawn

    def draw(self, source: Entropy, engine: str) -> Draw:
        """Settle everything but the noise; what no source of noise could draw is refused here."""
        del engine  # is that of what is made of the draw
        self._require_releasable()
        law, mechanism = self.mechanism.law(self.counts), self.mechanism
        if self.public.status:
            self.public.cell_status(estimated=False)
        if self.accuracy is None and mechanism.noise is not None:
            rehearse(mechanism.noise)
        return Draw(lambda making: mechanism.outputs(law, self.public, source, making))

    def _require_releasable(self) -> None:
        traits, name = self.mechanism.traits, self.mechanism.name
        if traits.kind == "floating":
            raise GuaranteeError(
                f"{name} draws real numbers in floating point, which is not safe for a release: use"
                f" {assigned('name', 'lattice-gaussian')} in {setting('mechanism')}; this one is for"
                " studies."
            )
        if not traits.keeps_invariants:
            raise GuaranteeError(
                f"{name} keeps no invariant and is there to compare with: use"
                f' {assigned("name", "lattice-laplace")} or "lattice-gaussian" in {setting("mechanism")}.'
            )

    def room(self, *, microdata: bool) -> int:
        """No fewer bytes than the files take beside the certificate."""
        schema = self.public.schema
        row = sum(max(map(_longest, one.levels)) for one in schema.attributes) + LONGEST_COUNT
        records = int(self.reading.table.counts.sum()) if microdata else 0
        return row * (schema.size + 1) + self.mechanism.file_size + PER_RECORD * records + SPARE

    def charge(self, ledger: "Ledger", certificate: Certificate) -> "Charge":
        """Return what a ledger is told of the release."""
        from holdfast.ledger.charge import charge_of  # noqa: PLC0415 - where there is a ledger

        if self.bounded:
            raise GuaranteeError(
                f"{setting('mechanism', 'bound')} has a delta, which no ledger takes: leave out the bound and"
                f' set {assigned("standard", "pure")} or "zcdp" in {setting("privacy")}, or release without'
                " a ledger."
            )
        return charge_of(ledger, self.reading, self.public, self.guarantee, certificate, self.secrets)

    @property
    def _also(self) -> tuple[Counts, ...]:
        return () if self.budget is None else tuple(goal.of for goal in self.budget.goals)

    @property
    def spending(self) -> Spending:
        """Its target at a budget: of all tables, where it is one of several that share one."""
        return self.part or self.spec.privacy.spending

    @property
    def _priced(self) -> AccuracyBudget | None:
        """The budget, with what more accuracy would cost."""
        if self.budget is None:
            return None
        return least_budget(self.mechanism, self.public, self.spending, self.budget.goals, priced=True)

    def _unchanged(self, expected: Expected | None) -> UnchangedSection | None:
        """Return how likely noise leaves things as they are; simulated only where it is so narrow."""
        names, cells = self.public.schema.names, self.public.possible.size
        sizes = [one.mean_absolute for one in expected or () if one.of == Counts(names)]
        narrow = any(size < NARROW for size in sizes) and self.mechanism.unchanged is None
        known = self.accuracy if narrow else None
        section = None if known is None else expected_section(known, names)
        return unchanged_section(self.mechanism, section, cells)

    def plan(self, spent: float, what_if: WhatIfBudgets | None = None) -> PartPlan:
        """Return how it would be drawn, after so many seconds were spent on preparing it."""
        mechanism, public = self.mechanism, self.public
        expected = expected_errors(mechanism, public, self._also)
        return plan_of(
            mechanism,
            public.possible.size,
            spent,
            stays=self._unchanged(expected),
            simulated=lambda: 0 if self.details is None else self.details.simulated,
            warnings=self.warnings,
            expected=expected,
            budget=self._priced,
            what_if=() if what_if is None else at_budgets(mechanism, public, self.spending, what_if),
        )


def rehearse(noise: NoiseLaw) -> None:
    """Draw noise that is thrown away, where none was simulated."""
    if not isinstance(noise, Planned):
        noise.sample(SeededEntropy(0), 1)
        return
    for _ in noise.parts(SeededEntropy(0)):
        pass


def budget_of(spec: Spec, at: Spending, public: Public) -> tuple[AccuracyBudget | None, AnyMechanism | None]:
    """Return the budget that follows from how accurate a release has to be; None where nothing is asked for.

    Where the noise gets its shape from that, too, the mechanism comes with it, calibrated to any budget.
    """
    if not spec.accuracy:
        return None, None
    any_budget = spec.model_copy(update={"privacy": at(Fraction(1))})
    goals = goals_of(spec.accuracy, public)
    shape = for_accuracy(spec)
    if shape is None:
        return least_budget(answered(any_budget, public), public, at, goals), None
    found = shaped(answered(any_budget.model_copy(update={"mechanism": shape}), public), public, goals)
    return least_budget(found, public, at, goals), found


def with_budget(
    spec: Spec, privacy: Privacy, public: Public
) -> tuple[Privacy, AccuracyBudget | None, AnyMechanism | None]:
    """Return a target with the budget that follows, where one does, and the mechanism that comes with it."""
    budget, shape = budget_of(spec, privacy.spending, public)
    if budget is None:
        return privacy, None, None
    privacy = privacy.spending(budget.value)
    return privacy, budget, shape and at_target(shape, public, target_of(privacy))


def prepare_table(spec: Spec, data: Any = None) -> PreparedTable:
    """Read the table of a spec, and settle its mechanism and guarantee."""
    kind, _ = mechanism_of(spec)  # what cannot be answered is refused before anything is read
    model = stated_model(spec)
    reading = read_table(spec, data)
    cells = reading.table.schema.size
    require_room(cells, kind.room_per_cell(spec.mechanism, apart=True))
    public = with_published(spec, publish(spec, reading.table, reading.inferred))
    require_room(cells, kind.room_per_cell(spec.mechanism, apart=public.apart))
    return settle(spec, reading, public, model)


def settle(spec: Spec, reading: ReadTable, public: Public, model: "StatedModel | None") -> PreparedTable:
    """Settle the mechanism and the guarantee of a spec for a table that was read."""
    privacy, budget, mechanism = with_budget(spec, calibrated(spec.privacy, model, public), public)
    spec = spec.model_copy(update={"privacy": privacy})
    mechanism = mechanism or answered(spec, public)
    _require_a_table(spec, mechanism)
    if public.published:
        if not mechanism.keeps_published:
            raise SpecError(
                f"{setting('published')} is for estimates that keep it, and {mechanism.name} adds"
                " noise to the"
                f" table itself: leave it out, or set {assigned('name', 'topdown')} in"
                f" {setting('mechanism')}."
            )
        mechanism.require_counts()
    found = PreparedTable("table", spec, reading, public, mechanism, model, budget)
    found.secrets  # noqa: B018 - laws that a guarantee says nothing of are refused here
    return found


def _require_a_table(spec: Spec, mechanism: AnyMechanism) -> None:
    """Raise SpecError where what is asked of the files of tables is of no table."""
    asked = spec.publication
    of_tables = ["status"] if asked.status else ["formats"] if set(asked.formats) & set(OF_TABLES) else []
    if of_tables and "table" not in mechanism.published():
        raise SpecError(
            f"{setting('publication', of_tables[0])} asks for what tables have, and {mechanism.name} releases"
            f" a {mechanism.output}: leave it out."
        )


def published(spec: Spec | str | Path, data: Any = None) -> tuple[Public, tuple[str, ...]]:
    """Return what a spec makes public of its data, and what a curator should look at in them."""
    spec = spec if isinstance(spec, Spec) else read_spec(spec)
    with about(spec.file):
        reading = read_table(spec, data)
        return publish(spec, reading.table, reading.inferred), reading.warnings


def _longest(level: str) -> int:
    """Return how many bytes a level takes in a file at most, with quotation marks and a separator."""
    return 2 * len(level.encode(errors="surrogatepass")) + 3
