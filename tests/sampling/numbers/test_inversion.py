from fractions import Fraction

import numpy as np
import pytest
from tests.sampling.replayed import ReplayedEntropy

from holdfast.sampling.decisions import Enclosure
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.numbers.inversion import Cdf, Inversion
from holdfast.testing.goodness import LEVEL, p_value

EIGHTHS = [Fraction(1, 8), Fraction(1, 2), Fraction(5, 8), Fraction(1)]


def dyadic(slack: int) -> Cdf:
    """A cdf with dyadic values, which enclosures that are never tight cannot tell from their neighbours."""

    def cdf(k: int, bits: int) -> Enclosure:
        value = int((EIGHTHS[min(k, 3)] if k >= 0 else 0) * 2**bits)
        exact = not 0 <= k < 3
        return (value, value) if exact else (value - slack, value + slack)

    return cdf


@pytest.mark.parametrize("slack", [0, 1])
@pytest.mark.parametrize("around", [None, 0, 2])
@pytest.mark.parametrize("bits", [64, 32, 4, 3])
def test_dyadic_values_are_no_obstacle(slack: int, around: int | None, bits: int) -> None:
    draws = Inversion(dyadic(slack), bits=bits, around=around).sample(SeededEntropy(1), 20_000)
    law = {(0,): 1 / 8, (1,): 3 / 8, (2,): 1 / 8, (3,): 3 / 8}
    assert p_value(draws[:, None], law) > LEVEL


@pytest.mark.parametrize(
    ("word", "draw"),
    [(0, 0), (2**29 - 1, 0), (2**29, 1), (2**31 - 1, 1), (2**31, 2), (2**31 + 2**29, 3), (2**32 - 1, 3)],
)
def test_words_beside_a_threshold_are_decided_by_further_bits(word: int, draw: int) -> None:
    # The word at a dyadic value is above it, and the one before is below, whatever bits follow.
    law = Inversion(dyadic(1))
    for after in (1, 2**63, 2**64 - 2):
        entropy = ReplayedEntropy(np.array([word, after], dtype=np.uint64), SeededEntropy(2))
        assert law.sample(entropy, 1).tolist() == [draw]


def test_bits_that_decide_nothing_are_followed_by_more() -> None:
    # u = 1/2 exactly so far, and an enclosure around 1/2: only the third word shows u > 1/2.
    entropy = ReplayedEntropy(np.array([2**31, 0, 7], dtype=np.uint64), SeededEntropy(2))
    assert Inversion(dyadic(1)).sample(entropy, 1).tolist() == [2]


def test_blocks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Inversion(dyadic(0)).sample(SeededEntropy(3), 1000)
    monkeypatch.setattr("holdfast.sampling.numbers.inversion.BLOCK", 64)
    assert np.array_equal(Inversion(dyadic(0)).sample(SeededEntropy(3), 1000), whole)
