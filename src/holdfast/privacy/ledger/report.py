"""What an account says: its budget, what is spent and left, and a row a release."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from holdfast.privacy.ledger.account import Ledger, spent
from holdfast.privacy.ledger.entry import Opening, Row
from holdfast.privacy.ledger.files import files

DIGITS = 12
"""Of a file's fingerprint, for people."""


@dataclass(frozen=True)
class LedgerReport:
    """A sound ledger as it is now; ``files`` has one name for all rows of a file."""

    opening: Opening
    rows: tuple[Row, ...]
    files: tuple[str, ...]

    @property
    def spent(self) -> Fraction:
        """The composed total of all rows."""
        return spent(self.rows)

    @property
    def left(self) -> Fraction:
        """What is not spent."""
        return self.opening.budget - self.spent

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "opening": self.opening.to_dict(),
            "budget": str(self.opening.budget),
            "spent": str(self.spent),
            "left": str(self.left),
            "rows": [
                {**row.to_dict(), "file": file} for row, file in zip(self.rows, self.files, strict=True)
            ],
        }


def ledger_report(path: str | Path) -> LedgerReport:
    """Read an account; LedgerError where anything is wrong with it."""
    ledger = Ledger.open(path)
    rows = ledger.rows()
    charges = [row.charge for row in rows]
    # the last fingerprint: an old row names its table, and later ones the file
    names = {place: charges[places[-1]].dataset for places in files(charges) for place in places}
    return LedgerReport(ledger.opening, rows, tuple(names[place][:DIGITS] for place in range(len(rows))))
