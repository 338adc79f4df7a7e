"""What an account says: its budget, what is spent and left, and a row a release."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from holdfast.privacy.ledger.account import Ledger, spent
from holdfast.privacy.ledger.entry import Completion, Opening, Row
from holdfast.privacy.ledger.files import files
from holdfast.privacy.ledger.verify import exposed

DIGITS = 12
"""Of a file's fingerprint, for people."""


@dataclass(frozen=True)
class LedgerReport:
    """A sound ledger as it is now; ``files`` has one name for all rows of a file.

    ``unknown`` counts the rows from before completions were kept: nothing tells whether they were released.
    """

    opening: Opening
    rows: tuple[Row, ...]
    files: tuple[str, ...]
    completions: tuple[Completion, ...] = ()
    unknown: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def spent(self) -> Fraction:
        """The composed total of all rows."""
        return spent(self.rows)

    @property
    def left(self) -> Fraction:
        """What is not spent."""
        return self.opening.budget - self.spent

    @property
    def released(self) -> tuple[bool | None, ...]:
        """Whether each row's release was handed over; None where that is not known."""
        completed = {one.row for one in self.completions}
        return tuple(
            True if row.index in completed else None if row.index <= self.unknown else False
            for row in self.rows
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "opening": self.opening.to_dict(),
            "budget": str(self.opening.budget),
            "spent": str(self.spent),
            "left": str(self.left),
            "rows": [
                {**row.to_dict(), "file": file, "released": released}
                for row, file, released in zip(self.rows, self.files, self.released, strict=True)
            ],
            "completions": [one.to_dict() for one in self.completions],
            "warnings": list(self.warnings),
        }


def ledger_report(path: str | Path) -> LedgerReport:
    """Read an account; LedgerError where anything is wrong with it."""
    ledger = Ledger.open(path)
    judged = ledger.judged()
    charges = [row.charge for row in judged.rows]
    # the last fingerprint: an old row names its table, and later ones the file
    names = {place: charges[places[-1]].dataset for places in files(charges) for place in places}
    return LedgerReport(
        ledger.opening,
        judged.rows,
        tuple(names[place][:DIGITS] for place in range(len(charges))),
        judged.completions,
        0 if judged.head is None else judged.head.unknown,
        tuple(exposed(ledger.path)),
    )
