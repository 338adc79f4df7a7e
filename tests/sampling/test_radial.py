"""The l2 law by Gaussians of many widths: the exact path; the law itself is in test_lattice_laplace."""

from fractions import Fraction

import numpy as np
import pytest
from tests.goodness import LEVEL, lattice_law, p_value, two_way

from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.exact import coin, radial
from holdfast.sampling.exact.radial import KAPPA, Radial

SYSTEM = two_way(2, 3)
GROUPS = [(SYSTEM, np.arange(6)[None])]


def test_the_envelope_stands_above_the_law() -> None:
    """Some j has (j - v^2/j)^2 / 2 <= kappa, for every v > 0."""
    v = np.linspace(1e-3, 60, 200_001)
    j = np.maximum(np.rint(v), 1)
    assert np.all((j - v * v / j) ** 2 / 2 <= KAPPA)


def test_enclosures_decide_as_floats_do(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = Radial(6, GROUPS, Fraction(1))
    clear = sampler.draw(SeededEntropy(6), 40)

    def toss(log_chance, margin, exact, entropy):  # type: ignore[no-untyped-def]
        return coin.toss_coins(log_chance, np.ones(log_chance.size), exact, entropy)

    monkeypatch.setattr(radial, "toss_coins", toss)
    assert np.array_equal(sampler.draw(SeededEntropy(6), 40), clear)


def test_components_share_one_radius() -> None:
    total = np.ones((1, 2), dtype=np.int64)
    free = np.zeros((0, 1), dtype=np.int64)
    groups = [(total, np.array([[0, 1], [2, 3]])), (free, np.array([[4]]))]
    draws = Radial(5, groups, Fraction(2)).draw(SeededEntropy(1), 40_000)
    matrix = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]])
    assert p_value(draws, lattice_law(matrix, 2.0, "l2", 7)) > LEVEL
    assert p_value(draws, lattice_law(matrix, 2.06, "l2", 7)) < LEVEL
