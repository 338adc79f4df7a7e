"""How many records one person's change takes under the invariants of all releases of a file [theory, 10].

Margins never need the product of all levels: q decomposable sets of attributes cost at most q + 1 records.
Other invariants are searched, where they tell few enough combinations of levels apart.
"""

from holdfast.account.joint import JointScope, Names
from holdfast.errors import GuaranteeError
from holdfast.universe.bounds import decomposable_bound
from holdfast.universe.cliques import Support, junction_order
from holdfast.universe.cliques import one_table as margins_leave_one
from holdfast.universe.semi_adjacency import SemiAdjacency, semi_adjacency
from holdfast.universe.vacuous import one_table

MOST_CELLS = 10_000
"""Cells up to which integer programs are asked about tables that no release was made of: about a minute."""


def joint_distance(scope: JointScope) -> int:
    """Return how many records apart the compared files may be: no fewer than one unit's change takes.

    No release is accounted for at a smaller distance than it states, nor a unit for fewer records than any
    release allows it.
    """
    stated = max((one.unit.distance for one in scope.releases if one.unit.adjacency == "semi"), default=0)
    records = most_records(scope)
    # a keeper's scope is the joint one, and it covers one record's change
    each = [one.unit.distance // one.unit.records for one in scope.keepers if one.unit.adjacency == "semi"]
    return max(stated, records * (min(each) if each else joint_semi_adjacency(scope)))


def most_records(scope: JointScope) -> int:
    """Return how many records a unit may have, by the release that allows the most."""
    units = [*(one.unit for one in scope.releases), *(one.unit for one in scope.swapped)]
    return max(unit.records for unit in units)


def joint_semi_adjacency(scope: JointScope) -> int:
    """Return the worst-case semi-adjacency or a bound of it.

    Raises GuaranteeError where none is known, and where the invariants leave one table.
    """
    return joint_search(scope).worst_case


def joint_search(scope: JointScope) -> SemiAdjacency:
    """Return the semi-adjacency with the reason for it, as `joint_semi_adjacency`."""
    listed, few = _listed_before(scope), _few_cells(scope)
    bound = decomposable_bound(scope.cliques(scope.attributes))
    if bound is not None and not (listed and few):
        if _margins_leave_one_table(scope):
            raise nothing_left(scope.attributes)
        return SemiAdjacency(bound.value, bound.value, exact=False, reference="theory, 10")
    if not (listed or few):
        raise _out_of_reach()
    try:
        found = semi_adjacency(scope.universe(scope.attributes))
    except GuaranteeError:
        raise _out_of_reach() from None
    if found.worst_case == 0:
        raise nothing_left(scope.attributes)
    return found


def refuse_single(scope: JointScope) -> None:
    """Raise where the invariants of several releases leave one file, or one table of a release [theory, 10].

    Margins are decided set by set, few cells by integer programs. Of more cells a part of the margins is
    looked at: what those leave, all leave at most.
    """
    if not scope.keepers:  # a release that keeps everything was judged when it was made
        if decomposable_bound(scope.cliques(scope.attributes)) is not None:
            single = _margins_leave_one_table(scope)
        elif _listed_before(scope) or _few_cells(scope):
            single = one_table(scope.universe(scope.attributes))
        else:
            single = _some_margins_leave_one_table(scope)
        if single:
            raise nothing_left(scope.attributes)
    for release in scope.releases:
        over = release.attributes
        more = over != scope.attributes and scope.knows_more(release)
        if more and scope.size(over) <= MOST_CELLS and one_table(scope.universe(over)):
            raise nothing_left(over)


class NothingLeftError(GuaranteeError):
    """The invariants of all that is released leave one table."""


def nothing_left(over: Names) -> NothingLeftError:
    """Return the refusal of a release after which no noise protects a table over some attributes."""
    return NothingLeftError(
        "the invariants of all that is released of this file leave one possible table of"
        f" {', '.join(sorted(over))}, so no guarantee is left for it: keep fewer or coarser invariants."
    )


def _margins_leave_one_table(scope: JointScope) -> bool:
    """Whether decomposable margins leave one table, where nothing else is kept."""
    margins = _supports(scope)
    if any(not counts for counts in margins.values()):
        return True  # there are no records
    free = scope.attributes.difference(*margins)
    return all(len(scope.levels[name]) == 1 for name in free) and margins_leave_one(margins)


def _some_margins_leave_one_table(scope: JointScope) -> bool:
    """Whether margins that are decomposable leave one table of all attributes, whatever else is kept."""
    some: dict[Names, Support] = {}
    for margin, counts in sorted(_supports(scope).items(), key=lambda one: (len(one[1]), sorted(one[0]))):
        if junction_order([*some, margin]) is not None:
            some[margin] = counts
    free = scope.attributes.difference(*some)
    return all(len(scope.levels[name]) == 1 for name in free) and margins_leave_one(some)


def _supports(scope: JointScope) -> dict[Names, Support]:
    held = scope.held(scope.attributes)
    return {one.margin: frozenset(one.counts) for one in held if one.margin is not None}


def _listed_before(scope: JointScope) -> bool:
    """Whether a release listed all cells that matter when it was made."""
    return any(release.attributes.issuperset(scope.axes(scope.attributes)) for release in scope.releases)


def _few_cells(scope: JointScope) -> bool:
    return scope.size(scope.attributes) <= MOST_CELLS


def _out_of_reach() -> GuaranteeError:
    return GuaranteeError(
        "how many records one person's change takes under the invariants of all that is released of this file"
        " is out of reach: keep the same in all of it, or margins of fewer attributes."
    )
