"""An edit changes what it is for: values as asked, every comment and every other line as it was."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.spec.example import EXAMPLE_SPEC, FULL_SPEC
from holdfast.studio.edits import with_block, with_value, without_block, words
from holdfast.system.errors import SpecError

SPECS = {"example": EXAMPLE_SPEC, "full": FULL_SPEC}


def comments(text: str) -> list[str]:
    return [line.partition("#")[2] for line in text.splitlines() if "#" in line]


@pytest.mark.parametrize("text", SPECS.values(), ids=SPECS)
def test_a_value_is_replaced_and_its_comment_stays(text: str) -> None:
    new = with_value(text, "privacy", "epsilon", "1/3")
    assert tomllib.loads(new)["privacy"]["epsilon"] == "1/3"
    changed = [(a, b) for a, b in zip(text.split("\n"), new.split("\n"), strict=True) if a != b]
    assert len(changed) == 1
    assert comments(new) == comments(text)


@pytest.mark.parametrize("text", SPECS.values(), ids=SPECS)
def test_an_invariant_comes_and_goes_without_a_trace(text: str) -> None:
    new = with_block(text, "invariants", {"margin": ["county", "age"]})
    assert tomllib.loads(new)["invariants"][-1] == {"margin": ["county", "age"]}
    assert comments(new) == comments(text)
    assert without_block(new, "invariants", len(tomllib.loads(text)["invariants"])) == text


@pytest.mark.parametrize("text", SPECS.values(), ids=SPECS)
def test_any_invariant_can_be_taken_out(text: str) -> None:
    every = tomllib.loads(text)["invariants"]
    for number in range(len(every)):
        new = without_block(text, "invariants", number)
        assert tomllib.loads(new)["invariants"] == every[:number] + every[number + 1 :]
    for _ in every:
        text = without_block(text, "invariants", 0)
    assert "invariants" not in tomllib.loads(text)
    assert with_block(text, "invariants", {"total": True})


def test_sections_appear_where_they_are_missing() -> None:
    text = '# mine\ndata.path = "x.csv"\n'
    assert tomllib.loads(with_value(text, "privacy", "unit", "record"))["privacy"] == {"unit": "record"}
    text = with_block("", "accuracy", {"marginal": ["a"], "within": 5})
    assert tomllib.loads(with_block(text, "invariants", {"total": True})) == {
        "accuracy": [{"marginal": ["a"], "within": 5}],
        "invariants": [{"total": True}],
    }


@pytest.mark.parametrize(
    "text", ['privacy = { unit = "" }\n', 'privacy.unit = ""\n', "[data]\nprivacy = 1\n[privacy.x]\ny = 1\n"]
)
def test_what_is_written_otherwise_is_edited_truly_or_refused(text: str) -> None:
    try:
        new = with_value(text, "privacy", "unit", "record")
    except SpecError as error:
        assert "written" in str(error)  # noqa: PT017
    else:
        assert tomllib.loads(new)["privacy"]["unit"] == "record"


def test_brackets_and_signs_in_texts_are_no_sections() -> None:
    text = '[data]\ncells = [\n  "[privacy]", # [mechanism]\n  "a # b",\n]   # end\n[privacy]\nunit = "a"\n'
    new = with_value(with_value(text, "data", "cells", ["x"]), "privacy", "unit", "b # c")
    assert new == '[data]\ncells = ["x"]   # end\n[privacy]\nunit = "b # c"\n'


LEVEL = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(st.dictionaries(LEVEL, st.one_of(LEVEL, st.lists(LEVEL, max_size=3)), max_size=3))
def test_any_names_and_levels_are_written_as_they_are(where: dict[str, object]) -> None:
    assert tomllib.loads(f"where = {words(where)}")["where"] == where
    new = with_block(EXAMPLE_SPEC, "invariants", {"where": where})
    assert tomllib.loads(new)["invariants"][-1] == {"where": where}
    assert without_block(new, "invariants", 2) == EXAMPLE_SPEC
