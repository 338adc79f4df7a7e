"""What follows from published tables as a file: facts that can be verified, or a page for readers."""

import json
from pathlib import Path

from holdfast.publication.page import render
from holdfast.publication.report import PublicationReport
from holdfast.system.files import write_new_text, written


def write(report: PublicationReport, path: Path) -> None:
    """Write facts to a new .json file, which names the tables as they lie from it, or the page to .html."""
    text = render(report) if path.suffix.lower() == ".html" else facts_text(report, path.parent)
    written(path, lambda: write_new_text(path, text))


def facts_text(report: PublicationReport, folder: Path) -> str:
    """Return the facts as they stand in a file of some folder."""
    return json.dumps(report.seen_from(folder).to_dict(), indent=2, ensure_ascii=False) + "\n"
