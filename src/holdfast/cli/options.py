"""Numbers given as options."""

from fractions import Fraction

from holdfast.errors import SpecError
from holdfast.spec.rational import LARGEST, SMALLEST, parse_rational, short


def number(option: str, text: str) -> Fraction:
    """Return a positive number from an option."""
    try:
        value = parse_rational(text)
    except ValueError:
        raise SpecError(f"{option} is {short(text)!r}: give a number such as 1, 1/2 or 1e-10.") from None
    if value <= 0:
        raise SpecError(f"{option} is {short(text)}: give a positive number.")
    if not SMALLEST <= value <= LARGEST:
        raise SpecError(f"{option} is {short(text)}, out of reach: give a number from 1e-300 to 1e300.")
    return value


def optional(option: str, text: str | None) -> Fraction | None:
    """Return a positive number from an option that may be left out."""
    return None if text is None else number(option, text)


def real(option: str, text: str) -> float:
    """Return a positive number from an option as a float."""
    return float(number(option, text))
