from collections.abc import Mapping
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy import stats
from tests.sampling.replayed import ReplayedEntropy

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.numbers import gaussian
from holdfast.sampling.numbers.gaussian import DiscreteGaussian
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, One, p_value

DRAWS = 100_000


def law(sigma: float) -> Mapping[One, float]:
    """Enumerate the law."""
    reach = int(12 * sigma) + 2
    weight = {z: exp(-z * z / (2 * sigma * sigma)) for z in range(-reach, reach + 1)}
    total = sum(weight.values())
    return {(z,): w / total for z, w in weight.items()}


@pytest.fixture
def in_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every law wider than an integer a wide one."""
    monkeypatch.setattr(gaussian, "NARROW", 1)


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(4), Fraction(40)])
def test_draws_have_the_enumerated_law(sigma: Fraction) -> None:
    draws = DiscreteGaussian(sigma**2).sample(SeededEntropy(1), DRAWS)
    assert p_value(draws[:, None], law(float(sigma))) > LEVEL


@pytest.mark.parametrize("bits", [7, 3])
def test_few_bits_give_the_same_law_through_refinement(bits: int) -> None:
    draws = DiscreteGaussian(Fraction(9, 4), bits=bits).sample(SeededEntropy(2), 20_000)
    assert p_value(draws[:, None], law(1.5)) > LEVEL


def test_a_scale_off_by_three_percent_is_rejected() -> None:
    draws = DiscreteGaussian(Fraction(16)).sample(SeededEntropy(1), DRAWS)
    for wrong in (0.97, 1.03):
        assert p_value(draws[:, None], law(4 * wrong)) < LEVEL / 1000


@pytest.mark.parametrize("sigma", [2, 4, 21])
@pytest.mark.usefixtures("in_cells")
def test_cells_and_rejection_have_the_same_law(sigma: int) -> None:
    draws = DiscreteGaussian(Fraction(sigma**2)).sample(SeededEntropy(3), DRAWS)
    assert p_value(draws[:, None], law(sigma)) > LEVEL


@pytest.mark.usefixtures("in_cells")
def test_rejection_off_by_three_percent_is_rejected() -> None:
    draws = DiscreteGaussian(Fraction(16)).sample(SeededEntropy(3), DRAWS)
    assert p_value(draws[:, None], law(4 * 0.97)) < LEVEL / 1000
    assert p_value(draws[:, None], law(4 * 1.03)) < LEVEL / 1000


@pytest.mark.usefixtures("in_cells")
def test_coins_decided_by_enclosures_give_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    # A wide margin leaves every fifth coin to ball arithmetic.
    monkeypatch.setattr(gaussian, "MARGIN", 0.1)
    draws = DiscreteGaussian(Fraction(16)).sample(SeededEntropy(4), 20_000)
    assert p_value(draws[:, None], law(4)) > LEVEL


@pytest.mark.parametrize("sigma", [1000, 1500, 10**6, 10**9])
def test_wide_laws_are_close_to_the_normal_law(sigma: int) -> None:
    # Compared in cells of equal probability of the continuous law: they differ by less than 1/sigma.
    draws = DiscreteGaussian(Fraction(sigma**2)).sample(SeededEntropy(6), DRAWS)
    assert _normal_p_value(draws, sigma) > LEVEL
    assert _normal_p_value(draws, 0.97 * sigma) < LEVEL / 1000
    assert _normal_p_value(draws, 1.03 * sigma) < LEVEL / 1000
    assert np.unique(draws & 1023).size == 1024  # the low digits are drawn, too


def _normal_p_value(draws: IntArray, sigma: float) -> float:
    classes = np.minimum((stats.norm.cdf((draws + 0.5) / sigma) * 40).astype(np.int64), 39)
    edges = np.concatenate([[-np.inf], stats.norm.ppf(np.arange(1, 40) / 40) * sigma, [np.inf]])
    # the integers z with z + 1/2 between two edges, each with the mass of [z - 1/2, z + 1/2]
    mass = np.diff(stats.norm.cdf(np.ceil(edges - 0.5) - 0.5, scale=sigma))
    return p_value(classes[:, None], {(c,): float(m) for c, m in enumerate(mass)})


def test_a_tiny_scale_gives_zero() -> None:
    assert not DiscreteGaussian(Fraction(1, 10**12)).sample(SeededEntropy(7), 1000).any()


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), Fraction(1, 10**30), Fraction(10**30)])
def test_variances_out_of_reach_are_refused(variance: Fraction) -> None:
    with pytest.raises(SamplingError, match="between"):
        DiscreteGaussian(variance)


def test_the_same_words_draw_the_same_values() -> None:
    words = SeededEntropy(8).words(4000)
    for sigma in (4, 5000):
        noise = DiscreteGaussian(Fraction(sigma**2))
        first, again = (noise.sample(ReplayedEntropy(words, SeededEntropy(9)), 1000) for _ in range(2))
        assert np.array_equal(first, again)
