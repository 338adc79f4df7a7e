"""Curves on axes, in percent of the room they are given: their lines stretch, their words do not."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, floor, log10

from holdfast.mechanisms.swapping.bounds import LEAST_RATE, EpsilonBound, epsilon, turns
from holdfast.system.text import counted


@dataclass(frozen=True)
class Mark:
    """A place on an axis, or in a picture, with its words."""

    x: float
    y: float
    words: str = ""


@dataclass(frozen=True)
class Curve:
    """A line by its path in a room of 100 by 100, and what it is called where it ends."""

    path: str
    kind: str
    name: Mark | None = None


@dataclass(frozen=True)
class Plot:
    """Curves of epsilon by swap rate, with the numbers of the axes."""

    curves: Sequence[Curve]
    across: Sequence[Mark]
    up: Sequence[Mark]
    top: float

    def at(self, rate: Fraction, value: Fraction) -> Mark:
        """Return where a point is."""
        return Mark(100 * float(rate), 100 - 100 * float(value) / self.top)


OTHERS = (10, 1_000, 100_000)
"""Sizes of strata that are drawn beside the one that is asked about."""
NAMED_AT = Fraction(1, 4)


def swap_plot(size: int, highest: Fraction) -> Plot:
    """Return epsilon by swap rate, by both bounds for a stratum, and for some other sizes."""
    sizes = [one for one in OTHERS if not size / 4 <= one <= size * 4]
    top = float(max(highest, *(epsilon(one, Fraction(1, 100)) for one in (size, *sizes)))) * 1.05
    step = _round(top / 5)
    curves = [_curve(one, "slides", "other", top) for one in sizes]
    curves += [_curve(size, "slides", "own", top), _curve(size, "tight", "tight", top)]
    up = [Mark(0, 100 - 100 * k * step / top, f"{k * step:g}") for k in range(floor(top / step) + 1)]
    across = [Mark(float(tenth * 20), 100, f"{20 * tenth} %") for tenth in range(6)]
    return Plot(curves, across, up, top)


def _curve(size: int, bound: EpsilonBound, kind: str, top: float) -> Curve:
    """Return a curve at steps of the logarithm of the odds: it bends most near 0 and 1; and at its turns."""
    steps = sorted({*(step / 8 for step in range(-64, 65)), *turns(size, bound)})
    points = []
    for log_odds in steps:
        rate = min(max(Fraction(1 / (1 + exp(-log_odds))), LEAST_RATE), 1 - LEAST_RATE)
        points.append((100 * float(rate), 100 - 100 * min(float(epsilon(size, rate, bound)), top) / top))
    path = "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)
    height = 100 - 100 * float(epsilon(size, NAMED_AT, bound)) / top
    name = None if bound == "tight" else Mark(100 * float(NAMED_AT), height, counted(size, "record"))
    return Curve(path, kind, name)


def _round(least: float) -> float:
    """Return 1, 2 or 5 times a power of ten, not below a number.

    >>> _round(3.1), _round(0.12)
    (5.0, 0.2)
    """
    power = 10.0 ** floor(log10(least))
    return next(times * power for times in (1.0, 2.0, 5.0, 10.0) if ceil(least / power * 1e9) <= times * 1e9)
