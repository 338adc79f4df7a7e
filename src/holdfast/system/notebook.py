"""Reports in a notebook: what they say as a table, and a picture of their main numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import TYPE_CHECKING, Any

from holdfast.system.errors import ReleaseError
from holdfast.system.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS, MOST_BARS = 40, 70
COLOUR = "#1f5a73"


@dataclass(frozen=True)
class Picture:
    """What a picture of a report shows: numbers by name, each with the range it lies in if it has one."""

    title: str
    values: Sequence[tuple[str, float]] = ()
    ranges: Sequence[tuple[str, float, float]] = ()
    """Names, and the two ends of what is between them; an end may be infinite."""


class NotebookReport:
    """A report that says what it found as plain values, and shows some of them."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        raise NotImplementedError

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return as_page(self.to_dict())

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw its numbers on some axes, new ones unless given, and return these; of many the first."""
        shown = self.numbers
        rows = [*((name, value, value) for name, value in shown.values), *shown.ranges]
        if not rows:
            raise ReleaseError("the report has no numbers to draw: see what to_dict() says.")
        names, low, high = zip(*rows[:MOST_BARS], strict=True)
        ends = [value for value in (*low, *high) if isfinite(value)]
        least, most = min((0.0, *ends)), max((0.0, *ends))
        axes = new_axes(len(names)) if axes is None else axes
        places = [-place for place in range(len(names))]
        if shown.values:
            bars = axes.barh(places, [min(value, most) for value in high], color=COLOUR, height=0.6)
            axes.bar_label(bars, [f"{value:,.4g}" for value in high], padding=4, fontsize=8)
            axes.margins(x=0.15)
        else:
            axes.hlines(places, [max(one, least) for one in low], [min(one, most) for one in high], COLOUR)
            axes.plot([max(one, least) for one in low], places, "|", color=COLOUR)
            axes.plot([min(one, most) for one in high], places, "|", color=COLOUR)
        axes.set_yticks(places, [label((name,)) for name in names], fontsize=8)
        axes.set_xlabel(shown.title)
        axes.spines[["top", "right"]].set_visible(False)
        if len(names) < len(rows):
            axes.set_title(f"the first {len(names)} of {len(rows):,}", fontsize=10)
        return axes


def new_axes(rows: int) -> "Axes":
    """Return axes for so many rows, which a notebook shows."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - loaded late

    _, axes = plt.subplots(figsize=(8, 1.2 + 0.25 * rows), layout="constrained")
    return axes


def label(levels: tuple[str, ...]) -> str:
    """Return what stands beside an interval."""
    text = visible(", ".join(levels))
    return (text if len(text) <= 40 else f"{text[:38]}...").replace("$", r"\$")


def as_page(value: object) -> str:
    """Return plain values as tables in each other; of a long list the first."""
    if isinstance(value, Mapping):
        rows = "".join(
            f"<tr><th>{_text(name)}</th><td>{as_page(each)}</td></tr>" for name, each in value.items()
        )
        return f"<table><tbody>{rows}</tbody></table>"
    if not isinstance(value, list | tuple):
        return _text(value)
    shown, more = value[:MOST_ROWS], len(value) - MOST_ROWS
    left = f"<p>and {more:,} more: see to_dict()</p>" if more > 0 else ""
    if not any(isinstance(each, Mapping | list | tuple) for each in shown):
        return ", ".join(map(_text, shown)) + left
    if all(isinstance(each, Mapping) and [*each] == [*shown[0]] for each in shown):
        head = "".join(f"<th>{_text(name)}</th>" for name in shown[0])
        cells = ("".join(f"<td>{as_page(one)}</td>" for one in each.values()) for each in shown)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{left}"
    return "".join(f"<p>{as_page(each)}</p>" for each in shown) + left


def _text(value: object) -> str:
    text = "" if value is None else f"{value:,.6g}" if isinstance(value, float) else f"{value}"
    return escape(visible(text))
