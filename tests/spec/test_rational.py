from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from holdfast.spec.values import PositiveRational, Rational, parse_rational

ADAPTER: TypeAdapter[Fraction] = TypeAdapter(Rational)


@pytest.mark.parametrize(
    ("given_", "exact"),
    [
        (Fraction(1, 3), Fraction(1, 3)),
        (2, Fraction(2)),
        ("1", Fraction(1)),
        ("1/2", Fraction(1, 2)),
        ("0.25", Fraction(1, 4)),
        (".5", Fraction(1, 2)),
        ("1e-10", Fraction(1, 10**10)),
        (" 1/4 ", Fraction(1, 4)),
        ("-3", Fraction(-3)),
    ],
)
def test_reads_exactly(given_: object, exact: Fraction) -> None:
    assert ADAPTER.validate_python(given_) == exact


@pytest.mark.parametrize(
    "bad",
    [True, "", "one", "nan", "inf", "1/0", "1//2", "1_000", "1e999999999", None, [1], "9" * 5000],
)
def test_refuses_what_is_no_number(bad: object) -> None:
    with pytest.raises(ValidationError):
        ADAPTER.validate_python(bad)


@pytest.mark.parametrize("bad", [0.5, float("nan"), float("inf")])
def test_a_float_is_to_be_quoted(bad: float) -> None:
    with pytest.raises(ValueError, match="write it in quotes"):
        parse_rational(bad)


@pytest.mark.parametrize("bad", ["0", "-1", "1e-301", "1e301"])
def test_positive_numbers_are_such_as_floats_have(bad: str) -> None:
    positive: TypeAdapter[Fraction] = TypeAdapter(PositiveRational)
    assert positive.validate_python("1e-300") == Fraction(1, 10**300)
    with pytest.raises(ValidationError, match=r"give a (positive )?number"):
        positive.validate_python(bad)


@given(st.fractions())
def test_round_trips_as_text(value: Fraction) -> None:
    text = ADAPTER.dump_python(value, mode="json")
    assert text == str(value)
    assert ADAPTER.validate_python(text) == value


def test_what_follows_from_many_digits_round_trips() -> None:
    value = parse_rational("1/" + "7" * 4000) / 1
    assert ADAPTER.validate_python(str(value)) == value
