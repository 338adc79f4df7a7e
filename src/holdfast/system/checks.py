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
    """The outcome of all checks; ``quick`` ones look at files and invariants and derive nothing.

    >>> hf.verify(folder, quick=True).verdict.partition(" (")[0]
    'every check holds'
    """

    folder: Path
    checks: tuple[Check, ...]
    warnings: tuple[str, ...] = ()
    quick: bool = False
    derived: tuple[str, ...] = ()
    """The sections of the certificate that were derived again."""
    kind: str = "table"
    """What is verified: a table, records, a processed table, or what is said of a publication."""

    @property
    def kept(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    @property
    def verdict(self) -> str:
        """What all checks come to, in words."""
        if self.kind == "publication":
            return f"these facts {'' if self.kept else 'do not '}follow from the published files"
        if not self.kept:
            return "this is not the certified release"
        if self.kind == "processed":
            again = "and processing the release again gives this table and its bias"
            told = "bias" in self.derived  # where its release was at hand
            return f"every check holds, {again if told else 'as far as the folder tells'}"
        if self.quick:
            return "every check holds (files and invariants; what is claimed of privacy was not derived)"
        if "page" not in self.derived:
            return (
                "every check holds, and all that the certificate claims was derived again, but for its page"
            )
        return "every check holds, and all that the certificate claims was derived again"

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
    """A release that should be used is not as it was certified.

    >>> import shutil
    >>> from pathlib import Path
    >>> altered = Path(shutil.copytree(folder, "altered"), "table.csv")
    >>> altered.write_text(altered.read_text() + " ") > 0
    True
    >>> hf.read("altered")
    Traceback (most recent call last):
    holdfast.system.checks.ViolatedError: ...
    """

    def __init__(self, verification: Verification) -> None:
        super().__init__(f"{verification.folder} is not the certified release: restore it, and verify it.")
        self.verification = verification
