"""`holdfast audit publication`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast import audit
from holdfast.cli.arguments import Json, Quiet, drawing
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file, say_wrote
from holdfast.cli.terminal import terminal
from holdfast.publication.picture import draw
from holdfast.publication.report import PublicationReport
from holdfast.publication.spec import COUNT, rule_of
from holdfast.publication.writing import write
from holdfast.system.errors import SpecError
from holdfast.system.text import counted

if TYPE_CHECKING:
    from rich.table import Table

SHOWN = 20
"""Lines of each list on a terminal: --json has all."""


def command(
    what: Annotated[
        list[Path], typer.Argument(metavar="SPEC|FILES...", help="A spec of published tables, or the tables.")
    ],
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="The rule of plain files: exact, rounded:5, rounded:3:random, drb, suppressed:10,"
            " top-coded:100 or coarsened.",
        ),
    ] = None,
    count: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of counts in plain files; else the last.")
    ] = None,
    symbol: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What stands for a suppressed count in plain files.")
    ] = None,
    secondary: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What stands for a count that is hidden to protect another one."),
    ] = None,
    zeros: Annotated[
        str | None, typer.Option(metavar="shown|hidden", help="Whether suppression leaves zeros as they are.")
    ] = None,
    picture: Annotated[Path | None, drawing("the intervals")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the facts to this new .json file, which can be verified, or the page to .html.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print what follows from published tables; no confidential data are read."""
    require_new_file(out, (".json", ".html"), picture=picture)
    keys = {"count": count, "symbol": symbol, "secondary": secondary, "zeros": zeros}
    report = audit.publication(what, rule=_rule(rule, keys))
    if out is not None:
        write(report, out)
    deliver(report, words, as_json=as_json, out=None, picture=picture, draw=draw)
    if out is not None and not as_json:
        say_wrote(out)
        if out.suffix.lower() == ".json":
            terminal().print(
                f"Whoever has the published files checks it: holdfast verify {out}", soft_wrap=True
            )


def _rule(rule: str | None, keys: Mapping[str, str | None]) -> dict[str, Any]:
    found = {} if rule is None else rule_of(rule)
    for key, value in keys.items():
        if value is not None:
            found[key] = value
    for key in ("symbol", "secondary"):
        if COUNT.fullmatch(found.get(key, "").strip()):
            raise SpecError(
                f"--{key} is {found[key]!r}, which reads as a count: name a sign that is no number."
            )
    if "zeros" in found and found["zeros"] not in ("shown", "hidden"):
        raise SpecError(f"--zeros is {found['zeros']!r}: write shown or hidden.")
    return found


def words(report: PublicationReport) -> None:
    """Print what follows, in the order of how much it says."""
    console = terminal()
    publication = report.publication
    cells = counted(report.asked.count, "cell")
    console.print(
        f"{counted(len(publication.files), 'published table')},"
        f" {counted(publication.numbers.low.size, 'number')};"
        f" {cells} by {', '.join(report.asked.attributes)}."
    )
    if report.contradictions:
        console.print("No population has all these numbers. They contradict each other:")
        for one in report.contradictions:
            of = "no fewer contradict each other" if one.smallest else "none of these can be left out"
            console.print(f"  {counted(len(one.numbers), 'number')} ({of}):")
            for number in one.numbers[:SHOWN]:
                console.print(f"    {number.words}", soft_wrap=True)
        return
    determined = report.determined
    found = report.worked_out
    console.print(f"Determined: {determined.size:,} of {cells}, {found.size:,} of which no table lists.")
    _list(report, report.ordered.tolist(), fixed=True)
    console.print(f"Narrower than {report.narrow}: {counted(report.near.size, 'other cell')}.")
    _list(report, report.near.tolist(), fixed=False)
    others = report.asked.count - determined.size - report.near.size
    console.print(f"{counted(others, 'cell')} with wider intervals.")
    if not report.known.exact.all():
        bounds = int((~report.known.exact).sum())
        console.print(
            f"{counted(bounds, 'interval')} could not be narrowed further: the true ones lie within."
        )
    if report.groups:
        console.print(f"What follows for everyone in {counted(len(report.groups), 'small group')}:")
        for group in report.groups[:SHOWN]:
            console.print(f"  {group.words}", soft_wrap=True)
        _more(len(report.groups))
        console.print(f"The smallest group about which something follows has {report.anonymity}.")
    if report.differences:
        console.print(f"{counted(len(report.differences), 'difference')} of two numbers that no table lists:")
        for each in report.differences[:SHOWN]:
            larger, smaller = report.cited(each.larger), report.cited(each.smaller)
            console.print(
                f"  {_between(each.least, each.largest)}: {larger.words} less {smaller.words}", soft_wrap=True
            )
        _more(len(report.differences))
    left = report.tables_left
    if left.exact:
        console.print(f"Tables left: {left.least:,}.")
    else:
        end = "more than can be told" if left.largest is None else f"{_size(left.largest)}"
        console.print(f"Tables left: at least {_size(left.least)}, at most {end}.")
    _remedies(report)


def _size(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"{float(number):.3g}"


def _between(least: int, largest: int) -> str:
    return f"{least:,}" if least == largest else f"{least:,} to {largest:,}"


def _list(report: PublicationReport, places: list[int], *, fixed: bool) -> None:
    if not places:
        return
    table: Table = columns(report.asked.attributes, ("count",) if fixed else ("least", "largest"))
    for place in places[:SHOWN]:
        cell = report.cell(place)
        ends = (cell["least"],) if fixed else (cell["least"], cell["largest"])
        table.add_row(*cell["levels"].values(), *(f"{end:,}" for end in ends))
    terminal().print(table)
    _more(len(places))


def _more(count: int) -> None:
    if count > SHOWN:
        terminal().print(f"... and {count - SHOWN:,} more: --json names all.")


def _remedies(report: PublicationReport) -> None:
    """Print what would undo most findings, a table or a number a line."""
    if not report.remedies:
        return
    console = terminal()
    console.print("Not to publish one of these would undo findings:")
    for one in report.undone[:SHOWN]:
        less = "" if one.base is None else f"; so would rounding it to {one.base}"
        console.print(f"  {counted(one.findings, 'finding')}: {one.words}{less}", soft_wrap=True)
    _more(len(report.undone))
