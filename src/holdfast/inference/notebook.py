"""Reports in a notebook: a table, and a picture of their intervals."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from holdfast.lattice.arrays import FloatArray
from holdfast.system.errors import ReleaseError
from holdfast.system.notebook import COLOUR, MOST_BARS, MOST_ROWS, label, new_axes
from holdfast.system.text import counted, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KEPT = "#c98b4b"


class FramedReport:
    """A report whose frame has columns of labels, then estimate, low, high and kept_exactly among others."""

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each interval."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return as_html(self.to_frame())

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the intervals on some axes, new ones unless given, and return these; of many the first."""
        frame = self.to_frame()
        if not frame.height:
            raise ReleaseError("the report has no rows, so there is nothing to draw.")
        shown = frame.head(MOST_BARS)
        axes = new_axes(shown.height) if axes is None else axes
        places = -np.arange(shown.height)
        low, mid, high = _bounded(*(shown[name].to_numpy() for name in ("low", "estimate", "high")))
        kept = shown["kept_exactly"].to_numpy()
        axes.hlines(places, low, high, color=COLOUR, linewidth=1.6)
        for some, colour, name in ((~kept, COLOUR, "estimate"), (kept, KEPT, "kept exactly")):
            if some.any():
                axes.plot(mid[some], places[some], "o", color=colour, markersize=4, label=name)
        axes.set_yticks(places, [label(row) for row in _labels(shown).iter_rows()], fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        if shown.height < frame.height:
            axes.set_title(f"the first {shown.height} of {frame.height:,}", fontsize=10)
        if kept.any():
            axes.legend(fontsize=8, frameon=False)
        return axes


def as_html(frame: pl.DataFrame) -> str:
    """Return the first rows of a frame as a table."""
    head = "".join(f"<th>{escape(visible(name))}</th>" for name in frame.columns)
    rows = [
        "<tr>" + "".join(f"<td>{escape(visible(_text(value)))}</td>" for value in row) + "</tr>"
        for row in frame.head(MOST_ROWS).iter_rows()
    ]
    more = frame.height - len(rows)
    left = f"<p>and {counted(more, 'more row')}: see to_frame()</p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{left}"


def _labels(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of labels, without what all rows are of."""
    found = frame[frame.columns[: frame.columns.index("estimate")]]
    alike = "of" in found.columns and found["of"].n_unique() == 1 and found.width > 1
    return found.drop("of") if alike else found


def _bounded(*parts: FloatArray) -> list[FloatArray]:
    """Return numbers of which those without a bound end where the others do."""
    every = np.array(parts, dtype=np.float64)
    finite = every[np.isfinite(every)]
    return list(np.clip(every, finite.min(), finite.max()) if finite.size else every)


def _text(value: object) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else f"{value}"
