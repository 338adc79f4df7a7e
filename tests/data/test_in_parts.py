"""Files that are written and read some rows at a time are those that are written at once."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.mechanisms.topdown.small import spec

from holdfast.certificate.certified_cells import CertifiedCells
from holdfast.certificate.released_counts import read_counts
from holdfast.data import in_parts
from holdfast.data.in_parts import levels_at, ranges, released_parts, write_parts
from holdfast.data.schema import Attributes, Schema
from holdfast.data.table import PublicTable
from holdfast.mechanisms.topdown import measurements
from holdfast.mechanisms.topdown.measurements import LongForm, read_measurements
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.numbers.gaussian import DiscreteGaussian
from holdfast.system.errors import DataError

SCHEMA = Schema(Attributes.of({"sex": ("f", "m"), "place": ("a, b", "01", "z")}))
TABLE = PublicTable(SCHEMA, np.arange(6) - 2, "n")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("rows", [1, 4, 6])
def test_parts_make_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, rows: int
) -> None:
    monkeypatch.setattr(in_parts, "AT_ONCE", rows)
    path = tmp_path / f"table.{suffix}"
    TABLE.write(path, status=pl.Series("status", list("abcdef")))
    read = pl.read_csv(path, infer_schema_length=0) if suffix == "csv" else pl.read_parquet(path)
    expected = TABLE.to_frame().with_columns(pl.Series("status", list("abcdef")))
    assert read.with_columns(pl.col("n").cast(pl.Int64)).equals(expected)
    TABLE.write(path)
    assert np.array_equal(read_counts(path, CertifiedCells(SCHEMA, "n")), TABLE.counts)


def test_a_row_that_is_moved_is_told_in_any_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_parts, "AT_ONCE", 2)
    path, frame = tmp_path / "table.parquet", TABLE.to_frame()
    frame[[0, 1, 2, 3, 5, 4]].write_parquet(path)
    with pytest.raises(ValueError, match="row 5, column 'place' is not that of its cell"):
        read_counts(path, CertifiedCells(SCHEMA, "n"))
    for wrong in (frame[:5], frame[:4].vstack(frame[5:]).vstack(frame[4:5])[:5]):
        wrong.write_parquet(path)
        with pytest.raises(ValueError, match=r"each of the 6 cells once|not that of its cell"):
            read_counts(path, CertifiedCells(SCHEMA, "n"))


def test_measurements_are_read_in_whatever_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = (prepared := prepare(spec(tmp_path))).mechanism
    values = mechanism.law(prepared.counts).measure(SeededEntropy(1))
    form = LongForm(mechanism.design, mechanism.measurements)
    path, files = tmp_path / "m.parquet", set()
    for rows in (7, 1 << 20):
        monkeypatch.setattr(in_parts, "AT_ONCE", rows)
        write_parts(form.parts(values), path)
        files.add(pl.read_parquet(path).write_csv())
        found = read_measurements(path, mechanism.design, mechanism.measurements)
        assert all(np.array_equal(*pair) for pair in zip(found, values, strict=True))
    assert len(files) == 1
    every = np.concatenate([part.ravel() for part in values])
    some = pl.concat([in_parts.texts(part) for part in form.rows(5, every[5:60])])
    assert some.equals(pl.read_parquet(path)[5:60])


def test_equal_rows_are_equal_bytes(tmp_path: Path) -> None:
    """Nothing of the memory of the process is written beside the rows."""
    mechanism = (prepared := prepare(spec(tmp_path))).mechanism
    values = mechanism.law(prepared.counts).measure(SeededEntropy(1))
    form, path, found = LongForm(mechanism.design, mechanism.measurements), tmp_path / "m.parquet", set()
    for size in range(1, 12):
        write_parts(form.parts(values), path)
        found.add(path.read_bytes())
        np.full(size * 1000, 0x5A5A5A5A).sum()  # memory that was used for something else
    assert len(found) == 1


def test_a_file_of_more_rows_than_it_can_have_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    TABLE.write(path)
    with pytest.raises(DataError, match=r"has 6 rows, more than the 5 that it can have"):
        list(released_parts(path, most_rows=5))
    (tmp_path / "link.parquet").symlink_to(path)
    with pytest.raises(DataError, match="put a plain file there"):
        list(released_parts(tmp_path / "link.parquet", most_rows=6))


def test_ranges_and_levels_may_be_none() -> None:
    assert list(ranges(0)) == [(0, 0)]
    assert levels_at(("a", "b"), np.zeros(0, dtype=np.int64)).to_pylist() == []
    assert levels_at(("a", "b", "c"), np.array([2, 1])).to_pylist() == ["c", "b"]


def test_answers_are_measured_some_nodes_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise the measurements are the answers, however many nodes are measured at once."""
    prepared = prepare(spec(tmp_path))
    law = prepared.mechanism.law(prepared.counts)
    monkeypatch.setattr(DiscreteGaussian, "sample", lambda _, entropy, size: np.zeros(size, dtype=np.int64))
    for rows in (1, 5, 1 << 20):
        monkeypatch.setattr(measurements, "AT_ONCE", rows)
        found = law.measure(SeededEntropy(1))
        assert all(np.array_equal(*pair) for pair in zip(found, law.answers, strict=True))


def test_counts_that_can_change_are_copied() -> None:
    counts = np.arange(6)
    for given in (counts, counts[:], counts.reshape(2, 3).ravel()):
        table = PublicTable(SCHEMA, given, "n")
        assert not np.shares_memory(table.counts, counts)
    part = counts[:]
    part.setflags(write=False)
    assert not np.shares_memory(PublicTable(SCHEMA, part, "n").counts, counts)
    counts.setflags(write=False)
    assert np.shares_memory(PublicTable(SCHEMA, counts, "n").counts, counts)
    assert PublicTable(SCHEMA, counts.astype(np.int32), "n").counts.dtype == np.int64
