"""Laws on few vectors, drawn by inversion."""

import flint
import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.bounded.thinned import ListedLaw
from holdfast.sampling.entropy import SeededEntropy
from holdfast.testing.goodness import LEVEL, p_value

POINTS = np.array([[0, 4], [1, 3], [2, 2], [3, 1], [4, 0]])


def log_weight(point: IntArray) -> flint.arb:
    """Weigh by exp(-|first - 1| / 2), far from 1 in all."""
    return flint.arb(1000) - flint.arb(abs(int(point[0]) - 1)) / 2


def law_of(rate: float) -> dict[tuple[int, ...], float]:
    weights = np.exp(-rate * np.abs(POINTS[:, 0] - 1))
    return dict(zip(map(tuple, POINTS.tolist()), (weights / weights.sum()).tolist(), strict=True))


def test_draws_follow_the_weights() -> None:
    drawn = ListedLaw(POINTS, log_weight).sample(SeededEntropy(1), 10_000)
    assert p_value(drawn, law_of(0.5)) > LEVEL
    assert p_value(drawn, law_of(0.6)) < LEVEL / 1000


def test_log_probabilities_are_normalised() -> None:
    law = ListedLaw(POINTS, log_weight)
    assert abs(np.exp(law.log_prob(POINTS)).sum() - 1) < 1e-12
    assert np.allclose(np.exp(law.log_prob(POINTS)), list(law_of(0.5).values()))
    assert np.isneginf(law.log_prob(np.array([[5, -1]])))[0]


def test_enclosures_of_the_distribution_function_are_narrow_and_right() -> None:
    law, shares = ListedLaw(POINTS, log_weight), np.cumsum(list(law_of(0.5).values()))
    for k in range(5):
        low, high = law._cdf(k, 60)
        assert low <= high <= low + 64
        assert abs(low / 2**60 - shares[k]) < 1e-12


def test_one_vector_is_certain() -> None:
    law = ListedLaw(POINTS[:1], log_weight)
    assert (law.sample(SeededEntropy(2), 5) == POINTS[0]).all()
