"""Going up a concave function: step by step, each all of its way or to near the top of its line."""

from collections.abc import Callable
from typing import Protocol, TypeVar

STEPS = 300
TOLERANCE, LOOSE, IDLE = 1e-14, 1e-9, 3
"""Errors at which a climb ends, or ends once so many steps have not halved the least one."""
TRIALS = 40
SLOPE = 1e-4
"""The part of the expected gain that a step must reach."""
HALF = 0.5
"""A slope that has fallen to this part of the first is near enough to the top."""
NOISE = 1e-12
"""Rounding, relative to the value."""


class Place(Protocol):
    """Where a climb is."""

    @property
    def error(self) -> float:
        """How far it is from what is to be kept."""
        ...


PlaceT = TypeVar("PlaceT", bound=Place)


def climbed(first: PlaceT, onward: Callable[[PlaceT], PlaceT], steps: int = STEPS) -> PlaceT:
    """Return the place with the least error on the way up, until that is small or falls no more."""
    now = best = first
    idle = 0
    for _ in range(steps):
        if now.error <= TOLERANCE or idle >= IDLE:
            break
        now = onward(now)
        idle = 0 if now.error < 0.5 * best.error else idle + (now.error < LOOSE)
        best = now if now.error < best.error else best
    return best


def length(start: float, value: float, at: Callable[[float], tuple[float, float]]) -> float:
    """Return the length for the first slope and value; ``at`` returns slope and value at a length.

    Slopes decide where rounding hides the gain.
    """
    low, high, tried = (0.0, start), (1.0, 0.0), 1.0
    for _ in range(TRIALS):
        slope, reached = at(tried)
        hidden = abs(reached - value) <= NOISE * abs(value)
        if slope >= 0 and (slope <= HALF * start or tried == 1.0):
            break
        if slope < 0 and (reached > value + SLOPE * tried * start or (hidden and -slope <= HALF * start)):
            break
        if slope < 0:
            high = (tried, slope)
        else:
            low = (tried, slope)
        # a chord to the top, kept away from both ends
        chord = low[0] + (high[0] - low[0]) * low[1] / (low[1] - high[1])
        margin = 0.1 * (high[0] - low[0])
        tried = min(max(chord, low[0] + margin), high[0] - margin)
    return tried
