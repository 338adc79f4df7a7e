"""The Gaussian law on lattices, against its enumerated pmf."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.sampling.decisions import toss_coins
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice import kernel_gaussian
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, lattice_law, p_value, two_way

SYSTEMS: dict[str, NDArray[np.int64]] = {
    "no invariants": np.zeros((0, 2), dtype=np.int64),
    "one total": np.ones((1, 4), dtype=np.int64),
    "3 x 3": two_way(3, 3),
    "2 x 4": two_way(2, 4),
    "weights": np.array([[1, 2, 1, 0], [1, 1, 1, 1]]),
    "no unit pivot": np.array([[2, 3, 4]]),
    "two blocks": np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]),
    "twice a total": np.array([[2, 2, 2]]),
}


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(3, 2)])
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_law(name: str, variance: Fraction) -> None:
    matrix = SYSTEMS[name]
    draws = LatticeGaussianLaw(csr_array(matrix), variance).sample(SeededEntropy(3), 40_000)
    assert not (matrix @ draws.T).any()
    rate = 1 / (2 * float(variance))
    assert p_value(draws, lattice_law(matrix, rate, "squared", 7)) > LEVEL
    if matrix.shape[1] - matrix.shape[0] > 1 and variance > 1:
        # a standard deviation wrong by three percent
        assert p_value(draws, lattice_law(matrix, rate / 1.03**2, "squared", 7)) < LEVEL


def test_the_whole_table_has_the_right_moments() -> None:
    """E||z||^2 = sigma^2 dimension for wide noise, by Poisson summation."""
    law = LatticeGaussianLaw(csr_array(two_way(10, 10)), Fraction(9))
    draws = law.sample(SeededEntropy(1), 400)
    squares = (draws**2).sum(axis=1)
    assert abs(squares.mean() - 9 * 81) < 4 * squares.std() / 20
    assert np.abs(draws.mean(axis=0)).max() < 5 * 3 / 20


def test_enclosures_decide_as_floats_do(monkeypatch: pytest.MonkeyPatch) -> None:
    law = LatticeGaussianLaw(csr_array(two_way(3, 3)), Fraction(1, 3))
    clear = law.sample(SeededEntropy(8), 50)

    def toss(log_chance, margin, exact, entropy):  # type: ignore[no-untyped-def]
        return toss_coins(log_chance, np.ones(log_chance.size), exact, entropy)

    monkeypatch.setattr(kernel_gaussian, "toss_coins", toss)
    assert np.array_equal(law.sample(SeededEntropy(8), 50), clear)


def test_many_cells_in_counties() -> None:
    counties = np.repeat(np.arange(100), 100)
    matrix = csr_array((np.ones(10_000, dtype=np.int64), (counties, np.arange(10_000))))
    draws = LatticeGaussianLaw(matrix, Fraction(4)).sample(SeededEntropy(0), 1)
    assert not np.asarray(matrix @ draws.T).any()
    assert np.var(draws) == pytest.approx(4 * 0.99, rel=0.05)


def test_the_scale_has_limits() -> None:
    matrix = csr_array(two_way(2, 2))
    assert not LatticeGaussianLaw(matrix, Fraction(1, 10**12)).sample(SeededEntropy(0), 100).any()
    wide = LatticeGaussianLaw(matrix, Fraction(10**18)).sample(SeededEntropy(0), 2000)
    assert np.std(wide[:, 0]) == pytest.approx(1e9 / 2, rel=0.1)
    with pytest.raises(SamplingError, match="standard deviation"):
        LatticeGaussianLaw(matrix, Fraction(1, 10**30))


def test_probabilities() -> None:
    law = LatticeGaussianLaw(csr_array(two_way(2, 2)), Fraction(2))
    points = np.array([[1, -1, -1, 1], [0, 0, 0, 0], [1, 0, 0, 0]])
    assert law.log_prob(points).tolist() == [-1.0, 0.0, -np.inf]
