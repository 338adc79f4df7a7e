"""Numbers with their nouns, and exact numbers for people."""

from decimal import Context, Decimal
from fractions import Fraction

DECIMALS = 12
"""Digits after the point of a decimal that people can read."""
SMALL = Fraction(1, 10**4)
"""Below it zeros are hard to count: 1e-10."""
PLAIN = 100
"""Fractions with a smaller denominator are how people write them."""
LONG = 10**20
"""A fraction with a larger numerator or denominator tells nobody anything."""


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun, in the singular or the plural.

    >>> counted(1, "record"), counted(1200, "record"), counted(0, "entry", "entries")
    ('1 record', '1,200 records', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def rational(value: Fraction) -> str:
    """Return a rational for people: a decimal, and beside it the fraction where that tells more.

    >>> [rational(Fraction(text)) for text in ("2", "64/25", "999988419/1000000000", "1/3")]
    ['2', '2.56 (64/25)', '0.999988419', '0.333333 (1/3)']
    """
    if (whole := decimal(value)) is not None:
        return f"{whole} ({value})" if 1 < value.denominator < PLAIN else whole
    rounded = Context(prec=6).divide(Decimal(value.numerator), Decimal(value.denominator))
    near = f"{rounded.normalize():g}"
    return f"{near} ({value})" if max(abs(value.numerator), value.denominator) < LONG else f"about {near}"


def decimal(value: Fraction) -> str | None:
    """Return the decimal that a rational equals; None where it has none, or a long one.

    >>> [decimal(Fraction(text)) for text in ("1/8", "1000000", "1/100000", "1/3")]
    ['0.125', '1000000', '1e-05', None]
    """
    if 0 < abs(value) < SMALL:
        short = f"{float(value):g}"
        return short if Fraction(short) == value else None
    scaled = value * 10**DECIMALS
    if scaled.denominator > 1 or abs(value) >= LONG:
        return None
    digits = f"{abs(scaled.numerator):0{DECIMALS + 1}d}"
    text = f"{digits[:-DECIMALS]}.{digits[-DECIMALS:]}".rstrip("0").rstrip(".")
    return f"-{text}" if value < 0 else text
