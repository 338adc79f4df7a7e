"""Distances between points with rational coordinates, or between records of any kind.

Distances are exact: those in l2 are compared by their squares, and a root is rounded up at the end.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from holdfast.errors import GuaranteeError
from holdfast.privacy.roots import ceil_root

Metric = Literal["records", "l1", "l2", "linf"]
Point = tuple[Fraction | str, ...]


@dataclass(frozen=True)
class Measure:
    """A metric in a form that is rational and increases with it."""

    name: Metric
    words: str
    between: Callable[[Point, Point], Fraction]

    def radius(self, found: Fraction) -> Fraction:
        """Return the distance that is meant, rounded up where it is irrational."""
        return ceil_root(found) if self.name == "l2" else found

    def exact(self, found: Fraction) -> bool:
        """Whether that is not rounded."""
        return self.name != "l2" or ceil_root(found) ** 2 == found


def _records(one: Point, other: Point) -> Fraction:
    return Fraction(sum(x != y for x, y in zip(one, other, strict=True)))


def _differences(one: Point, other: Point) -> list[Fraction]:
    found = []
    for x, y in zip(one, other, strict=True):
        if isinstance(x, str) or isinstance(y, str):
            raise GuaranteeError(
                f"{x if isinstance(x, str) else y!r} is not a number: give numbers, or metric = 'records'."
            )
        found.append(abs(x - y))
    return found


MEASURES: Mapping[Metric, Measure] = {
    "records": Measure("records", "records", _records),
    "l1": Measure("l1", "sum of absolute differences", lambda x, y: sum(_differences(x, y), Fraction(0))),
    "l2": Measure(
        "l2", "Euclidean distance", lambda x, y: sum((gap**2 for gap in _differences(x, y)), Fraction(0))
    ),
    "linf": Measure(
        "linf", "largest absolute difference", lambda x, y: max(_differences(x, y), default=Fraction(0))
    ),
}


def table(measure: Measure, one: Sequence[Point], other: Sequence[Point]) -> list[list[Fraction]]:
    """Return the distances between two lists of points; GuaranteeError where they are of different sizes."""
    if len({len(point) for point in (*one, *other)}) > 1:
        raise GuaranteeError("the points have different numbers of coordinates: give as many for each.")
    return [[measure.between(x, y) for y in other] for x in one]
