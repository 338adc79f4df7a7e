"""Two counts a place, the second part of the first: the nearest ones with a given sum of the first.

Minimise ||c - a||^2 + ||d - b||^2 subject to sum c = t and c >= d >= 0, as for cases a and deaths b of many
places [partially-private-data, Section 4.2]. With a multiplier m for the sum, places part, and each has the
nearest point of a cone: with a' = a - m,

    (a', b)               where a' >= b > 0,
    (h, h), h = (a'+b)/2  where b > max(a', 0), or (0, 0) where h < 0,
    (max(a', 0), 0)       where b <= 0.

Every c falls as m grows, along straight pieces that meet where a' is b, -b or 0: these places are sorted, and
the piece that passes t gives m. All rows, one a table, are solved at once.

**Whole numbers** next to them, up or down, minimise the sum of absolute differences under the same
conditions. Given c, the best d is known; so each place has a cost of going up in c, and the cheapest go up.
"""

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.errors import DataError


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
