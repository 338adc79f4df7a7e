"""Truncated laws: the choice between the two exact methods, and that both draw the same law."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.lattice.points import lattice_points
from holdfast.sampling.bounded import truncated
from holdfast.sampling.bounded.thinned import RejectionLaw
from holdfast.sampling.bounded.truncated import TruncatedLaw
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, Point, p_value, two_way

Array = NDArray[np.int64]
X = np.array([2, 0, 1, 3, 1, 1])


def enumerated(epsilon: float) -> dict[Point, float]:
    points = lattice_points(two_way(2, 3), 12)
    points = points[(points >= -X).all(axis=1)]
    weight = np.exp(-epsilon * np.abs(points).sum(axis=1))
    return dict(zip(map(tuple, points.tolist()), (weight / weight.sum()).tolist(), strict=True))


@pytest.mark.parametrize("method", ["dynamic programming", "rejection"])
def test_both_methods_draw_the_enumerated_law(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if method == "rejection":
        monkeypatch.setattr(truncated, "LIGHT", 0)
    law = TruncatedLaw(csr_array(two_way(2, 3)), epsilon=Fraction(1, 2), low=-X)
    assert law.method == f"6 cells within bounds, by {method}"
    draws = law.sample(SeededEntropy(21), 40_000)
    assert not (draws @ two_way(2, 3).T).any()
    assert (draws >= -X).all()
    assert p_value(draws, enumerated(0.5)) > LEVEL


def test_a_scale_off_by_three_percent_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truncated, "LIGHT", 0)
    law = TruncatedLaw(csr_array(two_way(2, 3)), epsilon=Fraction(1, 2), low=-X)
    draws = law.sample(SeededEntropy(22), 300_000)
    for wrong in (0.97, 1.03):
        assert p_value(draws, enumerated(0.5 * wrong)) < LEVEL


def test_both_methods_agree_on_probabilities_up_to_a_constant() -> None:
    law = TruncatedLaw(csr_array(two_way(2, 3)), epsilon=Fraction(1, 2), low=-X)
    points = np.array([[1, 0, -1, -1, 0, 1], [0, 0, 0, 0, 0, 0], [-3, 3, 0, 3, -3, 0], [1, 0, 0, 0, 0, 0]])
    thinned = law._kept()
    assert thinned is not None
    difference = law.log_prob(points)[:2] - thinned.log_prob(points)[:2]
    assert difference[0] == pytest.approx(difference[1])
    for log_prob in (law.log_prob(points), thinned.log_prob(points)):
        assert np.isneginf(log_prob[2:]).all()
    assert np.exp(law.log_prob(lattice_points(two_way(2, 3), 12))).sum() == pytest.approx(1)


def test_crossing_margins_that_do_not_come_apart_are_drawn_by_rejection() -> None:
    x = np.array([3, 5, 2, 4, 6, 1, 2, 8, 3, 9, 4, 4, 5, 5, 7, 6])
    law = TruncatedLaw(csr_array(two_way(4, 4)), epsilon=Fraction(1), low=-x)
    assert law.method == "16 cells within bounds, by rejection"
    draws = law.sample(SeededEntropy(1), 200)
    assert (draws >= -x).all()
    assert not (draws @ two_way(4, 4).T).any()


def test_a_wide_law_with_bounds_that_hardly_bind_is_drawn_by_rejection() -> None:
    system = csr_array(np.ones((1, 4), dtype=np.int64))
    law = TruncatedLaw(system, epsilon=Fraction(1, 1000), low=-np.full(4, 3000))
    assert law.method == "4 cells within bounds, by rejection"
    assert (law.sample(SeededEntropy(1), 1000) >= -3000).all()


def test_what_neither_method_draws_is_refused_in_a_sentence() -> None:
    zeros = np.zeros(36, dtype=np.int64)
    with pytest.raises(SamplingError, match="no exact sampler keeps noise on 36 cells"):
        TruncatedLaw(csr_array(two_way(6, 6)), epsilon=Fraction(1, 10), low=zeros - 1)
    with pytest.raises(SamplingError, match="no vector"):
        TruncatedLaw(csr_array(np.ones((1, 2), dtype=np.int64)), epsilon=Fraction(1), low=np.array([1, 1]))


def test_draws_that_keep_inequalities_have_the_law_given_them() -> None:
    law = TruncatedLaw(csr_array(two_way(2, 3)), epsilon=Fraction(1, 2), low=-X)
    rows, least = np.array([[1, -1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 1]]), np.array([0, -1])
    kept = RejectionLaw.by_inequalities(law, rows, least)
    full = enumerated(0.5)
    given = {z: share for z, share in full.items() if (rows @ np.array(z) >= least).all()}
    total = sum(given.values())
    given = {z: share / total for z, share in given.items()}
    assert len(given) < len(full)
    draws = kept.sample(SeededEntropy(23), 20_000)
    assert p_value(draws, given) > LEVEL
    assert p_value(draws, full) < LEVEL / 1000
    assert kept.sample(SeededEntropy(1), 0).shape == (0, 6)
    assert np.isneginf(kept.log_prob(np.array([[-1, 1, 0, 1, -1, 0]]))).all()


def test_inequalities_that_noise_never_keeps_are_refused() -> None:
    law = TruncatedLaw(csr_array(two_way(2, 3)), epsilon=Fraction(1, 2), low=-X)
    with pytest.raises(SamplingError, match="hardly ever keeps these inequalities"):
        RejectionLaw.by_inequalities(law, np.array([[1, 0, 0, 0, 0, 0]]), np.array([100]))
