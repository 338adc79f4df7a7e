"""Texts come back in the order of their bytes, whether or not memory holds them."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data import identity as module
from holdfast.data.identity import Ordered, identity, identity_of_batches

TEXTS = st.lists(st.text(alphabet="ab\u00e9\U0001f600", max_size=3), max_size=40)


@given(TEXTS, st.integers(1, 7), st.sampled_from([0, 3, 1000]))
def test_texts_are_sorted_as_one(texts: list[str], step: int, at_hand: int) -> None:
    with Ordered(at_hand) as ordered:
        for start in range(0, len(texts), step):
            ordered.add(pl.Series(texts[start : start + step], dtype=pl.String))
        found = [text for chunk in ordered.chunks() for text in chunk.to_list()]
    assert found == sorted(texts, key=str.encode)


def test_nothing_is_nothing() -> None:
    with Ordered() as ordered:
        assert [len(chunk) for chunk in ordered.chunks()] == [0]


@pytest.mark.parametrize("at_hand", [1, 50, 10**6])
def test_the_identity_of_a_file_does_not_depend_on_its_batches(
    at_hand: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.DataFrame({"a": [str(k % 7) for k in range(200)], "b": range(200), "c": [None, 1.5] * 100})
    whole = identity(frame.get_columns())
    monkeypatch.setattr(module.Ordered.__init__, "__defaults__", (at_hand,))
    parts = [frame[start : start + 30].get_columns() for start in range(0, 200, 30)]
    assert identity_of_batches(parts) == whole
    assert identity_of_batches(reversed(parts)) == whole
    assert identity_of_batches(parts[:-1]) != whole
