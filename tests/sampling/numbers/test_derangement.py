from itertools import permutations

import numpy as np
import pytest
from tests.goodness import LEVEL, p_value

from holdfast.errors import SamplingError
from holdfast.sampling.entropy import SeededEntropy, SystemEntropy, Words
from holdfast.sampling.numbers import derangement as module
from holdfast.sampling.numbers.derangement import derangement, derangement_count, derangements


def all_derangements(k: int) -> list[tuple[int, ...]]:
    return [p for p in permutations(range(k)) if all(i != p[i] for i in range(k))]


def test_counts_are_those_of_the_enumeration() -> None:
    assert [derangement_count(k) for k in range(8)] == [len(all_derangements(k)) for k in range(8)]
    assert derangement_count(30) == round(derangement_count(29) * 30 + 1)
    with pytest.raises(ValueError, match="no derangements"):
        derangement_count(-1)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("packed_bits", [21, 0])
def test_every_derangement_is_equally_likely(
    k: int, packed_bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PACKED_BITS", packed_bits)
    rows = derangements(k, SeededEntropy(1), 50_000)
    listed = all_derangements(k)
    assert set(map(tuple, rows.tolist())) == set(listed)
    if k > 2:
        assert p_value(rows, {p: 1 / len(listed) for p in listed}) > LEVEL


def test_a_uniform_permutation_would_be_noticed() -> None:
    # Level: without one of the 44 derangements of five the test must fail.
    listed = all_derangements(5)
    rows = derangements(5, SeededEntropy(1), 50_000)
    rows = rows[(rows != listed[0]).any(axis=1)]
    assert p_value(rows, {p: 1 / len(listed) for p in listed}) < LEVEL / 1000


class _Coarse:
    """Keys of three bits: ties in most rows."""

    secure = False

    def __init__(self, seed: int) -> None:
        self._source = SeededEntropy(seed)

    def words(self, size: int) -> Words:
        return self._source.words(size) & np.uint64(7 << 61)


@pytest.mark.parametrize("packed_bits", [21, 0])
def test_ties_leave_the_law_alone(packed_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKED_BITS", packed_bits)
    listed = all_derangements(4)
    rows = derangements(4, _Coarse(1), 20_000)
    assert p_value(rows, {p: 1 / len(listed) for p in listed}) > LEVEL


def test_a_long_derangement_moves_everything() -> None:
    k = 1_000_000
    moved = derangement(k, SystemEntropy())
    assert (moved != np.arange(k)).all()
    assert np.array_equal(np.sort(moved), np.arange(k))


def test_nothing_has_one_derangement_and_one_thing_has_none() -> None:
    assert derangements(0, SeededEntropy(1), 3).shape == (3, 0)
    assert derangements(4, SeededEntropy(1), 0).shape == (0, 4)
    with pytest.raises(SamplingError, match="no derangement"):
        derangement(1, SeededEntropy(1))
