"""Laws by thinning, against the weights that are meant."""

from fractions import Fraction

import flint
import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.bounded.thinned import ThinnedLaw
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.testing.goodness import LEVEL, lattice_law, p_value

TOTAL = np.ones((1, 3), dtype=np.int64)


def thinned(off: float = 1e-12) -> ThinnedLaw:
    """Thin l1 at 1/2 to exp(-|z|_1), with z_1 < 3."""

    def more(points: IntArray) -> tuple[FloatArray, FloatArray]:
        found = np.abs(points).sum(axis=1) / 2
        return np.where(points[:, 0] < 3, found, np.inf), np.full(found.shape, off)

    def exact(point: IntArray) -> flint.arb:
        return flint.arb(int(np.abs(point).sum())) / 2

    return ThinnedLaw(LatticeLaplaceLaw(csr_array(TOTAL), Fraction(1, 2), "l1"), more, exact, 3)


def truth(rate: float) -> dict[tuple[int, ...], float]:
    law = {z: share for z, share in lattice_law(TOTAL, rate, "l1", 12).items() if z[0] < 3}
    total = sum(law.values())
    return {z: share / total for z, share in law.items()}


@pytest.mark.parametrize("off", [1e-12, 2.0])
def test_draws_follow_the_thinned_law(off: float) -> None:
    """With floats that decide, and with floats that decide nothing."""
    law = thinned(off)
    drawn = law.sample(SeededEntropy(1), 10_000 if off < 1 else 500)
    assert (drawn[:, 0] < 3).all()
    assert (drawn.sum(axis=1) == 0).all()
    assert p_value(drawn, truth(1.0)) > LEVEL
    if off < 1:
        assert p_value(drawn, truth(1.2)) < LEVEL / 1000


def test_log_probabilities_differ_as_weights_do() -> None:
    law = thinned()
    points = np.array([[0, 0, 0], [1, -1, 0], [2, -1, -1], [3, -3, 0]])
    found = law.log_prob(points)
    assert np.allclose(found[:3] - found[0], [0, -2, -4])
    assert np.isneginf(found[3])
    assert 0.1 < law.acceptance < 0.9
