"""Laws by the ratios of their weights: hypergeometric, and the l1 norm of integers with a given sum."""

from fractions import Fraction
from math import comb, exp

import numpy as np
import pytest
from scipy import stats

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.numbers.inversion import Inversion, LogConcave, half_norm, weight
from holdfast.testing.goodness import LEVEL, One, p_value

CASES = [(10, 5, 5), (2, 1, 1), (50, 3, 40), (1000, 300, 77), (60, 58, 57), (7, 0, 3), (7, 4, 7)]


def hypergeometric(population: int, successes: int, draws: int) -> LogConcave:
    def ratio(k: int) -> tuple[int, int]:
        return (successes - k) * (draws - k), (k + 1) * (population - successes - draws + k + 1)

    return LogConcave.by_ratio((draws + 1) * (successes + 1) // (population + 2), ratio)


def sample(law: LogConcave, bits: int, size: int) -> IntArray:
    return Inversion(law.cdf, bits=bits, around=law.centre).sample(SeededEntropy(1), size)[:, None]


def masses(population: int, successes: int, draws: int) -> dict[One, float]:
    mass = stats.hypergeom(population, successes, draws).pmf(np.arange(draws + 1))
    return {(k,): float(m) for k, m in enumerate(mass) if m > 0}


@pytest.mark.parametrize("case", CASES[:5])
@pytest.mark.parametrize("bits", [32, 8, 3])
def test_draws_have_the_enumerated_law(case: tuple[int, int, int], bits: int) -> None:
    draws = sample(hypergeometric(*case), bits, 200_000 if bits == 32 else 20_000)
    assert p_value(draws, masses(*case)) > LEVEL


@pytest.mark.parametrize("wrong", [291, 309])
def test_another_share_of_successes_is_rejected(wrong: int) -> None:
    draws = sample(hypergeometric(1000, 300, 77), 32, 200_000)
    assert p_value(draws, masses(1000, wrong, 77)) < LEVEL / 1000


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("bits", [3, 32, 96])
def test_the_cdf_encloses_that_of_the_integers(case: tuple[int, int, int], bits: int) -> None:
    population, successes, draws = case
    law, below = hypergeometric(*case), 0
    for k in range(draws + 1):
        below += comb(successes, k) * comb(population - successes, draws - k)
        low, high = law.cdf(k, bits)
        assert low <= Fraction(below << bits, comb(population, draws)) <= high <= low + 2


@pytest.mark.parametrize(
    "case",
    [(10**9, 10**6, 10**6), (10**12, 10**6, 10**11), (10**8, 5 * 10**7, 10**6), (10**15, 3, 10**15 - 1)],
)
def test_huge_populations_have_the_right_moments(case: tuple[int, int, int]) -> None:
    population, successes, n = case
    draws = sample(hypergeometric(*case), 32, 40_000)
    mean = n * successes / population
    variance = mean * (1 - successes / population) * (population - n) / (population - 1)
    # Level: 4.5 standard deviations of the mean and, for laws near the normal, of the variance.
    assert abs(draws.mean() - mean) <= 4.5 * (variance / draws.size) ** 0.5 + 1e-9
    if variance > 100:
        assert abs(draws.var() / variance - 1) <= 4.5 * (2 / draws.size) ** 0.5


@pytest.mark.parametrize(("cells", "epsilon", "offset"), [(2, 1.0, 0), (3, 0.5, 4), (40, 0.25, 7)])
def test_the_norm_of_integers_with_a_given_sum(cells: int, epsilon: float, offset: int) -> None:
    law, n = half_norm(cells, Fraction(epsilon), offset), cells
    weights = [
        comb(n + m - 1, m) * comb(n + m + offset - 1, m + offset) * exp(-epsilon * (2 * m + offset))
        for m in range(1500)
    ]
    total = sum(weights)
    for m in range(0, 300, 7):
        low, high = law.cdf(m, 40)
        assert low - 1 <= sum(weights[: m + 1]) / total * 2**40 <= high + 1
    assert float(weight(law, n, Fraction(epsilon), offset, 64)) == pytest.approx(total, rel=1e-12)
