"""`holdfast intervals`."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import holdfast as hf
from holdfast.certificate.text import require_release
from holdfast.cli.arguments import Json, Quiet, ReleaseFolder, number
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file, say_wrote, write_file
from holdfast.cli.terminal import terminal
from holdfast.cli.verify import violations
from holdfast.system.errors import SpecError
from holdfast.system.progress import doing
from holdfast.system.text import counted

if TYPE_CHECKING:
    from holdfast.inference.node_intervals import NodeReport
    from holdfast.inference.released_intervals import IntervalReport

MOST_ROWS = 40  # rows on the terminal; --json and --out give all
FILES = (".csv", ".parquet", ".json")
USUAL = Fraction(9, 10)
ENDS = ("estimate", "low", "high")
_NUMBER = re.compile(r"[-+.]?\d")


def command(
    folder: ReleaseFolder,
    margin: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Attributes of a margin, as in sex,age.")
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="NAME=LEVEL", help="Only these records; repeat for more.")
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER|NAME",
            help="The probability of covering, 0.9 unless given; or a level of the geography, for each of its"
            " nodes. Repeat for both.",
        ),
    ] = None,
    geography: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE...", help="Some nodes of the geography, put together."),
    ] = None,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Let all intervals cover together.")
    ] = False,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which table, of a release of several.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all rows to a new .csv, .parquet or .json."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print estimates with confidence intervals for cells, a margin or a selection of a release."""
    require_new_file(out, FILES)
    asked, place = _levels(level or [])
    named = None if margin is None else _margin(margin)
    require_release(folder)
    with violations(as_json=as_json), doing("working out the intervals"):
        report = hf.intervals(
            folder,
            margin=named,
            where=_where(where or []),
            level=asked,
            together=simultaneous,
            table=table,
            place=place,
            codes=geography or [],
        )
    _deliver(report, out, as_json=as_json)


def _deliver(report: "IntervalReport | NodeReport", out: Path | None, *, as_json: bool) -> None:
    """Show a report, or write it: as it is to .json, its rows to any other file."""
    if out is None or out.suffix.lower() == ".json":
        deliver(report, _words, as_json=as_json, out=out)
        return
    from holdfast.data.table import write_frame

    rows = report.to_frame()
    write_file(out, lambda draft: write_frame(rows, draft))
    deliver(report, _words, as_json=as_json, out=None)
    if not as_json:
        say_wrote(out)


def _levels(given: Sequence[str]) -> tuple[Fraction, str | None]:
    """Return the probability and the level of the geography that --level names, each once at most."""
    numbers = [word for word in given if _NUMBER.match(word.strip())]
    names = [word for word in given if word not in numbers]
    if len(numbers) > 1 or len(names) > 1:
        raise SpecError(
            "--level is given twice: give one probability, such as 0.9, and one level of the geography."
        )
    asked = number("--level", numbers[0]) if numbers else USUAL
    if asked >= 1:
        raise SpecError(f"--level is {numbers[0]}: give a probability below 1, such as 0.9.")
    return asked, names[0] if names else None


def _margin(text: str) -> list[str]:
    """Return the attributes of a margin; the word total stands for none."""
    return [] if text.strip() in ("", "total") else [name.strip() for name in text.split(",")]


def _where(where: Sequence[str]) -> dict[str, list[str]]:
    """Return the levels of each attribute that is named; several levels of one add up."""
    chosen: dict[str, list[str]] = {}
    for text in where:
        name, equals, level = text.partition("=")
        if not equals:
            raise SpecError(f'--where {text!r} is not a selection: write it as "sex=f".')
        chosen.setdefault(name.strip(), []).append(level.strip())
    return chosen


def _print_where(where: Mapping[str, tuple[str, ...]]) -> None:
    if where:
        words = " and ".join(f"{name} = {' or '.join(some)}" for name, some in where.items())
        terminal().print(f"Where {words}:", soft_wrap=True)


def _words(report: "IntervalReport | NodeReport") -> None:
    from holdfast.inference.node_intervals import NodeReport

    if isinstance(report, NodeReport):
        _print_nodes(report)
    else:
        _print(report)


def _print(report: "IntervalReport") -> None:
    console, found = terminal(), report.found
    _print_where(report.where)
    table = columns(report.names, ENDS)
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


def _print_nodes(report: "NodeReport") -> None:
    console = terminal()
    _print_where(report.where)
    table = columns((report.place, *report.names), ENDS)
    table.add_column("")
    frame = report.to_frame()
    for row in frame.head(MOST_ROWS).iter_rows(named=True):
        note = "kept exactly" if row["kept_exactly"] else row["coverage"]
        ends = [f"{row[name]:,.1f}" for name in ENDS]
        table.add_row(*(row[name] for name in (report.place, *report.names)), *ends, note)
    console.print(table)
    if frame.height > MOST_ROWS:
        console.print(f"{counted(frame.height - MOST_ROWS, 'more row')}: --json and --out give all.")
    covers = "All intervals together cover" if report.together else "Each interval covers"
    console.print(
        f"{covers} what the confidential table counts with a probability of {float(report.level):g} or more,"
        " over the noise of the measurements. Estimates are the best linear unbiased ones of all measurements"
        " and invariants; ends come from the discrete law of their errors. Where it says exact, no shorter"
        " interval around the estimate has this probability; at least: a bound was used, and a shorter one"
        " may have it.",
        soft_wrap=True,
    )
