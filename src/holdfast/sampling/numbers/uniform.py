"""Uniform integers and uniform compositions, exactly.

A composition of m into n parts (zeros allowed) is a row of m stars and n - 1 bars; a uniform one places
the bars on a uniform (n - 1)-subset of the m + n - 1 places.
"""

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import Entropy, short_words

BLOCK = 1 << 16
"""Places drawn at once: small enough for the cache."""
SPARSE = 3
"""So many parts for each unit of a total, and stars are placed instead of bars."""


def uniform_below(bounds: IntArray, entropy: Entropy) -> IntArray:
    """Return one uniform integer in 0, ..., bound - 1 for each bound >= 1.

    Bounds below 2^32 take 32-bit words w: floor(w bound / 2^32) is uniform once the w are thrown away
    whose remainder w bound mod 2^32 is below 2^32 mod bound [lemire2019]. Larger bounds take remainders of
    64-bit words below the largest multiple of the bound.
    """
    if not bounds.size:
        return bounds
    return _narrow(bounds, entropy) if int(bounds.max()) < 2**32 else _wide(bounds, entropy)


def _narrow(bounds: IntArray, entropy: Entropy) -> IntArray:
    limit = bounds.astype(np.uint64)
    product = short_words(entropy, bounds.size) * limit
    low = product.astype(np.uint32)
    while True:
        # 2^32 mod bound is below the bound: only such remainders need a division
        near = np.flatnonzero(low < limit)
        bad = near[low[near] < np.uint64(2**32) % limit[near]]
        if not bad.size:
            return (product >> np.uint64(32)).astype(np.int64)
        product[bad] = short_words(entropy, bad.size) * limit[bad]
        low[bad] = product[bad].astype(np.uint32)


def _wide(bounds: IntArray, entropy: Entropy) -> IntArray:
    limit = bounds.astype(np.uint64)
    spare = (np.uint64(0) - limit) % limit  # 2^64 mod bound, in 64-bit arithmetic
    words = entropy.words(bounds.size).copy()
    while True:
        bad = np.flatnonzero(words > np.uint64(2**64 - 1) - spare)
        if not bad.size:
            return (words % limit).astype(np.int64)
        words[bad] = entropy.words(bad.size)


def uniform_compositions(totals: IntArray, parts: int, entropy: Entropy) -> IntArray:
    """Return a uniform composition of each total into ``parts`` parts, one a row."""
    rows = max(1, BLOCK // max(parts, 1))
    if totals.size > rows:
        blocks = np.split(totals, range(rows, totals.size, rows))
        return np.concatenate([uniform_compositions(block, parts, entropy) for block in blocks])
    if SPARSE * int(totals.sum()) < totals.size * parts:
        return _by_stars(totals, parts, entropy)
    bars = _uniform_subsets(totals + (parts - 1), parts - 1, entropy)
    sizes = np.empty((totals.size, parts), dtype=np.int64)
    if parts == 1:
        sizes[:, 0] = totals
        return sizes
    sizes[:, 0] = bars[:, 0]
    np.subtract(bars[:, 1:], bars[:, :-1], out=sizes[:, 1:-1])
    sizes[:, 1:-1] -= 1
    sizes[:, -1] = totals + (parts - 2) - bars[:, -1]
    return sizes


def _by_stars(totals: IntArray, parts: int, entropy: Entropy) -> IntArray:
    """Place the stars instead: few of them are quickly distinct, where nearly all places would be bars.

    The j-th star of a row, counted from 0, at place p has p - j bars before it.
    """
    row = np.repeat(np.arange(totals.size), totals)
    stride = int(totals.max(initial=0)) + parts
    stars = row * stride + uniform_below(totals[row] + (parts - 1), entropy)
    stars.sort()
    while (again := 1 + np.flatnonzero(stars[1:] == stars[:-1])).size:
        stars[again] = row[again] * stride + uniform_below(totals[row[again]] + (parts - 1), entropy)
        stars.sort()
    order = np.arange(row.size) - np.repeat(np.cumsum(totals) - totals, totals)
    part = stars - row * stride - order
    return np.bincount(row * parts + part, minlength=totals.size * parts).reshape(totals.size, parts)


def _uniform_subsets(places: IntArray, size: int, entropy: Entropy) -> NDArray[np.signedinteger]:
    """Return a uniform subset of ``size`` places for each row, sorted; short numbers sort faster.

    Places are drawn one after the other and a repeated one is drawn again: the first ``size`` distinct
    values of an independent uniform sequence are a uniform subset.
    """
    short = bool(places.size) and int(places.max()) < 2**31
    drawn = uniform_below(np.repeat(places, size), entropy).reshape(places.size, size)
    chosen: NDArray[np.signedinteger] = drawn.astype(np.int32) if short else drawn
    chosen.sort(axis=1)
    open_rows = np.arange(places.size)
    while True:
        rows = chosen[open_rows]
        repeated = np.zeros(rows.shape, dtype=np.bool_)
        repeated[:, 1:] = rows[:, 1:] == rows[:, :-1]
        again = repeated.any(axis=1)
        if not again.any():
            return chosen
        open_rows, rows, repeated = open_rows[again], rows[again], repeated[again]
        of_row = np.nonzero(repeated)[0]
        rows[repeated] = uniform_below(places[open_rows[of_row]], entropy)
        rows.sort(axis=1)
        chosen[open_rows] = rows
