"""A damaged Parquet file is refused in one sentence, and the process reads the next one as before."""

from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holdfast.data import parquet
from holdfast.data.files import open_file
from holdfast.system.errors import DataError

FRAME = pl.DataFrame({"county": ["a", "b", "a"], "sex": ["f", "m", None], "n": [1, 2, 3]})


def loaded(path: Path) -> pl.DataFrame:
    source = open_file(path)
    return pl.DataFrame(source.load(range(len(source.header))))


def test_after_any_damage_the_next_file_is_read(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    FRAME.write_parquet(good)
    whole = good.read_bytes()
    refused = list[str]()
    for place in range(len(whole)):  # some make Polars' own reader panic, after which it may never answer
        bad.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        try:
            loaded(bad)
        except DataError as error:
            refused.append(str(error))
    assert len(refused) > len(whole) // 4
    assert all(text.startswith(f"{bad} ") and "\n" not in text for text in refused)
    assert loaded(good).equals(FRAME)


def test_batches_with_other_dictionaries_are_one_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "BATCH", 2)
    path = tmp_path / "data.parquet"
    frame = pl.DataFrame({"x": pl.Series(["a", "b", "c", "a", None], dtype=pl.Categorical)})
    frame.write_parquet(path, row_group_size=2)
    assert loaded(path)["x"].to_list() == ["a", "b", "c", "a", None]
    frame.clear().write_parquet(path)
    assert loaded(path).height == 0


def test_decimals_that_no_frame_has_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"n": pa.array([Decimal(1)], pa.decimal256(50, 0))}), path)
    with pytest.raises(DataError, match="column 'n' has decimals of 76 digits"):
        loaded(path)


def test_text_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    pq.write_table(pa.table({"a": pa.array([b"one", b"\xff\xfe"]).cast(pa.string(), safe=False)}), path)
    with pytest.raises(DataError, match="it is damaged: write it anew"):
        loaded(path)
