"""Accounts of epsilon-TP and of rho-TP: releases that share their public facts [theory, 7].

A charge states its framework by digest, and whether its loss is bounded between any two values of the
statistic within Delta_z. Releases of the same data add up where all of them are so bounded. What no lemma
composes is refused. What is computed from a release and from public facts is free.

A loss of epsilon is one of rho = epsilon^2 / 2 [bun2016, Proposition 1.4], and so it is charged to an
account of rho-TP. No account of epsilon-TP takes a rho.
"""

from fractions import Fraction
from hashlib import sha256

from holdfast.ledger.checkpoint import History, Spent
from holdfast.ledger.rows import OF_SECRETS, Charge, ChargeStandard
from holdfast.privacy.conversion import pure_to_zcdp
from holdfast.privacy.pufferfish.guarantee import TPGuarantee
from holdfast.system.errors import GuaranteeError
from holdfast.system.ways import setting

ENTRY = sha256(b"holdfast tp").hexdigest()
"""The one entry of the checkpoint: all releases of such an account are of the same data."""


def tp_charge(*, dataset: str, guarantee: TPGuarantee, certificate: str) -> Charge:
    """Return the charge of a release with a guarantee of epsilon-TP or of rho-TP.

    Args:
        dataset: the fingerprint of the file of records, from `Ledger.fingerprint`.
        guarantee: what is proved of the release.
        certificate: the SHA-256 of the certificate's content.

    """
    framework, delta = guarantee.framework, guarantee.delta
    return Charge(
        dataset=dataset,
        scope=framework.digest_of_public,
        standard=guarantee.standard,
        intensity=guarantee.amount,
        guarantee=guarantee.to_dict(),
        certificate=certificate,
        detail={
            "kind": "secrets",
            "framework": framework.digest,
            "pointwise": guarantee.pointwise,
            "delta_z": None if delta is None else str(delta.finite),
        },
    )


def spend_tp(history: History, new: Charge) -> Spent:
    """Return the composed total of epsilon-TP or rho-TP with a new charge, and the checkpoint after it."""
    if history.standard not in OF_SECRETS:
        raise GuaranteeError(
            f"the ledger is for guarantees between datasets, and this release states {_name(new.standard)},"
            " which says nothing of them: charge it to a ledger that was opened for it."
        )
    if new.standard not in OF_SECRETS:
        raise GuaranteeError(
            f"the ledger adds up {_name(history.standard)} for one set of public facts, and this release"
            f" states none: set laws in {setting('privacy')}, or charge another ledger."
        )
    if (history.standard, new.standard) == ("tp", "rho-tp"):
        raise GuaranteeError(
            "the ledger adds up epsilon-TP, and this release states rho-TP, which gives none: set standard ="
            f' "pure" in {setting("privacy")}, or charge a ledger that was opened for rho-TP.'
        )
    if history.state is not None and history.state["public"] != new.scope:
        raise GuaranteeError(
            "the ledger adds up epsilon-TP given other public facts than this release takes for given: state"
            " the same for all, or open another ledger."
        )
    spent = _spent_on(history, new)
    entry = {
        "dataset": new.dataset,
        "framework": new.detail["framework"],
        "pointwise": new.detail["pointwise"],
        "epsilon": str(spent),
    }
    return Spent(max(history.total, spent), {"public": new.scope}, {ENTRY: entry})


def _spent_on(history: History, new: Charge) -> Fraction:
    """Return what all releases of the data have cost with a charge."""
    before, cost = history.entry(ENTRY), new.intensity
    if history.standard != new.standard:
        cost = pure_to_zcdp(cost).value
    if before is None:
        return cost
    if (before["dataset"], before["framework"]) != (new.dataset, new.detail["framework"]):
        raise GuaranteeError(
            "the ledger has a release of this data in another framework: state the same secrets, laws and"
            " statistic for all of them."
        )
    if not (before["pointwise"] and new.detail["pointwise"]):
        raise GuaranteeError(
            "epsilon-TP alone does not add up over releases of the same data, as two that tell nothing of a"
            " secret may tell it together: use mechanisms that bound the loss between any two values within"
            " Delta_z."
        )
    return Fraction(before["epsilon"]) + cost


def _name(standard: ChargeStandard) -> str:
    return "epsilon-TP" if standard == "tp" else "rho-TP"
