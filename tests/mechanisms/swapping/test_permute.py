"""Draws of who takes whose value, against the law of all selections and derangements.

Every test states its level by how many it is one of. Strata of one size are drawn many at a time, so each
draw of `permute` is a sample.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import permutations
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.sampling.replayed import ReplayedEntropy

from holdfast.lattice.arrays import IntArray, WordArray
from holdfast.mechanisms.swapping import permute as module
from holdfast.mechanisms.swapping.bounds import derangement_count
from holdfast.mechanisms.swapping.permute import Permuted, by_stratum, permute
from holdfast.sampling.entropy import Entropy, SeededEntropy, SystemEntropy
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, p_value

Law = dict[tuple[int, ...], float]
Draw = Callable[[IntArray, Fraction, int], Permuted]
STRATA = 40_000
GRID = [
    (size, Fraction(rate))
    for size in (2, 3, 4, 5)
    for rate in ("1/20", "1/2", "2/3", "9/10", "1234567890123456789/4000000000000000001")
]


def from_stream(sizes: IntArray, rate: Fraction, seed: int) -> Permuted:
    return permute(sizes, rate, SeededEntropy(seed))


def from_keys(sizes: IntArray, rate: Fraction, seed: int) -> Permuted:
    return permute(sizes, rate, None, SeededEntropy(seed).words(len(sizes)))


def law(size: int, rate: Fraction, *, again: bool = True, fixed_too: bool = False) -> Law:
    """Return o^k / d_k, made to sum to one [theory, 8]; or that of two algorithms that are nearly it.

    Without ``again`` a stratum that selects one record is left as it is. With ``fixed_too`` the selected
    records are permuted by any permutation, one of them included.
    """
    p, found = float(rate), {}
    for source in permutations(range(size)):
        k = sum(i != source[i] for i in range(size))
        found[source] = p**k * (1 - p) ** (size - k) / max(derangement_count(k), 1)
    if fixed_too:
        found = dict.fromkeys(found, 0.0)
        for chosen in range(2**size):
            places = [i for i in range(size) if chosen >> i & 1]
            listed = list(permutations(places))
            for taken in listed:
                mapped = list(range(size))
                for place, other in zip(places, taken, strict=True):
                    mapped[place] = other
                k = len(places)
                found[tuple(mapped)] += p**k * (1 - p) ** (size - k) / len(listed)
    total = sum(found.values())
    if not again:
        found[tuple(range(size))] += 1 - total
        total = 1.0
    return {source: weight / total for source, weight in found.items()}


def rows(values: IntArray, size: int) -> IntArray:
    """Return what was drawn in strata of one size, one stratum a row, numbered in it from 0."""
    return values.reshape(-1, size) - np.arange(0, values.size, size)[:, None]


def alike(size: int, strata: int = STRATA) -> IntArray:
    return np.full(strata, size)


@pytest.mark.parametrize("draw", [from_stream, from_keys])
@pytest.mark.parametrize(("size", "rate"), GRID)
def test_draws_follow_the_law_of_the_algorithm(draw: Draw, size: int, rate: Fraction) -> None:
    drawn = draw(alike(size), rate, 7)
    level = LEVEL / (2 * len(GRID))
    assert p_value(rows(drawn.source, size), law(size, rate)) > level
    assert drawn.moved.tolist() == (rows(drawn.source, size) != np.arange(size)).sum(axis=1).tolist()
    assert p_value(rows(drawn.source, size), law(size, rate * Fraction(3, 4))) < level


@pytest.mark.parametrize("draw", [from_stream, from_keys])
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_other_algorithms_would_be_noticed(draw: Draw, size: int) -> None:
    sources = rows(draw(alike(size), Fraction(1, 3), 7).source, size)
    assert p_value(sources, law(size, Fraction(1, 3), again=False)) < LEVEL / 1000
    assert p_value(sources, law(size, Fraction(1, 3), fixed_too=True)) < LEVEL / 1000


def few_words(monkeypatch: pytest.MonkeyPatch, *, first: int = 1, per_record: int = 0, most: int = 3) -> None:
    monkeypatch.setattr(module, "FIRST_WORDS", first)
    monkeypatch.setattr(module, "WORDS_PER_RECORD", per_record)
    monkeypatch.setattr(module, "MOST_WORDS", most)


@pytest.mark.parametrize("rate", [Fraction(1, 5), Fraction(4, 5), Fraction(2**61, 2**62 - 1)])
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_running_out_of_words_leaves_the_law_alone(
    size: int, rate: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_words(monkeypatch)
    strata = 15_000
    sources = rows(from_stream(alike(size, strata), rate, 11).source, size)
    assert p_value(sources, law(size, rate)) > LEVEL / 12
    assert p_value(sources, law(size, rate, again=False)) < LEVEL / 12


@given(
    st.lists(st.integers(0, 9), max_size=30),
    st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=2**40),
    st.integers(0, 99),
    st.integers(1, 40),
)
def test_a_stream_draws_the_same_however_it_is_cut(
    sizes: list[int], rate: Fraction, seed: int, words: int
) -> None:
    """A stratum that runs out of words begins again with the words it saw: nothing is drawn anew."""
    strata = np.array(sizes, dtype=np.int64)
    whole = from_stream(strata, rate, seed)
    with pytest.MonkeyPatch.context() as patch:
        few_words(patch, first=words, per_record=1, most=words + 5)
        cut = from_stream(strata, rate, seed)
    for one, other in zip(vars(whole).values(), vars(cut).values(), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("draw", [from_stream, from_keys])
def test_as_many_are_moved_as_are_selected(draw: Draw) -> None:
    """In large strata selecting again is rare: records move at the rate, each stratum by a binomial law."""
    size, strata = 500, 400
    for rate in (Fraction(1, 20), Fraction(1, 2), Fraction(19, 20)):
        moved = draw(alike(size, strata), rate, 3).moved
        total, p = size * strata, float(rate)
        limit = float(stats.norm.isf(LEVEL / 12))
        assert abs(moved.sum() - total * p) < limit * sqrt(total * p * (1 - p))
        spread = ((moved - size * p) ** 2).sum() / (size * p * (1 - p))
        assert LEVEL / 12 < stats.chi2.cdf(spread, strata) < 1 - LEVEL / 12


@pytest.mark.parametrize("draw", [from_stream, from_keys])
@pytest.mark.parametrize(("size", "count"), [(3, 2), (4, 9), (5, 44)])
def test_derangements_are_uniform(draw: Draw, size: int, count: int) -> None:
    drawn = draw(alike(size), Fraction(9, 10), 5)
    whole = rows(drawn.source, size)[drawn.moved == size]
    listed = [p for p in permutations(range(size)) if all(i != p[i] for i in range(size))]
    assert len(listed) == count
    assert whole.shape[0] > STRATA / 2
    assert p_value(whole, dict.fromkeys(listed, 1 / count)) > LEVEL / 6
    without = whole[(whole != listed[0]).any(axis=1)]
    assert p_value(without, dict.fromkeys(listed, 1 / count)) < LEVEL / 6


@pytest.mark.parametrize("draw", [from_stream, from_keys])
def test_the_order_is_uniform_whatever_was_moved(draw: Draw) -> None:
    size = 3
    drawn = draw(alike(size), Fraction(1, 2), 9)
    sources, orders = rows(drawn.source, size), rows(drawn.order, size)
    joint = {
        (*source, *order): chance / 6
        for source, chance in law(size, Fraction(1, 2)).items()
        for order in permutations(range(size))
    }
    assert p_value(np.hstack([sources, orders]), joint) > LEVEL / 2
    assert p_value(np.hstack([sources, sources]), joint) < LEVEL / 2
    longer = rows(draw(alike(5), Fraction(1, 2), 10).order, 5)
    assert p_value(longer, dict.fromkeys(permutations(range(5)), 1 / 120)) > LEVEL / 2


@pytest.mark.parametrize("draw", [from_stream, from_keys])
def test_small_and_empty_strata_are_left_as_they_are(draw: Draw) -> None:
    sizes = np.array([0, 1, 1, 0, 2, 1, 0])
    for seed in range(20):
        drawn = draw(sizes, Fraction(99, 100), seed)
        assert drawn.moved[[0, 1, 2, 3, 5, 6]].tolist() == [0] * 6
        assert drawn.source[[0, 1, 4]].tolist() == drawn.order[[0, 1, 4]].tolist() == [0, 1, 4]
        assert sorted(drawn.source[2:4].tolist()) == sorted(drawn.order[2:4].tolist()) == [2, 3]
    nothing = draw(np.zeros(0, dtype=np.int64), Fraction(1, 2), 1)
    assert nothing.source.size == nothing.order.size == nothing.moved.size == 0
    assert draw(np.array([0, 0]), Fraction(1, 2), 1).moved.tolist() == [0, 0]


def test_values_stay_in_their_stratum_and_none_is_lost() -> None:
    sizes = np.random.default_rng(1).geometric(0.05, 3000) - 1
    drawn = permute(sizes, Fraction(1, 3), SystemEntropy())
    stratum = np.repeat(np.arange(sizes.size), sizes)
    for values in (drawn.source, drawn.order):
        assert np.array_equal(stratum[values], stratum)
        assert np.array_equal(np.sort(values), np.arange(sizes.sum()))
    apart = np.bincount(stratum, drawn.source != np.arange(stratum.size), minlength=sizes.size)
    assert np.array_equal(apart, drawn.moved)
    assert not np.array_equal(permute(sizes, Fraction(1, 3), SystemEntropy()).source, drawn.source)


def halves(words: Iterable[int]) -> WordArray:
    """Return a source's words that give out some 32-bit words."""
    short = [*words]
    return np.array(short + [0] * (len(short) % 2), dtype=np.uint32).view(np.uint64)


def scripted(words: Iterable[int]) -> Entropy:
    return ReplayedEntropy(halves(words), SeededEntropy(1))


def selected(word: int, rate: Fraction) -> bool:
    """Return whether a stratum of two, whose records both see one word, selects them."""
    wide = rate.denominator >= 2**32
    once = [word >> 32, word & 0xFFFFFFFF] if wide else [word]
    return bool(permute(np.array([2]), rate, scripted(once * 2)).moved[0])


@pytest.mark.parametrize(
    "rate",
    [
        Fraction(1, 2**32),
        Fraction(2**31 + 1, 2**32 + 1),
        Fraction(2**60, 2**61 - 1),
        Fraction(2**62 - 1, 2**62),
        Fraction(5, 2**62 - 57),
    ],
)
def test_wide_denominators_select_exactly_their_share(rate: Fraction) -> None:
    """A word selects if its rest is below a; words of the last, incomplete round of rests are drawn again."""
    a, c = rate.numerator, rate.denominator
    for round_ in (0, 1, 2**64 // c - 1):
        assert selected(round_ * c + a - 1, rate)
        assert not selected(round_ * c + a, rate)
    assert selected(2**64 // c * c - c, rate)
    if 2**64 % c:
        # thrown away, with the next word deciding: 0 selects
        beyond = 2**64 // c * c
        words = [beyond >> 32, beyond & 0xFFFFFFFF, 0, 0] * 2
        assert permute(np.array([2]), rate, scripted(words)).moved[0] == 2


@pytest.mark.parametrize(
    "rate", [Fraction(1, 3), Fraction(7, 20), Fraction(1, 2), Fraction(2**31, 2**32 - 1)]
)
def test_short_denominators_select_exactly_their_share(rate: Fraction) -> None:
    """Of 2^32 words floor(2^32 / c) have each product w c >> 32, and the others are drawn again."""
    a, c = rate.numerator, rate.denominator
    rest = 2**32 % c
    boundary = -(-(a * 2**32) // c)  # the first word whose product reaches a
    assert selected(boundary - 1, rate)
    low = boundary * c % 2**32
    if low >= rest:
        assert not selected(boundary, rate)
    else:
        assert permute(np.array([2]), rate, scripted([boundary, 2] * 2)).moved[0] == 2
    if rest:  # 0 is always among those
        assert not permute(np.array([2]), rate, scripted([0, 2**32 - 1] * 2)).moved[0]
    else:
        assert selected(0, rate)


@pytest.mark.parametrize("rate", [Fraction(3, 10), Fraction(3 * 2**58, 2**61 - 1)])
def test_a_stratum_that_selects_one_selects_again(rate: Fraction) -> None:
    wide = rate.denominator >= 2**32
    yes, no = ([0, 0], [2**32 - 2] * 2) if wide else ([1], [2**32 - 2])
    assert permute(np.array([2]), rate, scripted([*yes, *no, *no, *yes, *yes, *yes])).moved[0] == 2
    assert permute(np.array([2]), rate, scripted([*yes, *no, *no, *yes, *no, *no])).moved[0] == 0


def test_a_stratum_with_its_key_is_drawn_the_same_among_any_others() -> None:
    sizes, keys = np.array([5, 0, 17, 2, 1, 40, 3]), SeededEntropy(2).words(7)
    together = permute(sizes, Fraction(1, 2), None, keys)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    order = np.array([6, 2, 5, 3, 0, 4, 1])
    shuffled = permute(sizes[order], Fraction(1, 2), None, keys[order])
    places = np.concatenate([[0], np.cumsum(sizes[order])])
    for i, stratum in enumerate(order.tolist()):
        alone = permute(sizes[[stratum]], Fraction(1, 2), None, keys[[stratum]])
        for drawn, start in ((together, starts[stratum]), (shuffled, places[i])):
            part = slice(start, start + sizes[stratum])
            assert (drawn.source[part] - start).tolist() == alone.source.tolist()
            assert (drawn.order[part] - start).tolist() == alone.order.tolist()
    assert together.moved[order].tolist() == shuffled.moved.tolist()
    assert together.moved.sum() > 0


def test_other_keys_make_other_draws() -> None:
    """Keys that differ in one bit, or by one, included."""
    sizes = alike(30, 64)
    near = permute(sizes, Fraction(1, 2), None, np.arange(64, dtype=np.uint64))
    assert len(set(map(tuple, rows(near.source, 30).tolist()))) == 64
    bits = permute(sizes, Fraction(1, 2), None, np.uint64(1) << np.arange(64, dtype=np.uint64))
    assert len(set(map(tuple, rows(bits.source, 30).tolist()))) == 64


def test_a_large_stratum_is_deranged_whole() -> None:
    size = 300_000
    drawn = permute(np.array([size]), Fraction(1, 2), SystemEntropy())
    apart = drawn.source != np.arange(size)
    assert apart.sum() == drawn.moved[0]
    assert abs(drawn.moved[0] - size / 2) < 10 * sqrt(size) / 2
    assert np.array_equal(np.sort(drawn.source), np.arange(size))
    assert np.array_equal(np.sort(drawn.order), np.arange(size))


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (Fraction(0), "above 0 and below 1"),
        (Fraction(1), "above 0 and below 1"),
        (Fraction(3, 2), "above 0 and below 1"),
        (Fraction(1, 2**62 + 1), "too many digits"),
    ],
)
def test_rates_that_cannot_be_are_refused(rate: Fraction, message: str) -> None:
    with pytest.raises(SamplingError, match=message):
        permute(np.array([3]), rate, SeededEntropy(1))


def test_words_come_from_one_place() -> None:
    keys = np.zeros(1, dtype=np.uint64)
    for entropy, some in ((None, None), (SeededEntropy(1), keys)):
        with pytest.raises(SamplingError, match="give one of them"):
            permute(np.array([3]), Fraction(1, 2), entropy, some)
    for some in (np.zeros(0, dtype=np.uint64), np.zeros(2, dtype=np.uint64)):
        with pytest.raises(SamplingError, match="keys for 1 strata"):
            permute(np.array([3]), Fraction(1, 2), None, some)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint32, np.uint16])
def test_records_are_sorted_by_stratum_and_keep_their_order(kind: type) -> None:
    codes: IntArray = np.random.default_rng(3).integers(0, 50, 2000).astype(kind)
    sizes, places = by_stratum(codes, 53)
    assert np.array_equal(places, np.argsort(codes, kind="stable"))
    assert np.array_equal(sizes, np.bincount(codes, minlength=53))
    none, nowhere = by_stratum(codes[:0], 2)
    assert none.tolist() == [0, 0]
    assert nowhere.size == 0
