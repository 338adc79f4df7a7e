import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

from holdfast.data.schema import Attributes, Schema
from holdfast.data.table import PublicTable, Table
from holdfast.system.errors import DataError, SpecError

SCHEMA = Schema(Attributes.of({"sex": ("f", "m"), "age": ("0-17", "18+")}))
TABLE = PublicTable(SCHEMA, np.array([1, -2, 3, 1000]), "people")
ROWS = [("f", "0-17", 1), ("f", "18+", -2), ("m", "0-17", 3), ("m", "18+", 1000)]
COLUMNS = {"sex": ["f", "f", "m", "m"], "age": ["0-17", "18+", "0-17", "18+"], "people": [1, -2, 3, 1000]}


def test_a_frame_has_every_cell_in_order() -> None:
    frame = TABLE.to_frame()
    assert frame.schema == {"sex": pl.String, "age": pl.String, "people": pl.Int64}
    assert frame.rows() == ROWS


def test_counts_in_half_the_room_are_written_alike(tmp_path: Path) -> None:
    given: Any = TABLE.counts.astype(np.int32)
    given.setflags(write=False)
    small = PublicTable(SCHEMA, given, "people")
    assert small.counts is given
    assert small.to_frame().equals(TABLE.to_frame())
    assert small.margin(["sex"]).tolist() == [-1, 1003]
    for name in ("a.csv", "a.parquet"):
        small.write(tmp_path / f"small-{name}")
        TABLE.write(tmp_path / name)
        assert (tmp_path / f"small-{name}").read_bytes() == (tmp_path / name).read_bytes()
    assert Table(SCHEMA, abs(given)).counts.dtype == np.int64


def test_frames_of_other_libraries() -> None:
    frame = TABLE.to_frame("pandas")
    assert type(frame).__module__.startswith("pandas")
    assert frame.to_dict("list") == COLUMNS
    assert frame["people"].dtype == np.int64
    table = TABLE.to_frame("pyarrow")
    assert type(table).__module__.startswith("pyarrow")
    assert table.to_pydict() == COLUMNS


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_a_missing_library_is_named(
    monkeypatch: pytest.MonkeyPatch, kind: Literal["pandas", "pyarrow"]
) -> None:
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(DataError, match=f"^{kind} is not installed: install it, or take the Polars frame"):
        TABLE.to_frame(kind)


def test_pandas_alone_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert TABLE.to_frame("pandas").to_dict("list") == COLUMNS


def test_an_unknown_kind_of_frame() -> None:
    kind: Any = "spark"
    with pytest.raises(DataError, match="'spark': choose polars, pandas or pyarrow"):
        TABLE.to_frame(kind)


def test_shows_itself_as_a_text_table() -> None:
    assert repr(TABLE).splitlines() == [
        "sex  age   people",
        "f    0-17       1",
        "f    18+       -2",
        "m    0-17       3",
        "m    18+     1000",
    ]


@pytest.mark.parametrize(
    ("cells", "last"), [(10, None), (11, "and 1 more cell"), (5000, "and 4,990 more cells")]
)
def test_only_the_first_rows_are_shown(cells: int, last: str | None) -> None:
    schema = Schema(Attributes.of({"age": map(str, range(cells))}))
    some = PublicTable(schema, np.arange(cells), "n")
    lines = repr(some).splitlines()
    assert len(lines) == 11 + (last is not None)
    assert last is None or lines[-1] == last
    page = Page(some._repr_html_())
    assert page.tags.count("tr") == 11
    assert last is None or page.text[-1] == last


HOSTILE = "<script>alert('x')</script>&\n\t"


class Page(HTMLParser):
    """The tags and the texts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_names_and_levels_do_no_harm() -> None:
    schema = Schema(Attributes.of({HOSTILE: (HOSTILE, "b")}))
    some = PublicTable(schema, np.array([1, 2]), HOSTILE + "n")
    page = Page(some._repr_html_())
    shown = HOSTILE.replace("\n", "\\n").replace("\t", "\\t")
    assert page.text == [shown, shown + "n", shown, "1", "b", "2"]
    assert "script" not in page.tags
    assert repr(some).count("\n") == 2
    assert "\t" not in repr(some)


def test_equality_is_by_value_and_name() -> None:
    assert PublicTable(SCHEMA, TABLE.counts, "people") == TABLE
    assert hash(PublicTable(SCHEMA, TABLE.counts, "people")) == hash(TABLE)
    assert PublicTable(SCHEMA, TABLE.counts, "n") != TABLE
    assert PublicTable(SCHEMA, TABLE.counts + 1, "people") != TABLE
    assert Table(SCHEMA, TABLE.counts) != TABLE
    assert Table(SCHEMA, TABLE.counts) != TABLE


def test_the_counts_have_a_name_of_their_own() -> None:
    with pytest.raises(SpecError, match="also an attribute"):
        PublicTable(SCHEMA, TABLE.counts, "sex")
