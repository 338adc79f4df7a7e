"""Selections of neighbouring levels are called by their range, and only these."""

import pytest

from holdfast.data.levels import range_words, span

AGES = ["under 5", "5 to 9", "10-17", "18-19", "20", "21", "22-64", "65-84", "85+"]
NUMBERS = [str(age) for age in range(100)]


@pytest.mark.parametrize(
    ("chosen", "levels", "words"),
    [
        (AGES[3:], AGES, "18 or over"),
        (AGES[3:7], AGES, "18 to 64"),
        (AGES[:3], AGES, "17 or under"),
        (AGES[::-1][:6], AGES, "18 or over"),
        (NUMBERS[18:], NUMBERS, "18 or over"),
        (NUMBERS[18:65], NUMBERS, "18 to 64"),
        (AGES, AGES, None),
        (AGES[3:4], AGES, None),
        ([*AGES[3:5], *AGES[6:]], AGES, None),
        (["a", "b"], ["a", "b", "c"], None),
        (["10-20", "15-30"], ["10-20", "15-30", "40"], None),
        (["1", "1.0"], ["0", "1", "1.0"], None),
    ],
)
def test_neighbours_are_a_range(chosen: list[str], levels: list[str], words: str | None) -> None:
    assert range_words(chosen, levels) == words


def test_what_is_no_range_covers_nothing() -> None:
    assert [span(level) for level in ("", "old", "5-", "9-3", "1e3", "\u0661-\u0662")] == [None] * 6
