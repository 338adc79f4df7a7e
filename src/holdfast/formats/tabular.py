"""Tables for spreadsheets and the web: CSV and Parquet with a status, Excel, and CSV on the Web."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

from holdfast.certificate.metadata import described, sealed_as
from holdfast.certificate.verdict import LEVELS
from holdfast.data.cell_status import STATUS, STATUSES
from holdfast.data.levels import quoted
from holdfast.data.table import write_frame
from holdfast.formats.cells import PublishedCells
from holdfast.system.errors import ReleaseError

MOST_ROWS = 1_048_575
"""Of a sheet of Excel, beside the heading."""
MEANINGS = {
    "noisy": "has random noise; see the certificate for how much",
    "exact": "kept exactly: it follows from what is published without noise",
    "forced": "follows from what is published exactly and what everybody knows; the number shown may differ",
    "structural zero": "cannot occur",
    "estimated": "was estimated from noisy numbers, and may be biased",
}


def plain(cells: PublishedCells, ending: str) -> bytes:
    """Return the table with its status as CSV or Parquet."""
    file = BytesIO()
    write_frame(cells.to_frame(), f"table{ending}", file)
    return file.getvalue()


def excel(cells: PublishedCells) -> bytes:
    """Return a workbook: notes, then the table, exact numbers in bold; no name is run as a formula."""
    from openpyxl import Workbook  # noqa: PLC0415 - an extra
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415
    from openpyxl.styles import Font  # noqa: PLC0415

    frame = cells.to_frame()
    if frame.height > MOST_ROWS:
        raise ReleaseError(
            f"the table has {frame.height:,} cells, and a sheet {MOST_ROWS:,} rows: export CSV or Parquet."
        )
    book, bold = Workbook(write_only=True), Font(bold=True)
    notes = book.create_sheet("Notes")
    notes.column_dimensions["A"].width, notes.column_dimensions["B"].width = 24, 100
    for name, text in _notes(cells):
        notes.append([name, quoted(text)])
    sheet = book.create_sheet("Table")
    sheet.freeze_panes = "A2"

    def strong(value: object) -> WriteOnlyCell:
        cell = WriteOnlyCell(sheet, value=value)
        cell.font = bold
        return cell

    sheet.append([strong(quoted(name)) for name in frame.columns])
    place = len(cells.schema.names)
    for row in frame.iter_rows():
        values = [quoted(value) if isinstance(value, str) else value for value in row]
        if row[-1] == "exact":
            values[place] = strong(values[place])
        sheet.append(values)
    file = BytesIO()
    book.save(file)
    return file.getvalue()


def csvw(cells: PublishedCells, file: str) -> bytes:
    """Return the description of a CSV file of the table, as CSV on the Web."""
    number = "integer" if all("." not in text for text in cells.texts) else "decimal"
    columns: list[dict[str, Any]] = [
        {
            "name": f"attribute_{at}",
            "titles": attribute.name,
            "datatype": {"base": "string", "format": "|".join(map(_pattern, attribute.levels))},
            "required": True,
        }
        for at, attribute in enumerate(cells.schema.attributes)
    ]
    columns.append({"name": "count", "titles": cells.count, "datatype": number, "required": True})
    words = {"base": "string", "format": "|".join(STATUSES)}
    columns.append({"name": STATUS, "titles": STATUS, "datatype": words, "required": True})
    facts = described(cells.certificate)
    content = {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "url": file,
        "dc:title": cells.title,
        "dc:description": facts["description"],
        **({"dc:license": {"@id": facts["license"]}} if "license" in facts else {}),
        "notes": [{"status": name, "meaning": text} for name, text in MEANINGS.items()],
        "tableSchema": {
            "columns": columns,
            "primaryKey": [column["name"] for column in columns[: len(cells.schema.names)]],
        },
    }
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def described_csv(path: Path) -> Path:
    """Return where the description of a CSV file stands: the place in which readers look for it."""
    return path.with_name(f"{path.name}-metadata.json")


def _pattern(level: str) -> str:
    """Return a level as a regular expression for it."""
    return "".join(f"\\{letter}" if letter in r"\^$.|?*+()[]{}" else letter for letter in level)


def _notes(cells: PublishedCells) -> list[tuple[str, str]]:
    certificate = cells.certificate
    facts = described(certificate)
    return [
        ("Title", cells.title),
        *(("Publisher", facts["publisher"]["name"]) for _ in range("publisher" in facts)),
        *(("Licence", facts["license"]) for _ in range("license" in facts)),
        ("Guarantee", certificate.guarantee.statement),
        ("In a word", LEVELS[certificate.verdict.level]),
        *(("Note", caveat.words) for caveat in certificate.caveats),
        *((name, text) for name, text in MEANINGS.items()),
        ("Certificate", sealed_as(certificate)),
        ("Made with", f"{certificate.software.name} {certificate.software.version}, {certificate.created}"),
    ]
