"""What integer Gaussian noise is worth, against sums over lattices."""

from fractions import Fraction
from itertools import product
from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp, ndtr, ndtri_exp

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.kernel import integer_kernel
from holdfast.privacy.integer_gaussian import mu_of, rho_within
from holdfast.privacy.intensity import GaussianDP, GaussianNoise, ZeroConcentrated, total
from holdfast.privacy.order import at_least_as_strong, convert, delta_at
from holdfast.privacy.tight import least_mu, on_a_line, tight
from holdfast.privacy.tradeoff import Gaussian, PiecewiseLinear, at_least, tensor

RHOS = [Fraction(1, 1000), Fraction(1, 50), Fraction(1, 4), Fraction(1), Fraction(4)]


def on_integers(rho: Fraction, steps: int = 1) -> FloatArray:
    """Return the log weights of noise that loses rho for so many steps."""
    reach = np.arange(int(38 * steps / sqrt(2 * rho)) + 2)
    return -float(rho) * (reach / steps) ** 2


@pytest.mark.parametrize("rho", RHOS)
def test_mu_holds_on_the_line_and_hardly_less_would(rho: Fraction) -> None:
    """One step on the integers attains all but a fifth of a percent of mu."""
    f = on_a_line(on_integers(rho), 1)
    assert at_least(f, Gaussian(float(mu_of(rho))))
    least = least_mu(f)
    assert 0.9979 * float(mu_of(rho)) < least <= float(mu_of(rho))
    masses = np.exp(on_integers(rho))
    nothing = masses[0] / (2 * masses.sum() - masses[0])
    assert 2 * ndtr(least / 2) - 1 >= nothing * (1 - 1e-9)  # the total variation distance


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("shift", [0.0, 0.13, 0.25, 0.5])
def test_no_coset_asks_for_more(rho: Fraction, shift: float) -> None:
    """Steps of Phi^-1 of the distribution function stay within mu on every translate of the integers."""
    reach = np.arange(-int(45 / sqrt(2 * rho)) - 2, int(45 / sqrt(2 * rho)) + 3) + shift
    logs = -float(rho) * reach**2
    logs -= logsumexp(logs)
    below = ndtri_exp(np.minimum(np.logaddexp.accumulate(logs), 0.0))
    low = below[(below < 0) & (below > -37)]
    assert np.diff(low).max(initial=0.0) <= float(mu_of(rho)) * (1 + 1e-9)


@given(st.fractions(Fraction(1, 10**6), 400))
def test_mu_and_rho_invert_each_other(rho: Fraction) -> None:
    mu = mu_of(rho)
    assert rho * (1 - Fraction(1, 10**14)) <= rho_within(mu) <= rho * (1 + Fraction(1, 10**9))
    assert mu_of(rho_within(mu)) == mu
    assert mu_of(rho_within(rho)) <= rho  # any number as a mu
    assert 2 * rho < mu**2 < 8 * rho
    near = sqrt(2 * rho) * (1 + float(rho) / 12)
    assert rho > 1 or float(mu) <= near * (1 + float(rho) ** 2 / 20 + 1e-9)


@given(st.lists(st.fractions(Fraction(1, 1000), 8), min_size=2, max_size=4))
def test_parts_are_never_worth_more_than_their_sum(rhos: list[Fraction]) -> None:
    parts = total([GaussianNoise.of(rho) for rho in rhos])
    assert isinstance(parts, GaussianNoise)
    assert parts.rho == sum(rhos)
    assert parts.mu <= mu_of(parts.rho) * (1 + Fraction(1, 10**9))


LATTICES = {
    "a free cell": ([[0]], np.eye(1), [1]),
    "two by two": ([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], np.eye(4), [1, -1, -1, 1]),
    "a total": ([[1, 1, 1]], np.eye(3), [1, -1, 0]),
    "a total, weighted": ([[1, 1, 1]], np.array([[3.0, 1, 0], [1, 2, 0], [0, 0, 1]]), [1, 0, -1]),
    "free cells": ([[0, 0]], np.eye(2), [2, -1]),
}


def listed(matrix: IntArray, form: FloatArray, rho: float, u: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return log q(z) and log q(z - u) on a window of the lattice that all but 1e-14 lies in."""
    basis = integer_kernel(matrix)
    scale = 2 * rho / (u @ form @ u)
    reach = int(9 / sqrt(scale)) + 3
    steps = np.array(list(product(range(-reach, reach + 1), repeat=basis.shape[0])))
    points = steps @ basis

    def log_weight(at: IntArray) -> FloatArray:
        return np.asarray(-scale * ((at @ form) * at).sum(axis=1) / 2)

    logs = log_weight(points)
    return logs - logsumexp(logs), log_weight(points - u) - logsumexp(logs)


@pytest.mark.parametrize("name", LATTICES)
@pytest.mark.parametrize("rho", [Fraction(1, 8), Fraction(1, 2), Fraction(2)])
def test_delta_is_never_below_the_sum_over_the_lattice(name: str, rho: Fraction) -> None:
    rows, form, move = LATTICES[name]
    u = np.array(move)
    here, there = listed(np.array(rows), form, float(rho), u)
    for epsilon in (0.0, 0.5, 1.0, 2.0, 3.5):
        gained = np.exp(here) - exp(epsilon) * np.exp(there)
        true = float(gained[gained > 0].sum())
        stated = float(delta_at(GaussianNoise.of(rho), Fraction(epsilon)))
        assert true <= stated + 1e-12
        if name in ("a free cell", "two by two") and epsilon == 0:
            assert stated < 1.002 * true
            spared = float(delta_at(GaussianNoise.of(rho * Fraction(9, 10)), Fraction(0)))
            assert spared < true  # ten percent more noise would have to be drawn for that
        exact = on_a_line(on_integers(rho), 1).delta_at(epsilon)
        if name in ("a free cell", "two by two"):
            assert exact == pytest.approx(true, abs=1e-12)


def test_levels_are_composed_as_their_convolution_says() -> None:
    """Two levels of measurements, 1/8 and 1/4 in rho, each of two counts that one record moves."""
    counts = [on_a_line(on_integers(rho / 2), 1) for rho in (Fraction(1, 8), Fraction(1, 4)) for _ in "ab"]
    together = total([GaussianNoise.of(Fraction(1, 8)), GaussianNoise.of(Fraction(1, 4))])
    small = [f.pieces() for f in counts]
    product_law = tensor(*(_trimmed(f.p, f.q) for f in small))
    for epsilon in (0.25, 1.0, 2.0):
        true, stated = product_law.delta_at(epsilon), float(delta_at(together, Fraction(epsilon)))
        assert true - 1e-6 < stated < 1.2 * true + 1e-6


def _trimmed(p: FloatArray, q: FloatArray) -> PiecewiseLinear:
    kept = (p > 1e-8) | (q > 1e-8)
    return PiecewiseLinear.of_masses(p[kept] / p[kept].sum(), q[kept] / q[kept].sum())


def test_what_is_known_of_noise_is_used_in_other_standards() -> None:
    noise, plain = GaussianNoise.of(Fraction(1, 8)), ZeroConcentrated(Fraction(1, 8))
    assert convert(noise, "gaussian") == GaussianDP(mu_of(Fraction(1, 8)))
    assert delta_at(noise, Fraction(1)) < delta_at(plain, Fraction(1))
    assert at_least_as_strong(noise, plain)
    assert noise.parameters() == plain.parameters()
    assert noise.group(3) == GaussianNoise(Fraction(9, 8), 3 * noise.mu)
    assert noise.group(3).mu <= mu_of(Fraction(9, 8))
    assert tight(noise).evidence == "upper bound"
    assert tight(plain).mu is None
    large = GaussianNoise.of(Fraction(100))
    assert tight(large).epsilon_at(1e-10) <= tight(ZeroConcentrated(large.rho)).epsilon_at(1e-10)


@pytest.mark.parametrize("mu", [10**3, 10**5, 10**6])
def test_a_mu_that_protects_nothing_is_worked_out_all_the_same(mu: int) -> None:
    rho = rho_within(Fraction(mu))
    assert Fraction(mu) ** 2 / 8 * (1 - Fraction(1, 10**12)) < rho < Fraction(mu) ** 2 / 8 + 20
    assert Fraction(mu) * (1 - Fraction(1, 10**9)) < mu_of(rho) <= mu
