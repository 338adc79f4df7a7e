from typing import Any

import pytest

from holdfast.spec.data import Data
from holdfast.system.errors import SpecError

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"recode": {"age": {"a": [0, 17], "b": [17, 120]}}}, "bins 'a' and 'b' that overlap"),
    ({"recode": {"age": {"a": [0, 17], "b": ["5"]}}}, "'5' in 'b' and in the range of 'a'"),
    ({"recode": {"sex": {"a": ["f", "m"], "b": ["m"]}}}, "puts 'm' in 'a' and in 'b'"),
    ({"recode": {"age": {"a": [17, 0]}}}, "an empty range"),
    ({"recode": {"age": {"a": [1, 2, 3]}}}, "write levels in quotes"),
    ({"recode": {"age": {"a": []}}}, "is an empty list"),
    ({"recode": {"age": {"": ["x"]}}}, "a level without a name"),
    ({"recode": {"age": {}}}, "has no bins"),
    ({"recode": {"age": 5}}, "has no bins"),
    ({"recode": 5}, "must be a table of keys"),
    (
        {"recode": {"agee": {"a": [0, 17]}}},
        "recode names 'agee', which is not among cells: did you mean 'age'?",
    ),
    ({"separator": ""}, "separator is ''"),
    ({"separator": ";;"}, "separator is ';;'"),
    ({"separator": "a"}, "separator is 'a'"),
    ({"separator": '"'}, "give one sign"),
    ({"encoding": "klingon"}, "encoding is 'klingon', which is not known"),
    ({"encoding": "hex"}, "which is not known"),
    ({"missing": "NA"}, "missing must be a list"),
    ({"missing": ["NA"], "levels": {"sex": ["f", "NA"]}}, "write 'missing' there"),
    ({"aggregate": "yes"}, "aggregate must be true or false"),
]


@pytest.mark.parametrize(("keys", "words"), WRONG, ids=lambda value: str(value)[:40])
def test_what_makes_no_sense_is_refused_in_one_sentence(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as caught:
        Data(cells=("age", "sex"), **keys)
    assert words in str(caught.value)
    assert str(caught.value).startswith(("data.", "[data."))
    assert "\n" not in str(caught.value)


def test_a_recoding_is_told_as_it_was_asked() -> None:
    recode: dict[str, Any] = {
        "age": {"0-17": [0, 17], "18+": [18, 120]},
        "sex": {"other": ["x", "y"], "f": "w"},
    }
    plain = Data(cells=("age", "sex"), recode=recode).model_dump()["recode"]
    assert plain == {**recode, "sex": {"other": ["x", "y"], "f": ["w"]}}
