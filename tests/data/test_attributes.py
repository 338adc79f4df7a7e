import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from holdfast.data.schema import Attribute, Attributes, Schema
from holdfast.system.errors import SpecError

SOME = Attributes.of({"sex": ("f", "m"), "age": ("0", "1", "2")})


def test_names_levels_and_places() -> None:
    assert list(SOME) == [Attribute("sex", ("f", "m")), Attribute("age", ("0", "1", "2"))]
    assert len(SOME) == 2
    assert SOME.names == ("sex", "age")
    assert SOME.axis("age") == 1
    assert SOME.attribute("age").code("2") == 2
    assert SOME.in_words == "sex (2), age (3)"


def test_there_may_be_more_of_them_than_a_table_could_have_cells() -> None:
    many = Attributes.of({f"column {place}": map(str, range(1000)) for place in range(200)})
    assert len(many) == 200
    with pytest.raises(SpecError, match="are the most that are handled"):
        Schema(many)


@given(data=st.data())
def test_round_trips_through_json(schemas: SearchStrategy[Schema], data: st.DataObject) -> None:
    attributes = data.draw(schemas).attributes
    again = Attributes.from_dict(json.loads(json.dumps(attributes.to_dict())))
    assert again == attributes
    assert hash(again) == hash(attributes)


@pytest.mark.parametrize(
    ("damaged", "words"),
    [
        ({}, "damaged"),
        ({"attributes": 5}, "damaged"),
        ({"attributes": [{"name": "a"}]}, "damaged"),
        ({"attributes": []}, "at least one attribute"),
        ({"attributes": [{"name": "a", "levels": []}]}, "no levels"),
        ({"attributes": [{"name": "a", "levels": ["x", "x"]}]}, "a level twice"),
        ({"attributes": [{"name": "a", "levels": ["x"]}] * 2}, "not distinct"),
    ],
)
def test_refuses_a_damaged_description(damaged: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        Attributes.from_dict(damaged)
    assert "\n" not in str(caught.value)


def test_names_what_it_does_not_have() -> None:
    with pytest.raises(SpecError, match="no attribute 'sexx': did you mean 'sex'"):
        SOME.attribute("sexx")
    with pytest.raises(SpecError, match="sex has no level 'x'"):
        SOME.attribute("sex").code("x")
