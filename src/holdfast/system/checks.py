"""What a verification finds: checks that hold or do not, and warnings."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from holdfast.system.errors import HoldfastError


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what it is, whether it holds, and what else is to be said of it."""

    name: str
    holds: bool
    detail: str = ""

    @classmethod
    def that(cls, name: str, holds: bool, otherwise: str) -> "Check":
        """Return the check, with what is wrong if it does not hold."""
        return cls(name, holds, "" if holds else otherwise)


@dataclass(frozen=True)
class Verification:
    """The outcome of all checks; ``quick`` ones look at files and invariants and derive nothing."""

    folder: Path
    checks: tuple[Check, ...]
    warnings: tuple[str, ...] = ()
    quick: bool = False
    derived: tuple[str, ...] = ()
    """The sections of the certificate that were derived again."""
    kind: str = "table"
    """What is verified: a table, records, or a processed table."""

    @property
    def kept(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "kept": self.kept,
            "checks": [asdict(check) for check in self.checks],
            "warnings": list(self.warnings),
            "quick": self.quick,
            "derived": list(self.derived),
        }


class ViolatedError(HoldfastError):
    """A release that should be used is not as it was certified."""

    def __init__(self, verification: Verification) -> None:
        super().__init__(f"{verification.folder} is not the certified release: restore it, and verify it.")
        self.verification = verification
