from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from holdfast.mechanisms.canonical import Tulap
from holdfast.mechanisms.canonical.tulap import TulapSum
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL

PLACES = np.linspace(-9, 9, 301)


def test_one_term_is_the_law_itself() -> None:
    for law in (Tulap(Fraction(1)), Tulap(Fraction(1, 2), Fraction(1, 1000))):
        total = TulapSum.of(law, 1)
        assert np.abs(total.cdf(PLACES) - law.cdf(PLACES)).max() <= total.error


@pytest.mark.parametrize(
    ("law", "places"),
    [(Tulap(Fraction(1)), [-3.3, -0.2, 0.0, 1.9]), (Tulap(Fraction(1), Fraction(1, 100)), [-3.3, -0.2, 1.9])],
)
def test_two_terms_by_quadrature(law: Tulap, places: list[float]) -> None:
    total = TulapSum.of(law, 2)
    fine = np.linspace(-45, 45, 450_001)  # sum of F(x - n) over the mass of n
    middle, mass = (fine[1:] + fine[:-1]) / 2, np.diff(law.cdf(fine))
    for x in places:
        assert (
            abs(float(law.cdf(x - middle) @ mass) - float(total.cdf(np.array([x]))[0])) < total.error + 1e-7
        )


@pytest.mark.parametrize(
    ("epsilon", "delta", "terms"), [("1/10", "0", 40), ("1/2", "1/100", 3), ("2", "1/5", 5)]
)
def test_sums_of_draws(epsilon: str, delta: str, terms: int) -> None:
    law = Tulap(Fraction(epsilon), Fraction(delta))
    total = TulapSum.of(law, terms)
    draws = law.sample(SeededEntropy(3), terms * 20_000).reshape(terms, -1).sum(axis=0)
    assert stats.kstest(total.cdf(draws), "uniform").pvalue > LEVEL
    assert stats.kstest(total.cdf(1.1 * draws), "uniform").pvalue < LEVEL / 10
    assert total.cdf(np.array([0.0]))[0] == pytest.approx(0.5, abs=1e-12)


def test_variances_add_up() -> None:
    law, terms = Tulap(Fraction(1)), 6
    total = TulapSum.of(law, terms)
    b = np.exp(-1)
    tail = integrate.trapezoid(
        np.linspace(0, 120, 240_001) * 2 * total.cdf(-np.linspace(0, 120, 240_001)), dx=5e-4
    )
    assert 2 * tail == pytest.approx(terms * (2 * b / (1 - b) ** 2 + 1 / 12), rel=1e-5)


def test_too_wide() -> None:
    with pytest.raises(SamplingError, match="too wide"):
        TulapSum.of(Tulap(Fraction(1, 10**5)), 2)
