"""The evidence for a semi-adjacency and for the sensitivity that goes with it."""

from typing import Literal

from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.universe.semi_adjacency import SemiAdjacency
from holdfast.universe.sensitivity import Sensitivity


def semi_evidence(
    adjacency: SemiAdjacency, space: Sensitivity, norms: frozenset[Literal["l1", "l2"]]
) -> tuple[Evidence, ...]:
    """Say why a distance and the norms at it are right, and what rests on a solver.

    ||u||_1 <= 2 a needs no solver: a records that change move at most 2 a counts by one.
    """
    a = adjacency.worst_case
    bound = "" if adjacency.exact else " (an upper bound)"
    found: list[Evidence] = [
        Proved(
            f"any one person can take any possible value by changing at most {a} records{bound}",
            adjacency.reference,
        )
    ]
    bound = "" if space.exact else ", an upper bound"
    if "l1" in norms:
        found.append(Proved(f"two such tables are at most {space.l1} in l1 apart{bound}", "theory, 3"))
    if "l2" in norms:
        size = f"the root of {space.l2_squared}"
        found.append(Proved(f"two such tables are at most {size} in l2 apart{bound}", "theory, 3"))
    if adjacency.searched or "l2" in norms or space.l1 < 2 * a:
        found.append(
            Assumed(
                "the integer programs behind these numbers were solved rightly",
                "the solver works in floating point; tables it finds are checked in integers, its finding"
                " that there is none is not",
            )
        )
    return tuple(found)
