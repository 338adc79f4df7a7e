"""Uniform derangements: permutations that leave nothing in its place.

A permutation is drawn by sorting random keys, one a place. Keys that differ are in uniform order, because
independent keys of one law are exchangeable; a row in which two keys agree is thrown away, which keeps
that symmetry. A uniform permutation kept only if it is a derangement is a uniform derangement. About one
in e is kept, whatever the length [swapping-slides; theory, 8].
"""

from math import exp

import numpy as np

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.accept import first_accepted
from holdfast.sampling.decisions.floats import Flags
from holdfast.sampling.entropy import Entropy

BATCH = 1 << 18
"""Keys sorted at once, where rows are short."""
PACKED_BITS = 21
"""Up to this many bits a place fits below its key in one word; sorting words is faster than by index."""


def derangement_count(k: int) -> int:
    """Return the number of derangements of k things: d(k) = k d(k - 1) + (-1)^k, d(0) = 1."""
    if k < 0:
        raise ValueError(f"there are no derangements of {k} things")
    count = 1
    for i in range(1, k + 1):
        count = i * count + (1 if i % 2 == 0 else -1)
    return count


def derangements(k: int, entropy: Entropy, size: int) -> IntArray:
    """Return ``size`` independent uniform derangements of 0, ..., k - 1, one a row."""
    if k == 1:
        raise SamplingError("one thing alone has no derangement: a stratum needs two records or none.")
    if k == 0:
        return np.empty((size, 0), dtype=np.int64)
    # a long row is tried alone
    return first_accepted(lambda n: _attempt(k, entropy, n), size, chance=exp(-1), most=max(1, BATCH // k))


def derangement(k: int, entropy: Entropy) -> IntArray:
    """Return one uniform derangement of 0, ..., k - 1."""
    one: IntArray = derangements(k, entropy, 1)[0]
    return one


def _attempt(k: int, entropy: Entropy, size: int) -> IntArray:
    """Return those of ``size`` uniform permutations that leave nothing in its place."""
    rows, distinct = _permutations(k, entropy, size)
    kept: IntArray = rows[distinct & (rows != np.arange(k)).all(axis=1)]
    return kept


def _permutations(k: int, entropy: Entropy, size: int) -> tuple[IntArray, Flags]:
    """Return the places in the order of their keys, and whether the keys of a row all differ.

    Up to 2^21 places, key and place share a word: the key its high bits, of which there are at least 43.
    """
    keys = entropy.words(size * k).reshape(size, k)
    place_bits = (k - 1).bit_length()
    if place_bits > PACKED_BITS:
        order = np.argsort(keys, axis=1)
        ordered = np.take_along_axis(keys, order, axis=1)
    else:
        mask = np.uint64((1 << place_bits) - 1)
        packed = (keys & ~mask) | np.arange(k, dtype=np.uint64)
        packed.sort(axis=1)
        order, ordered = (packed & mask).astype(np.int64), packed & ~mask
    return order, (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
