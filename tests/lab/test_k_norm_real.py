"""The K-norm law on the reals, against its gamma radius."""

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from holdfast.lab.k_norm_real import RealKNorm, zero_margin_laplace
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL
from holdfast.universe.hull.moves import basic_moves, sensitivity_moves
from holdfast.universe.hull.norm import HullNorm
from holdfast.universe.universe import Universe


@pytest.mark.parametrize("shape", [(2, 2), (3, 4)])
def test_real_laplace_tables_have_a_gamma_norm(shape: tuple[int, int]) -> None:
    # the density depends on ||z||_1 alone, so ||z||_1 ~ Gamma(s) with s = (r - 1)(c - 1)
    rows, columns = shape
    table = np.arange(rows * columns).reshape(shape)
    draws = zero_margin_laplace(table, table.size, np.random.default_rng(0), 4_000)
    assert np.abs(draws.reshape(-1, *shape).sum(axis=1)).max() < 1e-9
    assert np.abs(draws.reshape(-1, *shape).sum(axis=2)).max() < 1e-9
    sizes, s = np.abs(draws).sum(axis=1), (rows - 1) * (columns - 1)
    assert stats.kstest(sizes, stats.gamma(s).cdf).pvalue > LEVEL
    assert stats.kstest(sizes, stats.gamma(s, scale=1.1).cdf).pvalue < LEVEL


def test_both_real_samplers_draw_one_law() -> None:
    noise = RealKNorm(HullNorm(basic_moves(3, 3)), 0.5)
    one, kept = noise.envelope(np.random.default_rng(1), 2_000)
    other, inside = noise.bounding_box(np.random.default_rng(2), 600)
    for draws in (one, other):
        # ||z||_K ~ Gamma(s, epsilon) with s = 4
        norms = noise.norms(draws)
        assert stats.kstest(norms, stats.gamma(4, scale=2).cdf).pvalue > LEVEL
        assert stats.kstest(norms, stats.gamma(4, scale=2.3).cdf).pvalue < LEVEL
    assert stats.ks_2samp(one[:, 0], other[:, 0]).pvalue > LEVEL
    assert stats.ks_2samp((one**2).sum(axis=1), (other**2).sum(axis=1)).pvalue > LEVEL
    assert kept == pytest.approx(0.80, abs=0.03)
    assert inside == pytest.approx(0.17, abs=0.02)


def test_the_envelope_is_for_tables() -> None:
    weights = np.array([[1, 2, 1, 0], [1, 1, 1, 1]])
    universe = Universe.of(csr_array(weights), weights @ np.full(4, 3))
    noise = RealKNorm(HullNorm(sensitivity_moves(universe, 2)), 1.0)
    with pytest.raises(SamplingError, match="bounding_box"):
        noise.envelope(np.random.default_rng(0), 1)
    draws, _ = noise.bounding_box(np.random.default_rng(0), 50)
    assert np.abs(draws @ weights.T).max() < 1e-9
