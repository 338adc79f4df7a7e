from fractions import Fraction

import flint
import numpy as np
import pytest

from holdfast.sampling.decisions import Real, ball_of, real, toss_coins
from holdfast.sampling.entropy import SeededEntropy

EXPONENTS = [Fraction(n, 7) for n in range(12)]


def exact(i: int) -> Real:
    def ball() -> flint.arb:
        return (-ball_of(EXPONENTS[i % len(EXPONENTS)])).exp()

    return real(ball)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_heads_come_up_as_often_as_they_should(exponent: Fraction) -> None:
    size = 40_000
    log_chance = np.full(size, -float(exponent))
    heads = toss_coins(log_chance, np.full(size, 1e-14), exact, SeededEntropy(3))
    chance = np.exp(-float(exponent))
    # Level: 4.5 standard deviations.
    assert abs(heads.mean() - chance) <= 4.5 * np.sqrt(chance * (1 - chance) / size)


def test_enclosures_decide_as_floats_do() -> None:
    log_chance = -np.array([float(EXPONENTS[i % len(EXPONENTS)]) for i in range(600)])
    clear = toss_coins(log_chance, np.full(600, 1e-14), exact, SeededEntropy(5))
    unsure = toss_coins(log_chance, np.ones(600), exact, SeededEntropy(5))
    assert np.array_equal(clear, unsure)


@pytest.mark.parametrize("width", [2.0**-30, 3.0, 700.0])
def test_wide_margins_change_nothing(width: float) -> None:
    log_chance = -np.array([float(EXPONENTS[i % len(EXPONENTS)]) for i in range(600)])
    clear = toss_coins(log_chance, np.full(600, 1e-14), exact, SeededEntropy(5))
    for shifted in (log_chance - width / 2, log_chance + width / 2):
        assert np.array_equal(toss_coins(shifted, np.full(600, width), exact, SeededEntropy(5)), clear)


@pytest.mark.parametrize("wrong", [np.nan, 0.1])
def test_what_is_no_probability_is_refused(wrong: float) -> None:
    with pytest.raises(ArithmeticError):
        toss_coins(np.array([wrong]), np.array([1e-9]), exact, SeededEntropy(0))
