"""Quoted names run nowhere, and none is mistaken for another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.levels import formulas, quoted, runs


@pytest.mark.parametrize("text", ["=1", "+a", "-a", "@a", "\t=1", "\r=1", "\n=1", "-2+3", "\uff1d1", "=-3"])
def test_formulas_are_seen_and_quoted(text: str) -> None:
    assert runs(text)
    assert quoted(text) == "'" + text
    assert not runs(quoted(text))


@pytest.mark.parametrize("text", ["", "a=1", "-3", "+1.5", "-", "18-24", "65+", "'=1", "a@b"])
def test_numbers_and_words_are_none(text: str) -> None:
    assert not runs(text)
    assert formulas([text, "=1"]) == ["=1"]


@given(st.lists(st.text("=+-@'\ta1", max_size=4), unique=True))
def test_different_names_stay_different(names: list[str]) -> None:
    written = [quoted(name) for name in names]
    assert len(set(written)) == len(names)
    assert [text[1:] if text.startswith("'") else text for text in written] == names
