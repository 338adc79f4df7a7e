from itertools import product
from math import comb

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lattice.arrays import WordArray
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.numbers.uniform import uniform_below, uniform_compositions
from holdfast.testing.goodness import LEVEL, p_value


def test_uniform_below_is_uniform() -> None:
    draws = uniform_below(np.full(70_000, 7), SeededEntropy(1))
    assert p_value(draws[:, None], {(k,): 1 / 7 for k in range(7)}) > LEVEL
    tilted = {(k,): 1 / 7 * (1.03 if k % 2 else 1 - 0.03 * 3 / 4) for k in range(7)}
    assert p_value(draws[:, None], tilted) < LEVEL


class Scripted:
    secure = False

    def __init__(self, *script: int) -> None:
        self.script = list(script)

    def words(self, size: int) -> WordArray:
        taken, self.script = self.script[:size], self.script[size:]
        return np.array(taken, dtype=np.uint64)


def test_words_that_would_tilt_the_law_are_thrown_away() -> None:
    # 2^32 = 1 mod 3: of all w, only w = 0 has 3 w mod 2^32 = 0 < 1. 2^32 = 0 mod 4: there every word counts.
    assert uniform_below(np.array([3]), Scripted(0, 2**31)).tolist() == [1]
    assert uniform_below(np.array([4]), Scripted(0)).tolist() == [0]
    # 64-bit words and a bound that leaves a rest: 2^64 = 2^62 mod 3 2^62.
    big = 3 * 2**61
    assert uniform_below(np.array([big]), Scripted(2**64 - 1, big + 5)).tolist() == [5]


def test_every_short_word_is_counted_evenly() -> None:
    # All 16-bit pictures of the rule: with 2^b words and bound n, each value gets floor(2^b / n) of them.
    for bound in (1, 3, 7, 10, 60_000):
        words = np.arange(2**16, dtype=np.uint64) * np.uint64(bound)
        kept = (words & np.uint64(2**16 - 1)) >= 2**16 % bound
        counts = np.bincount((words >> np.uint64(16))[kept].astype(np.int64), minlength=bound)
        assert set(counts.tolist()) == {2**16 // bound}


def test_large_bounds_are_uniform() -> None:
    draws = uniform_below(np.full(20_000, 2**40), SeededEntropy(2)) >> 37
    assert p_value(draws[:, None], {(k,): 1 / 8 for k in range(8)}) > LEVEL


def test_compositions_are_uniform() -> None:
    draws = uniform_compositions(np.full(60_000, 4), 3, SeededEntropy(9))
    law = {z: 1 / comb(6, 2) for z in product(range(5), repeat=3) if sum(z) == 4}
    assert p_value(draws, law) > LEVEL


def test_sparse_compositions_are_uniform() -> None:
    """Few stars among many bars are placed themselves."""
    draws = uniform_compositions(np.full(60_000, 2), 7, SeededEntropy(4))
    law = {z: 1 / comb(8, 2) for z in product(range(3), repeat=7) if sum(z) == 2}
    assert p_value(draws, law) > LEVEL
    for sign in (-1, 1):
        tilted = {z: p * (1 + sign * 0.06 * (1 if max(z) == 2 else -1 / 3)) for z, p in law.items()}
        assert p_value(draws, tilted) < LEVEL


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 30), st.integers(0, 99))
def test_compositions_sum_to_their_totals(totals: list[int], parts: int, seed: int) -> None:
    rows = uniform_compositions(np.array(totals), parts, SeededEntropy(seed))
    assert rows.shape == (len(totals), parts)
    assert (rows >= 0).all()
    assert rows.sum(axis=1).tolist() == totals
