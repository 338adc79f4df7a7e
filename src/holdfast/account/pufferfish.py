"""Accounts of epsilon-TP and of rho-TP: releases that share their public facts [theory, 7].

A charge states its framework by digest, and whether its loss is bounded between any two values of the
statistic within Delta_z. Releases of the same data add up where all of them are so bounded. Releases of named
parts of the data that are independent given the public facts cost the largest of what the parts cost. What
no lemma composes is refused. What is computed from a release and from public facts is free.

A loss of epsilon is one of rho = epsilon^2 / 2 [bun2016, Proposition 1.4], and so it is charged to an
account of rho-TP. No account of epsilon-TP takes a rho.
"""

from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256

from holdfast.errors import GuaranteeError
from holdfast.privacy.conversion import pure_to_zcdp
from holdfast.privacy.ledger.entry import OF_SECRETS, Charge, Standard
from holdfast.privacy.ledger.errors import LedgerError
from holdfast.privacy.ledger.past import Past, Spent, State
from holdfast.privacy.pufferfish.guarantee import TPGuarantee

VERSION = 5
"""The version of the detail of a charge of epsilon-TP."""
RULES = "tp/1"
"""The version of the checkpoint, and of the rules by which charges are composed."""


@dataclass(frozen=True)
class Part:
    """A part of the data, and why it is independent of all others given what is public."""

    name: str
    independent: str


def tp_charge(*, dataset: str, guarantee: TPGuarantee, certificate: str, part: Part | None = None) -> Charge:
    """Return the charge of a release with a guarantee of epsilon-TP or of rho-TP.

    Args:
        dataset: the fingerprint of the file of records, from `Ledger.fingerprint`.
        guarantee: what is proved of the release.
        certificate: the SHA-256 of the certificate's content.
        part: which part of the data it is of, where that is not all.

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
            "version": VERSION,
            "framework": framework.digest,
            "pointwise": guarantee.pointwise,
            "delta_z": None if delta is None else str(delta.finite),
            "part": None if part is None else {"name": part.name, "independent": part.independent},
        },
    )


def spend_tp(past: Past, new: Charge) -> Spent:
    """Return the composed total of epsilon-TP or rho-TP with a new charge, and the checkpoint after it."""
    if past.standard not in OF_SECRETS:
        raise GuaranteeError(
            f"the ledger is for guarantees between datasets, and this release states {_name(new.standard)},"
            " which says nothing of them: charge it to a ledger that was opened with"
            f" --{new.standard}."
        )
    if new.standard not in OF_SECRETS:
        raise GuaranteeError(
            f"the ledger adds up {_name(past.standard)} for one set of public facts, and this release states"
            " none: set laws in [privacy], or charge another ledger."
        )
    if (past.standard, new.standard) == ("tp", "rho-tp"):
        raise GuaranteeError(
            "the ledger adds up epsilon-TP, and this release states rho-TP, which gives none: set standard ="
            ' "pure" in [privacy], or charge a ledger that was opened with --rho-tp.'
        )
    state = past.state
    if state is not None and state["rules"] != RULES:
        raise LedgerError("the ledger was charged by a newer Holdfast: update this one.")
    if state is not None:
        _require_one_account(state, new)
    key, spent = _key(new), _spent_on(past, new)
    total = max(past.total, spent)
    told = {"rules": RULES, "public": new.scope, "parts": new.detail["part"] is not None}
    entry = {
        "dataset": new.dataset,
        "framework": new.detail["framework"],
        "pointwise": new.detail["pointwise"],
        "epsilon": str(spent),
    }
    return Spent(total, told, {key: entry})


def _require_one_account(state: State, new: Charge) -> None:
    """Raise where a charge has other public facts, or is of a part beside charges of everything."""
    if state["public"] != new.scope:
        raise GuaranteeError(
            "the ledger adds up epsilon-TP given other public facts than this release takes for given: state"
            " the same for all, or open another ledger."
        )
    if state["parts"] != (new.detail["part"] is not None):
        raise GuaranteeError(
            "the ledger has releases of all of the data and is asked for one of a part, or the other way"
            " round: no lemma composes these, so name parts for all releases, or for none."
        )


def _spent_on(past: Past, new: Charge) -> Fraction:
    """Return what the part of a charge has cost with it."""
    before, cost = past.entry(_key(new)), new.intensity
    if past.standard != new.standard:
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


def _name(standard: Standard) -> str:
    return "epsilon-TP" if standard == "tp" else "rho-TP"


def _key(charge: Charge) -> str:
    part = charge.detail["part"]
    return sha256(f"tp {'' if part is None else part['name']}".encode()).hexdigest()
