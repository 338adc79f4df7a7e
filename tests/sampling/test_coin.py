from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest

from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.exact import coin
from holdfast.sampling.exact.coin import toss_root_coin

SIZE = 20_000


# a margin of 1 sends every toss to ball arithmetic
@pytest.mark.parametrize("margin", [coin.RELATIVE_MARGIN, 1.0])
@pytest.mark.parametrize(("n", "m"), [(4, 2), (2, 2), (0, 0), (50, 7)])
def test_heads_have_the_right_share(n: int, m: int, margin: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coin, "RELATIVE_MARGIN", margin)
    root, line, size = Fraction(3, 4), Fraction(3, 8), SIZE if margin < 1 else 4000
    p = exp(-(0.75 * sqrt(n) - 0.375 * m))
    tosses = toss_root_coin(root, line, np.full(size, n), np.full(size, m), SeededEntropy(n + m))
    # Level: 4.5 standard deviations; a sure coin always comes up.
    assert abs(tosses.sum() - size * p) <= 4.5 * sqrt(size * p * (1 - p))


def test_both_paths_decide_the_same_words_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    n, m = np.arange(1, 500), np.sqrt(np.arange(1, 500)).astype(np.int64)
    quick = toss_root_coin(Fraction(1, 3), Fraction(1, 9), n, m, SeededEntropy(8))
    monkeypatch.setattr(coin, "RELATIVE_MARGIN", 1.0)
    assert np.array_equal(quick, toss_root_coin(Fraction(1, 3), Fraction(1, 9), n, m, SeededEntropy(8)))
