"""The composed total of a history of releases and a new one [theory, 10].

Releases of one file are composed on their joint scope; what different files cost adds up. A ledger accounts
for the adjacency of its first release: others are brought to it by how their loss grows with the distance.
A total never falls.
"""

from collections.abc import Sequence
from fractions import Fraction

from holdfast.account.joint import JointScope, require_same_columns
from holdfast.account.losses import at_distance, per_record
from holdfast.account.terms import NEW, Terms, amount
from holdfast.errors import GuaranteeError
from holdfast.privacy.intensity import total
from holdfast.privacy.ledger.account import spent
from holdfast.privacy.ledger.entry import MEASURES, Charge, Row, Standard
from holdfast.privacy.ledger.files import files
from holdfast.privacy.order import convert

CONVERTIBLE = {("pure", "zcdp"), ("pure", "gaussian"), ("gaussian", "zcdp")}
"""Which intensities have a theorem that turns them into those of another ledger."""


def spend(rows: Sequence[Row], new: Charge, standard: Standard) -> Fraction:
    """Return the composed total of the releases charged so far and a new one."""
    if new.standard != standard and (new.standard, standard) not in CONVERTIBLE:
        raise GuaranteeError(
            f"the ledger adds up {MEASURES[standard]}, and this release states {MEASURES[new.standard]},"
            ' which gives none: set standard = "pure" in [privacy], with a mechanism for it such as'
            " lattice-laplace."
        )
    charges = [*(row.charge for row in rows), new]
    names = [*(f"row {row.index}" for row in rows), NEW]
    terms = [Terms.of(charge, name) for charge, name in zip(charges, names, strict=True)]
    losses = per_record if terms[0].unit.adjacency == "unit" else at_distance
    parts = [
        convert(part, standard)
        for places in files(charges)
        for scope in _scopes([terms[place] for place in places])
        for part in losses(scope)
    ]
    least = [spent(rows)]
    if terms[-1].unit.adjacency == terms[0].unit.adjacency:
        least.append(amount(convert(terms[-1].intensity, standard)))
    return max(amount(total(parts)), *least)


def _scopes(releases: Sequence[Terms]) -> list[JointScope]:
    """Return the joint scope of releases of one file, or several where their counts contradict each other.

    Two columns of counts in one file are of different records, as in different files.
    """
    require_same_columns(releases)
    found: list[list[Terms]] = []
    for release in releases:
        fitting = (one for one in found if not any(release.contradicts(other) for other in one))
        if (home := next(fitting, None)) is not None:
            home.append(release)
        else:
            found.append([release])
    return [JointScope(tuple(one)) for one in found]
