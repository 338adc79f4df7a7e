from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.data.attributes import Attributes
from holdfast.data.read import read_records
from holdfast.data.records import Records
from holdfast.data.schema import Schema
from holdfast.errors import DataError, SpecError

ATTRIBUTES = Attributes.of({"sex": ("f", "m"), "age": map(str, range(300)), "place": ("a", "b", "c")})


def some(*columns: list[int]) -> Records:
    return Records(ATTRIBUTES, tuple(np.array(column, dtype=np.uint64) for column in columns))


RECORDS = some([0, 1, 1], [299, 0, 0], [2, 1, 1])


def test_codes_are_small_copied_and_read_only() -> None:
    assert RECORDS.size == 3
    assert [codes.dtype for codes in RECORDS.codes] == [np.uint8, np.uint16, np.uint8]
    assert RECORDS.column("age").tolist() == [299, 0, 0]
    assert not any(codes.flags.writeable for codes in RECORDS.codes)


@settings(deadline=None)
@given(data=st.data())
def test_a_table_counts_the_records_of_each_cell(data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 8))
    levels = {"p": "ab", "q": "xyz", "r": "12"}
    columns = {
        name: data.draw(st.lists(st.sampled_from(of), min_size=size, max_size=size))
        for name, of in levels.items()
    }
    attributes = Attributes.of(levels)
    codes = [
        np.array([levels[name].index(level) for level in column], dtype=np.uint8)
        for name, column in columns.items()
    ]
    records = Records(attributes, tuple(codes))
    names = data.draw(st.permutations(["p", "q", "r"]))[: data.draw(st.integers(1, 3))]
    schema = Schema(Attributes(tuple(attributes.attribute(name) for name in names)))
    rows = list(zip(*(columns[name] for name in names), strict=True))
    expected = [rows.count(schema.cell(cell)) for cell in range(schema.size)]
    assert records.table(schema).counts.tolist() == expected
    assert [schema.cell(int(cell)) for cell in records.cells(schema)] == rows


def test_values_are_never_shown() -> None:
    records = Records(ATTRIBUTES, RECORDS.codes, pl.DataFrame({"name": ["Ada", "Bo", "Cy"]}))
    assert repr(records) == "<confidential records: sex (2), age (300), place (3); 1 columns carried>"


def test_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="as many columns"):
        some([0], [0])
    with pytest.raises(ValueError, match="one code for each record"):
        some([0], [0, 1], [0])
    with pytest.raises(ValueError, match="codes of 'sex'"):
        some([2], [0], [0])
    with pytest.raises(ValueError, match="carried"):
        Records(ATTRIBUTES, RECORDS.codes, pl.DataFrame({"name": ["Ada"]}))
    with pytest.raises(SpecError, match="the levels of 'sex' are not those of the records"):
        RECORDS.table(Schema(Attributes.of({"sex": ("m", "f")})))
    with pytest.raises(SpecError, match="no attribute 'region'"):
        RECORDS.table(Schema(Attributes.of({"region": ("m", "f")})))
    with pytest.raises(DataError, match="structural zero"):
        RECORDS.table(Schema(Attributes.of({"sex": ("f", "m")}), frozenset({0})))


MICRODATA = pl.DataFrame(
    {
        "name": ["Ada", "Bo", "Cy"],
        "sex": ["m", "f", "m"],
        "weight": [0.5, None, 2.0],
        "age": [30, 4, 30],
        "visits": [[1], [], None],
    }
)


def test_all_other_columns_are_carried_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    MICRODATA.write_parquet(path)
    for data in (path, MICRODATA):
        records = read_records(data, ["age", "sex"], {"sex": ("f", "m", "x")})
        assert records.attributes == Attributes.of({"age": ("4", "30"), "sex": ("f", "m", "x")})
        assert [codes.tolist() for codes in records.codes] == [[1, 0, 1], [1, 0, 1]]
        assert records.carried.equals(MICRODATA.select("name", "weight", "visits"))


def test_carried_columns_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex,note,note\nf,1,2\n")
    with pytest.raises(DataError, match="has two columns of one name: rename one"):
        read_records(path, ["sex"])
