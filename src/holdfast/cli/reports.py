"""Reports as files: what a command found, written where --out says; nothing is overwritten."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import typer

from holdfast.cli.terminal import Report, json_of, print_json, terminal
from holdfast.system.errors import ReleaseError
from holdfast.system.files import require_picture, write_new, write_new_text, written

if TYPE_CHECKING:
    import polars as pl

JSON = (".json",)
ROWS = (".csv", ".parquet", ".json")
"""Names of files that take the rows of a report."""
ReportT = TypeVar("ReportT", bound=Report)


class RowReport(Report, Protocol):
    """A report whose findings are rows."""

    def to_frame(self) -> "pl.DataFrame":
        """Return the rows."""
        ...


RowReportT = TypeVar("RowReportT", bound=RowReport)


def require_new_file(
    path: Path | None, suffixes: Sequence[str] = JSON, *, picture: Path | None = None
) -> None:
    """Raise ReleaseError unless a report and its picture can be written; called before anything else."""
    if picture is not None:
        require_picture(picture)
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise ReleaseError(f"{path} has a name for no report: end it with {' or '.join(suffixes)}.")
    if path.exists() or path.is_symlink():
        raise ReleaseError(f"{path} exists already: name a new file.")
    if not path.absolute().parent.is_dir():
        raise ReleaseError(f"the folder of {path} does not exist: create it first.")


def deliver(
    report: ReportT,
    words: Callable[[ReportT], None],
    *,
    as_json: bool,
    out: Path | None,
    picture: Path | None = None,
    draw: Callable[[ReportT, Path], None] | None = None,
) -> None:
    """Write a report to its file if there is one, draw it, and print it: for machines, or in words."""
    if picture is not None and draw is not None:
        draw(report, picture)
    if out is not None:
        written(out, lambda: write_new_text(out, f"{json_of(report)}\n"))
    if as_json:
        print_json(report)
        return
    words(report)
    say_wrote(*(path for path in (out, picture) if path is not None))


def deliver_rows(
    report: RowReportT, words: Callable[[RowReportT], None], *, as_json: bool, out: Path | None
) -> None:
    """Show a report, or write it: as it is to .json, its rows to any other file."""
    if out is None or out.suffix.lower() == ".json":
        deliver(report, words, as_json=as_json, out=out)
        return
    from holdfast.data.table import write_frame

    rows = report.to_frame()
    write_file(out, lambda draft: write_frame(rows, draft))
    deliver(report, words, as_json=as_json, out=None)
    if not as_json:
        say_wrote(out)


def write_text(text: str, out: Path | None) -> None:
    """Write a text to a new file, or to standard output."""
    if out is None:
        sys.stdout.write(text)
        return
    written(out, lambda: write_new_text(out, text))
    say_wrote(out)


def write_file(out: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a new file, whole and synced."""
    written(out, lambda: write_new(out, write))


def print_values(**values: object) -> None:
    """Print some values for machines by name; paths and fractions as text."""
    typer.echo(json.dumps(values, indent=2, default=str))


def say_wrote(*paths: Path) -> None:
    """Say which files are there now."""
    for path in paths:
        terminal().print(f"Wrote {path}", soft_wrap=True)
