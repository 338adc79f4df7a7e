"""`holdfast audit swapping`."""

from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from holdfast.audit.swapping import Reading, SwappingReport, audit_swapping
from holdfast.cli.arguments import RECORDS, Json, Quiet, ReportFile, optional
from holdfast.cli.reports import deliver, require_new_file, say_wrote
from holdfast.cli.terminal import terminal
from holdfast.figures import require_picture
from holdfast.spec.rational import short
from holdfast.words import counted

DECIMALS = 5
SCOPE = (
    "Epsilon is lost for each record in which two datasets differ, and only among datasets that agree on what"
    " swapping keeps: stratum by swapped variables, and stratum by all that is held."
)
LARGEST = "At the same rate a larger stratum has a larger epsilon: the largest stratum decides."
ATTAINED = (
    "The tight epsilon is attained where no two records of a stratum share a held or a swapped value; where"
    " some do, no more is lost."
)
TWO_RATES = (
    "Both rates, and all between them, lose at most the epsilon asked for; fewer records move at the lowest,"
    " so it distorts the data least."
)


def command(
    stratum_size: Annotated[
        int, typer.Option(parser=RECORDS, metavar="B", help="Records of the largest stratum.")
    ],
    rate: Annotated[
        str | None, typer.Option(metavar="RATE", help="A swap rate, such as 1/20: what it loses.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="An epsilon: the two rates that give it.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw epsilon by swap rate to this .png, .svg or .pdf file."),
    ] = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print what a swap rate loses, and which rates lose no more than an epsilon; draw the curves."""
    if picture is not None:
        require_picture(picture)
    require_new_file(out)
    report = audit_swapping(stratum_size, optional("--rate", rate), optional("--epsilon", epsilon))
    if picture is not None:
        from holdfast.cli.swapping_picture import draw  # noqa: PLC0415

        draw(report, picture)
    deliver(report, _words, as_json=as_json, out=out)
    if picture is not None and not as_json:
        say_wrote(picture)


def _words(report: SwappingReport) -> None:
    """Print both bounds side by side, and what they mean."""
    console = terminal()
    table = Table(title=f"Permutation swapping in strata of up to {counted(report.stratum_size, 'record')}")
    for column in ("", "slides' bound", "tight"):
        table.add_column(column, justify="right" if column else "left")
    readings = report.usual if report.given is None else (report.given,)
    for at in readings:
        table.add_row(f"epsilon at rate {_rate(at)}", _near(at.epsilon), _near(at.epsilon_tight))
    smallest = report.smallest
    table.add_row("smallest epsilon of any rate", _up(smallest.epsilon), _up(smallest.epsilon_tight))
    if (wanted := report.wanted) is not None:
        asked = f"{float(wanted.epsilon):.10g}"
        for name, one, other in zip(("lowest", "highest"), wanted.rates, wanted.rates_tight, strict=True):
            table.add_row(f"{name} rate for epsilon {asked}", repr(float(one)), repr(float(other)))
    console.print(table)
    for sentence in _sentences(report):
        console.print(sentence)


def _sentences(report: SwappingReport) -> list[str]:
    told = [SCOPE, LARGEST, ATTAINED]
    return told if report.wanted is None else [*told, TWO_RATES]


def _rate(reading: Reading) -> str:
    rate = reading.rate or Fraction(0)
    percent = 100 * rate
    return short(str(rate)) if percent.denominator > 1 else f"{rate} ({percent}%)"


def _near(value: Fraction) -> str:
    return f"{float(value):.{DECIMALS}f}"


def _up(value: Fraction) -> str:
    """Return an epsilon that can be asked for: at or above the smallest."""
    return f"{ceil(value * 10**DECIMALS) / 10**DECIMALS:.{DECIMALS}f}"
