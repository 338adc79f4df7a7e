from itertools import product
from math import comb

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.goodness import LEVEL, p_value

from holdfast.sampling.entropy import SeededEntropy, Words
from holdfast.sampling.exact.uniform import uniform_below, uniform_compositions


def test_uniform_below_is_uniform() -> None:
    draws = uniform_below(np.full(70_000, 7), SeededEntropy(1))
    assert p_value(draws[:, None], {(k,): 1 / 7 for k in range(7)}) > LEVEL
    tilted = {(k,): 1 / 7 * (1.03 if k % 2 else 1 - 0.03 * 3 / 4) for k in range(7)}
    assert p_value(draws[:, None], tilted) < LEVEL


def test_words_beyond_the_last_full_multiple_are_thrown_away() -> None:
    class Scripted:
        secure = False

        def __init__(self) -> None:
            self.script = [2**64 - 1, 9]

        def words(self, size: int) -> Words:
            taken, self.script = self.script[:size], self.script[size:]
            return np.array(taken, dtype=np.uint64)

    # 2^64 = 1 mod 3, so the last word is the odd one out; 2^64 = 0 mod 4, so there it counts.
    assert uniform_below(np.array([3]), Scripted()).tolist() == [0]
    assert uniform_below(np.array([4]), Scripted()).tolist() == [3]


def test_compositions_are_uniform() -> None:
    draws = uniform_compositions(np.full(60_000, 4), 3, SeededEntropy(9))
    law = {z: 1 / comb(6, 2) for z in product(range(5), repeat=3) if sum(z) == 4}
    assert p_value(draws, law) > LEVEL


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 30), st.integers(0, 99))
def test_compositions_sum_to_their_totals(totals: list[int], parts: int, seed: int) -> None:
    rows = uniform_compositions(np.array(totals), parts, SeededEntropy(seed))
    assert rows.shape == (len(totals), parts)
    assert (rows >= 0).all()
    assert rows.sum(axis=1).tolist() == totals
