"""What post-processing maps to one value: releases that differ, and look alike afterwards.

A projection onto what is public sends many releases to the same point of its boundary. What told them apart
is lost to whoever reads the processed table, however well the noise is known [partially-private-data,
Section 4.3]. A value is **contracted** to a bound where it is at the bound after processing, and was not
before.

**Ordered counts**: two a place, the second part of the first, and the nearest ones with a given sum of the
first. Minimise ||c - a||^2 + ||d - b||^2 subject to sum c = t and c >= d >= 0, as for cases a and deaths b
of many places [partially-private-data, Section 4.2]. With a multiplier m for the sum, places part, and each
has the nearest point of a cone: with a' = a - m,

    (a', b)               where a' >= b > 0,
    (h, h), h = (a'+b)/2  where b > max(a', 0), or (0, 0) where h < 0,
    (max(a', 0), 0)       where b <= 0.

Every c falls as m grows, along straight pieces that meet where a' is b, -b or 0: these places are sorted, and
the piece that passes t gives m. All rows, one a table, are solved at once.

**Whole numbers** next to them, up or down, minimise the sum of absolute differences under the same
conditions. Given c, the best d is known; so each place has a cost of going up in c, and the cheapest go up.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.system.errors import DataError


def contracted(released: ArrayLike, processed: ArrayLike, bound: ArrayLike = 0) -> BoolArray:
    """Return which values are at a bound after processing, and were not before.

    >>> contracted([-3, 0, 2, 5], [0, 0, 0, 4]).tolist()
    [True, False, True, False]
    """
    before, after = np.asarray(released), np.asarray(processed)
    if before.shape != after.shape:
        raise DataError(
            f"released values of shape {before.shape} were processed to {after.shape}: give the same values."
        )
    return np.asarray((after == bound) & (before != bound))


@dataclass(frozen=True, eq=False)
class Contractions:
    """Contracted values of cases and deaths, one replicate a row, one place a column.

    ``rates``: all cases died after processing, and not before; places without cases have no rate.
    """

    case_zeros: BoolArray
    death_zeros: BoolArray
    rates: BoolArray

    def counts(self) -> dict[str, int]:
        """Return how many values are contracted, by kind."""
        return {name: int(flags.sum()) for name, flags in self._kinds()}

    def shares(self) -> dict[str, FloatArray]:
        """Return the share of replicates in which the value of each place is contracted."""
        return {name: np.atleast_2d(flags).mean(axis=0) for name, flags in self._kinds()}

    def to_dict(self) -> dict[str, Any]:
        """Return counts and the number of values that they are of."""
        return {**self.counts(), "values": int(self.rates.size)}

    def _kinds(self) -> tuple[tuple[str, BoolArray], ...]:
        return (
            ("contracted_case_zeros", self.case_zeros),
            ("contracted_death_zeros", self.death_zeros),
            ("contracted_rates", self.rates),
        )


def contractions(
    cases: ArrayLike, deaths: ArrayLike, processed_cases: ArrayLike, processed_deaths: ArrayLike
) -> Contractions:
    """Return what processing contracts of cases, of deaths, and of the share of cases that survive."""
    alive = contracted(
        np.asarray(cases) - np.asarray(deaths), np.asarray(processed_cases) - np.asarray(processed_deaths)
    )
    return Contractions(
        contracted(cases, processed_cases),
        contracted(deaths, processed_deaths),
        np.asarray(alive & (np.asarray(processed_cases) > 0)),
    )


def nearest_ordered(
    upper: IntArray | FloatArray, lower: IntArray | FloatArray, total: int
) -> tuple[FloatArray, FloatArray]:
    """Return the nearest real (c, d) with sum c = total and c >= d >= 0, one table a row."""
    if total < 0 or (total > 0 and not np.shape(upper)[-1]):
        raise DataError(f"no counts that are not negative have the sum {total}: correct the total.")
    a, b = (np.atleast_2d(np.asarray(part, dtype=np.float64)) for part in (upper, lower))
    if total == 0:
        return np.zeros(np.shape(upper)), np.zeros(np.shape(lower))
    bound = np.maximum(b, 0.0)
    # as m falls, c rises from a - m = -bound, at half the slope up to a - m = bound where that is positive
    starts, straight = a + bound, a - bound
    places = np.concatenate([starts, straight], axis=1)
    slopes = np.concatenate([np.where(bound > 0, 0.5, 1.0), np.where(bound > 0, 0.5, 0.0)], axis=1)
    order = np.argsort(-places, axis=1)
    at, slope = np.take_along_axis(places, order, 1), np.take_along_axis(slopes, order, 1).cumsum(axis=1)
    gaps = -np.diff(at, axis=1)
    sums = np.concatenate([np.zeros((len(at), 1)), (gaps * slope[:, :-1]).cumsum(axis=1)], axis=1)
    piece = (sums <= total).sum(axis=1) - 1
    rows = np.arange(len(at))
    multiplier = at[rows, piece] - (total - sums[rows, piece]) / slope[rows, piece]
    c, d = _cone(a - multiplier[:, None], b)
    return c.reshape(np.shape(upper)), d.reshape(np.shape(lower))


def whole_ordered(
    upper: IntArray | FloatArray, lower: IntArray | FloatArray, total: int
) -> tuple[IntArray, IntArray]:
    """Return whole (c, d) next to the nearest real ones, with the same sum and order, one table a row."""
    real = nearest_ordered(upper, lower, total)
    c, d = (np.atleast_2d(np.round(part, 9)) for part in real)  # what is whole but for rounding is whole
    low_c, low_d = np.floor(c), np.floor(d)
    up, best = c - low_c, d - low_d
    tied = low_d == low_c  # d may only go up where c does
    least = np.minimum(best, 1 - best)
    cost = (1 - 2 * up) - np.where(tied, best - least, 0.0)
    more = np.rint(total - low_c.sum(axis=1)).astype(np.int64)
    rank = np.argsort(np.argsort(cost, axis=1, kind="stable"), axis=1)
    risen = (rank < more[:, None]).astype(np.int64)
    whole_c = low_c.astype(np.int64) + risen
    whole_d = np.minimum(low_d.astype(np.int64) + (best > 0.5), whole_c)
    return whole_c.reshape(np.shape(upper)), whole_d.reshape(np.shape(lower))


def _cone(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the nearest points with c >= d >= 0."""
    half = np.maximum((a + b) / 2, 0.0)
    below, crossed = b <= 0, b > np.maximum(a, 0.0)
    c = np.where(below, np.maximum(a, 0.0), np.where(crossed, half, a))
    d = np.where(below, 0.0, np.where(crossed, half, b))
    return c, d
