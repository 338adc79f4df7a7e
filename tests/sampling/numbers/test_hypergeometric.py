from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats
from tests.goodness import LEVEL, One, p_value

from holdfast.errors import SamplingError
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.numbers.hypergeometric import Hypergeometric

CASES = [(10, 5, 5), (2, 1, 1), (50, 3, 40), (1000, 300, 77), (60, 58, 57)]


def law(population: int, successes: int, draws: int) -> dict[One, float]:
    mass = stats.hypergeom(population, successes, draws).pmf(np.arange(draws + 1))
    return {(k,): float(m) for k, m in enumerate(mass) if m > 0}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("bits", [32, 8, 3])
def test_draws_have_the_enumerated_law(case: tuple[int, int, int], bits: int) -> None:
    draws = Hypergeometric(*case, bits=bits).sample(SeededEntropy(1), 200_000 if bits == 32 else 20_000)
    assert p_value(draws[:, None], law(*case)) > LEVEL


def test_another_share_of_successes_is_rejected() -> None:
    draws = Hypergeometric(1000, 300, 77).sample(SeededEntropy(1), 200_000)
    assert p_value(draws[:, None], law(1000, 291, 77)) < LEVEL / 1000
    assert p_value(draws[:, None], law(1000, 309, 77)) < LEVEL / 1000


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("bits", [3, 32, 96])
def test_the_cdf_encloses_that_of_the_integers(case: tuple[int, int, int], bits: int) -> None:
    population, successes, draws = case
    inversion = Hypergeometric(*case)._inversion
    below = 0
    for k in range(draws + 1):
        below += comb(successes, k) * comb(population - successes, draws - k)
        exact = Fraction(below << bits, comb(population, draws))
        low, high = inversion._cdf(k, bits)
        assert low <= exact <= high <= low + 2


@pytest.mark.parametrize(
    "case",
    [(10**9, 10**6, 10**6), (10**12, 10**6, 10**11), (10**8, 5 * 10**7, 10**6), (10**15, 3, 10**15 - 1)],
)
def test_huge_populations_have_the_right_moments(case: tuple[int, int, int]) -> None:
    population, successes, n = case
    draws = Hypergeometric(*case).sample(SeededEntropy(2), 40_000)
    mean = n * successes / population
    variance = mean * (1 - successes / population) * (population - n) / (population - 1)
    # Level: 4.5 standard deviations of the mean and, for laws near the normal, of the variance.
    assert abs(draws.mean() - mean) <= 4.5 * (variance / draws.size) ** 0.5 + 1e-9
    if variance > 100:
        assert abs(draws.var() / variance - 1) <= 4.5 * (2 / draws.size) ** 0.5


@pytest.mark.parametrize(("case", "only"), [((0, 0, 0), 0), ((7, 0, 3), 0), ((7, 7, 3), 3), ((7, 4, 7), 4)])
def test_a_law_of_one_value_gives_it(case: tuple[int, int, int], only: int) -> None:
    assert (Hypergeometric(*case, bits=2).sample(SeededEntropy(3), 100) == only).all()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(SamplingError, match="do not both fit"):
        Hypergeometric(5, 6, 2)
    with pytest.raises(SamplingError, match="too wide"):
        Hypergeometric(10**15, 5 * 10**14, 5 * 10**14)
