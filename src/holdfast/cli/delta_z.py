"""`holdfast audit delta-z`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from holdfast.audit.delta_z import DeltaZReport, DeltaZTable, audit_delta_z
from holdfast.cli.arguments import Json, Quiet, ReportFile, optional
from holdfast.cli.delta_z_picture import draw
from holdfast.cli.reports import deliver, require_new_file, say_wrote
from holdfast.cli.terminal import terminal
from holdfast.figures import require_picture
from holdfast.privacy.evidence import Assumed
from holdfast.privacy.guarantee import shown
from holdfast.visible import visible


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A class of laws, a TOML file.")],
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Say what this epsilon would promise.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw beliefs, or lists of classes, to this .png, .svg or .pdf file."
        ),
    ] = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print how far a secret moves the data, given what is public, and draw it."""
    require_new_file(out)
    if picture is not None:
        require_picture(picture)
    report = audit_delta_z(model, optional("--epsilon", epsilon))
    if picture is not None:
        draw(report, picture)
    deliver(report, _words, as_json=as_json, out=out)
    if picture is not None and not as_json:
        say_wrote(picture)


def _words(report: DeltaZReport | DeltaZTable) -> None:
    if isinstance(report, DeltaZTable):
        _rows(report)
    else:
        _one(report)


def _one(report: DeltaZReport) -> None:
    """Print the framework, the distance, and what it is worth."""
    console, framework, delta = terminal(), report.model.framework, report.model.delta
    table = Table(show_header=False)
    for name, words in (
        ("public", framework.public.words),
        ("secrets", framework.secrets.words),
        ("pairs", framework.pairs.words),
        ("laws", framework.laws.words),
        ("measured on", f"the {framework.statistic.name}, by {framework.statistic.metric}"),
        ("Delta_z", _value(report)),
    ):
        table.add_row(name, visible(words))
    console.print(table)
    for one in delta.evidence:
        if not isinstance(one, Assumed):
            console.print(f"{one.claim[:1].upper()}{visible(one.claim[1:])}.")
    if report.guarantee is not None and report.semantics is not None:
        console.print(visible(report.guarantee.statement))
        beliefs = Table()
        for column in ("belief before", "after, at least", "after, at most"):
            beliefs.add_column(column, justify="right")
        for row in zip(report.semantics.prior, report.semantics.low, report.semantics.high, strict=True):
            beliefs.add_row(*(f"{belief:.4g}" for belief in row))
        console.print(beliefs)


def _value(report: DeltaZReport) -> str:
    delta = report.model.delta
    if delta.value is None:
        return "infinite: no noise is enough for these laws"
    return f"{'' if delta.exact else 'at most '}{shown(delta.value)}"


def _rows(report: DeltaZTable) -> None:
    rows = report.to_dict()["rows"]
    table = Table()
    names = [name for name in rows[0] if name != "exact"]
    for name in names:
        table.add_column("Delta_z" if name == "delta_z" else name, justify="right")
    for row in rows:
        table.add_row(*(row[name] for name in names))
    terminal().print(table)
