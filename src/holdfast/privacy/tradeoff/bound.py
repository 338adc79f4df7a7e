"""Which side of the truth a result is on."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Literal, TypeVar

Certainty = Literal["exact", "lower", "upper"]

Number = TypeVar("Number", float, Fraction)


@dataclass(frozen=True)
class Bound(Generic[Number]):
    """A number, the side of the truth it is on, and how it was found.

    ``lower``: the truth is at least ``value``; ``upper``: at most; ``exact``: equal, floating-point
    rounding aside. An epsilon, delta, rho or mu is a valid privacy claim unless it is ``lower``.
    """

    value: Number
    certainty: Certainty
    method: str


def join(*certainties: Certainty) -> Certainty:
    """Return the certainty of a result that rises with each of its ingredients.

    >>> join("exact", "lower", "lower")
    'lower'
    """
    sides = set(certainties) - {"exact"}
    if len(sides) > 1:
        raise ValueError("a lower and an upper bound together bound nothing: give bounds of one side.")
    return sides.pop() if sides else "exact"
