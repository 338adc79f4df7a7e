"""Posteriors with and without one person's record, over all files of a few people."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.privacy.posterior import posterior_distance, with_record
from holdfast.system.errors import GuaranteeError

Floats = NDArray[np.float64]
FILES = np.array(list(product((0, 1), repeat=3)))
WITHOUT = (FILES * [0, 1, 1]) @ [4, 2, 1]
"""The place of each file with the record of person 1 replaced by 0."""


def posteriors(chance: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """Return both posteriors, as (2) of the paper defines them, from P(M(x) = y) of each file."""
    one, other = chance * prior, chance[WITHOUT] * prior
    return one / one.sum(), other / other.sum()


probabilities = st.lists(st.floats(0.01, 1), min_size=8, max_size=8)


@settings(max_examples=200, deadline=None)
@given(probabilities, probabilities, st.integers(1, 255))
def test_bounds_hold_for_any_mechanism_and_prior(
    chances: list[float], prior: list[float], event: int
) -> None:
    """The loss is that of the output between a file and the one without the record."""
    chance, belief = np.array(chances), np.array(prior)
    loss = float(np.abs(np.log(chance / chance[WITHOUT])).max())
    one, other = posteriors(chance, belief)
    printed, tight = posterior_distance(loss)
    apart = np.abs(one - other).sum() / 2
    assert apart <= tight + 1e-12
    assert tight <= printed + 1e-12
    inside = (event >> np.arange(8)) & 1 == 1
    low, high = with_record(min(float(other[inside].sum()), 1.0), loss)
    assert low - 1e-12 <= one[inside].sum() <= high + 1e-12


def test_both_are_attained_by_randomised_response_on_an_agreement() -> None:
    """M tells whether person 1 and 2 agree, and lies with the chance 1 / (1 + e)."""
    epsilon = 1.0
    truth = np.exp(epsilon) / (1 + np.exp(epsilon))
    chance = np.where(FILES[:, 0] == FILES[:, 1], truth, 1 - truth)
    belief = np.where(FILES[:, 0] == 1, 0.25, 0.0)  # she knows that person 1 has the value 1
    one, other = posteriors(chance, belief)
    assert np.abs(one - other).sum() / 2 == pytest.approx(float(posterior_distance(epsilon).tight))
    says = FILES[:, 1] == 1
    assert one[says].sum() == pytest.approx(float(with_record(other[says].sum(), epsilon).high))


def test_a_loss_is_not_negative() -> None:
    with pytest.raises(GuaranteeError, match="not negative"):
        posterior_distance([0.5, -1])
