"""Numbers agree with their nouns in all that is said."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from holdfast.system.text import counted, decimal, rational

SOURCE = Path(__file__).parents[2] / "src" / "holdfast"


def test_one_and_many() -> None:
    assert [counted(n, "row") for n in (0, 1, 2, 1000)] == ["0 rows", "1 row", "2 rows", "1,000 rows"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("3", "3"),
        ("1/2", "0.5 (1/2)"),
        ("64/25", "2.56 (64/25)"),
        ("1/1000", "0.001"),
        ("999988419/1000000000", "0.999988419"),
        ("2/3", "0.666667 (2/3)"),
        ("-2/3", "-0.666667 (-2/3)"),
        (f"1/{10**25}", "1e-25"),
        ("1/100000", "1e-05"),
        (f"{10**30}/7", "about 1.42857e+29"),
    ],
)
def test_a_rational_for_people(value: str, said: str) -> None:
    assert rational(Fraction(value)) == said


@pytest.mark.parametrize("value", ["0", "7", "-1/8", "1/3", "123456789/1000000", "1/4096", f"1/{2**13}"])
def test_a_decimal_is_the_number_itself(value: str) -> None:
    said = decimal(Fraction(value))
    assert (said is None) == (value in ("1/3", f"1/{2**13}"))
    assert said is None or Fraction(said) == Fraction(value)


def test_no_command_puts_a_plural_behind_any_number() -> None:
    """A number in braces before "records" could be 1; the only ones left have words before it or a bound."""
    found = [
        f"{path.name}: {line.strip()}"
        for path in (SOURCE / "cli").glob("*.py")
        if path.name != "postprocess.py"  # of 200 draws, or none
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\{[^{}]*\} (records|cells|rows|draws|numbers)\b", line)
    ]
    assert found == []
