"""Why a guarantee should be believed."""

from dataclasses import dataclass
from typing import Any, ClassVar

from holdfast.privacy.claims import Claim, claim


@dataclass(frozen=True)
class Proved:
    """A theorem, with the place where it stands and what it gives here."""

    claim: Claim
    reference: str

    kind: ClassVar = "proved"


@dataclass(frozen=True)
class Estimated:
    """A number that was measured, with the method and the confidence of its bound."""

    claim: Claim
    confidence: str

    kind: ClassVar = "estimated"

    @property
    def method(self) -> str:
        """How it was measured."""
        return self.claim.basis


@dataclass(frozen=True)
class Assumed:
    """Something the guarantee rests on that is neither proved nor measured."""

    claim: Claim

    kind: ClassVar = "assumed"

    @property
    def reason(self) -> str:
        """Why it is not proved, or why it may be believed."""
        return self.claim.basis


Evidence = Proved | Estimated | Assumed


@claim("stated")
def stated(words: str, reason: str) -> tuple[str, str]:
    """Claim what somebody argues for from outside, in their own words."""
    return words, reason


def evidence_dict(evidence: Evidence) -> dict[str, Any]:
    """Return evidence as a certificate states it: its kind, its claim, and what goes with it."""
    match evidence:
        case Proved(claimed, reference):
            return {"kind": evidence.kind, **claimed.to_dict(), "reference": reference}
        case Estimated(claimed, confidence):
            return {"kind": evidence.kind, **claimed.to_dict(), "confidence": confidence}
        case Assumed(claimed):
            return {"kind": evidence.kind, **claimed.to_dict()}


def evidence_report(evidence: Evidence) -> dict[str, str]:
    """Return evidence as reports write it: its kind, its claim in words, and what it rests on."""
    said = {"kind": evidence.kind, "claim": evidence.claim.words}
    match evidence:
        case Proved(_, reference):
            return {**said, "reference": reference}
        case Estimated(_, confidence):
            return {**said, "method": evidence.method, "confidence": confidence}
        case Assumed():
            return {**said, "reason": evidence.reason}
