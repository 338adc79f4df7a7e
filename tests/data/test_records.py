import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.data.table import Records
from holdfast.system.errors import DataError, SpecError

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
    assert repr(RECORDS) == "<confidential records: sex (2), age (300), place (3)>"


def test_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="as many columns"):
        some([0], [0])
    with pytest.raises(ValueError, match="one code for each record"):
        some([0], [0, 1], [0])
    with pytest.raises(ValueError, match="codes of 'sex'"):
        some([2], [0], [0])
    with pytest.raises(SpecError, match="the levels of 'sex' are not those of the records"):
        RECORDS.table(Schema(Attributes.of({"sex": ("m", "f")})))
    with pytest.raises(SpecError, match="no attribute 'region'"):
        RECORDS.table(Schema(Attributes.of({"region": ("m", "f")})))
    with pytest.raises(DataError, match="structural zero"):
        RECORDS.table(Schema(Attributes.of({"sex": ("f", "m")}), Runs.of({0})))
