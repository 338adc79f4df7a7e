"""Diagnostics are those of ArviZ, on series of known autocorrelation and on weights of known tails."""

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.inference.posterior.draws import diagnostics, pareto_k

Floats = NDArray[np.float64]


def chains(correlation: float, count: int, draws: int, apart: float = 0.0) -> Floats:
    """Return autoregressive chains, chains x draws x 1, of any distance to each other."""
    generator = np.random.default_rng(0)
    values = generator.standard_normal((count, draws))
    for at in range(1, draws):
        values[:, at] = correlation * values[:, at - 1] + np.sqrt(1 - correlation**2) * values[:, at]
    return (values + apart * np.arange(count)[:, None])[..., None]


# what arviz 0.23.4 says of the same chains: rhat, ess(method="bulk"), ess(method="tail")
ARVIZ = {
    (0.0, 4, 1000, 0.0): (1.000338, 3926.12, 4027.69),
    (0.9, 4, 500, 0.0): (1.038333, 83.94, 242.29),
    (-0.5, 2, 300, 0.0): (0.998417, 1666.89, 526.56),
    (0.5, 4, 250, 0.5): (1.152920, 20.03, 318.53),
}


@pytest.mark.parametrize("case", ARVIZ, ids=str)
def test_they_are_those_of_arviz(case: tuple[float, int, int, float]) -> None:
    found = diagnostics(chains(*case))
    r_hat, bulk, tail = ARVIZ[case]
    assert found.r_hat[0] == pytest.approx(r_hat, rel=1e-4)
    assert found.ess_bulk[0] == pytest.approx(bulk, rel=0.02)
    assert found.ess_tail[0] == pytest.approx(tail, rel=0.02)


def test_effective_draws_follow_the_autocorrelation() -> None:
    for correlation in (0.0, 0.5, 0.9):
        values = chains(correlation, 4, 20_000)
        expected = 80_000 * (1 - correlation) / (1 + correlation)
        assert diagnostics(values).ess_bulk[0] == pytest.approx(expected, rel=0.2)


def test_chains_that_differ_are_noticed() -> None:
    assert diagnostics(chains(0.0, 4, 500)).r_hat[0] < 1.01
    assert diagnostics(chains(0.0, 4, 500, 0.3)).r_hat[0] > 1.03
    wide = chains(0.0, 4, 500)
    wide[0] *= 4  # the same mean, another spread
    assert diagnostics(wide).r_hat[0] > 1.03
    drifting = chains(0.0, 1, 1000) + np.linspace(0, 2, 1000)[None, :, None]
    assert diagnostics(drifting).r_hat[0] > 1.1


def test_constants_and_shapes() -> None:
    values = np.concatenate([chains(0.0, 4, 100), np.full((4, 100, 1), 3.0)], axis=2)
    found = diagnostics(values)
    assert found.r_hat.shape == (2,)
    assert found.r_hat[1] == 1.0
    assert found.ess_bulk[1] == 400
    assert diagnostics(values.reshape(4, 100, 2, 1)).ess_tail.shape == (2, 1)
    assert diagnostics(np.zeros((4, 100, 0))).r_hat.shape == (0,)


@pytest.mark.parametrize(("shape", "size"), [(0.2, 20_000), (0.5, 20_000), (1.0, 40_000)])
def test_the_tail_of_weights_is_found(shape: float, size: int) -> None:
    """Weights with a Pareto tail of a known shape."""
    weights = np.random.default_rng(3).random(size) ** -shape
    assert pareto_k(np.log(weights)) == pytest.approx(shape, abs=0.12)


def test_bounded_and_few_weights() -> None:
    assert pareto_k(np.zeros(1000)) == 0.0
    assert pareto_k(np.log(np.repeat([0.1, 1.0], 500))) == 0.0
    assert pareto_k(np.zeros(3)) == float("inf")
    few = np.zeros(1000)
    few[:2] = 30.0
    assert pareto_k(few) == float("inf")
