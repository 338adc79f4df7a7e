"""Recording a release: from mechanisms and what is public to a certificate."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from holdfast.certificate.caveats import (
    chapters_alone,
    invariants_exact,
    invariants_of_all_exact,
    known_across,
    levels_from_data,
    nesting_from_data,
    seeded,
    units_alone,
)
from holdfast.certificate.head import (
    GuaranteeSection,
    PublicationSection,
    RandomnessSection,
    ScopeSection,
    SecretsSection,
    TargetSection,
    TightSection,
    UnitSection,
    VerdictSection,
)
from holdfast.certificate.making import this_software
from holdfast.certificate.model import (
    AcrossSection,
    BudgetSection,
    Certificate,
    JoinedSection,
    SharedSection,
    ShareSection,
    UnitLossSection,
)
from holdfast.certificate.parts import (
    AloneSection,
    AnyPart,
    ErrorSection,
    ExpectedErrorSection,
    GoalSection,
    RecordsPart,
    SemiAdjacencySection,
    SensitivitySection,
    SharesSection,
    TablePart,
    UniverseSection,
)
from holdfast.certificate.verdict import unchanged_section, verdict
from holdfast.data.across import AcrossTables
from holdfast.data.sections import (
    ConstraintsSection,
    InequalitySection,
    InvariantSection,
    PublishedSection,
    TableSection,
)
from holdfast.laws import secrets_of
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.details import MechanismDetails, epsilon_at
from holdfast.mechanisms.errors.accuracy import Accuracy, Size
from holdfast.mechanisms.errors.least_budget import Goal
from holdfast.mechanisms.records import RecordsMechanism
from holdfast.outputs import among
from holdfast.privacy.claims import Claim
from holdfast.privacy.evidence import evidence_dict
from holdfast.privacy.guarantee import Guarantee, Unit
from holdfast.privacy.intensity import GaussianNoise
from holdfast.privacy.premises import Premises
from holdfast.privacy.units import losses_by_unit
from holdfast.public import Public
from holdfast.spec.model import Publication
from holdfast.spec.privacy import Privacy
from holdfast.spec.tables import Division

if TYPE_CHECKING:
    from holdfast.privacy.pufferfish.guarantee import TPGuarantee
    from holdfast.privacy.pufferfish.of_model import StatedModel


def headed(
    privacy: Privacy,
    parts: Sequence[AnyPart],
    guarantee: GuaranteeSection,
    verdict: VerdictSection,
    caveats: Sequence[Claim],
    *,
    secure: bool,
    repeatable: bool = False,
    publication: Publication | None = None,
    secrets: SecretsSection | None = None,
    joined: JoinedSection | None = None,
    created: str | None = None,
) -> Certificate:
    """Return the certificate of a release that is not written yet; nothing in it depends on the draw."""
    said = {} if publication is None else publication.said
    return Certificate(
        software=this_software(),
        created=created or datetime.now(UTC).isoformat(timespec="seconds"),
        publication=PublicationSection(**said) if said else None,
        target=TargetSection(**{**dict(privacy), "laws": privacy.laws_kind}),
        guarantee=guarantee,
        secrets=secrets,
        randomness=RandomnessSection.of(secure=secure, repeatable=repeatable),
        verdict=verdict,
        caveats=tuple(caveats),
        parts=tuple(parts),
        joined=joined,
    )


def certify(
    privacy: Privacy,
    public: Public,
    mechanism: AnyMechanism,
    accuracy: Accuracy | None,
    *,
    secure: bool,
    publication: Publication | None = None,
    details: MechanismDetails | None = None,
    extras: tuple[str, ...] = (),
    model: "StatedModel | None" = None,
    created: str | None = None,
    name: str | None = None,
    accuracy_goals: Sequence[Goal] = (),
) -> Certificate:
    """Record a release of one table, or of a statistic of one; ``details`` are those of its mechanism.

    A table among others has a ``name``.
    """
    unit = mechanism.guarantee.unit
    semi = public.premises("semi", privacy.distance) if unit.adjacency == "semi" else None
    guarantee = guarantee_section(mechanism.guarantee)
    expected = None if accuracy is None else expected_section(accuracy, public.schema.names)
    outputs = tuple(among(name, output) for output in (*mechanism.published(), *extras))
    part = TablePart(
        name=outputs[0],
        outputs=outputs,
        mechanism=mechanism.record(),
        details=details,
        table=TableSection.model_validate(
            {
                "count": public.count,
                "schema": public.schema.to_dict(),
                "inferred": public.inferred,
                "geography": public.geography,
                "status": public.status,
            }
        ),
        invariants=tuple(InvariantSection.model_validate(held.to_dict()) for held in public.invariants),
        constraints=ConstraintsSection(
            nonnegative=public.nonnegative,
            inequalities=tuple(InequalitySection.model_validate(f.to_dict()) for f in public.inequalities),
        ),
        universe=_universe(public, semi),
        expected_error=expected,
        accuracy=tuple(map(_goal, accuracy_goals)) or None,
        published=tuple(PublishedSection.model_validate(each.to_dict()) for each in public.published) or None,
    )
    return headed(
        privacy,
        [part],
        guarantee,
        verdict(
            mechanism.guarantee,
            unchanged_section(mechanism, expected, public.universe.cells),
            mechanism.releases,
        ),
        _caveats(public, mechanism, secure=secure),
        secure=secure,
        repeatable=mechanism.repeatable,
        publication=publication,
        secrets=_secrets(secrets_of(mechanism.guarantee, public, privacy, model)),
        created=created,
    )


def certify_tables(
    privacy: Privacy,
    division: Division,
    weights: Sequence[Fraction],
    fractions: Sequence[Fraction],
    shared: Sequence[SharedSection],
    guarantee: Guarantee,
    tables: Mapping[str, Certificate],
    *,
    publication: Publication | None = None,
    created: str | None = None,
) -> Certificate:
    """Record several tables of one file, from the certificate that each would have alone."""
    secure = next(iter(tables.values())).randomness.secure
    shares = tuple(
        ShareSection(table=name, weight=weight, fraction=fraction)
        for name, weight, fraction in zip(tables, weights, fractions, strict=True)
    )
    return headed(
        privacy,
        [_among_others(one) for one in tables.values()],
        guarantee_section(guarantee),
        verdict(guarantee),
        (*(() if secure else (seeded("tables"),)), chapters_alone(), invariants_of_all_exact()),
        secure=secure,
        publication=publication,
        joined=JoinedSection(budget=BudgetSection(division=division, shares=shares), shared=tuple(shared)),
        created=created,
    )


def certify_files(
    guarantees: Mapping[str, Guarantee],
    guarantee: Guarantee,
    across: Sequence[AcrossTables],
    tables: Mapping[str, Certificate],
    *,
    publication: Publication | None = None,
    created: str | None = None,
) -> Certificate:
    """Record tables of several files, from the certificate that each would have alone."""
    secure = next(iter(tables.values())).randomness.secure
    units = tuple(
        UnitLossSection(
            unit=one.unit,
            tables=one.tables,
            distance=one.distance,
            standard=one.intensity.standard,
            intensity=one.intensity.parameters(),
        )
        for one in losses_by_unit(guarantees)
    )
    unit, first = guarantee.unit, next(iter(tables.values())).target
    asked = Privacy(
        unit=unit.name,
        adjacency=unit.adjacency,
        neighbours=unit.neighbours,
        records_per_unit=unit.records,
        standard=first.standard,
        **guarantee.intensity.parameters(),
    )
    said = [AcrossSection.model_validate(each.to_dict()) for each in across]
    return headed(
        asked,
        [_among_others(one) for one in tables.values()],
        guarantee_section(guarantee),
        verdict(guarantee),
        (
            *(() if secure else (seeded("tables"),)),
            units_alone(),
            *((known_across(),) if across else ()),
            invariants_of_all_exact(),
        ),
        secure=secure,
        publication=publication,
        joined=JoinedSection(shared=(), units=units, across=tuple(said)),
        created=created,
    )


def certify_records(
    privacy: Privacy,
    mechanism: RecordsMechanism[Any, Any],
    *,
    secure: bool,
    table: TableSection | None = None,
    publication: Publication | None = None,
    created: str | None = None,
) -> Certificate:
    """Record a release of a file of records, and of the table that is counted from it, if there is one."""
    public = mechanism.public
    persons = () if public.records.persons is None else ("persons",)
    part = RecordsPart(
        name=mechanism.output,
        outputs=(mechanism.output, *persons, *(() if table is None else ("table",))),
        mechanism=mechanism.record(),
        details=mechanism.details,
        records=public.records,
        table=table,
        invariants=public.invariants,
    )
    return headed(
        privacy,
        [part],
        guarantee_section(mechanism.guarantee),
        verdict(mechanism.guarantee, what="file"),
        (*(() if secure else (seeded("swap"),)), *mechanism.caveats),
        secure=secure,
        publication=publication,
        created=created,
    )


def _among_others(alone: Certificate) -> AnyPart:
    """Return the part of a table among others, which says for itself what its head would say."""
    said = {field: getattr(alone, field) for field in AloneSection.model_fields}
    return alone.table.model_copy(update={"alone": AloneSection(**said)})


def guarantee_section(guarantee: Guarantee) -> GuaranteeSection:
    """Return what is written of a guarantee."""
    scope = guarantee.scope
    return GuaranteeSection.model_validate(
        {
            "scope": ScopeSection(
                invariants=scope.invariants,
                data=scope.data,
                induced=scope.induced,
                constraints=scope.constraints,
                digest=scope.digest,
            ),
            "unit": _unit(guarantee.unit),
            "standard": guarantee.intensity.standard,
            "intensity": guarantee.intensity.parameters(),
            "epsilon_at": epsilon_at(guarantee.intensity),
            "tight": _tight(guarantee),
            "evidence": [evidence_dict(item) for item in guarantee.evidence],
        }
    )


def _tight(guarantee: Guarantee) -> TightSection | None:
    """Return what is known of the noise beyond the intensity."""
    if guarantee.known is None and not isinstance(guarantee.intensity, GaussianNoise):
        return None
    found = guarantee.tight
    return None if found.mu is None else TightSection(mu=found.mu, exact=found.exact)


def _secrets(promise: "TPGuarantee | None") -> SecretsSection | None:
    """Return what is written of a guarantee in terms of secrets."""
    if promise is None:
        return None
    return SecretsSection.model_validate(promise.to_dict())


def _unit(unit: Unit) -> UnitSection:
    return UnitSection(
        name=unit.name,
        adjacency=unit.adjacency,
        distance=unit.distance,
        records_per_unit=unit.records,
        neighbours=unit.neighbours,
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


def expected_section(accuracy: Accuracy, names: tuple[str, ...]) -> ExpectedErrorSection:
    """Return the section of the errors that a simulation found."""

    def row(attributes: tuple[str, ...], size: Size) -> ErrorSection:
        return ErrorSection(
            attributes=attributes,
            mean_absolute_error=round(size.value, 4),
            standard_error=round(size.standard_error, 4),
            exact=size.exact,
        )

    return ExpectedErrorSection(
        draws=accuracy.draws,
        cell=row(names, accuracy.cell),
        margins=tuple(row(*margin) for margin in accuracy.margins.items()),
        noise=SharesSection(
            first=accuracy.first,
            width=accuracy.width,
            shares=tuple(round(share, 6) for share in accuracy.shares.tolist()),
        ),
    )


def _goal(goal: Goal) -> GoalSection:
    return GoalSection(margin=goal.of.names, where=dict(goal.of.where), within=goal.within, level=goal.level)


def _caveats(public: Public, mechanism: AnyMechanism, *, secure: bool) -> tuple[Claim, ...]:
    nested = public.schema.nestings
    inner, outer = tuple(one.attribute for one in nested), tuple(one.within for one in nested)
    return (
        *(() if secure else (seeded("release"),)),
        *mechanism.caveats(public),
        *((levels_from_data(public.inferred),) if public.inferred else ()),
        *((nesting_from_data(inner, outer),) if nested else ()),
        *((invariants_exact(),) if public.invariants else ()),
    )
