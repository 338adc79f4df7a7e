"""Brent's method, loaded when first used: most runs never need a root."""

from collections.abc import Callable


def zero(function: Callable[[float], float], low: float, high: float, *, xtol: float, rtol: float) -> float:
    """Return where a continuous function changes sign between low and high."""
    from scipy.optimize import brentq  # noqa: PLC0415

    return float(brentq(function, low, high, xtol=xtol, rtol=rtol))
