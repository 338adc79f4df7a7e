from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from holdfast.privacy.intensity import Approximate, GaussianDP, Pure, ZeroConcentrated
from holdfast.privacy.order import at_least_as_strong, convert, delta_at
from holdfast.system.errors import GuaranteeError

numbers = st.fractions(min_value=Fraction(1, 20), max_value=5, max_denominator=100)


@given(numbers, numbers)
def test_one_standard_compares_by_its_number(one: Fraction, other: Fraction) -> None:
    for kind in (Pure, ZeroConcentrated, GaussianDP):
        assert at_least_as_strong(kind(one), kind(other)) == (one <= other)


@given(numbers, numbers)
def test_pure_within_approximate_matches_randomised_response(one: Fraction, other: Fraction) -> None:
    # The worst pure law answers truly with p = e^one / (1 + e^one); its delta at ``other`` is
    # max(0, p - e^other (1 - p)).
    p = float(np.exp(float(one)) / (1 + np.exp(float(one))))
    truth = max(0.0, p - np.exp(float(other)) * (1 - p))
    found = float(delta_at(Pure(one), other))
    assert truth - 1e-12 <= found <= truth * (1 + 1e-8) + 1e-12


@given(numbers)
def test_converted_intensities_are_implied(epsilon: Fraction) -> None:
    pure = Pure(epsilon)
    for standard in ("zcdp", "gaussian", "approximate"):
        assert at_least_as_strong(pure, convert(pure, standard))


@given(numbers)
def test_pure_to_gaussian_touches_at_the_corner(epsilon: Fraction) -> None:
    mu = float(convert(Pure(epsilon), "gaussian").parameters()["mu"])
    corner = 1 / (1 + np.exp(float(epsilon)))
    assert norm.cdf(norm.ppf(1 - corner) - mu) <= corner
    assert norm.cdf(norm.ppf(1 - corner) - 0.999 * mu) > corner


def test_gaussian_within_zcdp_and_approximate() -> None:
    assert at_least_as_strong(GaussianDP(Fraction(1)), ZeroConcentrated(Fraction(1, 2)))
    assert not at_least_as_strong(GaussianDP(Fraction(1)), ZeroConcentrated(Fraction(49, 100)))
    assert at_least_as_strong(GaussianDP(Fraction(1)), Approximate(Fraction("4.378"), Fraction(1, 10**5)))
    assert not at_least_as_strong(GaussianDP(Fraction(1)), Approximate(Fraction("4.376"), Fraction(1, 10**5)))


@pytest.mark.parametrize("weak", [ZeroConcentrated(Fraction(1)), GaussianDP(Fraction(1))])
def test_no_concentrated_guarantee_is_pure(weak: ZeroConcentrated | GaussianDP) -> None:
    with pytest.raises(GuaranteeError, match="no theorem"):
        at_least_as_strong(weak, Pure(Fraction(100)))
