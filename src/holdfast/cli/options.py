"""Numbers given as options."""

from fractions import Fraction

from holdfast.errors import SpecError
from holdfast.spec.rational import parse_rational


def number(option: str, text: str) -> Fraction:
    """Return a positive number from an option."""
    try:
        value = parse_rational(text)
    except ValueError:
        raise SpecError(f"{option} is {text!r}: give a number such as 1, 1/2 or 1e-10.") from None
    if value <= 0:
        raise SpecError(f"{option} is {text}: give a positive number.")
    return value


def optional(option: str, text: str | None) -> Fraction | None:
    """Return a positive number from an option that may be left out."""
    return None if text is None else number(option, text)


def real(option: str, text: str) -> float:
    """Return a positive number from an option as a float."""
    try:
        return float(number(option, text))
    except OverflowError:
        raise SpecError(f"{option} is {text}, which is too large: give a number such as 1.") from None
