"""Swapping beside noise as a picture: two bars a mechanism, its errors with two standard errors."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.compare.swapped import SwapComparison, SwapRow
from holdfast.errors import ReleaseError
from holdfast.figures import require_picture, save_figure
from holdfast.mechanisms.accuracy import Size
from holdfast.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILES, LATTICE, NOTHING = "#1f5a73", "#9bb8c5", "#c9d3d8"
COLOURS = {"permutation-swapping": FILES, "naive-gaussian": NOTHING}


def draw_swapped(comparison: SwapComparison, path: Path) -> None:
    """Draw the mechanisms that could be used, each with its guarantee; what keeps no margin is hatched."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded late

    require_picture(path)
    rows = [row for row in comparison.rows if row.errors is not None]
    if not rows:
        raise ReleaseError("none of the mechanisms can be used, so there is nothing to draw: name others.")
    figure = Figure(figsize=(10, 1.8 + 0.6 * len(rows)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _bars(left, rows, [row.errors.cell for row in rows if row.errors], "mean absolute error of a cell")
    percent = [row.errors.percentage for row in rows if row.errors]
    _bars(right, rows, percent, "mean absolute percentage error, cells not empty")
    left.set_yticks(_places(rows), [f"{row.label}\n{_guarantee(row)}" for row in rows], fontsize=8)
    of = counted(comparison.records, comparison.whom.record, comparison.whom.counted)
    figure.suptitle(f"{' by '.join(comparison.attributes)}, {of}", fontsize=11)
    figure.supxlabel(
        "Each guarantee is for its own pairs, in its own standard: intensities do not compare by their size."
        "\nHatched: the margins are not kept. For the curator's eyes only.",
        fontsize=8,
    )
    save_figure(figure, path)


def _bars(axes: "Axes", rows: Sequence[SwapRow], sizes: Sequence[Size], title: str) -> None:
    bars = axes.barh(
        _places(rows),
        [size.value for size in sizes],
        xerr=[2 * size.standard_error for size in sizes],
        color=[COLOURS.get(row.name, LATTICE) for row in rows],
        hatch=["" if row.errors is not None and row.errors.kept else "//" for row in rows],
        edgecolor="white",
        error_kw={"ecolor": "#333333", "elinewidth": 1, "capsize": 3},
    )
    axes.bar_label(bars, [f"{size.value:.3g}" for size in sizes], padding=6, fontsize=9)
    axes.set_xlabel(title, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.15)


def _places(rows: Sequence[SwapRow]) -> list[int]:
    return list(range(len(rows), 0, -1))


def _guarantee(row: SwapRow) -> str:
    """Return the intensity, and how much the compared data share."""
    if row.side is None:
        return ""
    kept = {0: "files, all but the swap kept", 1: "tables, two margins kept", 2: "all tables, nothing kept"}
    return f"{row.blocks['intensity']}; {kept[row.side.reach]}"
