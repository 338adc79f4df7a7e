"""The evidence for a semi-adjacency and for the sensitivity that goes with it."""

from typing import Literal

from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.spec.whom import RECORD, Whom
from holdfast.universe.semi_adjacency import SemiAdjacency
from holdfast.universe.sensitivity import Sensitivity


def semi_evidence(
    adjacency: SemiAdjacency,
    space: Sensitivity,
    norms: frozenset[Literal["l1", "l2"]],
    distance: int | None = None,
    whom: Whom = RECORD,
) -> tuple[Evidence, ...]:
    """Say why a distance and the norms at it are right, and what rests on a solver.

    ``distance`` is how far apart the tables may be, where that is more than the semi-adjacency.
    A unit of m records is m changes of one, each with those that change along: m times as far.
    ||u||_1 <= 2 d needs no solver: d records that change move at most 2 d counts by one.
    """
    a = adjacency.worst_case
    farthest = a if distance is None else distance
    bound = "" if adjacency.exact else " (an upper bound)"
    found: list[Evidence] = [
        Proved(
            f"any one {whom.one if whom.records == 1 else whom.record} can take any possible value by"
            f" changing at most {whom.amount(a)}{bound}",
            adjacency.reference,
        )
    ]
    if farthest > a * whom.records:
        asked = f"tables up to {whom.amount(farthest)} apart are compared, as was asked"
        found.append(Proved(asked, "theory, 2"))
    elif whom.records > 1:
        found.append(
            Proved(
                f"one {whom.one} has at most {whom.amount(whom.records)}, which change one after the other:"
                f" tables up to {whom.records:,} times {a:,}, {whom.amount(farthest)}, apart are compared",
                "theory, 2",
            )
        )
    bound = "" if space.exact else ", an upper bound"
    if "l1" in norms:
        found.append(Proved(f"two such tables are at most {space.l1} in l1 apart{bound}", "theory, 3"))
    if "l2" in norms:
        size = f"the root of {space.l2_squared}"
        found.append(Proved(f"two such tables are at most {size} in l2 apart{bound}", "theory, 3"))
    if adjacency.searched or "l2" in norms or ("l1" in norms and space.l1 < 2 * farthest):
        found.append(
            Assumed(
                "the integer programs behind these numbers were solved rightly",
                "the solver works in floating point; tables it finds are checked in integers, its finding"
                " that there is none is not",
            )
        )
    return tuple(found)
