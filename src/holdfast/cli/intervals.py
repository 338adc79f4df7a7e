"""`holdfast intervals`."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isinf, isnan
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.certificate.text import require_release
from holdfast.cli.arguments import Json, Quiet, ReleaseFolder, RowsFile, TableName, number
from holdfast.cli.console import columns
from holdfast.cli.reports import ROWS, deliver_rows, require_new_file
from holdfast.cli.terminal import terminal
from holdfast.cli.verify import violations
from holdfast.data.nmf.folder import is_opened
from holdfast.system.errors import SpecError
from holdfast.system.progress import doing
from holdfast.system.text import counted, in_quotes

if TYPE_CHECKING:
    from holdfast.inference.contrasts import Contrast, EstimateReport
    from holdfast.inference.node_intervals import NodeReport
    from holdfast.inference.released_intervals import IntervalReport

    Report = IntervalReport | NodeReport | EstimateReport

MOST_ROWS = 40  # rows on the terminal; --json and --out give all
USUAL = Fraction(9, 10)
ENDS = ("estimate", "low", "high")
_NUMBER = re.compile(r"[-+.]?\d")


def command(
    folder: ReleaseFolder,
    margin: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Attributes of a margin, as in sex,age.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SELECTION", help="Only these records, as in sex=f,age=18..64; repeat for more."
        ),
    ] = None,
    difference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A B", help="One selection less another, as in county=Alpha,sex=f county=Beta,sex=f."
        ),
    ] = None,
    ratio: Annotated[
        list[str] | None,
        typer.Option(metavar="A B", help="One selection over another; total selects everybody."),
    ] = None,
    term: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NUMBER *] A", help="A selection times a number; repeat, and all of them are added."
        ),
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
    table: TableName = None,
    out: RowsFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print estimates with confidence intervals for cells, a margin or a selection of a release."""
    require_new_file(out, ROWS)
    asked, place = _levels(level or [])
    named = None if margin is None else _margin(margin)
    selection = ",".join(where or [])
    if not is_opened(folder):
        require_release(folder)
    contrasts = _contrasts(difference or [], ratio or [], term or [])
    if contrasts and geography:
        raise SpecError('--geography is for counts: name places in the selections, as in "county=12".')
    from holdfast.inference.released_intervals import estimator_of

    report: Report
    with violations(as_json=as_json), doing("working out the intervals"):
        estimator = estimator_of(folder, table)
        if contrasts:
            report = estimator.contrasts(
                contrasts,
                margin=named or (),
                where=selection,
                level=asked,
                together=simultaneous,
                place=place,
            )
        else:
            report = estimator.intervals(
                margin=named,
                where=selection,
                level=asked,
                together=simultaneous,
                place=place,
                codes=geography or [],
            )
    deliver_rows(report, _words, as_json=as_json, out=out)


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


def _contrasts(difference: Sequence[str], ratio: Sequence[str], term: Sequence[str]) -> "list[Contrast]":
    """Return what is asked for of selections, in the order of the options."""
    from holdfast.inference.contrasts import Contrast

    found = [Contrast.difference(*pair) for pair in _pairs("--difference", difference)]
    found += [Contrast.ratio(*pair) for pair in _pairs("--ratio", ratio)]
    return found + ([Contrast.sum([_term(text) for text in term])] if term else [])


def _pairs(option: str, given: Sequence[str]) -> list[tuple[str, str]]:
    if len(given) % 2:
        raise SpecError(f'{option} takes two selections: write them as "{option} sex=f sex=m".')
    return list(zip(given[::2], given[1::2], strict=True))


def _term(text: str) -> tuple[Fraction, str]:
    """Return the number and the selection of one of --term; the number is 1 where none is given.

    >>> _term("-1/2 * county=Alpha"), _term("total")
    ((Fraction(-1, 2), 'county=Alpha'), (Fraction(1, 1), 'total'))
    """
    times, star, selection = text.partition("*")
    if not star or "=" in times:
        return Fraction(1), text.strip()
    from holdfast.spec.values import parse_rational

    try:
        return parse_rational(times.strip()), selection.strip()
    except ValueError:
        raise SpecError(
            f'--term {in_quotes(text)} begins with no number: write it as "2 * county=Alpha".'
        ) from None


def _print_where(where: Mapping[str, tuple[str, ...]]) -> None:
    if where:
        words = " and ".join(f"{name} = {' or '.join(some)}" for name, some in where.items())
        terminal().print(f"Where {words}:", soft_wrap=True)


def _words(report: "Report") -> None:
    from holdfast.inference.contrasts import EstimateReport
    from holdfast.inference.node_intervals import NodeReport

    if isinstance(report, NodeReport):
        _print_nodes(report)
    elif isinstance(report, EstimateReport):
        _print_estimates(report)
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


def _print_estimates(report: "EstimateReport") -> None:
    console = terminal()
    table = columns(("", *report.names), ENDS)
    table.add_column("")
    for row in report.rows[:MOST_ROWS]:
        ends = (_shown(value) for value in (row.estimate, row.low, row.high))
        note = "kept exactly" if row.kept_exactly else ""
        table.add_row(report.asked[row.of].words, *row.cell, *ends, note)
    console.print(table)
    if len(report.rows) > MOST_ROWS:
        console.print(f"{counted(len(report.rows) - MOST_ROWS, 'more row')}: --json and --out give all.")
    covers = "All intervals together cover" if report.together else "Each interval covers"
    console.print(
        f"{covers} what the confidential table says with a probability of {float(report.level):g} or more,"
        " over the noise of the release, from the joint law of all errors.",
        soft_wrap=True,
    )


def _shown(value: float) -> str:
    """Return a number for people: whole, or of five digits.

    >>> _shown(-1200), _shown(0.123456), _shown(-0.0), _shown(float("inf")), _shown(float("nan"))
    ('-1,200', '0.12346', '0', 'no bound', 'none')
    """
    if isnan(value):
        return "none"
    if isinf(value):
        return "no bound"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:z,.5g}" if abs(value) < 10**4 else f"{value:,.1f}"


def _print_nodes(report: "NodeReport") -> None:
    console = terminal()
    _print_where(report.where)
    table = columns((report.place, *report.names), ENDS)
    table.add_column("")
    frame = report.to_frame()
    for row in frame.head(MOST_ROWS).iter_rows(named=True):
        note = "kept exactly" if row["kept_exactly"] else row["coverage"]
        ends = [f"{row[name]:z,.1f}" for name in ENDS]  # what rounds to nothing has no sign
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
