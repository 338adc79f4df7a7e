"""One look for all pictures; `run` draws them in this style."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED = "#0072b2", "#d55e00", "#009e73", "#b2182b"
VIOLET, GREY, BROWN = "#8e5ea2", "#777777", "#a6761d"
STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
}


def panels(
    rows: int, columns: int, size: tuple[float, float], **options: Any
) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure and its axes, row by row."""
    figure = Figure(figsize=size, dpi=140, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options).ravel().tolist()
