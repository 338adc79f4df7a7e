"""Exact rational numbers in a spec: budgets are written in quotes and never rounded."""

import re
import reprlib
from fractions import Fraction
from math import isfinite
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema

# Few digits of exponent: "1e999999999" would fill the memory. What follows from a budget has more digits.
_NUMBER = re.compile(
    r"[+-]?(\d{1,4000}/\d{1,4000}|(\d{1,100}(\.\d{0,100})?|\.\d{1,100})([eE][+-]?\d{1,3})?)", re.ASCII
)

SMALLEST, LARGEST = Fraction(1, 10**300), Fraction(10**300)
"""Floats, which serve for bounds and pictures, have such numbers."""


def parse_rational(value: object) -> Fraction:
    """Return the exact value of a Fraction, an int, or text such as "1", "1/2", "0.25" or "1e-10".

    >>> parse_rational("0.25")
    Fraction(1, 4)
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool):
        raise ValueError(f'is {str(value).lower()}: write a number in quotes, such as "1/2"')  # noqa: TRY004
    if isinstance(value, int):
        if abs(value) > LARGEST:
            raise ValueError('is out of reach: give a number below "1e300"')
        return Fraction(value)
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f'is {value}, which is no budget: write it in quotes and finite, as in "1/2"')
    if isinstance(value, float):
        raise ValueError(  # noqa: TRY004
            f'is the rounded number {value}: write it in quotes, as in "{value}", to keep it exact'
        )
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        try:
            return Fraction(value.strip())
        except ZeroDivisionError:
            raise ValueError(
                f'is {short(value)!r}, a division by zero: write a number such as "1/2"'
            ) from None
    given = repr(short(value)) if isinstance(value, str) else reprlib.repr(value)
    raise ValueError(f'is {given}, which is not a number: write one in quotes, such as "1/2" or "0.25"')


def short(text: str) -> str:
    """Return a text that fits a sentence: a long number without its middle."""
    return text if len(text) <= 40 else f"{text[:18]}...{text[-18:]}"


def positive(value: Fraction) -> Fraction:
    """Return a positive number that floats have, too; raises ValueError for others."""
    if value <= 0:
        raise ValueError(f'is {short(str(value))}: give a positive number such as "1/4"')
    if not SMALLEST <= value <= LARGEST:
        raise ValueError('is out of reach: give a number from "1e-300" to "1e300"')
    return value


Rational = Annotated[
    Fraction,
    BeforeValidator(parse_rational),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string"}),
]
"""A Fraction that a spec writes as text, "1/2", and that no float may become."""

PositiveRational = Annotated[Rational, AfterValidator(positive)]
