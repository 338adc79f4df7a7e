"""Recording a release: from a mechanism and what is public to a certificate."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from math import ceil

from holdfast.certificate.model import (
    BiasSection,
    Certificate,
    ConstraintsSection,
    EpsilonAt,
    ErrorSection,
    ExpectedErrorSection,
    GuaranteeSection,
    InequalitySection,
    InvariantSection,
    PublicationSection,
    RandomnessSection,
    ScopeSection,
    SecretsSection,
    SemiAdjacencySection,
    SensitivitySection,
    SharesSection,
    Software,
    TableSection,
    TargetSection,
    TopDownSection,
    UnitSection,
    UniverseSection,
)
from holdfast.certificate.verdict import verdict
from holdfast.errors import GuaranteeError
from holdfast.laws import secrets_of
from holdfast.mechanisms.accuracy import Accuracy, Size
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.topdown.bias import bias
from holdfast.mechanisms.topdown.mechanism import TopDown
from holdfast.premises import Premises
from holdfast.privacy.conversion import gdp_to_epsilon, zcdp_to_epsilon
from holdfast.privacy.guarantee import Promise, Unit
from holdfast.privacy.intensity import (
    Approximate,
    Functional,
    GaussianDP,
    Intensity,
    Pure,
    ZeroConcentrated,
)
from holdfast.privacy.pufferfish.guarantee import TPGuarantee
from holdfast.privacy.pufferfish.of_model import StatedModel
from holdfast.public import Public
from holdfast.spec.model import Privacy
from holdfast.spec.publication import Publication
from holdfast.version import VERSION

SMALL_DELTA = 1e-10


def topdown_caveats(public: Public) -> list[str]:
    """Return what is to be known of counts that were estimated from measurements."""
    estimated = (
        "The table is estimated from the measurements beside it, with no count below zero: small counts come"
        " out too large on average, and large ones too small. The measurements have no such bias; for"
        " confidence intervals use them, with `holdfast intervals`."
    )
    said = [estimated]
    if public.invariants:
        said.append(
            "The guarantee holds among tables with the same values of all invariants. Subject to a part of"
            " them that leaves another one open it does not hold with any budget, as the release tells that"
            " one exactly."
        )
    return said


def certify(
    privacy: Privacy,
    public: Public,
    mechanism: AnyMechanism,
    accuracy: Accuracy | None,
    *,
    secure: bool,
    publication: Publication | None = None,
    biases: Sequence[BiasSection] = (),
    microdata: bool = False,
    model: StatedModel | None = None,
) -> Certificate:
    """Record a release of a mechanism; nothing in the record depends on the draw."""
    unit = mechanism.guarantee.unit
    semi = public.premises("semi", privacy.distance) if unit.adjacency == "semi" else None
    guarantee = guarantee_section(mechanism.guarantee)
    expected = None if accuracy is None else _expected(accuracy, public.schema.names)
    said = {} if publication is None else publication.said
    return Certificate(
        software=Software(name="holdfast", version=VERSION),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        publication=PublicationSection(**said) if said else None,
        table=TableSection.model_validate(
            {
                "count": public.count,
                "schema": public.schema.to_dict(),
                "inferred": public.inferred,
                "geography": public.geography,
            }
        ),
        invariants=tuple(InvariantSection.model_validate(held.to_dict()) for held in public.invariants),
        constraints=ConstraintsSection(
            nonnegative=public.nonnegative,
            inequalities=tuple(InequalitySection.model_validate(f.to_dict()) for f in public.inequalities),
        ),
        universe=_universe(public, semi),
        mechanism=mechanism.record(),
        target=TargetSection(**{**dict(privacy), "laws": privacy.laws_kind}),
        guarantee=guarantee,
        secrets=_secrets(secrets_of(mechanism.guarantee, public, privacy, model)),
        randomness=RandomnessSection(source="operating system" if secure else "seeded", secure=secure),
        expected_error=expected,
        topdown=_topdown(public, mechanism, tuple(biases), microdata=microdata),
        verdict=verdict(guarantee, mechanism, expected, public.universe.cells),
        caveats=_caveats(public, mechanism, secure=secure),
    )


INVARIANTS_NOTE = (
    "The invariants are published exactly. What they reveal by themselves, alone or with other"
    " sources, is outside of the guarantee."
)


def guarantee_section(guarantee: Promise) -> GuaranteeSection:
    """Return what is written of a guarantee."""
    scope = guarantee.scope
    return GuaranteeSection.model_validate(
        {
            "statement": guarantee.statement,
            "domain": guarantee.domain,
            "scope": ScopeSection(
                invariants=scope.invariants,
                induced=scope.induced,
                constraints=scope.constraints,
                digest=scope.digest,
            ),
            "unit": _unit(guarantee.unit),
            "standard": guarantee.intensity.standard,
            "intensity": guarantee.intensity.parameters(),
            "epsilon_at": epsilon_at(guarantee.intensity),
            "evidence": [{"kind": item.kind, **asdict(item)} for item in guarantee.evidence],
        }
    )


def _secrets(promise: TPGuarantee | None) -> SecretsSection | None:
    """Return what is written of a guarantee in terms of secrets."""
    return None if promise is None else SecretsSection.model_validate(promise.to_dict())


def _unit(unit: Unit) -> UnitSection:
    return UnitSection(
        name=unit.name, adjacency=unit.adjacency, distance=unit.distance, records_per_unit=unit.records
    )


def _universe(public: Public, semi: Premises | None) -> UniverseSection:
    universe = public.universe
    return UniverseSection(
        cells=universe.cells,
        invariants=universe.rank,
        dimension=universe.dimension,
        records=universe.total,
        semi_adjacency=None
        if semi is None
        else SemiAdjacencySection(
            worst_case=semi.semi_adjacency.worst_case,
            literal=semi.semi_adjacency.literal,
            exact=semi.semi_adjacency.exact,
        ),
        sensitivity=None if semi is None else SensitivitySection(**asdict(semi.sensitivity)),
    )


def epsilon_at(intensity: Intensity) -> EpsilonAt | None:
    """Return an epsilon at a small delta, for readers of other standards than pure and approximate."""
    match intensity:
        case Pure() | Approximate():
            return None
        case ZeroConcentrated(rho):
            epsilon = zcdp_to_epsilon(rho=float(rho), delta=SMALL_DELTA).value
        case GaussianDP(mu):
            epsilon = gdp_to_epsilon(mu=float(mu), delta=SMALL_DELTA).value
        case Functional(f):
            epsilon = f.epsilon_at(SMALL_DELTA)
    return EpsilonAt(delta=f"{SMALL_DELTA:g}", epsilon=ceil(epsilon * 10**6) / 10**6)


def _expected(accuracy: Accuracy, names: tuple[str, ...]) -> ExpectedErrorSection:
    def row(attributes: tuple[str, ...], size: Size) -> ErrorSection:
        return ErrorSection(
            attributes=attributes,
            mean_absolute_error=round(size.value, 4),
            standard_error=round(size.standard_error, 4),
            exact=size.exact,
        )

    return ExpectedErrorSection(
        method=f"simulated from the noise law alone, {accuracy.draws} draws",
        cell=row(names, accuracy.cell),
        margins=tuple(row(*margin) for margin in accuracy.margins.items()),
        noise=SharesSection(
            first=accuracy.first,
            width=accuracy.width,
            shares=tuple(round(share, 6) for share in accuracy.shares.tolist()),
        ),
    )


def _topdown(
    public: Public, mechanism: AnyMechanism, biases: tuple[BiasSection, ...], *, microdata: bool
) -> TopDownSection | None:
    """Return both readings: for one record of distance, and for one person [semi-dp, Proposition 15]."""
    if not isinstance(mechanism, TopDown):
        return None
    one = mechanism.one_record
    try:
        semi = public.premises("semi").semi_adjacency
    except GuaranteeError:  # of some invariants no bound is known
        semi = None
    all_along = None if semi is None else one.group(semi.worst_case)
    return TopDownSection(
        per_record=mechanism.per_record,
        epsilon_at=epsilon_at(one),
        semi_adjacency=None if semi is None else semi.worst_case,
        exact=semi is not None and semi.exact,
        effective=None if all_along is None else next(iter(all_along.parameters().values())),
        effective_epsilon_at=None if all_along is None else epsilon_at(all_along),
        bias=biases,
        microdata=microdata,
    )


def bias_sections(mechanism: AnyMechanism, public: Public) -> tuple[BiasSection, ...]:
    """Return the bias of estimated counts on a stand-in, for a mechanism that has one."""
    if not isinstance(mechanism, TopDown):
        return ()
    found = bias(mechanism.design, mechanism.measurements, public.universe.total)
    return tuple(BiasSection.model_validate(asdict(each)) for each in found)


def _caveats(public: Public, mechanism: AnyMechanism, *, secure: bool) -> tuple[str, ...]:
    caveats = []
    if not secure:
        caveats.append(
            "This release was drawn from a seeded generator. Whoever knows the seed can take the noise"
            " off again: it protects nobody and is for tests and studies only."
        )
    if isinstance(mechanism, TopDown):
        caveats += topdown_caveats(public)
    elif mechanism.caveat is not None:
        caveats.append(mechanism.caveat)
    if public.inferred:
        names = ", ".join(public.inferred)
        caveats.append(
            f"The levels of {names} were taken from the data, so the list of levels is published as it is."
        )
    if public.schema.within:
        pairs = " and ".join(f"each {inner} in one {outer}" for inner, outer in public.schema.within.items())
        caveats.append(
            f"What lies where, {pairs}, was taken from the data, and is published as it is by the list of"
            " cells."
        )
    if public.invariants:
        caveats.append(INVARIANTS_NOTE)
    return tuple(caveats)
