"""Invariants come and go wherever they are written: values as asked, every other line as it was."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.studio.edits import words
from holdfast.studio.entries import (
    elements,
    with_element,
    with_entry,
    without_element,
    without_entry,
)

NEW = {"where": {"sex": "f]", "age": ["a,", "b"]}}
ONE = {
    "sections": '[data]\nx = 1\n\n[[invariants]]   # why\ntotal = true\n\n[privacy]\nunit = ""\n',
    "list": 'invariants = [{ total = true }, { margin = ["a"] }] # why\n[data]\nx = 1\n',
    "lines": "invariants = [\n  # first\n  { total = true }, # one\n"
    '  { margin = ["a"] } # two\n]\n[data]\nx = 1\n',
    "ended": 'invariants = [\n\t{ total = true }, # "one, [\n\t{ margin = ["a"] },\n]\n',
    "empty": "invariants = [ # none\n]\n",
    "none": "[data]\nx = 1\n",
}
TABLES = (
    '[[tables]]\nname = "a"\ncells = ["x"]   # of a\n\n'
    '[[tables]]\nname = "b"\ninvariants = [{ total = true }]\n\n[tables.data]\npath = "b.csv"\n\n'
    '[[tables]]\nname = "c"\n\n[[tables.invariants]]   # first\ntotal = true\n\n'
    '[[tables.invariants]]   # second\nmargin = ["x"]\n\n'
    '[[tables]]\nname = "d"\n\n[[tables.invariants]]   # of d\ntotal = true\n\n[budget]\nn = 1\n'
)


def of(text: str, table: int | None = None) -> list[Any]:
    values = tomllib.loads(text)
    return list((values if table is None else values["tables"][table]).get("invariants", []))


def comments(text: str) -> list[str]:
    return [line.rpartition("#")[2] for line in text.splitlines() if "#" in line]


@pytest.mark.parametrize("text", ONE.values(), ids=ONE)
def test_one_comes_and_goes_without_a_trace(text: str) -> None:
    before = of(text)
    new = with_entry(text, "invariants", NEW)
    assert of(new) == [*before, NEW]
    assert set(comments(text)) <= set(comments(new))
    back = without_entry(new, "invariants", len(before))
    assert of(back) == before
    assert comments(back) == comments(text)
    assert back in (text, text.replace("} # two", "}, # two"))  # a comma may stay, where one may


@pytest.mark.parametrize("text", ONE.values(), ids=ONE)
def test_any_can_be_taken_out(text: str) -> None:
    before = of(text)
    for place in range(len(before)):
        assert of(without_entry(text, "invariants", place)) == before[:place] + before[place + 1 :]
    for _ in before:
        text = without_entry(text, "invariants", 0)
    assert of(with_entry(text, "invariants", NEW)) == [NEW]


@pytest.mark.parametrize("table", range(4))
def test_those_of_one_table_leave_the_others_alone(table: int) -> None:
    others = [place for place in range(4) if place != table]
    new = with_entry(TABLES, "invariants", NEW, table)
    assert of(new, table) == [*of(TABLES, table), NEW]
    assert [of(new, place) for place in others] == [of(TABLES, place) for place in others]
    assert set(comments(TABLES)) <= set(comments(new))
    assert of(without_entry(new, "invariants", len(of(TABLES, table)), table), table) == of(TABLES, table)
    for place in range(len(of(TABLES, table))):
        less = without_entry(TABLES, "invariants", place, table)
        assert of(less, table) == of(TABLES, table)[:place] + of(TABLES, table)[place + 1 :]
        assert [of(less, one) for one in others] == [of(TABLES, one) for one in others]


VALUE = st.recursive(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=6), st.booleans(), st.integers(-9, 9)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text("ab]", max_size=2), inner)),
    max_leaves=4,
)
BETWEEN = st.sampled_from(["", " ", "\n  ", " # a, [ b\n", "\n\t# c ]\n\n "])


@given(st.lists(VALUE, max_size=4), BETWEEN, BETWEEN, BETWEEN, st.booleans(), VALUE)
def test_elements_are_told_apart_in_any_list(
    values: list[Any], before: str, after: str, last: str, ended: bool, new: Any
) -> None:
    """Strings with brackets, comments with commas, lines as anybody breaks them."""
    comma = "," if ended and values else ""
    raw = f"[{before}{f'{after},{before}'.join(map(words, values))}{after if comma else ''}{comma}{last}]"
    assert tomllib.loads(f"x = {raw}")["x"] == values
    assert [tomllib.loads(f"x = {raw[a:b]}")["x"] for a, b in elements(raw)] == values
    assert tomllib.loads(f"x = {with_element(raw, words(new))}")["x"] == [*values, new]
    for place in range(len(values)):
        less = without_element(raw, place)
        assert tomllib.loads(f"x = {less}")["x"] == values[:place] + values[place + 1 :]
