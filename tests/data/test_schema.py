import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.system.errors import SpecError

SCHEMA = Schema(Attributes.of({"sex": ("f", "m"), "age": ("0", "1", "2")}), Runs.of({4}))


def test_cells_are_row_major() -> None:
    assert SCHEMA.shape == (2, 3)
    assert SCHEMA.size == 6
    assert SCHEMA.index(("m", "1")) == 4
    assert SCHEMA.cell(4) == ("m", "1")
    assert SCHEMA.codes("sex").tolist() == [0, 0, 0, 1, 1, 1]
    assert SCHEMA.codes("age").tolist() == [0, 1, 2, 0, 1, 2]
    assert SCHEMA.possible.tolist() == [True, True, True, True, False, True]
    assert not SCHEMA.possible.flags.writeable


@given(data=st.data())
def test_index_and_cell_are_inverse(schemas: SearchStrategy[Schema], data: st.DataObject) -> None:
    schema = data.draw(schemas)
    cells = list(product(*(attribute.levels for attribute in schema.attributes)))
    assert [schema.index(cell) for cell in cells] == list(range(schema.size))
    assert [schema.cell(index) for index in range(schema.size)] == cells
    codes = np.ravel_multi_index([schema.codes(name) for name in schema.names], schema.shape)
    assert codes.tolist() == list(range(schema.size))


@given(data=st.data())
def test_round_trips_through_json(schemas: SearchStrategy[Schema], data: st.DataObject) -> None:
    schema = data.draw(schemas)
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again == schema
    assert hash(again) == hash(schema)


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        {"attributes": 5, "structural_zeros": []},
        {"attributes": [{"name": "a"}], "structural_zeros": []},
        {"attributes": [{"name": "a", "levels": ["x"]}], "structural_zeros": [[0.5, 0.5]]},
        {"attributes": [{"name": "a", "levels": ["x"]}], "structural_zeros": [0]},
        {"attributes": [{"name": "a", "levels": ["x"]}], "structural_zeros": [[0, 2**64]]},
        {"attributes": [{"name": "a", "levels": ["x", "y"]}], "structural_zeros": [[1, 0]]},
        {"attributes": [{"name": "a", "levels": ["x", "y"]}], "structural_zeros": [[-1, 0]]},
        {"attributes": [{"name": "a", "levels": ["x", "y", "z"]}], "structural_zeros": [[0, 0], [1, 1]]},
        {"attributes": [{"name": "a", "levels": ["x"]}], "structural_zeros": [[1, 1]]},
        {"attributes": [], "structural_zeros": []},
        {"attributes": [{"name": "a", "levels": []}], "structural_zeros": []},
        {"attributes": [{"name": "a", "levels": ["x", "x"]}], "structural_zeros": []},
        {"attributes": [{"name": "a", "levels": ["x"]}] * 2, "structural_zeros": []},
    ],
)
def test_refuses_a_damaged_description(damaged: dict[str, Any]) -> None:
    with pytest.raises(SpecError) as caught:
        Schema.from_dict(damaged)
    assert "\n" not in str(caught.value)


def test_names_what_it_does_not_have() -> None:
    with pytest.raises(SpecError, match="did you mean 'sex'"):
        SCHEMA.attribute("sexx")
    with pytest.raises(SpecError, match="sex has no level 'x'"):
        SCHEMA.index(("x", "1"))
    with pytest.raises(SpecError, match="give 2 levels, not 1"):
        SCHEMA.index(("f",))
    with pytest.raises(SpecError, match="no cell 6"):
        SCHEMA.cell(6)


def test_refuses_more_cells_than_fit() -> None:
    many = tuple(map(str, range(1000)))
    with pytest.raises(SpecError, match="1,000,000,000 cells"):
        Schema(Attributes.of(dict.fromkeys("abc", many)))
