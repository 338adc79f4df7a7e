"""Comparisons as pictures: bars for each mechanism, with two standard errors to either side."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.comparison.swaps import NOISE, SwapComparison, SwapRow
from holdfast.comparison.tables import Comparison, MechanismRow
from holdfast.comparison.terms import format_intensity
from holdfast.mechanisms.accuracy import Size
from holdfast.system.errors import ReleaseError
from holdfast.system.files import require_picture, save_figure
from holdfast.system.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHOSEN, FIT, OTHER = "#1f5a73", "#9bb8c5", "#c9d3d8"


def draw(comparison: Comparison | SwapComparison, path: Path) -> None:
    """Draw the mechanisms that could be used to a file."""
    require_picture(path)
    if isinstance(comparison, Comparison):
        _draw_tables(comparison, path)
    else:
        _draw_swaps(comparison, path)


def _draw_tables(comparison: Comparison, path: Path) -> None:
    """Draw the mechanisms that could be used, the best on top; what falls short is hatched."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded late
    from matplotlib.patches import Patch  # noqa: PLC0415

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
    axes.set_yticks(places, [f"{row.name}\n{_guarantee_of_noise(row)}" for row in rows], fontsize=8)
    axes.set_xlabel("L2 error of the table: root of the expected sum of squares, with two standard errors")
    axes.set_title(f"Noise for {format_intensity(comparison.intensity)}", fontsize=11)
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


def _standard_error(row: MechanismRow) -> float:
    return 0.0 if row.deviation is None else row.deviation.l2.standard_error


def _guarantee_of_noise(row: MechanismRow) -> str:
    return "" if row.contender is None else format_intensity(row.contender.mechanism.guarantee.intensity)


FILES, LATTICE, NOTHING = "#1f5a73", "#9bb8c5", "#c9d3d8"


def _draw_swaps(comparison: SwapComparison, path: Path) -> None:
    """Draw the mechanisms that could be used, each with its guarantee; what keeps no margin is hatched."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded late

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
        color=[_colour(row) for row in rows],
        hatch=["" if row.errors is not None and row.errors.kept else "//" for row in rows],
        edgecolor="white",
        error_kw={"ecolor": "#333333", "elinewidth": 1, "capsize": 3},
    )
    axes.bar_label(bars, [f"{size.value:.3g}" for size in sizes], padding=6, fontsize=9)
    axes.set_xlabel(title, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.15)


def _colour(row: SwapRow) -> str:
    noise = NOISE.get(row.name)
    return FILES if noise is None else LATTICE if noise.released else NOTHING


def _places(rows: Sequence[SwapRow]) -> list[int]:
    return list(range(len(rows), 0, -1))


def _guarantee(row: SwapRow) -> str:
    """Return the intensity, and how much the compared data share."""
    if row.side is None:
        return ""
    kept = {0: "files, all but the swap kept", 1: "tables, two margins kept", 2: "all tables, nothing kept"}
    return f"{row.blocks['intensity']}; {kept[row.side.reach]}"
