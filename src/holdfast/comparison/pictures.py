"""Comparisons as pictures: bars for each mechanism, with two standard errors to either side."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from holdfast.comparison.comparable import Reach
from holdfast.comparison.swap_report import SwapComparison, SwapRow
from holdfast.comparison.tables import Comparison, MechanismRow
from holdfast.comparison.terms import format_intensity
from holdfast.mechanisms.errors.accuracy import Size
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
    panels = _panels(rows)
    figure = Figure(figsize=(5 + 3 * len(panels), 2 + 0.5 * len(rows)), layout="constrained")
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    places = list(range(len(rows), 0, -1))
    for axes, (title, sizes) in zip(every, panels, strict=True):
        bars = axes.barh(
            places,
            [size.value for size in sizes],
            xerr=[2 * size.standard_error for size in sizes],
            color=[CHOSEN if row.name == comparison.choice else OTHER if row.lacks else FIT for row in rows],
            hatch=["//" if row.lacks else "" for row in rows],
            edgecolor="white",
            error_kw={"ecolor": "#333333", "elinewidth": 1, "capsize": 3},
        )
        axes.bar_label(bars, [size.words for size in sizes], padding=6, fontsize=9)
        axes.set_xlabel(title, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.margins(x=0.25)
    named = [f"{fill(row.name, LABEL)}\n{_guarantee_of_noise(row)}" for row in rows]
    every[0].set_yticks(places, named, fontsize=8)
    figure.suptitle(f"Expected errors at {format_intensity(comparison.intensity)}", fontsize=11)
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
    figure.legend(handles=kinds, fontsize=8, frameon=False, loc="outside lower center", ncols=3)
    save_figure(figure, path)


LABEL = 44
"""Letters of a line beside a bar."""
MOST_PANELS = 3
"""Margins beside the cells and the whole table."""


def _panels(rows: Sequence[MechanismRow]) -> list[tuple[str, list[Size]]]:
    """Return what is drawn: mean absolute errors of cells and of margins that noise moves, and L2.

    Margins that all that may be released keeps exactly come last.
    """
    found = [row.deviation for row in rows if row.deviation is not None]
    fit = [row.deviation for row in rows if row.deviation is not None and not row.lacks] or found
    moved = [name for name in found[0].margins if not all(each.margins[name].exact for each in found)]
    moved.sort(key=lambda name: all(each.margins[name].exact for each in fit))
    return [
        ("a cell is off by", [each.cell for each in found]),
        *((f"{name} is off by", [each.margins[name] for each in found]) for name in moved[:MOST_PANELS]),
        ("L2 of the whole table", [each.l2 for each in found]),
    ]


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
    noisy = any(not row.errors.kept for row in rows if row.errors is not None)
    hatched = "Hatched: the margins are not kept. " if noisy else ""
    figure.supxlabel(
        "Each guarantee is for its own pairs, in its own standard: intensities do not compare by their size."
        f"\n{hatched}For the curator's eyes only.",
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
    axes.bar_label(bars, [size.words for size in sizes], padding=6, fontsize=9)
    axes.set_xlabel(title, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.15)


def _colour(row: SwapRow) -> str:
    if row.promise is None or row.side is None or row.side.reach is Reach.TABLES:
        return NOTHING
    return FILES if row.promise.scope.induced else LATTICE


def _places(rows: Sequence[SwapRow]) -> list[int]:
    return list(range(len(rows), 0, -1))


def _guarantee(row: SwapRow) -> str:
    """Return the intensity, and how much the compared data share."""
    if row.side is None:
        return ""
    kept = {0: "files, all but the swap kept", 1: "tables, two margins kept", 2: "all tables, nothing kept"}
    return f"{row.blocks['intensity']}; {kept[row.side.reach]}"
