"""`holdfast audit guarantee`, and `holdfast audit compose`: what guarantees are worth under invariants."""

from pathlib import Path
from typing import Annotated

import typer

from holdfast import audit
from holdfast.audit.guarantees import ComposeReport, GuaranteeReport
from holdfast.cli.arguments import RECORDS, Json, Quiet, ReportFile, intensity_of, number, optional
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal
from holdfast.privacy.intensity import GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.system.errors import SpecError
from holdfast.system.text import counted


def guarantee(
    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="An advertised epsilon.")] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Its delta; needed to read rho or mu as an epsilon.")
    ] = None,
    rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="An advertised rho (zCDP).")] = None,
    mu: Annotated[str | None, typer.Option(metavar="NUMBER", help="An advertised mu (Gaussian DP).")] = None,
    semi_adjacency: Annotated[
        int | None,
        typer.Option(parser=RECORDS, metavar="A", help="How many records one person's change takes."),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Argument(metavar="SPEC", help="Take A from its invariants; reads the confidential table."),
    ] = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print what a guarantee is worth once invariants are published."""
    require_new_file(out)
    intensity, at = intensity_of(
        epsilon=optional("--epsilon", epsilon),
        delta=optional("--delta", delta),
        rho=optional("--rho", rho),
        mu=optional("--mu", mu),
    )
    if at is not None and float(at) >= 1:
        raise SpecError(f"--delta is {delta}: give a small probability, such as 1e-10.")
    if epsilon is None and at is None:
        raise SpecError("--delta is missing: rho and mu are read as an epsilon at some delta, such as 1e-10.")
    report = audit.guarantee(intensity, semi_adjacency, at, spec=spec)
    deliver(report, _words, as_json=as_json, out=out)


def _words(report: GuaranteeReport) -> None:
    """Print what is advertised beside what holds."""
    console = terminal()
    table = columns([""], ("advertised", "effective"))
    table.add_row("records apart", "1", str(report.semi_adjacency))
    one, other = report.advertised.to_dict(), report.effective.to_dict()
    for name in one:
        if name not in ("standard", "method"):
            table.add_row(name.replace("_", ", "), _seven_digits(one[name]), _seven_digits(other[name]))
    console.print(table)
    console.print(_sentence(report.semi_adjacency, report.source))


def _sentence(a: int, source: str) -> str:
    if a == 1:
        return "Without invariants that tie records together, the guarantee is what was advertised."
    return (
        f"With these invariants ({source}) one person's change takes {counted(a, 'record')}, so what is"
        " advertised for one record holds in the weaker form, and only among files that agree with the"
        " invariants."
    )


def _seven_digits(value: float) -> str:
    return f"{value:.7g}"


def compose(
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="Where epsilon is stated, such as 1e-10.")],
    epsilon: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A pure release.")] = None,
    rho: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A zCDP release.")] = None,
    mu: Annotated[list[str] | None, typer.Option(metavar="NUMBER", help="A Gaussian DP release.")] = None,
    semi_adjacency: Annotated[
        int, typer.Option(parser=RECORDS, metavar="A", help="Records that one change takes.")
    ] = 1,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print what several releases cost together under invariants, in both orders of the analysis."""
    require_new_file(out)
    releases: list[Intensity] = [
        *(Pure(number("--epsilon", text)) for text in epsilon or []),
        *(ZeroConcentrated(number("--rho", text)) for text in rho or []),
        *(GaussianDP(number("--mu", text)) for text in mu or []),
    ]
    report = audit.compose(releases, semi_adjacency, number("--delta", delta))
    deliver(report, _orders, as_json=as_json, out=out)


def _orders(report: ComposeReport) -> None:
    """Print both orders, and what one saves."""
    table = columns(["order"], [f"epsilon at delta = {report.delta:g}"])
    table.add_row("semi-DP first", f"{report.semi_first:.6g}")
    table.add_row("composition first", f"{report.composition_first:.6g}")
    console = terminal()
    console.print(table)
    records = counted(report.semi_adjacency, "record")
    saved = f" Weakening each release to {records} before composing saves {report.difference:.3g}."
    console.print(
        f"Both hold, so epsilon is at most {report.used:.6g}." + (saved if report.difference > 1e-6 else "")
    )
