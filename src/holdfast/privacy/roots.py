"""Rational bounds on square roots, so that budgets stay exact.

Both are the root itself where it is rational. Otherwise they have twelve significant digits more than
the root's size asks for, so that printed parameters stay readable.

Brent's method, loaded when first used: most runs never need a root.
"""

from collections.abc import Callable
from fractions import Fraction
from math import floor, isqrt

DIGITS = 12


def floor_root(square: Fraction) -> Fraction:
    """Return a rational at most sqrt(square).

    >>> floor_root(Fraction(9, 4)), float(floor_root(Fraction(2)))
    (Fraction(3, 2), 1.414213562373)
    """
    return _root(square)[0]


def ceil_root(square: Fraction) -> Fraction:
    """Return a rational at least sqrt(square).

    >>> ceil_root(Fraction(9, 4)), float(ceil_root(Fraction(2)))
    (Fraction(3, 2), 1.414213562374)
    """
    root, step = _root(square)
    return root + step


def _root(square: Fraction) -> tuple[Fraction, Fraction]:
    """Return floor(s sqrt(square)) / s for a power of ten s, and 1 / s; the root and 0 if rational."""
    p, q = square.numerator, square.denominator
    if isqrt(p) ** 2 == p and isqrt(q) ** 2 == q:
        return Fraction(isqrt(p), isqrt(q)), Fraction(0)
    small = max(0, (len(str(q)) - len(str(p)) + 1) // 2)  # leading zeros of the root
    scale = 10 ** (DIGITS + small)
    return Fraction(isqrt(p * scale * scale // q), scale), Fraction(1, scale)


def down(value: float) -> Fraction:
    """Return a rational a little below a float: what rounds is more than its error."""
    return Fraction(floor(Fraction(value) * (1 - Fraction(1, 10**8)) * 10**DIGITS), 10**DIGITS)


def zero(function: Callable[[float], float], low: float, high: float, *, xtol: float, rtol: float) -> float:
    """Return where a continuous function changes sign between low and high."""
    from scipy.optimize import brentq  # noqa: PLC0415

    return float(brentq(function, low, high, xtol=xtol, rtol=rtol))
