"""Recording a release of several tables: from its chapters and what joins them to one certificate."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from holdfast.certificate.model import Certificate, GuaranteeSection, TargetSection
from holdfast.certificate.several.model import (
    BudgetSection,
    Chapter,
    ShareSection,
    TablesCertificate,
)
from holdfast.certificate.verdict import verdict_of_files
from holdfast.joint.scope import TablesScope
from holdfast.joint.shared import shared_margins
from holdfast.spec.model import Privacy
from holdfast.spec.tables import Division

SEEDED = (
    "These tables were drawn from a seeded generator. Whoever knows the seed can take the noise off again: it"
    " protects nobody and is for tests and studies only."
)
CHAPTERS = (
    "A chapter speaks of its table alone. Who sees all tables can learn as much as the guarantee of all"
    " together allows, which is the one to rely on."
)
INVARIANTS = (
    "The invariants of all tables are published exactly. What they reveal together, alone or with other"
    " sources, is outside of the guarantee."
)


def certify_tables(
    privacy: Privacy,
    division: Division,
    weights: Sequence[Fraction],
    fractions: Sequence[Fraction],
    scope: TablesScope,
    guarantee: GuaranteeSection,
    chapters: Mapping[str, Certificate],
    *,
    created: str,
) -> TablesCertificate:
    """Record several tables; nothing in the record depends on the draw."""
    first = next(iter(chapters.values()))
    secure = first.randomness.secure
    return TablesCertificate(
        software=first.software,
        created=created,
        target=TargetSection(**dict(privacy)),
        budget=BudgetSection(
            division=division,
            shares=tuple(
                ShareSection(table=name, weight=weight, fraction=fraction)
                for name, weight, fraction in zip(chapters, weights, fractions, strict=True)
            ),
        ),
        guarantee=guarantee,
        shared=shared_margins(scope.publics),
        randomness=first.randomness,
        verdict=verdict_of_files(guarantee),
        caveats=((() if secure else (SEEDED,)) + (CHAPTERS, INVARIANTS)),
        tables=tuple(
            Chapter(name=name, certificate=one.model_copy(update={"created": created}))
            for name, one in chapters.items()
        ),
    )
