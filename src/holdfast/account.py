"""Charging releases to a ledger: what a release costs next to all those before it.

Releases with the same invariants add up. With other invariants the whole history is composed again on the
intersection of the scopes, from what each row says of its release [theory, 10]. A total never falls.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.certificate.record import Certificate, digest
from holdfast.errors import GuaranteeError
from holdfast.privacy.composition import at_distance, intersection, joint_semi_adjacency
from holdfast.privacy.guarantee import Guarantee, Scope, Unit
from holdfast.privacy.intensity import GaussianDP, Intensity, Pure, ZeroConcentrated, total
from holdfast.privacy.ledger.account import Ledger, spent
from holdfast.privacy.ledger.entry import Charge, Row, Standard
from holdfast.privacy.order import convert
from holdfast.privacy.profile import NormLoss, SquaredLoss, profile_of
from holdfast.tables.invariants import InvariantBlock
from holdfast.tables.schema import Schema
from holdfast.universe.universe import Universe

if TYPE_CHECKING:
    from holdfast.release import Prepared


NAMES: Mapping[Standard, str] = {"pure": "epsilon", "zcdp": "rho", "gaussian": "mu"}
CONVERTIBLE = {("pure", "zcdp"), ("pure", "gaussian"), ("gaussian", "zcdp")}
"""Which intensities have a theorem that turns them into those of another ledger."""


def charge_release(ledger: Ledger, prepared: "Prepared", certificate: Certificate) -> Row:
    """Commit the cost of a release that is about to be drawn; raises, charging nothing, if it is too much."""
    content, guarantee = certificate.content, prepared.mechanism.guarantee
    charge = Charge(
        dataset=ledger.fingerprint(prepared.table.schema.to_dict(), prepared.table.counts),
        scope=prepared.setting.scope.digest,
        standard=_standard(guarantee.intensity),
        intensity=_amount(guarantee.intensity),
        guarantee=content["guarantee"],
        certificate=digest(content),
        detail={
            "schema": content["table"]["schema"],
            "invariants": content["invariants"],
            "cliques": _listed(prepared.setting.universe.cliques),
            "loss": guarantee.profile.to_dict()
            if isinstance(guarantee.profile, NormLoss | SquaredLoss)
            else None,
        },
    )
    return ledger.charge(charge, lambda rows, new: spend(rows, new, ledger.standard))


def spend(rows: Sequence[Row], new: Charge, standard: Standard) -> Fraction:
    """Return the composed total of the releases charged so far and a new one."""
    charges = [*(row.charge for row in rows), new]
    first = charges[0]
    if any(charge.detail["schema"] != first.detail["schema"] for charge in charges):
        raise GuaranteeError(
            "the ledger accounts for a table with other attributes or levels: open a ledger for each table."
        )
    if any(charge.dataset != new.dataset for charge in charges):
        raise GuaranteeError(
            "the ledger accounts for other counts than these (their fingerprints differ): open a ledger for"
            " each table."
        )
    if any(charge.guarantee["unit"]["adjacency"] != new.guarantee["unit"]["adjacency"] for charge in charges):
        raise GuaranteeError(
            "the ledger accounts for another adjacency: use the same adjacency in [privacy] for all releases."
        )
    if len({charge.scope for charge in charges}) == 1 or new.guarantee["unit"]["adjacency"] == "unit":
        parts = [_intensity(charge) for charge in charges]
    else:
        parts = _recomposed(charges)
    if new.standard != standard and (new.standard, standard) not in CONVERTIBLE:  # never pure: it converts
        raise GuaranteeError(
            f"the ledger adds up {NAMES[standard]}, and this release is stated in {NAMES[new.standard]},"
            f" which gives none: open a ledger with --{NAMES[new.standard]} for it."
        )
    composed = total([convert(part, standard) for part in parts])
    alone = convert(_intensity(new), standard)
    return max(_amount(composed), _amount(alone), spent(rows))


def _amount(intensity: Intensity) -> Fraction:
    """Return the one number of a pure, zCDP or Gaussian intensity."""
    return next(iter(intensity.parameters().values()))


def _standard(intensity: Intensity) -> Standard:
    match intensity.standard:
        case "pure" | "zcdp" | "gaussian" as standard:
            return standard
    raise GuaranteeError(
        f"a ledger accounts for pure, zCDP and Gaussian guarantees, and this one is {intensity.standard}:"
        " release it without a ledger, or choose a mechanism with another standard."
    )


def _intensity(charge: Charge) -> Intensity:
    match charge.standard:
        case "pure":
            return Pure(charge.intensity)
        case "zcdp":
            return ZeroConcentrated(charge.intensity)
        case "gaussian":
            return GaussianDP(charge.intensity)


def _recomposed(charges: Sequence[Charge]) -> list[Intensity]:
    """Return what each release loses between tables that agree with all invariants together."""
    guarantees = [_guarantee(charge) for charge in charges]
    scope = intersection([guarantee.scope for guarantee in guarantees])
    distance = joint_semi_adjacency(scope.universe).worst_case
    return at_distance(guarantees, scope.universe, distance)


def _guarantee(charge: Charge) -> Guarantee:
    """Rebuild the guarantee of a charged release from its row."""
    detail = charge.detail
    schema = Schema.from_dict(detail["schema"])
    possible = np.flatnonzero(schema.possible)
    blocks = [InvariantBlock.from_dict(item, schema) for item in detail["invariants"]]
    rows = [csr_array((0, possible.size), dtype=np.int64), *(block.matrix[:, possible] for block in blocks)]
    universe = Universe.of(
        csr_array(vstack(rows, format="csr")),
        np.array([value for item in detail["invariants"] for value in item["values"]], dtype=np.int64),
        _cliques(detail),
    )
    scope = Scope.of(universe, invariants=tuple(block.name for block in blocks), constraints=())
    profile = None if detail["loss"] is None else profile_of(detail["loss"])
    unit = Unit("record", charge.guarantee["unit"]["adjacency"], charge.guarantee["unit"]["distance"])
    return Guarantee(scope, unit, _intensity(charge), (), profile)


def _listed(cliques: tuple[frozenset[str], ...] | None) -> list[list[str]] | None:
    return None if cliques is None else [sorted(clique) for clique in cliques]


def _cliques(detail: Mapping[str, Any]) -> tuple[frozenset[str], ...] | None:
    listed = detail["cliques"]
    return None if listed is None else tuple(frozenset(clique) for clique in listed)
