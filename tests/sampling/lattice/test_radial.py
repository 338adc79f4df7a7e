"""The l2 law by Gaussians of many widths: the exact path; the law itself is in test_lattice_laplace."""

from fractions import Fraction

import flint
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.sampling.decisions import toss_coins
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice import radial
from holdfast.sampling.lattice.radial import KAPPA, RadialSampler
from holdfast.testing.goodness import LEVEL, lattice_law, p_value, two_way

SYSTEM = two_way(2, 3)
GROUPS = [(csr_array(SYSTEM), np.arange(6)[None])]


def test_the_envelope_stands_above_the_law() -> None:
    """Some j has (j - v^2/j)^2 / 2 <= kappa, for every v > 0."""
    v = np.linspace(1e-3, 60, 200_001)
    j = np.maximum(np.rint(v), 1)
    assert np.all((j - v * v / j) ** 2 / 2 <= KAPPA)


def test_enclosures_decide_as_floats_do(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = RadialSampler(6, GROUPS, Fraction(1))
    clear = sampler.sample(SeededEntropy(6), 40)

    def toss(log_chance, margin, exact, entropy):  # type: ignore[no-untyped-def]
        return toss_coins(log_chance, np.ones(log_chance.size), exact, entropy)

    monkeypatch.setattr(radial, "toss_coins", toss)
    assert np.array_equal(sampler.sample(SeededEntropy(6), 40), clear)


def test_components_share_one_radius() -> None:
    total = np.ones((1, 2), dtype=np.int64)
    free = np.zeros((0, 1), dtype=np.int64)
    groups = [(csr_array(total), np.array([[0, 1], [2, 3]])), (csr_array(free), np.array([[4]]))]
    draws = RadialSampler(5, groups, Fraction(2)).sample(SeededEntropy(1), 40_000)
    matrix = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]])
    assert p_value(draws, lattice_law(matrix, 2.0, "l2", 7)) > LEVEL
    assert p_value(draws, lattice_law(matrix, 2.06, "l2", 7)) < LEVEL


@pytest.mark.parametrize(
    "system", [SYSTEM, np.ones((1, 9), dtype=np.int64), np.zeros((0, 3), dtype=np.int64)]
)
def test_floats_and_enclosures_are_of_one_number(system: NDArray[np.int64]) -> None:
    cells = system.shape[1]
    sampler = RadialSampler(cells, [(csr_array(system), np.arange(cells)[None])], Fraction(1, 3))
    entropy = SeededEntropy(3)
    j = np.arange(30) % 6
    z, proposal, squares = sampler._propose(j, entropy)
    chance, margin = sampler._log_chance(j, proposal, squares)
    for i in range(j.size):
        square = int((z[i] ** 2).sum())
        with flint.ctx.workprec(120):
            exact = float(sampler._chance(int(j[i]), proposal, i, square).log())
        assert abs(chance[i] - exact) <= margin[i]
