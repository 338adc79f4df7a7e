"""`holdfast audit guarantee`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from holdfast.audit.guarantee import GuaranteeReport, audit_guarantee, intensity_of
from holdfast.cli.arguments import RECORDS, Json, Quiet, ReportFile, optional
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal
from holdfast.errors import GuaranteeError, SpecError
from holdfast.words import counted


def command(
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
    a, source = _semi_adjacency(semi_adjacency, spec)
    report = audit_guarantee(intensity, a, at, source=source)
    deliver(report, _words, as_json=as_json, out=out)


def _words(report: GuaranteeReport) -> None:
    """Print what is advertised beside what holds."""
    console = terminal()
    table = Table()
    for column in ("", "advertised", "effective"):
        table.add_column(column, justify="right" if column else "left")
    table.add_row("records apart", "1", str(report.semi_adjacency))
    one, other = report.advertised.to_dict(), report.effective.to_dict()
    for name in one:
        if name not in ("standard", "method"):
            table.add_row(name.replace("_", ", "), _shown(one[name]), _shown(other[name]))
    console.print(table)
    console.print(_sentence(report.semi_adjacency, report.source))


def _semi_adjacency(given: int | None, spec: Path | None) -> tuple[int, str]:
    if given is not None and spec is not None:
        raise SpecError("give a spec or --semi-adjacency, not both.")
    if spec is None:
        return (given, "as given") if given is not None else (1, "no invariants")
    from holdfast.audit.universe import audit_universe, audit_universes  # noqa: PLC0415
    from holdfast.joint.prepare import tables_of  # noqa: PLC0415

    # the advertised guarantee is about people, of whom two may exchange places where no table can change
    if (several := tables_of(spec)) is None:
        one = audit_universe(spec)
        table, people = one.semi_adjacency.worst_case, one.labelled.worst_case
    else:
        both = audit_universes(several)
        table, people = both.semi_adjacency, both.labelled
    if people == 0:
        raise GuaranteeError(
            f"the invariants of {spec} leave one possible file, as all people have the same values: no"
            " guarantee is worth anything there."
        )
    reading = "worst case" if table else "for people who may exchange places"
    return people, f"the invariants of {spec.name}, {reading}"


def _sentence(a: int, source: str) -> str:
    if a == 1:
        return "Without invariants that tie records together, the guarantee is what was advertised."
    return (
        f"With these invariants ({source}) one person's change takes {counted(a, 'record')}, so what is"
        " advertised for one record holds in the weaker form, and only among files that agree with the"
        " invariants."
    )


def _shown(value: float) -> str:
    return f"{value:.7g}"
