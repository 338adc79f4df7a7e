"""`holdfast intervals`."""

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from holdfast.cli.options import number
from holdfast.cli.reports import deliver, require_new_file, say_wrote, write_file
from holdfast.cli.terminal import terminal
from holdfast.cli.verify import violations
from holdfast.data.write import write_frame
from holdfast.errors import SpecError
from holdfast.inference.table_intervals import IntervalReport, table_intervals
from holdfast.progress import doing
from holdfast.words import counted

MOST_ROWS = 40  # rows on the terminal; --json and --out give all
FILES = (".csv", ".parquet", ".json")


def run(
    folder: Path,
    *,
    margin: str | None,
    where: Sequence[str],
    level: str,
    together: bool,
    out: Path | None,
    as_json: bool,
    table: str | None = None,
) -> None:
    """Print estimates with confidence intervals for cells, a margin or a selection of a release."""
    require_new_file(out, FILES)
    asked = number("--level", level)
    if asked >= 1:
        raise SpecError(f"--level is {level}: give a probability below 1, such as 0.9.")
    with violations(as_json=as_json), doing("working out the intervals"):
        report = table_intervals(
            folder,
            margin=None if margin is None else [name.strip() for name in margin.split(",")],
            where=_where(where),
            level=asked,
            together=together,
            table=table,
        )
    if out is None or out.suffix.lower() == ".json":
        deliver(report, _print, as_json=as_json, out=out)
        return
    rows = report.to_frame()
    write_file(out, lambda draft: write_frame(rows, draft))
    deliver(report, _print, as_json=as_json, out=None)
    if not as_json:
        say_wrote(out)


def _where(where: Sequence[str]) -> dict[str, list[str]]:
    """Return the levels of each attribute that is named; several levels of one add up."""
    chosen: dict[str, list[str]] = {}
    for text in where:
        name, equals, level = text.partition("=")
        if not equals:
            raise SpecError(f'--where {text!r} is not a selection: write it as "sex=f".')
        chosen.setdefault(name.strip(), []).append(level.strip())
    return chosen


def _print(report: IntervalReport) -> None:
    console, found = terminal(), report.found
    if report.where:
        words = " and ".join(f"{name} = {' or '.join(some)}" for name, some in report.where.items())
        console.print(f"Where {words}:", soft_wrap=True)
    table = Table()
    for name in report.names:
        table.add_column(name)
    for title in ("estimate", "low", "high"):
        table.add_column(title, justify="right")
    table.add_column("")
    for i, cell in enumerate(report.levels[:MOST_ROWS]):
        note = "kept exactly" if found.determined[i] else ""
        table.add_row(*cell, f"{found.estimate[i]:,}", f"{found.low[i]:,}", f"{found.high[i]:,}", note)
    console.print(table)
    if len(report.levels) > MOST_ROWS:
        more = counted(len(report.levels) - MOST_ROWS, "more row")
        console.print(f"{more}: --json and --out give all.")
    covers = "All intervals together cover" if report.together else "Each interval covers"
    console.print(
        f"{covers} what the confidential table counts with probability {float(found.level):g} or more, over"
        " the noise of the release. They come from the law of that noise, which invariants make narrower.",
        soft_wrap=True,
    )
