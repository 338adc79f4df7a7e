"""What holds of several tables of one file together.

Table j is drawn from T_j(X), independently of the others given the file X, and loses at most l_j between
tables d records apart that share its invariants. Files X, X' of the joint scope at most d records apart have
tables at most d records apart, which share the invariants of each. So all tables together lose at most the
sum of the l_j between them [theory, 10]; and d is no less than one person's change takes under the
invariants of all tables. Per record of distance the same holds with d = 1.
"""

from collections.abc import Mapping, Sequence

from holdfast.certificate.certify import epsilon_at
from holdfast.certificate.model import GuaranteeSection, ScopeSection, UnitSection
from holdfast.errors import GuaranteeError
from holdfast.joint.scope import TablesScope
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, promise, shown
from holdfast.privacy.intensity import Intensity, ZeroConcentrated, total

DOMAIN = "files of records, of which each table counts some attributes"


def joint_intensity(guarantees: Sequence[Guarantee], asked: Sequence[Intensity]) -> Intensity:
    """Return what all tables lose together, in the standard that was asked for.

    A guarantee in another standard implies what its table was asked for, and counts as that.
    """
    return total(
        [
            one.intensity if one.intensity.standard == part.standard else part
            for one, part in zip(guarantees, asked, strict=True)
        ]
    )


def joint_guarantee(
    scope: TablesScope, guarantees: Mapping[str, Guarantee], intensity: Intensity
) -> GuaranteeSection:
    """Return what a certificate says of all tables together."""
    unit = scope.unit
    for name, one in guarantees.items():
        if one.unit != unit:  # the sum is over losses between the same files
            raise GuaranteeError(
                f"the table {name!r} is protected for other pairs of files than all tables together: give all"
                " of them one adjacency and distance."
            )
    return GuaranteeSection.model_validate(
        {
            "statement": _statement(scope, intensity),
            "domain": DOMAIN,
            "scope": ScopeSection(
                invariants=scope.invariants, constraints=scope.constraints, digest=scope.digest
            ),
            "unit": UnitSection(
                name=unit.name,
                adjacency=unit.adjacency,
                distance=unit.distance,
                records_per_unit=unit.records,
            ),
            "standard": intensity.standard,
            "intensity": intensity.parameters(),
            "epsilon_at": epsilon_at(intensity),
            "evidence": [
                {"kind": item.kind, **vars(item)} for item in _evidence(scope, list(guarantees.values()))
            ],
        }
    )


def _statement(scope: TablesScope, intensity: Intensity) -> str:
    unit, whom = scope.unit, scope.whom
    several, has = whom.records > 1, f"one {whom.one} has at most {whom.records}"
    if unit.adjacency == "semi":
        pairs = (
            "For any two files with the same invariants of all tables that differ in at most"
            f" {whom.amount(unit.distance)}"
            + (f", as {has} and others must change along with them," if several else ",")
        )
    elif isinstance(intensity, ZeroConcentrated):
        apart = f"d times {whom.amount(whom.records)}, as {has}" if several else f"d {whom.counted}"
        return (
            f"For any two files with the same invariants of all tables that differ in {apart}, the Renyi"
            f" divergence of order alpha is at most {shown(intensity.rho)} d^2 alpha, for every alpha (zCDP)."
        )
    else:
        each = f"every {whom.amount(whom.records)}" if several else f"each {whom.record}"
        tail = f", as {has}," if several else ","
        pairs = f"For {each} in which two files with the same invariants of all tables differ{tail}"
    return f"{pairs} {promise(intensity)}"


def _evidence(scope: TablesScope, guarantees: Sequence[Guarantee]) -> tuple[Evidence, ...]:
    found: list[Evidence] = []
    if scope.adjacency == "semi":
        semi, whom = scope.semi_adjacency, scope.whom
        a, farthest = semi.worst_case, scope.unit.distance
        bound = "" if semi.exact else " (an upper bound)"
        one = whom.one if whom.records == 1 else whom.record
        found.append(
            Proved(
                f"under the invariants of all tables any one {one} can take any possible value by changing at"
                f" most {whom.amount(a)}{bound}",
                semi.reference,
            )
        )
        if farthest > a * whom.records:
            asked = f"files up to {whom.amount(farthest)} apart are compared, as was asked"
            found.append(Proved(asked, "theory, 2"))
        elif whom.records > 1:
            found.append(
                Proved(
                    f"one {whom.one} has at most {whom.amount(whom.records)}, which change one after the"
                    f" other: files up to {whom.records:,} times {a:,}, {whom.amount(farthest)}, apart are"
                    " compared",
                    "theory, 2",
                )
            )
        if semi.searched:
            found.append(
                Assumed(
                    "the integer programs behind these numbers were solved rightly",
                    "the solver works in floating point; tables it finds are checked in integers, its finding"
                    " that there is none is not",
                )
            )
    found.append(
        Proved(
            "given the file the tables are drawn independently, and all together lose at most the sum of what"
            " each loses, as its chapter says",
            "theory, 10",
        )
    )
    found += [item for one in guarantees for item in one.evidence if not isinstance(item, Proved)]
    return tuple(dict.fromkeys(found))
