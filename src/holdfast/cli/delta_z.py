"""`holdfast audit delta-z`, and its pictures: how far beliefs move, and Delta_z over parameters."""

from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from holdfast import audit
from holdfast.cli.arguments import Json, Quiet, ReportFile, drawing, optional
from holdfast.cli.console import columns
from holdfast.cli.reports import deliver, require_new_file
from holdfast.cli.terminal import terminal
from holdfast.system.errors import ReleaseError
from holdfast.system.files import require_file, save_figure
from holdfast.system.text import visible

if TYPE_CHECKING:
    from holdfast.audit.secrets import DeltaZReport, DeltaZTable

INK, SHADE, GUIDE = "#1f5a73", "#9bb8c5", "#8a9499"
BELIEFS = [step / 200 for step in range(201)]


def draw(report: "DeltaZReport | DeltaZTable", path: Path) -> None:
    """Draw beliefs after a release by those before it, or Delta_z by the number of people."""
    from holdfast.audit.secrets import DeltaZTable

    if isinstance(report, DeltaZTable):
        _draw_table(report, path)
    else:
        _draw_beliefs(report, path)


def _draw_beliefs(report: "DeltaZReport", path: Path) -> None:
    """Draw the bounds of [partially-private-data, Lemma 4]."""
    from matplotlib.figure import Figure

    from holdfast.privacy.guarantee import format_parameter
    from holdfast.privacy.pufferfish.guarantee import semantics

    if report.guarantee is None:
        raise ReleaseError(
            "a picture shows how far beliefs move, or Delta_z over lists of parameters: give --epsilon, or"
            " lists in the model."
        )
    bounds = semantics(report.guarantee, BELIEFS)
    figure = Figure(figsize=(5.6, 5.4), layout="constrained")
    axes = figure.subplots()
    axes.fill_between(bounds.prior, bounds.low, bounds.high, color=SHADE, alpha=0.6, linewidth=0)
    axes.plot(bounds.prior, bounds.low, color=INK)
    axes.plot(bounds.prior, bounds.high, color=INK)
    axes.plot([0, 1], [0, 1], color=GUIDE, linestyle="--", linewidth=1)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set_xlabel("belief in one secret of a pair, before the release")
    axes.set_ylabel("after it, at least and at most")
    axes.set_title(f"epsilon-TP at {format_parameter(report.guarantee.amount)}", fontsize=11)
    save_figure(figure, path)


def _draw_table(report: "DeltaZTable", path: Path) -> None:
    """Draw a line for each pair of bounds, over the number of people [partially-private-data, Figure 4]."""
    from matplotlib.figure import Figure

    def bounds(row: dict[str, str]) -> tuple[Fraction, Fraction]:
        return Fraction(row["z0"]), Fraction(row["z1"])

    rows = sorted(report.to_dict()["rows"], key=lambda row: (*bounds(row), int(row["n"])))
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    for (low, high), line in groupby(rows, bounds):
        points = [(int(row["n"]), float(row["delta_z"])) for row in line]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=f"{low} to {high}")
    people = sorted({int(row["n"]) for row in rows})
    axes.plot(people, people, color=GUIDE, linestyle="--", linewidth=1, label="everybody")
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel("people")
    axes.set_ylabel("how far a secret moves the count")
    axes.legend(title="z0 to z1", fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.spines[["top", "right"]].set_visible(False)
    save_figure(figure, path)


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A class of laws, a TOML file.")],
    epsilon: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Say what this epsilon would promise.")
    ] = None,
    picture: Annotated[Path | None, drawing("beliefs, or lists of classes,")] = None,
    out: ReportFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print how far a secret moves the data, given what is public, and draw it."""
    require_new_file(out, picture=picture)
    require_file(model, "model")
    report = audit.delta_z(model, optional("--epsilon", epsilon))
    deliver(report, _words, as_json=as_json, out=out, picture=picture, draw=draw)


def _words(report: "DeltaZReport | DeltaZTable") -> None:
    from holdfast.audit.secrets import DeltaZTable

    if isinstance(report, DeltaZTable):
        _rows(report)
    else:
        _one(report)


def _one(report: "DeltaZReport") -> None:
    """Print the framework, the distance, and what it is worth."""
    from holdfast.privacy.evidence import Assumed

    console, framework, delta = terminal(), report.model.framework, report.model.delta
    table = Table(show_header=False)
    for name, words in (
        ("public", framework.public.words),
        ("secrets", framework.secrets.words),
        ("pairs", framework.pairs.words),
        ("laws", framework.laws.words),
        ("measured on", f"the {framework.statistic.words}, by {framework.statistic.metric}"),
        ("Delta_z", _value(report)),
    ):
        table.add_row(name, visible(words))
    console.print(table)
    for one in delta.evidence:
        if not isinstance(one, Assumed):
            console.print(f"{one.claim.words[:1].upper()}{visible(one.claim.words[1:])}.")
    if report.guarantee is not None and report.semantics is not None:
        console.print(visible(report.guarantee.statement))
        beliefs = columns((), ("belief before", "after, at least", "after, at most"))
        for row in zip(report.semantics.prior, report.semantics.low, report.semantics.high, strict=True):
            beliefs.add_row(*(f"{belief:.4g}" for belief in row))
        console.print(beliefs)


def _value(report: "DeltaZReport") -> str:
    from holdfast.privacy.guarantee import format_parameter

    delta = report.model.delta
    if delta.value is None:
        return "infinite: no noise is enough for these laws"
    return f"{'' if delta.exact else 'at most '}{format_parameter(delta.value)}"


def _rows(report: "DeltaZTable") -> None:
    rows = report.to_dict()["rows"]
    names = [name for name in rows[0] if name != "exact"]
    table = columns((), ("Delta_z" if name == "delta_z" else name for name in names))
    for row in rows:
        table.add_row(*(row[name] for name in names))
    terminal().print(table)
