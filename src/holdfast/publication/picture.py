"""A picture of what follows: the cells as a painted table, or how wide the intervals of many cells are."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from holdfast.programs.solver import UNBOUNDED
from holdfast.publication.report import PublicationReport
from holdfast.system.files import save_figure
from holdfast.system.notebook import COLOUR, label
from holdfast.system.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS, COLUMNS = 40, 16
"""Larger tables are drawn by the widths of their intervals."""
DETERMINED, NEARLY, OPEN, LISTED, NONE = "#a3211a", "#e0a13a", "#e4ecef", "#b4c8d1", "#ffffff"
DOUBLINGS = 12


def draw(report: PublicationReport, path: Path) -> None:
    """Draw a report to a file."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - loaded late

    shape = report.asked.table_shape
    if report.contradictions or shape is None or shape[0] > ROWS or shape[1] > COLUMNS:
        figure = Figure(figsize=(8, 4.6), layout="constrained")
        axes = figure.subplots()
        if report.contradictions:
            _conflicts(report, axes)
        else:
            _widths(report, axes)
    else:
        figure = Figure(figsize=(2.5 + 0.95 * shape[1], 1.3 + 0.32 * shape[0]), layout="constrained")
        _grid(report, figure.subplots(), *shape)
    save_figure(figure, path)


def _conflicts(report: PublicationReport, axes: "Axes") -> None:
    """Write which numbers contradict each other."""
    numbers = [number for one in report.contradictions for number in one.numbers]
    lines = ["No population has all these numbers:", *(label((one.words,)) for one in numbers[:14])]
    axes.text(0, 1, "\n".join(lines), va="top", fontsize=10, color=DETERMINED)
    axes.set_axis_off()


def _grid(report: PublicationReport, axes: "Axes", rows: int, columns: int) -> None:
    """Paint the cells of a table of one or two attributes."""
    asked = report.asked
    names = asked.attributes
    shown = [f"{low:,}" if low == high else f"{low:,}\u2013{_end(high)}" for low, high in _ends(report)]
    colours = np.full((rows, columns), NONE, dtype=object)
    across = asked.codes[names[1]] if len(names) > 1 else np.zeros(asked.count, dtype=np.int64)
    for place, (row, column) in enumerate(zip(asked.codes[names[0]].tolist(), across.tolist(), strict=True)):
        width = int(report.known.width[place])
        told = LISTED if report.printed[place] else DETERMINED
        paint = told if width == 0 else NEARLY if width < report.narrow else OPEN
        colours[row, column] = paint
        ink = "white" if paint == DETERMINED else "black"
        axes.text(column, row, shown[place], ha="center", va="center", fontsize=8, color=ink)
    for row in range(rows):
        for column in range(columns):
            axes.fill(
                [column - 0.48, column + 0.48, column + 0.48, column - 0.48],
                [row - 0.46, row - 0.46, row + 0.46, row + 0.46],
                color=colours[row, column],
                zorder=0,
            )
    axes.set_yticks(range(rows), [label((level,)) for level in asked.leaves[names[0]]], fontsize=8)
    heads = [label((level,)) for level in asked.leaves[names[1]]] if len(names) > 1 else [""]
    axes.set_xticks(range(columns), heads, fontsize=8)
    axes.xaxis.tick_top()
    axes.set_ylim(rows - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    found = f"{counted(report.worked_out.size, 'cell')} worked out (red), {report.near.size:,} nearly (amber)"
    axes.set_xlabel(f"{found}; listed ones are darker than open ones", fontsize=9)


def _ends(report: PublicationReport) -> list[tuple[int, int]]:
    return list(zip(report.known.low.tolist(), report.known.high.tolist(), strict=True))


def _end(high: int) -> str:
    return "" if high == UNBOUNDED else f"{high:,}"


def _widths(report: PublicationReport, axes: "Axes") -> None:
    """Draw how many cells have intervals of each width."""
    width = report.known.width
    edges = [0, 1, *(1 << step for step in range(1, DOUBLINGS))]
    names, heights = [], []
    for low, high in zip(edges, [*edges[1:], UNBOUNDED], strict=True):
        names.append(
            "0" if low == 0 else f"{low:,} or more" if high == UNBOUNDED else f"{low:,}\u2013{high - 1:,}"
        )
        heights.append(int(((width >= low) & (width < high)).sum()))
    names.append("no end")
    heights.append(int((width == UNBOUNDED).sum()))
    places = range(len(names))
    bars = axes.bar(places, heights, color=[DETERMINED, *[COLOUR] * (len(names) - 1)])
    axes.bar_label(bars, [f"{height:,}" if height else "" for height in heights], fontsize=8)
    axes.set_xticks(places, names, rotation=40, ha="right", fontsize=8)
    axes.set_xlabel("largest less least count that a cell can have")
    axes.set_ylabel("cells")
    axes.spines[["top", "right"]].set_visible(False)
