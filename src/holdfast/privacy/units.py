"""Tables of several files that protect units of their own: what holds of all of them, unit by unit.

People and households are not two halves of one: a file of people has a record for each person, a file of
units one for each household. Collections (X_1, ..., X_k) of files are compared that are alike but in the
files of one unit. Tables j of files of that unit lose at most l_j between files d records apart that share
their invariants, independently of each other given the files, and tables of other files lose nothing, as
those are the same. So one unit loses at most the sum of l_j over the tables of its own files, and no unit
more than the largest of these sums. Sums over units speak of nobody: they are never made [theory, 16].
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain

from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Proved
from holdfast.privacy.guarantee import Guarantee, Scope, Unit
from holdfast.privacy.intensity import Intensity, total
from holdfast.privacy.profile import PerRecord
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import canonical
from holdfast.system.ways import setting


@dataclass(frozen=True)
class UnitLoss:
    """What one unit loses: by the tables of its files."""

    unit: str
    tables: tuple[str, ...]
    distance: int
    intensity: Intensity


def losses_by_unit(guarantees: Mapping[str, Guarantee]) -> tuple[UnitLoss, ...]:
    """Return what each unit loses by all tables of its files, in the order of the tables."""
    found = []
    for unit in dict.fromkeys(one.unit.name for one in guarantees.values()):
        own = {name: one for name, one in guarantees.items() if one.unit.name == unit}
        distance = max(one.unit.distance for one in own.values())
        lost = total([_at(one, distance) for one in own.values()])
        found.append(UnitLoss(unit, tuple(own), distance, lost))
    return tuple(found)


def _at(guarantee: Guarantee, distance: int) -> Intensity:
    """Return what is lost at a distance that is no less than that of the guarantee."""
    if guarantee.unit.distance == distance:
        return guarantee.intensity
    if not isinstance(guarantee.profile, PerRecord):
        raise GuaranteeError("what a table loses at other distances is not known: release it by itself.")
    return guarantee.profile.intensity.group(distance)


def apart(guarantees: Mapping[str, Guarantee]) -> Guarantee:
    """Return what holds of all tables: for any unit, whichever it is."""
    first = next(iter(guarantees.values()))
    for name, one in guarantees.items():
        same = (one.unit.adjacency, one.unit.neighbours, one.unit.records)
        if same != (first.unit.adjacency, first.unit.neighbours, first.unit.records):
            raise GuaranteeError(
                f"the table {name!r} is protected in another sense than the others: give all of them one"
                f" adjacency and one number of records in {setting('privacy')}."
            )
    losses = losses_by_unit(guarantees)
    distance = max(one.distance for one in losses)
    each = [
        total([_at(guarantees[name], distance) for name in one.tables])
        if one.distance < distance
        else one.intensity
        for one in losses
    ]
    largest = max(each, key=lambda one: tuple(one.parameters().values()))
    names = " or ".join(one.unit for one in losses)
    unit = Unit(names, first.unit.adjacency, distance, first.unit.records, first.unit.neighbours)
    told = tuple((one.unit, one.tables) for one in losses)
    proof = Proved(_one_unit(tuple(one for one, _ in told), tuple(many for _, many in told)), "theory, 16")
    rest = chain.from_iterable(one.evidence for one in guarantees.values())
    return Guarantee(_scope(guarantees), unit, largest, tuple(dict.fromkeys((proof, *rest))))


def _scope(guarantees: Mapping[str, Guarantee]) -> Scope:
    """Return the collections of files that share the invariants of every table."""
    invariants = (f"{held} of {name}" for name, one in guarantees.items() for held in one.scope.invariants)
    known = chain.from_iterable(one.scope.constraints for one in guarantees.values())
    said = [[name, one.unit.name, one.scope.digest] for name, one in guarantees.items()]
    digest = sha256(canonical({"files": said}).encode()).hexdigest()
    return Scope("files", tuple(invariants), tuple(dict.fromkeys(known)), digest)


@claim("units-apart")
def _one_unit(units: tuple[str, ...], tables: tuple[tuple[str, ...], ...]) -> str:
    told = "; ".join(f"{unit}: {' and '.join(names)}" for unit, names in zip(units, tables, strict=True))
    return (
        "records of one unit stand in the files of that unit alone, so that it loses the sum of"
        " what the tables"
        f" of these lose, and nothing by others ({told})"
    )
