"""The l1 law by way of the torus: against enumeration, and against rejection on a larger table."""

from fractions import Fraction
from functools import partial
from math import comb

import flint
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.sampling.replayed import ReplayedEntropy

from holdfast.lattice.points import lattice_points
from holdfast.sampling.decisions import ball_of, floor_of, real
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice import torus
from holdfast.sampling.lattice.angle import GRID, Angle, log_phi
from holdfast.sampling.lattice.cascade import Cascade, best_order
from holdfast.sampling.lattice.torus import Torus, Walks, balanced_bases
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, lattice_law, p_value, two_way

NOT_UNIMODULAR = np.array([[1, 1, 0, 1, 0], [0, 1, 1, 1, 0], [1, 0, 1, 1, 1]])
"""The first three columns have determinant 2."""
WEIGHTS = np.array([[1, 2, 1, 0], [0, 1, 1, 1]])
CROSSING = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]])


@pytest.mark.parametrize(
    ("system", "epsilon", "radius"),
    [
        (two_way(3, 3), Fraction(1), 7),
        (two_way(2, 3), Fraction(1, 2), 16),
        (two_way(2, 2), Fraction(2), 10),
        (CROSSING, Fraction(1), 12),
        (NOT_UNIMODULAR, Fraction(1), 9),
        (WEIGHTS, Fraction(1), 12),
    ],
)
def test_draws_follow_the_enumerated_law(system: NDArray[np.int64], epsilon: Fraction, radius: int) -> None:
    draws = Torus(system, epsilon).sample(SeededEntropy(20), 40_000)
    assert not (system @ draws.T).any()
    assert p_value(draws, lattice_law(system, float(epsilon), "l1", radius)) > LEVEL
    for wrong in (0.9, 1.1):
        assert p_value(draws, lattice_law(system, wrong * float(epsilon), "l1", radius)) < LEVEL


def test_torus_and_rejection_agree_on_5_x_5() -> None:
    """Two samples of norms and of one cell, compared by Kolmogorov and Smirnov at the level."""
    system, epsilon = two_way(5, 5), Fraction(1, 2)
    order = best_order(system, epsilon)
    assert order is not None
    one = Torus(system, epsilon).sample(SeededEntropy(1), 4000)
    other = Cascade(25, order, epsilon).sample(SeededEntropy(2), 4000)
    for a, b in (
        (np.abs(one).sum(axis=1), np.abs(other).sum(axis=1)),
        (np.abs(one).max(axis=1), np.abs(other).max(axis=1)),
        (one[:, 7], other[:, 7]),
    ):
        assert stats.ks_2samp(a, b).pvalue > LEVEL
    for wrong in (Fraction(93, 100), Fraction(107, 100)):
        norms = np.abs(Torus(system, epsilon * wrong).sample(SeededEntropy(1), 4000)).sum(axis=1)
        assert stats.ks_2samp(norms, np.abs(other).sum(axis=1)).pvalue < LEVEL


@pytest.mark.parametrize("k", [[2, 1, 3, 2, 2, 1], [0, 3, 4, 2, 2, 9], [1, 1, 1, 1, 1, 1]])
def test_walks_of_known_length(k: list[int]) -> None:
    """Given the numbers of steps the law is a product of binomial coefficients on the lattice."""
    system = two_way(2, 3)
    weights = {
        tuple(z): float(
            np.prod([comb(2 * n, n + m) if abs(m) <= n else 0 for n, m in zip(k, z, strict=True)])
        )
        for z in lattice_points(system, max(k)).tolist()
    }
    draws, _ = Walks(system, np.repeat(np.array([k]), 8000, axis=0)).draw(SeededEntropy(4))

    def law(power: float) -> dict[tuple[int, ...], float]:
        total = sum(w**power for w in weights.values() if w)
        return {z: w**power / total for z, w in weights.items() if w}

    assert p_value(draws, law(1.0)) > LEVEL
    for wrong in (0.8, 1.25):
        assert p_value(draws, law(wrong)) < LEVEL


@pytest.mark.parametrize("power", [Fraction(1), Fraction(3, 2), Fraction(100, 19)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 4), Fraction(3)])
def test_the_steps_stand_above_the_power_of_phi(epsilon: Fraction, power: Fraction) -> None:
    angle = Angle(epsilon, power)
    x = angle.sample(SeededEntropy(1), 20_000)
    x = x[~np.isnan(x)]
    x = np.concatenate([x, angle.firsts[:-1], -angle.firsts[1:-1], [-GRID / 2]])
    step = angle.steps(x)
    assert np.all(float(power) * log_phi(x, float(epsilon)) <= angle.log_g + angle.log_p[step])
    assert np.all((angle.firsts[step] <= np.abs(x)) & (np.abs(x) < angle.firsts[step] + angle.lengths[step]))
    assert int(angle.weights.sum()) == angle.columns << 32


def test_bases_use_all_cells() -> None:
    system = two_way(4, 5)
    bases, uses = balanced_bases(system)
    assert uses.min() >= 2
    for basis in bases:
        square = system[:, basis.cells]
        assert abs(round(np.linalg.det(square))) == 1
        assert np.array_equal(square @ basis.expand, system)


def test_enclosures_decide_as_floats_do(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = Torus(two_way(2, 3), Fraction(1, 2))
    clear = sampler.sample(SeededEntropy(6), 40)
    monkeypatch.setattr(torus, "PHI_ERROR", 1.0)
    monkeypatch.setattr(torus, "STEP_ERROR", 1.0)
    assert np.array_equal(sampler.sample(SeededEntropy(6), 40), clear)


def ratio_power(x: int, epsilon: Fraction, k: int) -> flint.arb:
    """Return (s cos^2(pi x / N))^k, in balls."""
    cosine = (flint.arb.pi() * x / int(GRID)).cos() / (ball_of(epsilon) / 2).cosh()
    return (cosine * cosine) ** k


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**4), Fraction(1, 60), Fraction(1, 2)])
@pytest.mark.parametrize("x", [0, 3, int(GRID) // 64, int(GRID) // 3, int(GRID) // 2 - 2**20])
def test_steps_next_to_their_thresholds(epsilon: Fraction, x: int) -> None:
    """A word below ratio^(k+1) 2^64 gives more than k steps; a float of it has lost the last eleven bits."""
    sampler = Torus(two_way(2, 2), epsilon)
    words, steps = [], []
    with flint.ctx.workprec(300):
        rate = float(-ratio_power(x, epsilon, 1).log())
        for k in sorted({int(depth / rate) for depth in (1e-9, 0.001, 0.1, 0.7, 3.0)}):
            threshold = floor_of(real(partial(ratio_power, x, epsilon, k + 1)), 64)
            for away in (1, 40, 900, 3000):
                words += [threshold - away, threshold + away]
                steps += [k + 1, k]
    script = ReplayedEntropy(np.array(words, dtype=np.uint64), SeededEntropy(0))
    draws = sampler._draw_steps(np.full((len(words) // 4, 4), float(x)), script).ravel()
    # far out a ratio is so small that the next words are steps further on
    with flint.ctx.workprec(300):
        for word, step, drawn in zip(words, steps, draws.tolist(), strict=True):
            assert drawn >= step if step > 0 and word else drawn == step
            assert (ratio_power(x, epsilon, drawn + 1) * flint.arb(2) ** 64) <= word + 1
            assert (ratio_power(x, epsilon, drawn) * flint.arb(2) ** 64) >= word


def test_a_zero_word_stands_for_numbers_below_it() -> None:
    """Bits beyond a zero word count: the number of steps is that of 2^-128 here, not of half a word."""
    epsilon = Fraction(1, 100)
    sampler = Torus(two_way(2, 2), epsilon)
    script = ReplayedEntropy(np.array([0, 2**60, 2**61, 2**62, 1], dtype=np.uint64), SeededEntropy(0))
    drawn = int(sampler._draw_steps(np.zeros((1, 4)), script)[0, 0])
    with flint.ctx.workprec(300):
        assert ratio_power(0, epsilon, drawn + 1) < flint.arb(2) ** -127
        assert ratio_power(0, epsilon, drawn) > flint.arb(2) ** -128


@pytest.mark.parametrize(("second", "kept"), [(0, True), (2**63, False)])
def test_angles_with_a_tiny_chance_are_kept_when_their_turn_comes(
    second: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = Torus(two_way(3, 6), Fraction(1, 200))
    angles = np.repeat([[GRID / 4, 0.0, 0.0]], 6, axis=1)
    log_chance = log_phi(angles, 0.005).sum() - sampler._log_bound(angles)[0][0]
    assert -64 * np.log(2) < log_chance < -55 * np.log(2), "a chance below half a word of 53 bits"
    monkeypatch.setattr(Torus, "_propose", lambda *_: angles)
    words = np.array([second >> 52, second], dtype=np.uint64)
    assert sampler._attempt(ReplayedEntropy(words, SeededEntropy(0)), 1).shape[0] == kept


def test_without_a_basis_in_integers_it_is_refused() -> None:
    with pytest.raises(SamplingError, match="determine all others"):
        Torus(np.array([[2, 3, 4]]), Fraction(1))


def test_very_wide_noise_is_refused() -> None:
    with pytest.raises(SamplingError, match="grid of angles"):
        Torus(two_way(2, 2), Fraction(1, 10**6))
