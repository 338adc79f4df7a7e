"""A comparison as a picture: one bar a mechanism, its L2 with two standard errors to either side."""

from pathlib import Path

from holdfast.compare.comparison import Comparison, Row
from holdfast.compare.terms import shown
from holdfast.errors import ReleaseError
from holdfast.figures import require_picture, save_figure

CHOSEN, FIT, OTHER = "#1f5a73", "#9bb8c5", "#c9d3d8"


def draw(comparison: Comparison, path: Path) -> None:
    """Draw the mechanisms that could be used, the best on top; what falls short is hatched."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded late
    from matplotlib.patches import Patch  # noqa: PLC0415

    require_picture(path)
    rows = [row for row in comparison.rows if row.deviation is not None]
    if not rows:
        raise ReleaseError("none of the mechanisms can be used, so there is nothing to draw: name others.")
    figure = Figure(figsize=(8, 1.6 + 0.5 * len(rows)), layout="constrained")
    axes = figure.subplots()
    places = list(range(len(rows), 0, -1))
    bars = axes.barh(
        places,
        [row.l2 for row in rows],
        xerr=[2 * _standard_error(row) for row in rows],
        color=[CHOSEN if row.name == comparison.choice else OTHER if row.lacks else FIT for row in rows],
        hatch=["//" if row.lacks else "" for row in rows],
        edgecolor="white",
        error_kw={"ecolor": "#333333", "elinewidth": 1, "capsize": 3},
    )
    axes.bar_label(bars, [f"{row.l2:.3g}" for row in rows], padding=6, fontsize=9)
    axes.set_yticks(places, [f"{row.name}\n{_guarantee(row)}" for row in rows], fontsize=8)
    axes.set_xlabel("L2 error of the table: root of the expected sum of squares, with two standard errors")
    axes.set_title(f"Noise for {shown(comparison.intensity)}", fontsize=11)
    kinds = [
        Patch(color=CHOSEN, label="chosen"),
        Patch(color=FIT, label="meets all"),
        Patch(
            facecolor=OTHER,
            hatch="//",
            edgecolor="white",
            label="falls short: invariants, whole numbers or target",
        ),
    ]
    axes.legend(handles=kinds, fontsize=8, frameon=False, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.12)
    save_figure(figure, path)


def _standard_error(row: Row) -> float:
    return 0.0 if row.deviation is None else row.deviation.l2.standard_error


def _guarantee(row: Row) -> str:
    return "" if row.contender is None else shown(row.contender.mechanism.guarantee.intensity)
