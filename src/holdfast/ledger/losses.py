"""How many records one person's change takes under the invariants of all releases of a file [theory, 10].

Margins never need the product of all levels: q decomposable sets of attributes cost at most q + 1 records.
Other invariants are searched, where they tell few enough combinations of levels apart. At that distance, or
for each record, every release says what it loses within the joint scope.
"""

from collections.abc import Iterator
from fractions import Fraction

from holdfast.ledger.charged import NEW, ChargedTable, amount
from holdfast.ledger.scope import JointScope, Names
from holdfast.privacy.intensity import Intensity
from holdfast.privacy.profile import PerRecord
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import counted
from holdfast.system.ways import assigned, setting
from holdfast.universe.bounds import Support, decomposable_bound, junction_order
from holdfast.universe.bounds import one_table as margins_leave_one
from holdfast.universe.metrics import METRICS
from holdfast.universe.presence import margins_bound
from holdfast.universe.semi_adjacency import SemiAdjacency
from holdfast.universe.sensitivity import Sensitivity
from holdfast.universe.separate import trivial

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
    bound = _margins_bound(scope)
    if bound is not None and not (listed and few):
        if _margins_leave_one_table(scope):
            raise nothing_left(scope.attributes)
        return SemiAdjacency(bound, bound, exact=False, reference="theory, 10")
    if not (listed or few):
        raise _out_of_reach()
    try:
        found = METRICS[scope.neighbours].semi_adjacency(scope.universe(scope.attributes), None)
    except GuaranteeError:
        raise _out_of_reach() from None
    if found.worst_case == 0:
        raise nothing_left(scope.attributes)
    return found


def _margins_bound(scope: JointScope) -> int | None:
    """Return what decomposable margins bound the semi-adjacency by, None where other things are kept."""
    cliques = scope.cliques(scope.attributes)
    if scope.neighbours == "add-remove":
        return margins_bound(cliques)
    bound = decomposable_bound(cliques)
    return None if bound is None else bound.value


def refuse_single(scope: JointScope) -> None:
    """Raise where the invariants of several releases leave one file, or one table of a release [theory, 10].

    Margins are decided set by set, few cells by integer programs. Of more cells a part of the margins is
    looked at: what those leave, all leave at most.
    """
    if not scope.keepers:  # a release that keeps everything was judged when it was made
        if decomposable_bound(scope.cliques(scope.attributes)) is not None:
            single = _margins_leave_one_table(scope)
        elif _listed_before(scope) or _few_cells(scope):
            single = METRICS[scope.neighbours].one_table(scope.universe(scope.attributes))
        else:
            single = _some_margins_leave_one_table(scope)
        if single:
            raise nothing_left(scope.attributes)
    for release in scope.releases:
        over = release.attributes
        more = over != scope.attributes and scope.knows_more(release)
        few = more and scope.size(over) <= MOST_CELLS
        if few and METRICS[scope.neighbours].one_table(scope.universe(over)):
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
    if scope.neighbours == "add-remove" and not margins:
        return False  # records come and go
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
    if scope.neighbours == "add-remove" and not some:
        return False
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


def at_distance(scope: JointScope) -> Iterator[Intensity]:
    """Yield what each release of a file loses within the joint scope, at its distance.

    A release holds to what it states, up to the distance it states it for; beyond, and where more is known of
    its table than it says, its profile answers. Swapped records are refused: no distance is known for them.
    """
    if scope.swapped:
        raise GuaranteeError(
            "this ledger accounts for the change of one person (its first release has"
            f" {assigned('adjacency', 'semi')}), and how many records that takes under what swapping keeps"
            " is not worked out: charge swapped records to a ledger whose first release has"
            f" {assigned('adjacency', 'unit')}."
        )
    distance = joint_distance(scope)
    spaces: dict[Names, Sensitivity] = {}
    for release in scope.releases:
        profile, over = release.profile, release.attributes
        known = [release.intensity] if _covers(release, distance) else []
        if isinstance(profile, PerRecord):
            known.append(profile.intensity.group(distance))
        elif profile is not None and (not known or scope.knows_more(release)):
            spaces[over] = spaces.get(over) or _sensitivity(scope, over, distance)
            known.append(profile.at(distance, spaces[over]))
        if not known:
            raise GuaranteeError(
                f"{release.name} does not say what it loses beyond"
                f" {release.unit.whom.amount(release.unit.distance)}, and with the invariants of all releases"
                f" of this file one {release.unit.whom.one}'s change takes {distance}: "
                + (
                    "use lattice-laplace or lattice-gaussian for it."
                    if release.name == NEW
                    else "keep no invariants in this release that it does not keep."
                )
            )
        yield min(known, key=amount)


def per_record(scope: JointScope) -> Iterator[Intensity]:
    """Yield what each release of a file loses for each record of distance: tables, then swapped records.

    Where a unit may have several records, it is what each loses for as many of them as any release allows.
    """
    if scope.releases:
        refuse_single(scope)
    records = most_records(scope)
    for release in scope.releases:
        profile, over = release.profile, release.attributes
        if release.unit.adjacency == "unit" and release.unit.distance == records:
            yield release.intensity
        elif profile is None:
            raise GuaranteeError(
                f"the ledger adds up losses for each record of distance, and {release.name} states one for"
                f" {counted(release.unit.distance, 'record')} alone: set {assigned('adjacency', 'unit')} in"
                f" {setting('privacy')}, with lattice-laplace or lattice-gaussian."
            )
        else:
            metric = METRICS[scope.neighbours]
            small = not isinstance(profile, PerRecord) and scope.size(over) <= MOST_CELLS
            most = metric.spread(scope.universe(over)) if small else Fraction(metric.step)
            longest = metric.longest(scope.universe(over)) if small else None
            one = profile.per_record(most, metric.step, longest)
            yield one if records == 1 else one.group(records)
    yield from (swapped.loss.intensity.group(records) for swapped in scope.swapped)


def _covers(release: ChargedTable, distance: int) -> bool:
    """Whether the intensity that a release states holds at a distance."""
    return release.unit.adjacency == "semi" and release.unit.distance >= distance


def _sensitivity(scope: JointScope, over: Names, distance: int) -> Sensitivity:
    """Return how far the table over some attributes can move, or what no table exceeds where it is large."""
    if scope.size(over) > MOST_CELLS and over != scope.attributes:
        d = distance
        norms = trivial(d) if scope.neighbours == "replace" else (d, d * d, d)
        return Sensitivity(*norms, exact=False)
    space = METRICS[scope.neighbours].sensitivity(scope.universe(over), distance)
    if space.l1 == 0:
        raise nothing_left(over)
    return space
