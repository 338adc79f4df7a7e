"""Permutation swapping of records in strata, exactly: who takes whose value [swapping-slides].

In each stratum of at least two records every record is selected with probability p = a/c, independently;
where exactly one is, the whole stratum selects again. The selected records then exchange their values by a
uniform derangement. A rate p is exact: a word is uniform below c, and selects if it is below a. Derangements
are uniform permutations that are thrown away, as soon as they show it, if they leave a record in its place.

The records of a stratum lie side by side. A loop over them takes what vectors would take in many passes, so
it is compiled: five million records in 200,000 strata at p = 1/2 take a fifth of the time of such passes.
Words come from any source, in one stream; a source that is told by stratum makes the same draw of a stratum
wherever and after whatever else it is drawn, for studies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray, WordArray
from holdfast.sampling.entropy import Entropy, ShortWords
from holdfast.system.compiled import compiled
from holdfast.system.errors import SamplingError

MOST_DENOMINATOR = 2**62
"""A rate is a fraction below this: 64-bit words decide it."""
FIRST_WORDS = 1 << 16
WORDS_PER_RECORD = 3
"""32-bit words asked for at once for each record that is left, more or less what a draw takes."""
MOST_WORDS = 1 << 23
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_NO_WORDS: ShortWords = np.empty(0, dtype=np.uint32)
_NO_KEYS: WordArray = np.empty(0, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class Permuted:
    """A draw: for each record the one whose value it takes, and an order of the records in each stratum.

    The order is uniform and independent of all else. ``moved`` counts the deranged records of each stratum.
    """

    source: IntArray
    order: IntArray
    moved: IntArray


def by_stratum(strata: NDArray[Any], count: int) -> tuple[IntArray, IntArray]:
    """Return the size of each of ``count`` strata, and the records of one after those of the other.

    ``strata`` has the stratum of each record, numbered from 0. Records of a stratum keep their order.
    """
    sizes, places = np.zeros(count, dtype=np.int64), np.empty(len(strata), dtype=np.int64)
    _count(strata, sizes, places)
    return sizes, places


def permute(
    sizes: IntArray, rate: Fraction, entropy: Entropy | None, keys: WordArray | None = None
) -> Permuted:
    """Draw once for strata of some sizes, whose records are numbered stratum by stratum from 0.

    Words are those of ``entropy``; or, for studies, those that a key of each stratum determines.
    """
    if not 0 < rate < 1:
        raise SamplingError(f"a swap rate must be above 0 and below 1, not {rate}.")
    if rate.denominator > MOST_DENOMINATOR:
        raise SamplingError("the swap rate has too many digits: round it to 18.")
    if (entropy is None) == (keys is None):
        raise SamplingError("words come from a source, or from keys of the strata: give one of them.")
    if keys is not None and len(keys) != len(sizes):
        raise SamplingError(f"there are {len(keys)} keys for {len(sizes)} strata: give each its own.")
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])
    total = int(starts[-1])
    source, order = np.arange(total), np.arange(total)
    moved = np.zeros(len(sizes), dtype=np.int64)
    largest = int(sizes.max(initial=0))
    room = np.empty(largest, dtype=np.int64), np.empty(largest, dtype=np.int64)
    odds = np.uint64(rate.numerator), np.uint64(rate.denominator)
    drawn = source, order, moved
    if keys is not None:
        _draw(starts, 0, odds, _NO_WORDS, keys, drawn, room)
        return Permuted(*drawn)
    stratum, words = 0, _NO_WORDS
    while stratum < len(sizes):
        more = min(MOST_WORDS, FIRST_WORDS + WORDS_PER_RECORD * (total - int(starts[stratum])))
        # what a stratum has seen it sees again: an outcome that takes many words is not thrown away
        words = np.concatenate([words, _short(entropy, max(more, words.size))])
        stratum, used = _draw(starts, stratum, odds, words, _NO_KEYS, drawn, room)
        words = words[used:]
    return Permuted(*drawn)


def permute_at(
    sizes: IntArray,
    rates: Sequence[Fraction],
    kinds: IntArray,
    entropy: Entropy | None,
    keys: WordArray | None = None,
) -> Permuted:
    """Draw once for strata of several rates, those of a kind at the rate of that kind.

    Strata are independent, so those of one rate are drawn together, whatever stands between them.
    """
    if len(rates) == 1:
        return permute(sizes, rates[0], entropy, keys)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])
    source, order = np.arange(starts[-1]), np.arange(starts[-1])
    moved = np.zeros(len(sizes), dtype=np.int64)
    for kind, rate in enumerate(rates):
        own = np.flatnonzero(kinds == kind)
        drawn = permute(sizes[own], rate, entropy, None if keys is None else keys[own])
        firsts = np.cumsum(sizes[own]) - sizes[own]
        places = np.repeat(starts[own] - firsts, sizes[own]) + np.arange(drawn.source.size)
        source[places], order[places] = places[drawn.source], places[drawn.order]
        moved[own] = drawn.moved
    return Permuted(source, order, moved)


def _short(entropy: Entropy | None, size: int) -> ShortWords:
    if entropy is None:
        raise SamplingError("there is no source of words.")
    return entropy.words((size + 1) // 2).view(np.uint32)


@compiled
def _count(strata: Any, sizes: Any, places: Any) -> None:
    """Sort records by counting."""
    for stratum in strata:
        sizes[stratum] += 1
    ends = np.cumsum(sizes)
    for record in range(strata.size - 1, -1, -1):
        stratum = strata[record]
        ends[stratum] -= 1
        places[ends[stratum]] = record


@compiled
def _mixed(state: Any) -> Any:
    """Return a word of a state, by the finaliser of SplitMix64."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@compiled
def _next(words: Any, keys: Any, stratum: Any, at: Any) -> Any:
    """Return the word at a place of the stream: given, or made of the key of a stratum and the place."""
    if keys.size:
        return _mixed(keys[stratum] + np.uint64(at + 1) * GOLDEN) >> np.uint64(32)
    return np.uint64(words[at]) if at < words.size else np.uint64(0)


@compiled
def _below(bound: Any, words: Any, keys: Any, stratum: Any, at: Any) -> Any:
    """Return a uniform integer below a bound, and the place after the words that it took [lemire2019]."""
    if bound <= np.uint64(0xFFFFFFFF):
        while True:
            product = _next(words, keys, stratum, at) * bound
            at += 1
            low = product & np.uint64(0xFFFFFFFF)
            if low >= bound or low >= np.uint64(0x100000000) % bound:
                return product >> np.uint64(32), at
            if not keys.size and at > words.size:
                return np.uint64(0), at
    spare = (np.uint64(0) - bound) % bound
    while True:
        high = _next(words, keys, stratum, at) << np.uint64(32)
        word = high | _next(words, keys, stratum, at + 1)
        at += 2
        if word <= np.uint64(0xFFFFFFFFFFFFFFFF) - spare or (not keys.size and at > words.size):
            return word % bound, at


@compiled
def _select(
    start: Any, end: Any, odds: Any, selected: Any, words: Any, keys: Any, stratum: Any, at: Any
) -> Any:
    """Select records of a stratum until they are none or at least two; returns how many, and the place."""
    chosen, among = odds
    count = 1
    while count == 1 and (keys.size or at <= words.size):
        count = 0
        for record in range(start, end):
            word, at = _below(among, words, keys, stratum, at)
            if word < chosen:
                selected[count] = record
                count += 1
    return count, at


@compiled
def _derange(count: Any, taken: Any, words: Any, keys: Any, stratum: Any, at: Any) -> Any:
    """Put a uniform derangement of 0, ..., count - 1 in ``taken``; returns the place."""
    deranged = False
    while not deranged and (keys.size or at <= words.size):
        deranged = True
        for place in range(count):
            taken[place] = place
        for place in range(count - 1, -1, -1):
            word, at = _below(np.uint64(place + 1), words, keys, stratum, at)
            other = np.int64(word)
            value = taken[other]
            taken[other] = taken[place]
            taken[place] = value
            if value == place:
                deranged = False
                break
    return at


@compiled
def _draw(starts: Any, first: Any, odds: Any, words: Any, keys: Any, drawn: Any, room: Any) -> Any:
    """Draw strata from the first on; returns the first that the words did not suffice for, and its place."""
    source, order, moved = drawn
    selected, taken = room
    at = 0
    for stratum in range(first, starts.size - 1):
        start, end, before = starts[stratum], starts[stratum + 1], at
        if keys.size:
            at = 0
        count = 0
        if end - start > 1:
            count, at = _select(start, end, odds, selected, words, keys, stratum, at)
        if count > 1:
            at = _derange(count, taken, words, keys, stratum, at)
        for record in range(start, end):
            order[record] = record
        for record in range(end - 1, start, -1):
            word, at = _below(np.uint64(record - start + 1), words, keys, stratum, at)
            other = start + np.int64(word)
            order[record], order[other] = order[other], order[record]
        if not keys.size and at > words.size:
            return stratum, before
        for place in range(count):
            source[selected[place]] = selected[taken[place]]
        moved[stratum] = count
    return starts.size - 1, at
