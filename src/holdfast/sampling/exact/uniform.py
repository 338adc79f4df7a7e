"""Uniform integers and uniform compositions, exactly.

A composition of m into n parts (zeros allowed) is a row of m stars and n - 1 bars; a uniform one places
the bars on a uniform (n - 1)-subset of the m + n - 1 places.
"""

import numpy as np

from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.inversion import Integers


def uniform_below(bounds: Integers, entropy: Entropy) -> Integers:
    """Return one uniform integer in 0, ..., bound - 1 for each bound >= 1.

    A word at or beyond the largest multiple of the bound is thrown away, so the remainder is uniform.
    """
    limit = bounds.astype(np.uint64)
    spare = (np.uint64(0) - limit) % limit  # 2^64 mod bound, in 64-bit arithmetic
    words = entropy.words(bounds.size)
    while True:
        bad = np.flatnonzero(words > np.uint64(2**64 - 1) - spare)
        if not bad.size:
            return (words % limit).astype(np.int64)
        words = words.copy()
        words[bad] = entropy.words(bad.size)


def uniform_compositions(totals: Integers, parts: int, entropy: Entropy) -> Integers:
    """Return a uniform composition of each total into ``parts`` parts, one a row."""
    bars = _uniform_subsets(totals + (parts - 1), parts - 1, entropy)
    edges = np.empty((totals.size, parts + 1), dtype=np.int64)
    edges[:, 0], edges[:, 1:-1], edges[:, -1] = -1, bars, totals + (parts - 1)
    return np.diff(edges, axis=1) - 1


def _uniform_subsets(places: Integers, size: int, entropy: Entropy) -> Integers:
    """Return a uniform subset of ``size`` places for each row, sorted.

    Places are drawn one after the other and a repeated one is drawn again: the first ``size`` distinct
    values of an independent uniform sequence are a uniform subset.
    """
    chosen = uniform_below(np.repeat(places, size), entropy).reshape(places.size, size)
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
