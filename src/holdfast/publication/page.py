"""What follows from published tables as a page for readers: one HTML file that fetches nothing."""

from datetime import UTC, datetime
from typing import Any

from holdfast.certificate.page import environment
from holdfast.certificate.pictures import bars
from holdfast.publication.report import FORMAT, PublicationReport
from holdfast.version import VERSION

MOST = 60
"""Lines of each list on a page: the facts as JSON have all."""
RULES = {
    "exact": "as they are",
    "suppressed": "small ones hidden",
    "coarsened": "of merged levels, or as ranges",
    "top-coded": "large ones cut off",
}


def render(report: PublicationReport) -> str:
    """Return the page of a report."""
    now = datetime.now(UTC).replace(microsecond=0)
    left = report.tables_left
    return (
        environment()
        .get_template("publication.html.j2")
        .render(
            title="What these published tables say together",
            publication=None,
            software={"name": "Holdfast", "version": VERSION},
            randomness={"secure": True},
            embedded="{}",
            created=now.isoformat(),
            created_at=now,
            format=FORMAT,
            report=report,
            tables=_tables(report),
            determined=_cells(report, report.ordered.tolist()),
            near=_cells(report, report.near.tolist()),
            widths=_widths(report),
            bounds=int((~report.known.exact).sum()),
            differences=[
                (report.cited(one.larger).words, report.cited(one.smaller).words, one.least, one.largest)
                for one in report.differences[:MOST]
            ],
            left=_size(left.least) if left.exact else None,
            at_least=_size(left.least),
            at_most=None if left.largest is None else _size(left.largest),
            most=MOST,
        )
    )


def _tables(report: PublicationReport) -> list[dict[str, Any]]:
    """Return each table in words: its file, its attributes, its rule."""
    found = []
    for table, file in zip(report.publication.spec.published, report.publication.files, strict=True):
        how = RULES.get(table.rule, "")
        if table.rule == "rounded":
            how = (
                "by the rules of the review board"
                if table.method == "drb"
                else f"to multiples of {table.base}"
            )
            how += {"random": ", at random", "up": ", up", "down": ", down"}.get(table.method, "")
        if table.rule == "suppressed":
            how += f" (below {table.below})"
        if table.rule == "top-coded":
            how += f" (from {table.top})"
        found.append({"name": file.name, "by": file.attributes, "rule": table.rule, "how": how})
    return found


def _cells(report: PublicationReport, places: list[int]) -> list[dict[str, Any]]:
    return [report.cell(place) for place in places[:MOST]]


def _widths(report: PublicationReport) -> list[tuple[str, int, Any]]:
    """Return how many cells are listed, worked out, nearly so, and open, each with its bar."""
    others = report.asked.count - report.determined.size - report.near.size
    found = report.worked_out.size
    heads = ("listed", "not listed and worked out", f"known within less than {report.narrow}", "open")
    counts = [int(report.determined.size - found), int(found), int(report.near.size), int(others)]
    return list(zip(heads, counts, bars(counts), strict=True))


def _size(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"{float(number):.3g}"
