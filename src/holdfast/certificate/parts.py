"""The parts of a release, one class a kind: a table of counts, a file of records, a processed table."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    SerializeAsAny,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

from holdfast.certificate.head import (
    GuaranteeSection,
    SecretsSection,
    Software,
    TargetSection,
    VerdictSection,
)
from holdfast.data.sections import (
    IF_SAID,
    ConstraintsSection,
    InvariantSection,
    KeptSection,
    PublishedSection,
    RecordsSection,
    Section,
    TableSection,
)
from holdfast.mechanisms.catalogue import named, record_of
from holdfast.mechanisms.details import MechanismDetails
from holdfast.mechanisms.mechanism import MechanismRecord
from holdfast.privacy.claims import Claim
from holdfast.spec.values import PositiveRational
from holdfast.system.text import plain_number


class SemiAdjacencySection(Section):
    """How many records one person's change takes."""

    worst_case: StrictInt
    literal: StrictInt
    exact: StrictBool


class SensitivitySection(Section):
    """How far apart tables can be that are protected against each other."""

    l1: StrictInt
    l2_squared: StrictInt
    linf: StrictInt
    exact: StrictBool


class UniverseSection(Section):
    """The tables that agree with the invariants.

    What adjacency "unit" does not need is not worked out, and None.
    """

    cells: StrictInt
    invariants: StrictInt
    dimension: StrictInt
    records: StrictInt | None
    semi_adjacency: SemiAdjacencySection | None
    sensitivity: SensitivitySection | None


class ErrorSection(Section):
    """The mean absolute error of one kind of count, averaged over its cells."""

    attributes: tuple[StrictStr, ...]
    mean_absolute_error: StrictFloat
    standard_error: StrictFloat
    exact: StrictBool


class SharesSection(Section):
    """The law of the noise in one cell: shares of first, first + 1, ... in steps of an odd width."""

    first: StrictInt
    width: StrictInt
    shares: tuple[StrictFloat, ...]


class ExpectedErrorSection(Section):
    """Expected errors, from the law of the noise alone."""

    draws: StrictInt
    """Simulated from the law of the noise alone."""
    cell: ErrorSection
    margins: tuple[ErrorSection, ...]
    noise: SharesSection


class SourceSection(Section):
    """The release that a table was processed from, by the digest of its certificate."""

    certificate_digest: StrictStr
    title: StrictStr | None
    created: StrictStr


class MeanBiasSection(Section):
    """The bias of some cells on average, on a stand-in for the confidential table."""

    cells: StrictInt
    stand_in: StrictFloat
    bias: StrictFloat
    standard_error: StrictFloat


class SizedBiasSection(MeanBiasSection):
    """The same of the cells of one size."""

    least: StrictInt
    most: StrictInt | None


class SimulatedBiasSection(Section):
    """What a method of processing does on average to one stand-in."""

    stand_in: Literal["fitted", "nearest"]
    """A public table fitted to the invariants, or the whole table nearest to the release."""
    draws: Annotated[StrictInt, Field(ge=2, le=10**7)]
    small_cells: MeanBiasSection
    large_cells: MeanBiasSection
    classes: tuple[SizedBiasSection, ...]


class ProcessedBiasSection(Section):
    """The bias of a processed table as it was simulated, or why it was not."""

    measured: StrictBool
    reason: Annotated[Literal["not asked", "not soon enough"] | None, IF_SAID] = None
    simulated: tuple[SimulatedBiasSection, ...] = ()

    @model_validator(mode="after")
    def _measured_or_not(self) -> Self:
        stand_ins = tuple(one.stand_in for one in self.simulated)
        if stand_ins != (("fitted", "nearest") if self.measured else ()) or self.measured != (
            self.reason is None
        ):
            raise ValueError("has numbers of both stand-ins, or the reason why there are none")
        return self


class AloneSection(Section):
    """What holds of one part among several, taken by itself: the head speaks of all together."""

    target: TargetSection
    guarantee: GuaranteeSection
    secrets: Annotated[SecretsSection | None, IF_SAID] = None
    verdict: VerdictSection
    caveats: tuple[Claim, ...]


class PartSection(Section):
    """What every part says: what it is called, and what is published of it, a file each."""

    name: StrictStr
    outputs: Annotated[tuple[StrictStr, ...], Field(min_length=1)]
    """The names of its files, without their endings; the first is the part itself."""
    alone: Annotated[AloneSection | None, IF_SAID] = None

    def roles(self, among_others: str | None = None) -> dict[str, str]:
        """Return what each output is, and its name: among others that begins with the name of the table."""
        if among_others is None:
            return {output: output for output in self.outputs}
        ends = (output.removeprefix(among_others).removeprefix("_") or "table" for output in self.outputs)
        return dict(zip(ends, self.outputs, strict=True))


class DrawnPart(PartSection):
    """A part that a mechanism drew."""

    mechanism: Annotated[SerializeAsAny[MechanismRecord], BeforeValidator(record_of)]
    details: Annotated[SerializeAsAny[MechanismDetails] | None, IF_SAID] = None
    """What the mechanism says of itself beside its record."""

    @model_validator(mode="before")
    @classmethod
    def _of_mechanism(cls, values: Any) -> Any:
        """Read the details by the class that the mechanism names."""
        record = values.get("mechanism") if isinstance(values, Mapping) else None
        name = record.get("name") if isinstance(record, Mapping) else getattr(record, "name", None)
        if not isinstance(name, str):
            return values
        try:
            kind = named(name).Details
        except ValueError:
            return values  # what is wrong with it is said of the mechanism
        said = values.get("details")
        if (kind is None) != (said is None):
            raise ValueError("has details where its mechanism has such, and nowhere else")
        if kind is None or isinstance(said, kind):
            return values
        return {**values, "details": kind.model_validate(said)}


class GoalSection(Section):
    """How far counts may be off, and with which probability each is no farther off."""

    margin: tuple[StrictStr, ...]
    where: Mapping[StrictStr, tuple[StrictStr, ...]] = Field(
        default_factory=dict, exclude_if=lambda where: not where
    )
    within: PositiveRational
    level: PositiveRational

    @property
    def words(self) -> str:
        """What was asked for."""
        within = " and ".join(f"{name} = {' or '.join(levels)}" for name, levels in self.where.items())
        counts = " within ".join(filter(None, (" by ".join(self.margin) or "total", within)))
        return (
            f"{counts}: each within {plain_number(float(self.within))} with probability {float(self.level):g}"
        )


class TablePart(DrawnPart):
    """A table of counts, or a statistic or an estimate of one."""

    kind: Literal["table"] = "table"
    table: TableSection
    invariants: tuple[InvariantSection, ...]
    constraints: ConstraintsSection
    universe: UniverseSection
    expected_error: ExpectedErrorSection | None
    accuracy: Annotated[tuple[GoalSection, ...] | None, IF_SAID] = None
    """What the budget follows from, where accuracy was asked for."""
    published: Annotated[tuple[PublishedSection, ...] | None, IF_SAID] = None
    """What was published before, and is kept as it was."""


class RecordsPart(DrawnPart):
    """A file of records."""

    kind: Literal["records"] = "records"
    records: RecordsSection
    table: Annotated[TableSection | None, IF_SAID] = None
    """The table that is counted from the released file, where one was asked for."""
    invariants: tuple[KeptSection, ...]


class ProcessedPart(PartSection):
    """A table that was computed from a release, whose certificate lies beside it as release.json."""

    kind: Literal["processed"] = "processed"
    release: SourceSection
    method: StrictStr
    solver: Software
    places: StrictInt
    """Decimal places of its counts."""
    bias: ProcessedBiasSection


AnyPart = Annotated[TablePart | RecordsPart | ProcessedPart, Field(discriminator="kind")]
