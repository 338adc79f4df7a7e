"""Sets of whole numbers as runs, against Python's own sets."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.runs import Runs

SETS = st.frozensets(st.integers(0, 30))


@given(SETS)
def test_they_are_the_set(numbers: frozenset[int]) -> None:
    runs = Runs.of(numbers)
    assert list(runs) == sorted(numbers)
    assert (len(runs), bool(runs)) == (len(numbers), bool(numbers))
    assert np.flatnonzero(runs.marks(31)).tolist() == sorted(numbers)
    assert runs.within(max(numbers, default=-1) + 1)
    assert not numbers or not runs.within(max(numbers))


@given(SETS, SETS)
def test_they_have_one_form(one: frozenset[int], other: frozenset[int]) -> None:
    mine, theirs = Runs.of(one), Runs.of(other)
    assert (mine == theirs) == (one == other) == (mine.pairs == theirs.pairs)
    again = Runs.read(json.loads(json.dumps(mine.pairs)))
    assert again == mine
    assert hash(again) == hash(mine)
    assert mine != one
