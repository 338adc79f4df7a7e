from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from holdfast.certificate.certified_cells import CertifiedCells
from holdfast.certificate.released_counts import read_counts
from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.data.table import PublicTable, Table
from holdfast.system.errors import ReleaseError

SCHEMA = Schema(Attributes.of({"sex": ("f", "m"), "place": ("a, b", "01")}), Runs.of({3}))
TABLE = PublicTable(SCHEMA, np.array([1, -2, 3, 0]), "n")


def test_lists_every_cell_in_order(tmp_path: Path) -> None:
    TABLE.write(tmp_path / "release.csv")
    expected = b'sex,place,n\nf,"a, b",1\nf,01,-2\nm,"a, b",3\nm,01,0\n'
    assert (tmp_path / "release.csv").read_bytes() == expected


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@settings(deadline=None)
@given(data=st.data())
def test_round_trips_and_repeats_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory,
    tables: SearchStrategy[Table],
    suffix: str,
    data: st.DataObject,
) -> None:
    some = data.draw(tables)
    table = PublicTable(some.schema, some.counts, "count")
    folder = tmp_path_factory.mktemp("write")
    one, other = folder / f"one.{suffix}", folder / f"other.{suffix}"
    table.write(one)
    table.write(str(other))
    assert np.array_equal(read_counts(one, CertifiedCells(table.schema, "count")), table.counts)
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("rows", [1, 2, 5, 100])
def test_parts_make_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    schema = Schema(Attributes.of({"sex": ("f", 'm, or "o"'), "age": ("0", "=1", "2")}))
    table = PublicTable(schema, np.arange(6), "n")
    status = pl.Series("status", list("abcdef"))
    table.write(tmp_path / "whole.csv", quote_formulas=True, status=status)
    monkeypatch.setattr("holdfast.data.table.AT_ONCE", rows)
    table.write(tmp_path / "parts.csv", quote_formulas=True, status=status)
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert (tmp_path / "whole.csv").read_text().count("\n") == 7


def test_refuses_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="neither CSV nor Parquet"):
        TABLE.write(tmp_path / "release.txt")
    with pytest.raises(ReleaseError, match="cannot be written"):
        TABLE.write(tmp_path / "none" / "release.csv")
