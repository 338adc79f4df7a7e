"""The certificate as values: what was kept, what is protected, how strongly, and why that is true.

One class a section of `certificate.json`. It holds nothing that depends on the confidential data beyond the
invariants: what is released stands in files of its own, which the certificate names by their hashes.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Union

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema

from holdfast.certificate.sealed import Sealed, Section
from holdfast.mechanisms.catalogue import OF_TABLES
from holdfast.privacy.guarantee import Adjacency
from holdfast.privacy.intensity import Standard
from holdfast.privacy.pufferfish.framework import LawKind
from holdfast.spec.model import InvariantKind, Laws
from holdfast.spec.publication import is_address, line_flaw
from holdfast.spec.rational import Rational

if TYPE_CHECKING:
    from holdfast.mechanisms.mechanism import MechanismRecord

    AnyRecord = MechanismRecord
else:
    AnyRecord = Annotated[Union[tuple(m.Record for m in OF_TABLES)], Field(discriminator="name")]  # noqa: UP007

_IF_SAID = Field(exclude_if=lambda said: said is None)
Whole = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]
"""A count, or a sum of counts: tables have 64 bits for each."""


RecordsPerUnit = Annotated[StrictInt, Field(exclude_if=lambda records: records == 1)]
"""How many records a unit has at most."""


class Software(Section):
    """What made the release."""

    name: StrictStr
    version: StrictStr


class AttributeSection(Section):
    """A classification, and its levels in order."""

    name: StrictStr
    levels: tuple[StrictStr, ...]


class NestingSection(Section):
    """An attribute whose levels each lie in one level of another, the places of which are ``parents``."""

    attribute: StrictStr
    within: StrictStr
    parents: tuple[StrictInt, ...]


class SchemaSection(Section):
    """The cells: every combination of levels in row-major order, less those that cannot occur.

    Of nested attributes only combinations that lie in each other are cells.
    """

    attributes: tuple[AttributeSection, ...]
    structural_zeros: tuple[StrictInt, ...] = ()
    within: Annotated[tuple[NestingSection, ...], Field(exclude_if=lambda nested: not nested)] = ()


class TableSection(Section):
    """The cells of the confidential table, and the name of released counts."""

    count: StrictStr
    cells: SchemaSection = Field(alias="schema")
    inferred: tuple[StrictStr, ...] = ()
    """The attributes whose levels were taken from the data."""
    geography: Annotated[tuple[StrictStr, ...], Field(exclude_if=lambda levels: not levels)] = ()
    """The attributes that are levels of a geography, root first."""


class CountsSection(Section):
    """Some sums over cells: a margin, the total, the count of a selection, or weighted cells."""

    name: StrictStr
    kind: InvariantKind
    attributes: tuple[StrictStr, ...]
    where: dict[StrictStr, tuple[StrictStr, ...]]
    labels: tuple[StrictStr, ...]
    equals: StrictInt | None = None
    rows: tuple[StrictInt, ...] | None = None
    cells: tuple[StrictInt, ...] | None = None
    weights: tuple[StrictInt, ...] | None = None
    level: Annotated[StrictStr | None, _IF_SAID] = None
    """Of weights that are the same at every node of a level of the geography: that level."""


class InvariantSection(CountsSection):
    """Sums that every release has exactly."""

    values: tuple[Whole, ...]

    @model_validator(mode="after")
    def _one_value_a_label(self) -> Self:
        if len(self.values) != len(self.labels):
            raise ValueError(f"has {len(self.values)} values for {len(self.labels)} labels")
        return self


class InequalitySection(CountsSection):
    """Sums that no release has below a number, or above one."""

    at_least: Annotated[Whole | None, _IF_SAID] = None
    at_most: Annotated[Whole | None, _IF_SAID] = None

    @model_validator(mode="after")
    def _some_bound(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("has no bound")
        return self

    @property
    def bounds(self) -> dict[str, int]:
        """The bounds in words."""
        named = {"at least": self.at_least, "at most": self.at_most}
        return {words: bound for words, bound in named.items() if bound is not None}


class ConstraintsSection(Section):
    """What releases are kept within."""

    nonnegative: StrictBool = False
    inequalities: tuple[InequalitySection, ...] = ()


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


class TargetSection(Section):
    """What was asked for."""

    unit: StrictStr
    adjacency: Adjacency
    standard: Standard
    epsilon: Rational | None = None
    delta: Rational | None = None
    rho: Rational | None = None
    mu: Rational | None = None
    distance: StrictInt | None = None
    records_per_unit: RecordsPerUnit = 1
    laws: Annotated[Laws | None, _IF_SAID] = None

    @property
    def intensity(self) -> dict[str, Any]:
        """The numbers that were asked for, by name."""
        return {
            name: value
            for name in ("epsilon", "delta", "rho", "mu")
            if (value := getattr(self, name)) is not None
        }


class ScopeSection(Section):
    """Which data are compared; ``induced`` invariants are kept by the mechanism without being asked for."""

    invariants: tuple[StrictStr, ...]
    induced: tuple[StrictStr, ...] = ()
    constraints: tuple[StrictStr, ...]
    digest: StrictStr


class UnitSection(Section):
    """Which data in the scope are protected against each other."""

    name: StrictStr
    adjacency: Adjacency
    distance: StrictInt
    records_per_unit: RecordsPerUnit = 1


class EpsilonAt(Section):
    """An epsilon at a small delta, for readers of other standards."""

    delta: StrictStr
    epsilon: StrictFloat


class ProvedSection(Section):
    """A theorem, and what it gives here."""

    kind: Literal["proved"]
    claim: StrictStr
    reference: StrictStr


class EstimatedSection(Section):
    """A number that was measured."""

    kind: Literal["estimated"]
    claim: StrictStr
    method: StrictStr
    confidence: StrictStr


class AssumedSection(Section):
    """What is neither proved nor measured."""

    kind: Literal["assumed"]
    claim: StrictStr
    reason: StrictStr


EvidenceSections = tuple[
    Annotated[ProvedSection | EstimatedSection | AssumedSection, Field(discriminator="kind")], ...
]


class GuaranteeSection(Section):
    """What was proved: domain, scope, unit, standard, intensity, and the evidence."""

    statement: StrictStr
    domain: StrictStr
    scope: ScopeSection
    unit: UnitSection
    standard: Standard
    intensity: dict[StrictStr, Rational]
    epsilon_at: EpsilonAt | None
    evidence: EvidenceSections


class StatedSection(Section):
    """A part of a framework, in words and as data."""

    words: StrictStr
    data: dict[StrictStr, Any]


class LawsSection(StatedSection):
    """The laws of the data, given what is public, under which a guarantee holds."""

    kind: LawKind


class StatisticSection(Section):
    """What of the data moves with a secret, and how that is measured."""

    name: StrictStr
    metric: StrictStr


class FrameworkSection(Section):
    """What is public, what is secret, which secrets are not to be told apart, and under which laws."""

    public: StatedSection
    secrets: StatedSection
    pairs: StatedSection
    laws: LawsSection
    statistic: StatisticSection
    unit: StrictStr
    digest: StrictStr


class DeltaZSection(Section):
    """How far a secret moves the data; where it is not exact, at most."""

    value: StrictStr
    exact: StrictBool
    evidence: EvidenceSections


class ModelSection(Section):
    """The model that laws were read from: what its file says, and the SHA-256 of that as canonical JSON."""

    content: dict[StrictStr, Any]
    digest: StrictStr


class SecretsSection(Section):
    """The guarantee in terms of secrets, given what is public: epsilon-TP, or rho-TP."""

    statement: StrictStr
    domain: StrictStr
    standard: Literal["tp", "rho-tp"]
    intensity: dict[StrictStr, Rational]
    framework: FrameworkSection
    delta_z: DeltaZSection | None
    pointwise: StrictBool
    model: Annotated[ModelSection | None, _IF_SAID] = None
    """Where the laws were read from a file."""
    evidence: EvidenceSections


class RandomnessSection(Section):
    """Where the noise came from."""

    source: StrictStr
    secure: StrictBool


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

    method: StrictStr
    cell: ErrorSection
    margins: tuple[ErrorSection, ...]
    noise: SharesSection


class ChanceSection(Section):
    """A probability between two bounds, which agree where it is known."""

    low: StrictFloat
    high: StrictFloat


class UnchangedSection(Section):
    """How likely noise leaves a cell that it can move, or everything, as it is; ``cell`` None: not known."""

    cell: ChanceSection | None
    everything: ChanceSection
    method: StrictStr


class VerdictSection(Section):
    """What the guarantee and the noise come to, in plain words.

    ``right`` is how often a guess between two tables, from even odds, is right at most; ``sure`` is how sure
    of it a release can make anyone, but for ten times the delta of ``guarantee.epsilon_at``, if it has one.
    """

    level: Literal["strong", "moderate", "weak", "none"]
    right: StrictFloat
    sure: StrictFloat
    meaning: StrictStr
    unchanged: UnchangedSection | None
    warnings: tuple[StrictStr, ...]

    @property
    def protects(self) -> bool:
        """Whether the noise may be called a protection."""
        return not self.warnings


def _line(text: str) -> str:
    if flaw := line_flaw(text):
        raise ValueError(flaw)
    return text


def _address(url: str) -> str:
    if not is_address(url):
        raise ValueError("is no address of the web")
    return url


Said = Annotated[StrictStr, AfterValidator(_line)]


class PublicationSection(Section):
    """What the curator says of the publication: nothing follows from it."""

    title: Annotated[Said | None, _IF_SAID] = None
    publisher: Annotated[Said | None, _IF_SAID] = None
    contact: Annotated[Said | None, _IF_SAID] = None
    period: Annotated[Said | None, _IF_SAID] = None
    url: Annotated[Annotated[Said, AfterValidator(_address)] | None, _IF_SAID] = None
    licence: Annotated[Said | None, _IF_SAID] = None


class BiasSection(Section):
    """Errors of counts of one size, on a stand-in: of cells of leaves, or of their totals."""

    count: Literal["cell", "total"]
    low: StrictInt
    high: StrictInt | None
    number: StrictInt
    mean_error: StrictFloat
    standard_error: StrictFloat
    mean_absolute_error: StrictFloat


class TopDownSection(Section):
    """Both readings of a top-down release, and the bias of its counts.

    ``per_record`` is rho, or epsilon, for one record of distance. ``effective`` is what it comes to at the
    semi-adjacency: among tables as far apart as one person's change takes with these invariants. Both are
    None where no bound of the semi-adjacency is known.
    """

    per_record: Rational
    epsilon_at: EpsilonAt | None
    semi_adjacency: StrictInt | None
    exact: StrictBool
    effective: Rational | None
    effective_epsilon_at: EpsilonAt | None
    bias: tuple[BiasSection, ...]
    microdata: StrictBool
    """Whether the counts were written out as records, too."""


class LedgerSection(Section):
    """The row of a ledger that a release was charged as."""

    row: StrictInt
    hash: StrictStr


class Certificate(Sealed):
    """The record of a release."""

    format: Literal["holdfast-certificate/3"] = "holdfast-certificate/3"
    software: Software
    created: StrictStr
    measured: Annotated[StrictStr | None, _IF_SAID] = None
    """The SHA-256 of all values of measurements.parquet, of a top-down release that was written."""
    publication: Annotated[PublicationSection | None, _IF_SAID] = None
    table: TableSection
    invariants: tuple[InvariantSection, ...]
    constraints: ConstraintsSection
    universe: UniverseSection
    mechanism: AnyRecord
    target: TargetSection
    guarantee: GuaranteeSection
    secrets: Annotated[SecretsSection | None, _IF_SAID] = None
    """Where laws were asked for."""
    randomness: RandomnessSection
    expected_error: ExpectedErrorSection | None
    topdown: Annotated[TopDownSection | None, _IF_SAID] = None
    verdict: VerdictSection
    caveats: tuple[StrictStr, ...]
    ledger: LedgerSection | None = None
    files: dict[StrictStr, StrictStr] = Field(default_factory=dict)
    quoted_formulas: Annotated[StrictBool, Field(exclude_if=lambda quoted: not quoted)] = False
    """Whether names that a spreadsheet would run have an apostrophe before them in table.csv."""
    digest: StrictStr = ""

    @model_validator(mode="after")
    def _both_readings(self) -> Self:
        if (self.topdown is None) == (self.mechanism.name == "topdown"):
            raise ValueError("tells both readings for top-down releases, and for no other")
        return self


class _Untitled(GenerateJsonSchema):
    """A JSON schema whose fields are not named twice."""

    def field_title_should_be_set(self, schema: object) -> bool:
        """Leave titles to the classes."""
        del schema
        return False


def json_schema(record: type[Sealed] = Certificate) -> dict[str, Any]:
    """Return the JSON schema of a form of `certificate.json`, which is shipped as `schema.json`."""
    schema = record.model_json_schema(mode="serialization", schema_generator=_Untitled)
    form = record.model_fields["format"].default
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": form, **schema}
