from fractions import Fraction
from math import exp

import numpy as np
import pytest

from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.numbers.exponential import DoubleGeometric, ExpCoin
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, p_value

DRAWS = 200_000
SCALES = [Fraction(1, 4), Fraction(3, 2), Fraction(1, 50)]


def double_geometric(epsilon: float) -> dict[tuple[int, ...], float]:
    a = exp(-epsilon)
    reach = int(45 / epsilon)
    return {(z,): (1 - a) / (1 + a) * a ** abs(z) for z in range(-reach, reach + 1)}


@pytest.mark.parametrize("epsilon", SCALES)
# few bits make almost every draw pass through refinement
@pytest.mark.parametrize("bits", [32, 6, 2])
def test_double_geometric_has_its_law(epsilon: Fraction, bits: int) -> None:
    draws = DoubleGeometric(epsilon, bits=bits).sample(SeededEntropy(11), DRAWS if bits == 32 else 8000)
    assert p_value(draws[:, None], double_geometric(float(epsilon))) > LEVEL


@pytest.mark.parametrize("wrong", [0.97, 1.03])
def test_a_scale_off_by_three_percent_is_rejected(wrong: float) -> None:
    draws = DoubleGeometric(Fraction(1, 4)).sample(SeededEntropy(11), DRAWS)
    assert p_value(draws[:, None], double_geometric(wrong / 4)) < LEVEL / 1000


def test_a_wide_law_is_drawn_by_digits_with_the_right_law() -> None:
    # epsilon = 1/3000 needs two digits; compare the draws in 60 classes of equal probability.
    epsilon = Fraction(1, 3000)
    noise = DoubleGeometric(epsilon).sample(SeededEntropy(2), DRAWS)
    draws = np.where(noise < 0, -1 - noise, noise)  # geometric on either side
    uniform = -np.expm1(-float(epsilon) * draws)  # the lower edge of the cell of each draw
    classes = np.minimum((uniform * 60).astype(int), 59)
    edges = np.ceil(-np.log1p(-np.arange(61)[:-1] / 60) / float(epsilon))
    mass = np.diff(np.append(-np.expm1(-float(epsilon) * edges), 1.0))
    law = {(c,): float(m) for c, m in enumerate(mass)}
    assert p_value(classes[:, None].astype(np.int64), law) > LEVEL
    wrong = {(c,): float(m) for c, m in enumerate(np.roll(mass, 1) * 0 + np.linspace(0.97, 1.03, 60) / 60)}
    assert p_value(classes[:, None].astype(np.int64), wrong) < LEVEL


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 10**9)])
def test_tiny_parameters_have_the_right_mean_size(epsilon: Fraction) -> None:
    # E|z| is close to 1/epsilon with standard deviation 1/epsilon. Level: 4.5 standard deviations.
    draws = DoubleGeometric(epsilon).sample(SeededEntropy(4), 20_000)
    assert abs(np.abs(draws).mean() * float(epsilon) - 1) < 4.5 / 20_000**0.5


def test_a_huge_parameter_gives_zero_almost_always() -> None:
    assert not DoubleGeometric(Fraction(10**9)).sample(SeededEntropy(4), 1000).any()


def test_a_parameter_beyond_64_bits_is_refused() -> None:
    with pytest.raises(SamplingError, match="too small"):
        DoubleGeometric(Fraction(1, 10**15))


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1, 3000)])
@pytest.mark.parametrize("bits", [64, 3])
def test_coins_come_up_with_powers(epsilon: Fraction, bits: int) -> None:
    coin = ExpCoin(epsilon, bits=bits)
    size = 40_000 if bits == 64 else 4000
    for s in (0, 1, 3, round(2 / epsilon)):
        heads = coin.toss(np.full(size, s), SeededEntropy(s + 1)).sum()
        p = exp(-float(epsilon) * s)
        # Level: 4.5 standard deviations.
        assert abs(heads - size * p) <= 4.5 * (size * p * (1 - p)) ** 0.5
