"""Why a guarantee should be believed."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Proved:
    """A theorem, with the place where it stands and what it gives here."""

    claim: str
    reference: str

    kind = "proved"


@dataclass(frozen=True)
class Estimated:
    """A number that was measured, with the method and the confidence of its bound."""

    claim: str
    method: str
    confidence: str

    kind = "estimated"


@dataclass(frozen=True)
class Assumed:
    """Something the guarantee rests on that is neither proved nor measured."""

    claim: str
    reason: str

    kind = "assumed"


Evidence = Proved | Estimated | Assumed


def told(evidence: Evidence) -> dict[str, str]:
    """Return evidence as certificates and reports write it: its kind, its claim, and what it rests on."""
    return {"kind": evidence.kind, **asdict(evidence)}
