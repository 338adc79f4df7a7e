from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from holdfast.errors import ReleaseError, SpecError
from holdfast.tables.read import read_release
from holdfast.tables.schema import Attribute, Schema
from holdfast.tables.table import Table
from holdfast.tables.write import write_table

SCHEMA = Schema((Attribute("sex", ("f", "m")), Attribute("place", ("a, b", "01"))), frozenset({3}))
TABLE = Table(SCHEMA, np.array([1, -2, 3, 0]))


def test_lists_every_cell_in_order(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "release.csv", "n")
    expected = b'sex,place,n\nf,"a, b",1\nf,01,-2\nm,"a, b",3\nm,01,0\n'
    assert (tmp_path / "release.csv").read_bytes() == expected


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@given(data=st.data())
def test_round_trips_and_repeats_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory,
    tables: SearchStrategy[Table],
    suffix: str,
    data: st.DataObject,
) -> None:
    table = data.draw(tables)
    folder = tmp_path_factory.mktemp("write")
    one, other = folder / f"one.{suffix}", folder / f"other.{suffix}"
    write_table(table, one, "count")
    write_table(table, other, "count")
    assert read_release(one, table.schema, "count") == table
    assert one.read_bytes() == other.read_bytes()


def test_refuses_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="also an attribute"):
        write_table(TABLE, tmp_path / "release.csv", "sex")
    with pytest.raises(ReleaseError, match="neither CSV nor Parquet"):
        write_table(TABLE, tmp_path / "release.txt", "n")
    with pytest.raises(ReleaseError, match="cannot be written"):
        write_table(TABLE, tmp_path / "none" / "release.csv", "n")
