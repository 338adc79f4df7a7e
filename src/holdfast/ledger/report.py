"""What an account says: its budget, what is spent and left, and a row a release.

A ledger for other programs: row 0, then a row a release, each with its completion.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.ledger.account import Ledger, spent
from holdfast.ledger.chain import exposed
from holdfast.ledger.rows import OPENING_COLUMNS, ROW_COLUMNS, Charge, Completion, Opening, Row, repeated
from holdfast.system.text import canonical
from holdfast.system.ways import assigned

if TYPE_CHECKING:
    from holdfast.privacy.tight import Tight

_COLUMNS = (*dict.fromkeys((*OPENING_COLUMNS[:-2], *ROW_COLUMNS)), "completion")


def export(path: str | Path) -> list[dict[str, Any]]:
    """Return all rows of a sound ledger; ``completion`` is None where nothing of a row was handed over.

    The hash of each row, and of each completion, is the SHA-256 of its canonical JSON without ``completion``,
    ``hash`` and ``seal``.
    """
    ledger = Ledger.open(path)
    judged = ledger.judged()
    completed = {one.row: one.to_dict() for one in judged.completions}
    rows = ({**row.to_dict(), "completion": completed.get(row.index)} for row in judged.rows)
    return [ledger.opening.to_dict(), *rows]


def export_json(path: str | Path) -> str:
    """Return the rows as a JSON list."""
    return json.dumps(export(path), indent=2) + "\n"


def export_csv(path: str | Path) -> str:
    """Return the rows as CSV, mappings as canonical JSON; row 0 leaves the columns of releases empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for row in export(path):
        writer.writerow({name: canonical(v) if isinstance(v, dict) else v for name, v in row.items()})
    return text.getvalue()


DIGITS = 12
"""Of a file's fingerprint, for people."""


@dataclass(frozen=True)
class LedgerReport:
    """A sound ledger as it is now."""

    opening: Opening
    rows: tuple[Row, ...]
    completions: tuple[Completion, ...] = ()
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
    def tight(self) -> "Tight | None":
        """The most that is known of all releases together; None of none, and of releases of secrets.

        Gaussian noise of all rows is noise on the product of their lattices: rho adds up, and mu is never
        more than that of the sum, whatever was asked for after what was seen [theory, 13].
        """
        if self.spent == 0 or self.opening.standard in ("tp", "rho-tp"):
            return None
        from holdfast.privacy.intensity import (  # noqa: PLC0415 - loads numpy
            GaussianDP,
            GaussianNoise,
            Pure,
            ZeroConcentrated,
        )
        from holdfast.privacy.tight import tight  # noqa: PLC0415

        match self.opening.standard, self.spent:
            case "pure", epsilon:
                return tight(Pure(epsilon))
            case "gaussian", mu:
                return tight(GaussianDP(mu))
        from holdfast.ledger.charged import intensity_stated, noise_of, parts_of  # noqa: PLC0415 - and scipy

        stated = [intensity_stated(part) for row in self.rows for part in parts_of(row.charge)]
        known = all(isinstance(one, GaussianNoise | GaussianDP) for one in stated)
        return tight(noise_of(self.rows[0].charge, self.spent) if known else ZeroConcentrated(self.spent))

    @property
    def files(self) -> tuple[str, ...]:
        """The file of each row, by the first digits of its fingerprint."""
        return tuple(row.charge.dataset[:DIGITS] for row in self.rows)

    @property
    def repeats(self) -> tuple[int | None, ...]:
        """The row whose noise each row has once more, at no further cost; None of a row with its own."""
        return tuple(repeated(self.rows, row) for row in self.rows)

    @property
    def released(self) -> tuple[bool, ...]:
        """Whether each row's release was handed over."""
        completed = {one.row for one in self.completions}
        return tuple(row.index in completed for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "opening": self.opening.to_dict(),
            "budget": str(self.opening.budget),
            "spent": str(self.spent),
            "left": str(self.left),
            "tight": None if self.tight is None else self.tight.to_dict(),
            "rows": [
                {**row.to_dict(), "file": file, "released": released, "repeats": repeats}
                for row, file, released, repeats in zip(
                    self.rows, self.files, self.released, self.repeats, strict=True
                )
            ],
            "completions": [one.to_dict() for one in self.completions],
            "warnings": list(self.warnings),
        }


def ledger_report(path: str | Path) -> LedgerReport:
    """Read an account; LedgerError where anything is wrong with it."""
    ledger = Ledger.open(path)
    judged = ledger.judged()
    warnings = (*exposed(ledger.path), *two_units(judged.rows))
    return LedgerReport(ledger.opening, judged.rows, judged.completions, warnings)


def two_units(rows: Sequence[Row]) -> Iterator[str]:
    """Yield, for each file that was charged for two units of one record each, what the total then leaves out.

    Units of several records are accounted for: what was charged for one record is charged for all of them.
    """
    files: dict[str, dict[str, int]] = {}
    several: set[str] = set()
    for row in rows:
        for dataset, unit in _charged(row.charge):
            files.setdefault(dataset, {}).setdefault(str(unit.get("name", "record")), row.index)
            if unit.get("records_per_unit", 1) != 1:
                several.add(dataset)
    for dataset, names in files.items():
        if len(names) > 1 and dataset not in several:
            (one, first), (other, second) = list(names.items())[:2]
            places = f"row {first} protects" if first == second else f"rows {first} and {second} protect"
            yield (
                f"{places} {one!r} and {other!r} of one file, each as one record: what is spent holds for a"
                " unit of one record, and one of several loses more; charge what has several with"
                f" {assigned('records_per_unit', words='the most that one has')}."
            )


def _charged(charge: Charge) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each file of a charge with the unit that is protected in it."""
    if charge.detail.get("kind") != "files":
        yield charge.dataset, charge.unit
        return
    for table in charge.detail["tables"].values():
        yield table["dataset"], table["detail"].get("unit", charge.unit)
