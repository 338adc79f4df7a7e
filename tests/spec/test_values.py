import pytest

from holdfast.spec.values import Range, levels_or_range, parse_where


def test_one_level_some_levels_and_a_range() -> None:
    where = parse_where({"sex": "female", "county": ["Alpha", "Beta"], "age": [18, 120.5]})
    assert where == {"sex": ("female",), "county": ("Alpha", "Beta"), "age": Range(18, 120.5)}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5, "level in quotes"),
        (True, "level in quotes"),
        ([], "at least one level"),
        ([1, 2, 3], "two numbers"),
        (["a", 1], "levels in quotes"),
        ([True, False], "levels in quotes"),
        ([1, float("inf")], "two numbers"),
        ([9, 1], "lower number first"),
    ],
)
def test_refuses_what_is_no_choice(value: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        levels_or_range(value)


@pytest.mark.parametrize("value", ["sex", {}, 5, {"age": 5}])
def test_refuses_what_is_no_selection(value: object) -> None:
    with pytest.raises(ValueError, match=r"write|name"):
        parse_where(value)
