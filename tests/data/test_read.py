import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.data.read import read_table
from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes
from holdfast.spec.data import Data
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy
from holdfast.system.errors import DataError

COUNTS = {"cells": ["county", "sex"], "count": "n"}
RECORDS = {"cells": ["county", "sex"]}
LEVELS = {"county": ["Alpha", "Beta"], "sex": ["f", "m"]}
HEADER = "county,sex,n\n"
SpecFor = Callable[..., Spec]


def test_counts_take_levels_as_they_appear(spec_for: SpecFor) -> None:
    reading = read_table(spec_for(HEADER + "Beta,m,3\nAlpha,m,2.0\nBeta,f,+1\n", COUNTS))
    schema = reading.table.schema
    assert schema.attributes == Attributes.of({"county": ("Beta", "Alpha"), "sex": ("m", "f")})
    assert reading.table.counts.tolist() == [3, 1, 2, 0]
    assert reading.inferred == ("county", "sex")


def test_declared_levels_keep_their_order(spec_for: SpecFor) -> None:
    levels = {"county": ["Alpha", "Beta", "Gamma"]}
    reading = read_table(spec_for(HEADER + "Beta,m,3\n", {**COUNTS, "levels": levels}))
    assert reading.table.schema.attribute("county").levels == ("Alpha", "Beta", "Gamma")
    assert reading.table.counts.tolist() == [0, 3, 0]
    assert reading.inferred == ("sex",)


def test_records_are_counted_and_levels_sorted(spec_for: SpecFor) -> None:
    content = "age,extra,sex\n10,,m\n9,,f\n10,,m\n01,,m\n"
    table = read_table(spec_for(content, {"cells": ["age", "sex"]})).table
    assert table.schema.attribute("age").levels == ("01", "9", "10")
    assert table.schema.attribute("sex").levels == ("f", "m")
    assert table.counts.tolist() == [0, 1, 1, 0, 0, 2]


def test_the_order_of_records_does_not_show(spec_for: SpecFor) -> None:
    rows = ["b,1", "a,2", "b,2", "c,1"]
    data = {"cells": ["x", "y"]}
    one = read_table(spec_for("x,y\n" + "\n".join(rows), data)).table
    other = read_table(spec_for("x,y\n" + "\n".join(reversed(rows)), data)).table
    assert one == other


def test_text_stays_as_it_is(spec_for: SpecFor) -> None:
    content = 'county,sex,n\n01, f ,1\n1,"a, ""b""",2\n'
    schema = read_table(spec_for("\ufeff" + content.replace("\n", "\r\n"), COUNTS)).table.schema
    assert schema.attribute("county").levels == ("01", "1")
    assert schema.attribute("sex").levels == (" f ", 'a, "b"')


def test_an_empty_table_is_refused_also_where_levels_are_declared(spec_for: SpecFor) -> None:
    for data, rows in ((COUNTS, ""), (RECORDS, ""), (COUNTS, "Alpha,f,0\nBeta,m,0\n")):
        with pytest.raises(DataError, match="an empty table has nothing to release"):
            read_table(spec_for(HEADER + rows, {**data, "levels": LEVELS}))


def test_quotes_in_the_header(spec_for: SpecFor) -> None:
    content = '"the ""county""",n\nAlpha,2\n'
    table = read_table(spec_for(content, {"cells": ['the "county"'], "count": "n"})).table
    assert table.counts.tolist() == [2]


WRONG: list[tuple[str | bytes, dict[str, Any], str]] = [
    ("", COUNTS, "has no header"),
    ("\n", COUNTS, "has no header"),
    (HEADER, COUNTS, "has no rows"),
    ("country,sex,n\n", COUNTS, "has no column 'county': did you mean 'country'?"),
    ("county,sex,N\n", COUNTS, "has no column 'n': did you mean 'N'?"),
    ("county,county,sex,n\n", COUNTS, "has two columns 'county'"),
    (HEADER + "Alpha,f,1\n,m,2\n", COUNTS, "row 3, column 'county' has no level"),
    (HEADER + 'Alpha,"",1\n', COUNTS, "row 2, column 'sex' has no level"),
    (HEADER + "Alpha,f,1\n\nBeta,f,1\n", COUNTS, "row 3, column 'county' has no level"),
    (HEADER + "Alpha,f,\n", COUNTS, "row 2, column 'n' has no number"),
    (HEADER + "Alpha,f\n", COUNTS, "row 2, column 'n' has no number"),
    (HEADER + "Alpha,f,1\nAlpha,m,3.5\n", COUNTS, "row 3, column 'n' is 3.5, which is not a whole"),
    (HEADER + "Alpha,f,-1\n", COUNTS, "row 2, column 'n' is -1: a count is never below zero"),
    (HEADER + "Alpha,f,many\n", COUNTS, "row 2, column 'n' is 'many'"),
    (HEADER + "Alpha,f,nan\n", COUNTS, "row 2, column 'n' is 'nan'"),
    (HEADER + "Alpha,f,inf\n", COUNTS, "row 2, column 'n' is 'inf'"),
    (HEADER + "Alpha,f,1e3\n", COUNTS, "row 2, column 'n' is '1e3'"),
    (HEADER + "Alpha,f, 3\n", COUNTS, "row 2, column 'n' is ' 3'"),
    (HEADER + f"Alpha,f,{2**63}\n", COUNTS, "row 2, column 'n' is 9223372036854775808"),
    (HEADER + f"A,f,{2**62}\nA,m,{2**62}\n", COUNTS, "column 'n' sums to more than fits 64 bits"),
    (
        HEADER + "Alpha,f,1\nBeta,f,1\nAlpha,f,0\n",
        COUNTS,
        "row 4 repeats the cell county = 'Alpha', sex = 'f' of row 2",
    ),
    (
        HEADER + "Alpha,f,1\nBetta,f,1\n",
        {**COUNTS, "levels": LEVELS},
        "row 3, column 'county' has the level 'Betta', which is not declared: did you mean 'Beta'?",
    ),
    (HEADER + "Alpha,f,1\nBeta, North,f,1\n", COUNTS, "row 3 has 4 fields and the header 3"),
    (HEADER + 'Alpha,f,1\n"Beta,f,1\n', COUNTS, "is not CSV: check its quotation marks"),
    ((HEADER + "Alpha,f,1\nC\xf4te,f,1\n").encode("latin-1"), COUNTS, "row 3 is not UTF-8"),
    ("c\xf4te,sex,n\n".encode("latin-1"), COUNTS, "row 1 is not UTF-8"),
    ("county,sex\nAlpha,f\nAlpha,\n", RECORDS, "row 3, column 'sex' has no level"),
    ("county,sex\n", RECORDS, "has no rows"),
    ("county,sex\nAlpha,x\n", {**RECORDS, "levels": LEVELS}, "row 2, column 'sex' has the level"),
]


@pytest.mark.parametrize(("content", "data", "words"), WRONG)
def test_what_is_wrong_is_one_sentence_with_its_row(
    spec_for: SpecFor, content: str | bytes, data: dict[str, Any], words: str
) -> None:
    spec = spec_for(content, data)
    with pytest.raises(DataError) as caught:
        read_table(spec)
    message = str(caught.value)
    assert message.startswith(str(spec.data_path))
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "data", "place"),
    [
        (HEADER + "Alpha,m,0\nAlpha,f,1\n", COUNTS, "row 3, column 'n'"),
        ("county,sex\nAlpha,m\nAlpha,f\n", RECORDS, "row 3, column 'county'"),
    ],
)
def test_a_structural_zero_stays_empty(
    spec_for: SpecFor, content: str, data: dict[str, Any], place: str
) -> None:
    constraints = {"structural_zeros": [{"county": "Alpha", "sex": "f"}]}
    spec = spec_for(content, data, constraints=constraints)
    with pytest.raises(DataError, match="a structural zero: correct the row") as caught:
        read_table(spec)
    assert place in str(caught.value)


def test_a_listed_zero_in_a_structural_zero_is_fine(spec_for: SpecFor) -> None:
    constraints = {"structural_zeros": [{"county": "Alpha", "sex": "f"}]}
    spec = spec_for(HEADER + "Alpha,f,0\nAlpha,m,4\n", COUNTS, constraints=constraints)
    table = read_table(spec).table
    assert table.schema.impossible == Runs.of({0})
    assert table.counts.tolist() == [0, 4]


def parquet_spec(folder: Path, frame: pl.DataFrame, count: str | None = "n") -> Spec:
    frame.write_parquet(folder / "data.parquet")
    data = Data(path="data.parquet", cells=("x",), count=count)
    return Spec(data=data, privacy=Privacy(epsilon="1"), folder=folder)


@pytest.mark.parametrize(
    ("series", "levels"),
    [
        (pl.Series([18, 9]), ("9", "18")),
        (pl.Series(["b", "a"]), ("a", "b")),
        (pl.Series(["b", "a"], dtype=pl.Categorical), ("a", "b")),
        (pl.Series([True, False]), ("false", "true")),
    ],
)
def test_parquet_levels_become_text(tmp_path: Path, series: pl.Series, levels: tuple[str, ...]) -> None:
    spec = parquet_spec(tmp_path, pl.DataFrame({"x": series}), None)
    assert read_table(spec).table.schema.attribute("x").levels == levels


@pytest.mark.parametrize(
    "counts",
    [
        pl.Series([1, 2], dtype=pl.UInt8),
        pl.Series([1.0, 2.0]),
        pl.Series(["1", "2"]),
        pl.Series(["1", "2"]).cast(pl.Decimal(10, 2)),
    ],
)
def test_parquet_counts_may_have_any_numeric_type(tmp_path: Path, counts: pl.Series) -> None:
    spec = parquet_spec(tmp_path, pl.DataFrame({"x": ["a", "b"], "n": counts}))
    assert read_table(spec).table.counts.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pl.DataFrame({"x": ["a", None], "n": [1, 2]}), "row 2, column 'x' has no level"),
        (pl.DataFrame({"x": ["a", "b"], "n": [1, None]}), "row 2, column 'n' has no number"),
        (pl.DataFrame({"x": ["a", "b"], "n": [1.0, 0.5]}), "row 2, column 'n' is 0.5"),
        (pl.DataFrame({"x": ["a"], "n": [float("nan")]}), "row 1, column 'n' is 'nan'"),
        (pl.DataFrame({"x": ["a"], "n": [float("inf")]}), "row 1, column 'n' is 'inf'"),
        (pl.DataFrame({"x": ["a"], "n": [1e30]}), "n' is 1e+30, which does not fit"),
        (pl.DataFrame({"x": ["a"], "n": pl.Series([2**63], dtype=pl.UInt64)}), "fit 64 bits"),
        (
            pl.DataFrame({"x": ["a"], "n": pl.Series(["1.5"]).cast(pl.Decimal(10, 2))}),
            "row 1, column 'n' is 1.50",
        ),
        (pl.DataFrame({"x": ["a"], "n": [True]}), "column 'n' holds Boolean values"),
        (pl.DataFrame({"x": [1.5], "n": [1]}), "column 'x' holds Float64 values"),
        (pl.DataFrame({"x": [[1]], "n": [1]}), "column 'x' holds List(Int64) values"),
        (pl.DataFrame({"y": ["a"], "n": [1]}), "has no column 'x'"),
    ],
)
def test_what_is_wrong_with_parquet(tmp_path: Path, frame: pl.DataFrame, words: str) -> None:
    with pytest.raises(DataError) as caught:
        read_table(parquet_spec(tmp_path, frame))
    assert str(caught.value).startswith(str(tmp_path / "data.parquet"))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.csv", "does not exist"),
        ("folder.csv", "is a folder"),
        ("data.ods", "neither CSV nor Parquet"),
        ("data.xlsx", "is no Excel file"),
        ("data.dta", "cannot be read, or is damaged"),
        ("data.csv.gz", "is no gzip file"),
        ("none*.csv", "stands for no file"),
        ("damaged.parquet", "is not a Parquet file"),
        ("empty.parquet", "is not a Parquet file"),
    ],
)
def test_a_file_that_does_not_open(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    for kind in ("ods", "xlsx", "dta", "csv.gz"):
        (tmp_path / f"data.{kind}").write_bytes(b"no such file")
    (tmp_path / "empty.parquet").write_bytes(b"")
    whole = io.BytesIO()
    pl.DataFrame({"x": ["a"] * 99}).write_parquet(whole)
    (tmp_path / "damaged.parquet").write_bytes(whole.getvalue()[:-20])
    spec = Spec(data=Data(path=name, cells=("x",)), privacy=Privacy(epsilon="1"), folder=tmp_path)
    with pytest.raises(DataError) as caught:
        read_table(spec)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(deadline=None)
@given(records=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), min_size=1))
def test_records_and_their_counts_make_the_same_table(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    frame = pl.DataFrame(records, schema=["p", "q"], orient="row")
    frame.write_csv(folder / "records.csv")
    frame.group_by("p", "q").len("n").write_csv(folder / "counts.csv")
    levels = {"p": ("a", "b", "c"), "q": ("x", "y")}
    tables = [
        read_table(
            Spec(
                data=Data(path=path, cells=("p", "q"), count=count, levels=levels),
                privacy=Privacy(epsilon="1"),
                folder=folder,
            )
        ).table
        for path, count in (("records.csv", None), ("counts.csv", "n"))
    ]
    assert tables[0] == tables[1]
    assert tables[0].total == len(records)


def footer_says(path: Path, rows: int, said: int) -> None:
    """Let the last bytes of a Parquet file say another number of rows, spelt in as many bytes."""

    def spelt(number: int, length: int) -> bytes:
        return bytes([number >> 7 * i & 127 | (128 if i < length - 1 else 0) for i in range(length)])

    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    length = ((2 * rows).bit_length() + 6) // 7
    footer = content[start:].replace(spelt(2 * rows, length), spelt(2 * said, length), 1)
    assert footer != content[start:]
    path.write_bytes(content[:start] + footer)


def test_rows_that_a_parquet_file_does_not_tell_of_are_missed(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    rows = 3000
    pl.DataFrame({"sex": ["f"] * rows, "n": [1] * rows}).write_parquet(path, statistics=False)
    footer_says(path, rows, 4)
    with pytest.raises(DataError, match="says that it has 4 rows and has 3,000: write it anew"):
        read_table(Spec(data=Data(cells=("sex",))), path)
