from fractions import Fraction

import pytest

from holdfast.data.levels import number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18", Fraction(18)),
        ("-2.50", Fraction(-5, 2)),
        ("007", Fraction(7)),
        ("18-24", None),
        ("", None),
        ("nan", None),
        ("1e3", None),
        ("1_000", None),
        (" 1", None),
        ("٣", None),
    ],
)
def test_only_plain_digits_are_numbers(text: str, value: Fraction | None) -> None:
    assert number(text) == value
