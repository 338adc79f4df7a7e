"""A ledger for other programs: row 0, then a row a release, each with its completion."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.canonical import canonical
from holdfast.privacy.ledger.entry import OPENING_COLUMNS, ROW_COLUMNS

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
