"""Files of records are read and written as they are: columns, types, values, and nothing else."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.mechanisms.swapping.small import TYPES, households, typed

from holdfast.data import microdata, parquet
from holdfast.data.files import Writing
from holdfast.data.microdata import Microdata, MicrodataWriter, holds_levels, level_texts, open_microdata
from holdfast.system.errors import DataError

ROWS = "a,b,c\n1,x,\n2,,z\n"


def written(records: Microdata, folder: Path) -> bytes:
    """Write records again, in two parts."""
    path = folder / f"again.{records.kind}"
    with MicrodataWriter(path.open("wb"), records) as writer:
        whole = records.whole()
        writer.write(whole.slice(0, 1))
        writer.write(whole.slice(1))
    return path.read_bytes()


def csv(folder: Path, text: str | bytes, writing: Writing = Writing()) -> Microdata:  # noqa: B008
    path = folder / "data.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode(writing.encoding))
    return open_microdata(path, writing)


# CSV


@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        'a,b\n"x, y",1\n"say ""no""",2\n"two\nlines",3\n"back\rward",4\n  padded ,5\n',
        'a,"b ""q"", x","c\nd"\n1,2,3\n',
        ",b\n1,2\n",
        "a,b\n\u202eleft,\u00e9\n<script>,\U0001f600\n",
        "a,b\n=1+1,x;y\n",
    ],
)
def test_csv_is_written_as_it_was_read(text: str, tmp_path: Path) -> None:
    records = csv(tmp_path, text)
    assert written(records, tmp_path) == text.encode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_signs_and_encodings_are_kept(encoding: str, separator: str, tmp_path: Path) -> None:
    text = "name,of\né,1\nü,2\nß,3\n".replace(",", separator)
    records = csv(tmp_path, text, Writing(separator, encoding))
    assert records.whole().column("name").to_pylist() == ["é", "ü", "ß"]
    assert written(records, tmp_path) == text.encode(encoding)  # one byte order mark, at the beginning


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    records = csv(tmp_path, b"\xef\xbb\xbf" + ROWS.encode())
    assert records.columns == ("a", "b", "c")
    assert written(records, tmp_path) == ROWS.encode()


@pytest.mark.parametrize(
    "text", [ROWS.replace("\n", "\r\n"), ROWS.rstrip("\n"), ROWS + "\n\n", ROWS.replace(",\n", ',""\n')]
)
def test_other_ways_of_writing_are_the_same_records(text: str, tmp_path: Path) -> None:
    assert written(csv(tmp_path, text), tmp_path) == ROWS.encode()


def test_an_empty_field_is_missing(tmp_path: Path) -> None:
    whole = csv(tmp_path, ROWS).whole()
    assert whole.column("c").to_pylist() == [None, "z"]
    assert whole.column("b").to_pylist() == ["x", None]
    assert set(whole.schema.types) == {pa.string()}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no header"),
        ("a;b\n1;2\n", 'separator=";"'),
        ("a,b,a\n1,2,3\n", "has two columns 'a'"),
        (ROWS + "1,2,3,4\n", "row 4 has 4 fields and the header 3"),
        (ROWS + "1,2\n", "row 4 has 2 fields and the header 3"),
        (ROWS + '1,2,"3\n', "row 4 is not CSV: check its quotation marks"),
        ('a,b,c\n1,2,"3\n4,5,6\n7,8,9\n', "is not CSV: check its quotation marks"),
        (b"a,b,c\n1,\xff,3\n", "row 2 is not UTF-8 text"),
    ],
)
def test_damage_is_told_in_one_sentence(text: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        csv(tmp_path, text).whole()
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_quotation_mark_within_a_field_is_a_sign(tmp_path: Path) -> None:
    records = csv(tmp_path, 'a,b\n5" pipe,1\n6,2\n')
    assert records.whole().column("a").to_pylist() == ['5" pipe', "6"]
    assert written(records, tmp_path) == b'a,b\n"5"" pipe",1\n6,2\n'


# Parquet


def test_every_type_is_written_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(typed(), path)
    records = open_microdata(path)
    written(records, tmp_path)
    again = pq.read_table(tmp_path / "again.parquet")
    assert again.schema.equals(pq.read_schema(path))
    assert [repr(row) for row in again.to_pylist()] == [repr(row) for row in pq.read_table(path).to_pylist()]


def test_some_columns_come_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "b.c": [2], "b": [{"c": 3}]}), tmp_path / "data.parquet")
    records = open_microdata(tmp_path / "data.parquet")
    assert records.whole(["b.c", "a"]).to_pylist() == [{"b.c": 2, "a": 1}]
    assert records.whole(["b"]).to_pylist() == [{"b": {"c": 3}}]
    assert records.whole().column_names == ["a", "b.c", "b"]


def test_notes_of_a_library_are_not_kept(tmp_path: Path) -> None:
    table = households().replace_schema_metadata({"pandas": '{"index": "secret"}', "author": "secret"})
    noted = table.schema.field("state").with_metadata({"note": "secret"})
    table = table.cast(table.schema.set(0, noted))
    pq.write_table(table, tmp_path / "data.parquet")
    assert b"secret" in (tmp_path / "data.parquet").read_bytes()
    records = open_microdata(tmp_path / "data.parquet")
    assert not records.schema.metadata
    assert b"secret" not in written(records, tmp_path)


def test_texts_in_views_are_texts(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array(["x", "y"], pa.string_view())}), tmp_path / "data.parquet")
    records = open_microdata(tmp_path / "data.parquet")
    assert records.schema.types == [pa.large_string()]
    assert records.whole().column("a").to_pylist() == ["x", "y"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("data.parquet", b"PAR1", "is not a Parquet file, or it is damaged"),
        ("data.parquet", b"", "is not a Parquet file, or it is damaged"),
        ("data.docx", b"", "is neither CSV nor Parquet"),
    ],
)
def test_what_is_no_file_of_records_is_told(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        open_microdata(tmp_path / name)


def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"county": [1], "state": [2]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"state", b"st\xffte"))
    with pytest.raises(DataError, match="is not a Parquet file, or it is damaged"):
        open_microdata(path).whole(["county"])


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        open_microdata(tmp_path / "data.parquet")


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "data.parquet")
    with pytest.raises(DataError, match="has two columns 'a': rename one"):
        open_microdata(tmp_path / "data.parquet")


# frames


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (pa.date64(), pa.date32()),
        (pa.timestamp("s"), pa.timestamp("ms")),
        (pa.time32("s"), pa.time32("ms")),
        (pa.dictionary(pa.int32(), pa.int64()), pa.int64()),
        (pa.string(), pa.string()),
    ],
)
def test_a_frame_has_the_types_of_the_file_that_it_becomes(
    kind: pa.DataType, stored: pa.DataType, tmp_path: Path
) -> None:
    frame = pa.table({"a": pa.nulls(2, kind)})
    records = open_microdata(frame)
    assert records.schema.types == [stored]
    written(records, tmp_path)
    assert pq.read_schema(tmp_path / "again.parquet").types == [stored]


def test_frames_of_libraries_are_records() -> None:
    table = pa.table({"a": ["x", "y"], "b": [1, 2]})
    for frame in (table, pl.DataFrame(table), pl.DataFrame(table).lazy(), table.to_pandas()):
        records = open_microdata(frame)
        assert records.whole().to_pylist() == table.to_pylist()
        assert records.kind == "parquet"


def test_an_index_of_pandas_is_not_kept(tmp_path: Path) -> None:
    frame = pa.table({"a": [1, 2]}).to_pandas().set_index([["secret", "secret"]])
    assert b"secret" not in written(open_microdata(frame), tmp_path)


@pytest.mark.parametrize(
    "data", [7, [1, 2], None, {"a": 1}, pa.table({"a": pa.nulls(1, pa.month_day_nano_interval())})]
)
def test_what_is_no_frame_is_told(data: object) -> None:
    with pytest.raises(DataError, match="is no table of records"):
        open_microdata(data)


def test_missing_values_within_a_dictionary_are_missing() -> None:
    odd = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["a", None]))
    records = open_microdata(pa.table({"a": odd}))
    assert records.whole().column("a").null_count == 1


# batches


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BATCH", 7)
    monkeypatch.setattr(microdata, "BLOCK", 40)


@pytest.mark.usefixtures("small_batches")
def test_batches_are_the_whole(tmp_path: Path) -> None:
    table = households()
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=11)
    pl.DataFrame(table).write_csv(tmp_path / "data.csv")
    for source in (tmp_path / "data.parquet", table, tmp_path / "data.csv"):
        records = open_microdata(source)
        batches = list(records.batches(["county", "state"]))
        assert len(batches) > 5
        assert pa.concat_tables(batches).to_pylist() == records.whole(["county", "state"]).to_pylist()
        assert records.rows in (None, table.num_rows)


def test_no_value_shows_in_a_repr() -> None:
    assert repr(open_microdata(pa.table({"name": ["secret"]}))) == "<confidential records with 1 columns>"


# levels


def test_some_types_hold_levels() -> None:
    not_levels = {
        "half",
        "single",
        "double",
        "long decimal",
        "duration",
        "bytes",
        "large bytes",
        "fixed bytes",
    }
    not_levels |= {"list", "fixed list", "struct", "uuid", "time", "fine time"}
    assert {name for name, values in TYPES.items() if not holds_levels(values.type)} == not_levels
    rounded = {name for name, values in TYPES.items() if not holds_levels(values.type, floats=True)}
    assert not_levels - rounded == {"half", "single", "double"}


@pytest.mark.parametrize("name", [name for name, values in TYPES.items() if holds_levels(values.type)])
def test_levels_are_texts_that_tell_them_apart(name: str) -> None:
    texts = level_texts(pa.chunked_array([TYPES[name]])).to_list()
    assert texts[-1] is None
    if name != "nothing":
        assert None not in texts[:2]
        assert texts[0] != texts[1]


def test_wide_records_are_read_in_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BATCH_BYTES", 1000)
    narrow = open_microdata(pa.table({"a": list(range(300))}))
    wide = open_microdata(pa.table({f"c{i}": list(range(300)) for i in range(10)}))
    for records, rows in ((narrow, 125), (wide, 12)):
        batches = [batch.num_rows for batch in records.batches()]
        assert max(batches) == rows
        assert sum(batches) == 300
        assert len(batches) == records.number
