"""The head of a certificate, section by section: what was asked for, what is guaranteed, what that means."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from holdfast.data.sections import IF_SAID, Section
from holdfast.mechanisms.details import EpsilonAt
from holdfast.privacy.claims import Claim, words_of
from holdfast.privacy.guarantee import Adjacency, DataKind, Unit, domain, statement
from holdfast.privacy.intensity import Intensity, Pure, Standard, ZeroConcentrated
from holdfast.privacy.profile import intensity_of
from holdfast.spec.model import is_address, line_flaw
from holdfast.spec.privacy import LawKind, Neighbours, ProtectedUnit, SecretLaws
from holdfast.spec.values import Rational

RecordsPerUnit = Annotated[StrictInt, Field(exclude_if=lambda records: records == 1)]
"""How many records a unit has at most."""
NeighboursSaid = Annotated[Neighbours, Field(exclude_if=lambda neighbours: neighbours == "replace")]
"""What makes neighbours, where records are added or removed."""


class Software(Section):
    """What made the release."""

    name: StrictStr
    version: StrictStr
    wheel: Annotated[StrictStr | None, IF_SAID] = None
    """The SHA-256 of the wheel that it was installed from, where that is known."""


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
    neighbours: NeighboursSaid = "replace"
    laws: Annotated[SecretLaws | None, IF_SAID] = None

    @property
    def whom(self) -> ProtectedUnit:
        """Whom a release is to protect."""
        return ProtectedUnit(self.unit, self.records_per_unit, self.neighbours)

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
    data: DataKind
    induced: tuple[StrictStr, ...] = ()
    constraints: tuple[Claim, ...]
    digest: StrictStr


class UnitSection(Section):
    """Which data in the scope are protected against each other."""

    name: StrictStr
    adjacency: Adjacency
    distance: StrictInt
    records_per_unit: RecordsPerUnit = 1
    neighbours: NeighboursSaid = "replace"

    @property
    def value(self) -> Unit:
        """The unit of a guarantee."""
        return Unit(self.name, self.adjacency, self.distance, self.records_per_unit, self.neighbours)


class EvidenceSection(Section):
    """A claim by its id and parameters: words are made of them where somebody reads them."""

    id: StrictStr
    parameters: dict[StrictStr, Any]

    @property
    def claim(self) -> Claim:
        """What is claimed."""
        return Claim(self.id, self.parameters)


class ProvedSection(EvidenceSection):
    """A theorem, and what it gives here."""

    kind: Literal["proved"]
    reference: StrictStr


class EstimatedSection(EvidenceSection):
    """A number that was measured."""

    kind: Literal["estimated"]
    confidence: StrictStr


class AssumedSection(EvidenceSection):
    """What is neither proved nor measured."""

    kind: Literal["assumed"]


EvidenceSections = tuple[
    Annotated[ProvedSection | EstimatedSection | AssumedSection, Field(discriminator="kind")], ...
]


class TightSection(Section):
    """The least mu that is known to hold of the noise, and whether a smaller one may."""

    mu: Rational
    exact: StrictBool


class GuaranteeSection(Section):
    """What was proved: domain, scope, unit, standard, intensity, and the evidence."""

    scope: ScopeSection
    unit: UnitSection
    standard: Standard
    intensity: dict[StrictStr, Rational]
    epsilon_at: EpsilonAt | None
    tight: Annotated[TightSection | None, IF_SAID] = None
    """Where more is known of the noise than the intensity says."""
    evidence: EvidenceSections

    @property
    def domain(self) -> str:
        """The kind of data that it is about, in words."""
        return domain(self.scope.data, self.unit.value.whom)

    @property
    def statement(self) -> str:
        """The guarantee in one sentence: it follows from the rest."""
        return statement(self.scope.data, self.unit.value, self.strength)

    @property
    def strength(self) -> Intensity:
        """The intensity as a value."""
        return intensity_of(self.standard, {name: str(value) for name, value in self.intensity.items()})


class StatedSection(Section):
    """A part of a framework: what is claimed of it, which words are made of, and the same as data."""

    said: Annotated[tuple[Claim, ...], Field(min_length=1)]
    data: dict[StrictStr, Any]

    @property
    def words(self) -> str:
        """The part as readers are told of it."""
        return words_of(self.said)


class LawsSection(StatedSection):
    """The laws of the data, given what is public, under which a guarantee holds."""

    kind: LawKind


class StatisticSection(Section):
    """What of the data moves with a secret, and how that is measured."""

    name: StrictStr
    attributes: Annotated[tuple[StrictStr, ...], Field(exclude_if=lambda names: not names)] = ()
    """Those of a table."""
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

    standard: Literal["tp", "rho-tp"]
    intensity: dict[StrictStr, Rational]
    framework: FrameworkSection
    delta_z: DeltaZSection | None
    pointwise: StrictBool
    model: Annotated[ModelSection | None, IF_SAID] = None
    """Where the laws were read from a file."""
    evidence: EvidenceSections

    @property
    def statement(self) -> str:
        """The guarantee in one sentence: it follows from the rest."""
        from holdfast.privacy.pufferfish.guarantee import statement  # noqa: PLC0415 - few have secrets

        given = self.framework
        strength = (
            Pure(self.intensity["epsilon"])
            if self.standard == "tp"
            else ZeroConcentrated(self.intensity["rho"])
        )
        return statement(given.public.words, given.pairs.words, given.laws.words, strength)


SYSTEM, KEYED, SEEDED = "operating system", "a secret key of the table", "seeded"


class RandomnessSection(Section):
    """Where the noise came from."""

    source: StrictStr
    secure: StrictBool

    @classmethod
    def of(cls, *, secure: bool, repeatable: bool = False) -> "RandomnessSection":
        """Return what is said of a source: of the system, or of a key where noise is the same each time."""
        return cls(source=SEEDED if not secure else KEYED if repeatable else SYSTEM, secure=secure)

    @property
    def repeats(self) -> bool:
        """Whether the curator can draw the same noise again, and nobody else."""
        return self.source == KEYED


class ChanceSection(Section):
    """A probability between two bounds, which agree where it is known."""

    low: StrictFloat
    high: StrictFloat


class UnchangedSection(Section):
    """How likely noise leaves a cell that it can move, or everything, as it is; ``cell`` None: not known."""

    cell: ChanceSection | None
    everything: ChanceSection
    method: Literal["law", "simulated"]
    """Known from the law of the noise, or from the draws of its expected error: bounds for all together."""


class VerdictSection(Section):
    """What the guarantee and the noise come to, in plain words.

    ``right`` is how often a guess between two tables, from even odds, is right at most; ``sure`` is how sure
    of it a release can make anyone, but for ten times the delta of ``guarantee.epsilon_at``, if it has one.
    """

    level: Literal["strong", "moderate", "weak", "none"]
    right: StrictFloat
    sure: StrictFloat
    meaning: Claim
    unchanged: UnchangedSection | None
    warnings: tuple[Claim, ...]

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


OneLine = Annotated[StrictStr, AfterValidator(_line)]


class PublicationSection(Section):
    """What the curator says of the publication: nothing follows from it."""

    title: Annotated[OneLine | None, IF_SAID] = None
    publisher: Annotated[OneLine | None, IF_SAID] = None
    contact: Annotated[OneLine | None, IF_SAID] = None
    period: Annotated[OneLine | None, IF_SAID] = None
    url: Annotated[Annotated[OneLine, AfterValidator(_address)] | None, IF_SAID] = None
    licence: Annotated[OneLine | None, IF_SAID] = None


class LedgerSection(Section):
    """The row of a ledger that a release was charged as."""

    row: StrictInt
    hash: StrictStr
