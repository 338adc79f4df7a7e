"""Reports in a notebook: every report of plan, compare and the audits is shown and drawn."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from tests.releases.people_and_units import spec as of_files

import holdfast as hf
from holdfast.privacy.intensity import Pure
from holdfast.system.errors import ReleaseError
from holdfast.system.notebook import MOST_BARS, NotebookReport, Picture, as_page


@pytest.fixture(autouse=True)
def _hidden() -> Iterator[None]:
    mpl.use("Agg")
    yield
    plt.close("all")


def _exemplar(folder: Path) -> Path:
    hf.write_example(folder)
    return folder / "holdfast.toml"


REPORTS: dict[str, Callable[[Path], Any]] = {
    "plan": lambda folder: hf.plan(_exemplar(folder)),
    "plan of files": lambda folder: hf.plan(of_files(folder / "files")),
    "compare": lambda folder: hf.compare(_exemplar(folder), draws=20),
    "universe": lambda folder: hf.audit.universe(_exemplar(folder)),
    "universes": lambda folder: hf.audit.universe(of_files(folder / "files")),
    "exposure": lambda folder: hf.audit.exposure(_exemplar(folder)),
    "guarantee": lambda folder: hf.audit.guarantee(Pure(Fraction(1)), spec=_exemplar(folder)),
    "compose": lambda _: hf.audit.compose([Pure(Fraction(1)), Pure(Fraction(2))], 2, Fraction(1, 10**6)),
    "swapping": lambda _: hf.audit.swapping(10),
    "census": lambda _: hf.audit.census_2020(),
    "projection": lambda _: hf.audit.projection(
        epsilon=Fraction(1, 5), people=20, null=0.3, alternatives=[0.7], design="total"
    ),
}


class _Whole(HTMLParser):
    """Which elements are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_shown_and_drawn(name: str, tmp_path: Path) -> None:
    report = REPORTS[name](tmp_path)
    page = _Whole()
    page.feed(report._repr_html_())
    assert not page.open
    axes = report.plot()
    assert isinstance(axes, Axes)
    shown = report.numbers
    named = [name for name, *_ in (*shown.values, *shown.ranges)]
    assert len(axes.get_yticks()) == min(len(named), MOST_BARS) > 0
    assert axes.get_xlabel() == shown.title
    _, other = plt.subplots()
    assert report.plot(other) is other


class _Some(NotebookReport):
    def __init__(self, numbers: Picture, said: Any = None) -> None:
        self._numbers, self._said = numbers, said

    @property
    def numbers(self) -> Picture:
        return self._numbers

    def to_dict(self) -> dict[str, Any]:
        return {"said": self._said}


def test_bars_are_the_numbers_and_lines_the_ranges() -> None:
    axes = _Some(Picture("x", [("a", 2.0), ("b", 5.0)])).plot()
    assert [bar.get_width() for bar in axes.containers[0]] == [2.0, 5.0]
    axes = _Some(Picture("x", ranges=[("a", 1, 4), ("b", 2, float("inf"))])).plot()
    (lines,) = axes.collections
    ends = [np.asarray(line.vertices)[:, 0].tolist() for line in lines.get_paths()]
    assert ends == [[1, 4], [2, 4]]
    with pytest.raises(ReleaseError, match="no numbers to draw"):
        _Some(Picture("x")).plot()


def test_what_others_named_is_text() -> None:
    some = _Some(Picture("x", [("<b>$", 1.0)]), ["<script>", {"a": [{"b": 1}, {"b": None}]}])
    assert "<script>" not in some._repr_html_()
    assert some.plot().get_yticklabels()[0].get_text() == r"<b>\$"
    assert as_page(list(range(100))).endswith("<p>and 60 more: see to_dict()</p>")
    assert as_page([{"b": 1}, {"b": 2}]).count("<tr>") == 3
