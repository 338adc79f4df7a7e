"""A law with finitely many values, in exact rationals.

W_infinity on the line: the largest gap between the quantiles of two laws.

Of all couplings the one that joins equal quantiles has the smallest largest distance [theory, 7], so

    W_infinity(p, q) = max over t in (0, 1] of | F_p^-(t) - F_q^-(t) |.

Both quantile functions are constant between the levels of both distribution functions, so finitely many t
are enough. [partially-private-data, Equation 35] takes the levels of one of the two alone. That is enough
where the other law is the larger one at every level, and else can miss the largest gap [theory, 7].

W_infinity on a finite metric space: the smallest radius within which all mass finds a place.

A coupling that has no pair further apart than r exists exactly when a flow from the values of one law to
those of the other, along pairs at most r apart, carries all mass. By Strassen's theorem, which is here that
of the largest flow and the smallest cut [strassen1965], it fails exactly when there is a set U of values
with more mass than the other law has within r of U. So the answer has two witnesses: a coupling at the
radius, and such a set for every smaller one. Weights are whole numbers, so that both are exact.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Generic, TypeVar

from holdfast.system.errors import GuaranteeError
from holdfast.system.text import visible

Value = TypeVar("Value")


@dataclass(frozen=True)
class DiscreteLaw(Generic[Value]):
    """Values with their probabilities, which are positive and sum to 1."""

    values: tuple[Value, ...]
    probabilities: tuple[Fraction, ...]

    @classmethod
    def of(
        cls, values: Iterable[Value], probabilities: Iterable[Fraction], name: str = "the law"
    ) -> "DiscreteLaw[Value]":
        """Return a law without the values that it gives no chance; GuaranteeError where it is none."""
        listed, chances = tuple(values), tuple(probabilities)
        if len(listed) != len(chances):
            raise GuaranteeError(
                f"{name} has {len(listed):,} values and {len(chances):,} probabilities: give one for each."
            )
        for value, chance in zip(listed, chances, strict=True):
            if chance < 0:
                raise GuaranteeError(
                    f"{name} gives {visible(str(value))} the negative probability {chance}: correct it."
                )
        (weights,), whole = common_weights(chances)
        if (total := Fraction(sum(weights), whole)) != 1:
            raise GuaranteeError(
                f"the probabilities of {name} sum to {total}, not to 1: correct them, say as fractions."
            )
        if len(set(listed)) < len(listed):
            raise GuaranteeError(f"{name} lists a value twice: give each its probability once.")
        kept = [(value, chance) for value, chance in zip(listed, chances, strict=True) if chance]
        return cls(tuple(value for value, _ in kept), tuple(chance for _, chance in kept))


def common_weights(*laws: Sequence[Fraction]) -> tuple[list[list[int]], int]:
    """Return all numbers as whole ones over one denominator, and that denominator."""
    whole = lcm(*{chance.denominator for law in laws for chance in law})
    return [[chance.numerator * (whole // chance.denominator) for chance in law] for law in laws], whole


WeightedPairs = Sequence[tuple[int, int]]


def largest_quantile_gap(one: DiscreteLaw[Fraction], other: DiscreteLaw[Fraction]) -> Fraction:
    """Return W_infinity of two laws on the line, exactly.

    >>> fair = DiscreteLaw.of((Fraction(0), Fraction(1)), (Fraction(1, 2), Fraction(1, 2)))
    >>> rare = DiscreteLaw.of((Fraction(0), Fraction(3)), (Fraction(3, 4), Fraction(1, 4)))
    >>> largest_quantile_gap(fair, rare)
    Fraction(2, 1)
    """
    (first, second), _ = common_weights(one.probabilities, other.probabilities)
    (left, right), scale = common_weights(one.values, other.values)
    gap = largest_gap_of_weights(
        sorted(zip(left, first, strict=True)), sorted(zip(right, second, strict=True))
    )
    return Fraction(gap, scale)


def largest_gap_of_weights(one: WeightedPairs, other: WeightedPairs) -> int:
    """Return the same of whole values in increasing order, with positive whole weights of one total."""
    largest, places = 0, iter(other)
    place, room = next(places)
    for value, weight in one:
        owed = weight
        while True:  # mass goes where that of the same quantile is
            largest = max(largest, abs(value - place))
            if owed <= room:
                room -= owed
                break
            owed -= room
            place, room = next(places)
        if not room:
            place, room = next(places, (place, 0))
    return largest


MOST_VALUES = 500
"""Values of a law up to which flows are sought: a few seconds."""

Distances = Sequence[Sequence[Fraction]]


@dataclass(frozen=True)
class Transport:
    """The smallest radius, and why it is.

    ``coupling`` has pairs of places with their mass, none further apart than the radius. ``crowded`` are
    places of the first law with more mass than the second has nearer than the radius; none where it is 0.
    """

    radius: Fraction
    coupling: tuple[tuple[int, int, Fraction], ...]
    crowded: tuple[int, ...]


def bottleneck(distances: Distances, one: Sequence[Fraction], other: Sequence[Fraction]) -> Transport:
    """Return W_infinity of two laws, given by their probabilities and the distances of their values."""
    if max(len(one), len(other)) > MOST_VALUES:
        raise GuaranteeError(
            f"a law has {max(len(one), len(other)):,} values, more than the {MOST_VALUES} between which the"
            " best transport is sought: give coarser values, or a law on the line."
        )
    (supply, demand), whole = common_weights(one, other)
    radii = sorted({distance for row in distances for distance in row})
    low, high = 0, len(radii) - 1  # at the largest radius everything may be coupled
    best = _Flow.largest(supply, demand, _within(distances, radii[high]))
    crowded: tuple[int, ...] = (0,) if radii[0] else ()  # nothing is nearer than the smallest distance
    while low < high:
        middle = (low + high) // 2
        tried = _Flow.largest(supply, demand, _within(distances, radii[middle]))
        if tried.stuck:
            low, crowded = middle + 1, tried.stuck
        else:
            high, best = middle, tried
    coupling = sorted((i, j, Fraction(mass, whole)) for (i, j), mass in best.mass.items() if mass)
    return Transport(radii[high], tuple(coupling), crowded if radii[high] else ())


def _within(distances: Distances, radius: Fraction) -> list[list[int]]:
    return [[j for j, distance in enumerate(row) if distance <= radius] for row in distances]


class _Flow:
    """Mass that goes from senders to places that are near, by shortest augmenting paths."""

    def __init__(self, supply: Sequence[int], demand: Sequence[int], near: Sequence[Sequence[int]]) -> None:
        self.near = near
        self.left, self.room = list(supply), list(demand)
        self.mass: dict[tuple[int, int], int] = {}
        self.senders: list[set[int]] = [set() for _ in demand]
        self.stuck: tuple[int, ...] = ()
        """Senders with more mass than there is near them."""

    @classmethod
    def largest(cls, supply: Sequence[int], demand: Sequence[int], near: Sequence[Sequence[int]]) -> "_Flow":
        """Return a flow that no path makes larger."""
        flow = cls(supply, demand, near)
        for i, places in enumerate(near):
            for j in places:
                flow.push([(i, j)])
        while any(flow.left) and (path := flow.path()):
            flow.push(path)
        return flow

    def path(self) -> list[tuple[int, int]]:
        """Return the shortest path from mass that is left to room that is free, last step first.

        Without one the senders that were reached are stuck: all places near them are full, of their mass.
        """
        reached: dict[int, int] = {}  # places, and the sender that each was reached from
        over: dict[int, int | None] = {i: None for i, rest in enumerate(self.left) if rest}
        queue = deque(over)  # senders; ``over`` has the place from which each would get its mass back
        while queue:
            i = queue.popleft()
            for j in self.near[i]:
                if j in reached:
                    continue
                reached[j] = i
                if self.room[j]:
                    return _steps(j, reached, over)
                fresh = [k for k in self.senders[j] if k not in over]
                over.update(dict.fromkeys(fresh, j))
                queue.extend(fresh)
        self.stuck = tuple(sorted(over))
        return []

    def push(self, path: Sequence[tuple[int, int]]) -> None:
        """Send as much as can go along a path: to each place, and back from the one before."""
        start, end = path[-1][0], path[0][1]
        backs = [(step[0], before[1]) for step, before in pairwise(path)]
        amount = min(self.left[start], self.room[end], *(self.mass[pair] for pair in backs))
        if not amount:
            return
        for sign, pairs in ((1, path), (-1, backs)):
            for i, j in pairs:
                self.mass[i, j] = self.mass.get((i, j), 0) + sign * amount
                (self.senders[j].add if self.mass[i, j] else self.senders[j].discard)(i)
        self.left[start] -= amount
        self.room[end] -= amount


def _steps(end: int, reached: dict[int, int], over: dict[int, int | None]) -> list[tuple[int, int]]:
    steps, place = [], end
    while True:
        steps.append((reached[place], place))
        before = over[reached[place]]
        if before is None:
            return steps
        place = before
