from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.schema import Attributes, Schema
from holdfast.data.selection import chosen_levels, select
from holdfast.spec.values import Choice
from holdfast.system.errors import SpecError

SCHEMA = Schema(
    Attributes.of({"sex": ("female", "male"), "age": ("0", "17", "18", "0.1"), "band": ("0-17", "18-24")})
)


@pytest.mark.parametrize(
    ("where", "levels"),
    [
        ({"sex": "female"}, {"sex": ("female",)}),
        ({"sex": ["male", "female"]}, {"sex": ("male", "female")}),
        ({"age": [17, 99]}, {"age": ("17", "18")}),
        ({"age": [0.1, 17.0]}, {"age": ("17", "0.1")}),
        ({"age": ["17", "18"], "sex": "male"}, {"age": ("17", "18"), "sex": ("male",)}),
    ],
)
def test_picks_levels(where: Mapping[str, Choice], levels: Mapping[str, tuple[str, ...]]) -> None:
    assert chosen_levels(SCHEMA, where) == levels
    mask = select(SCHEMA, where)
    for cell in range(SCHEMA.size):
        named = dict(zip(SCHEMA.names, SCHEMA.cell(cell), strict=True))
        assert mask[cell] == all(named[name] in chosen for name, chosen in levels.items())


@given(low=st.integers(-5, 25), span=st.integers(0, 30))
def test_a_range_includes_both_ends(low: int, span: int) -> None:
    schema = Schema(Attributes.of({"age": map(str, range(20))}))
    expected = [low <= age <= low + span for age in range(20)]
    if any(expected):
        assert select(schema, {"age": [low, low + span]}).tolist() == expected
    else:
        with pytest.raises(SpecError, match="widen the range"):
            select(schema, {"age": [low, low + span]})


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"sex": "femal"}, "did you mean 'female'?"),
        ({"sexx": "female"}, "did you mean 'sex'?"),
        ({"age": [200, 300]}, "widen the range"),
        ({"band": [0, 17]}, "level '0-17' of band is not a number: list the levels instead"),
        ({"sex": []}, "at least one level"),
        ({}, "selects nothing"),
    ],
)
def test_names_what_it_cannot_pick(where: Mapping[str, Choice], words: str) -> None:
    with pytest.raises(SpecError) as caught:
        select(SCHEMA, where, place="[[invariants]] 3 where")
    message = str(caught.value)
    assert message.startswith("[[invariants]] 3 where")
    assert words in message
    assert "\n" not in message
