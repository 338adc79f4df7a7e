"""The pictures of `holdfast audit delta-z`: how far beliefs move, and Delta_z over parameters."""

from fractions import Fraction
from itertools import groupby
from pathlib import Path

import numpy as np

from holdfast.audit.delta_z import DeltaZReport, DeltaZTable
from holdfast.errors import ReleaseError
from holdfast.figures import save_figure
from holdfast.privacy.guarantee import shown
from holdfast.privacy.pufferfish.semantics import semantics

INK, SHADE, GUIDE = "#1f5a73", "#9bb8c5", "#8a9499"
BELIEFS = np.linspace(0.0, 1.0, 201)


def draw(report: DeltaZReport | DeltaZTable, path: Path) -> None:
    """Draw beliefs after a release by those before it, or Delta_z by the number of people."""
    if isinstance(report, DeltaZTable):
        _draw_table(report, path)
    else:
        _draw_beliefs(report, path)


def _draw_beliefs(report: DeltaZReport, path: Path) -> None:
    """Draw the bounds of [partially-private-data, Lemma 4]."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded late

    if report.guarantee is None:
        raise ReleaseError(
            "a picture shows how far beliefs move, or Delta_z over lists of parameters: give --epsilon, or"
            " lists in the model."
        )
    bounds = semantics(report.guarantee, BELIEFS.tolist())
    figure = Figure(figsize=(5.6, 5.4), layout="constrained")
    axes = figure.subplots()
    axes.fill_between(bounds.prior, bounds.low, bounds.high, color=SHADE, alpha=0.6, linewidth=0)
    axes.plot(bounds.prior, bounds.low, color=INK)
    axes.plot(bounds.prior, bounds.high, color=INK)
    axes.plot([0, 1], [0, 1], color=GUIDE, linestyle="--", linewidth=1)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set_xlabel("belief in one secret of a pair, before the release")
    axes.set_ylabel("after it, at least and at most")
    axes.set_title(f"epsilon-TP at {shown(report.guarantee.amount)}", fontsize=11)
    save_figure(figure, path)


def _draw_table(report: DeltaZTable, path: Path) -> None:
    """Draw a line for each pair of bounds, over the number of people [partially-private-data, Figure 4]."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded late

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
