"""What a projection maps to one value, counted by hand."""

import numpy as np
import pytest

from holdfast.processing.contraction import contracted, contractions, whole_ordered
from holdfast.system.errors import DataError


def test_values_at_a_bound_that_were_not_there_before() -> None:
    cases, deaths = [[-2, 0, 5, 9], [3, 4, 5, 0]], [[1, 0, 7, -3], [3, 2, 0, 0]]
    after_cases, after_deaths = [[0, 0, 6, 9], [3, 3, 5, 1]], [[0, 0, 6, 0], [3, 3, 0, 0]]
    found = contractions(cases, deaths, after_cases, after_deaths)
    assert found.counts() == {
        "contracted_case_zeros": 1,  # -2 became 0; 0 stayed
        "contracted_death_zeros": 2,  # 1 and -3 became 0
        "contracted_rates": 2,  # 5 of 7 became 6 of 6, 4 of 2 became 3 of 3; 3 of 3 stayed
    }
    assert found.shares()["contracted_rates"].tolist() == [0, 0.5, 0.5, 0]
    assert found.to_dict()["values"] == 8


def test_small_places_lose_most() -> None:
    """Noise of one size on places of very different sizes, projected as cases, deaths and a total."""
    rng = np.random.default_rng(4)
    cases, deaths = np.array([2000, 300, 3]), np.array([60, 10, 0])
    noisy = [part + rng.geometric(0.1, (500, 3)) - rng.geometric(0.1, (500, 3)) for part in (cases, deaths)]
    processed = whole_ordered(noisy[0], noisy[1], int(cases.sum()))
    shares = contractions(noisy[0], noisy[1], *processed).shares()
    assert shares["contracted_case_zeros"][2] > 0.2
    assert shares["contracted_case_zeros"][:2].max() == 0
    assert shares["contracted_death_zeros"][2] > 0.4 > shares["contracted_death_zeros"][1]
    assert shares["contracted_rates"][2] > 0.05


def test_shapes_must_agree() -> None:
    with pytest.raises(DataError, match="give the same values"):
        contracted([1, 2], [1])
