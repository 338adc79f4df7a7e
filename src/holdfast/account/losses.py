"""What each release of one file loses, within the joint scope of all of them [theory, 10]."""

from collections.abc import Iterator

from holdfast.account.distance import MOST_CELLS, joint_distance, most_records, nothing_left, refuse_single
from holdfast.account.joint import JointScope, Names
from holdfast.account.terms import NEW, Terms, amount
from holdfast.errors import GuaranteeError
from holdfast.privacy.intensity import Intensity
from holdfast.privacy.profile import PerRecord
from holdfast.universe.sensitivity import Sensitivity, sensitivity
from holdfast.universe.separate import trivial
from holdfast.universe.spread import ALWAYS, spread
from holdfast.words import counted


def at_distance(scope: JointScope) -> Iterator[Intensity]:
    """Yield what each release of a file loses within the joint scope, at its distance.

    A release holds to what it states, up to the distance it states it for; beyond, and where more is known of
    its table than it says, its profile answers. Swapped records are refused: no distance is known for them.
    """
    if scope.swapped:
        raise GuaranteeError(
            'this ledger accounts for the change of one person (its first release has adjacency = "semi"),'
            " and how many records that takes under what swapping keeps is not worked out: charge swapped"
            ' records to a ledger whose first release has adjacency = "unit".'
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
                f' {counted(release.unit.distance, "record")} alone: set adjacency = "unit" in [privacy],'
                " with lattice-laplace or lattice-gaussian."
            )
        else:
            small = not isinstance(profile, PerRecord) and scope.size(over) <= MOST_CELLS
            one = profile.per_record(spread(scope.universe(over)) if small else ALWAYS)
            yield one if records == 1 else one.group(records)
    yield from (swapped.loss.intensity.group(records) for swapped in scope.swapped)


def _covers(release: Terms, distance: int) -> bool:
    """Whether the intensity that a release states holds at a distance."""
    return release.unit.adjacency == "semi" and release.unit.distance >= distance


def _sensitivity(scope: JointScope, over: Names, distance: int) -> Sensitivity:
    """Return how far the table over some attributes can move, or what no table exceeds where it is large."""
    if scope.size(over) > MOST_CELLS and over != scope.attributes:
        return Sensitivity(*trivial(distance), exact=False)
    space = sensitivity(scope.universe(over), distance)
    if space.l1 == 0:
        raise nothing_left(over)
    return space
