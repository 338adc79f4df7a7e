"""Errors and posterior variances of releases that use public facts, against sums and integrals."""

from fractions import Fraction
from itertools import combinations, product
from math import exp

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from studies.partially_private.closed_forms import projected_variance

from holdfast.calculus import congenial_errors, expected_variance, gradient_tail
from holdfast.privacy.pufferfish.families.joint import JointLaws, Outcome
from holdfast.system.errors import GuaranteeError

BITS = list(product("01", repeat=3))


@pytest.mark.parametrize("size", range(2, 9))
def test_a_pair_that_counts_moves_a_record(size: int) -> None:
    """[partially-private-data, Lemma 12]: all sets of three bits, even chances of what is in them."""
    for data in combinations(BITS, size):  # two of them differ somewhere, so a pair counts
        outcomes = tuple(Outcome(x, "agrees", (Fraction(1, size),)) for x in data)
        assert JointLaws(outcomes, "agrees").delta.finite >= 1


def test_a_coarser_statistic_may_need_no_noise_at_all() -> None:
    outcomes = tuple(
        Outcome((x, y), "nothing", (Fraction(1, 4),), Fraction(int(x != y)))
        for x, y in product("01", repeat=2)
    )
    assert JointLaws(outcomes, "nothing").delta.finite == 0


def test_errors_of_noise_are_moments_of_its_density() -> None:
    """Two dimensions and one of them, by integrals of exp(-kappa r)."""
    kappa, end = 1.5, 30.0
    whole, _ = quad(lambda r: r * exp(-kappa * r), 0, end)
    along, _ = dblquad(lambda r, turn: r**3 * np.cos(turn) ** 2 * exp(-kappa * r), 0, 2 * np.pi, 0, end)
    line = [quad(lambda r, power=power: r**power * exp(-kappa * r), 0, end)[0] for power in (0, 2)]
    found = congenial_errors(2, 1, Fraction(3, 2))
    assert float(found.projected) == pytest.approx(along / (2 * np.pi * whole))
    assert float(found.congenial) == pytest.approx(line[1] / line[0])
    assert found.ratio == Fraction(3, 2)
    assert congenial_errors(5, 5, Fraction(1)).ratio == 1


def test_printed_orders_are_bounds() -> None:
    for d_1, d_2 in combinations(range(1, 30), 2):
        found = congenial_errors(d_2, d_1, Fraction(1))
        assert found.projected <= d_2**2
        assert found.congenial <= d_2 * d_1


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_tails_of_a_mean_are_attained_and_bound_other_losses(n: int) -> None:
    """exp(-kappa |G| / s) on a fine grid, with G = n (u + u^3 / 3) within |u| <= 1: alpha 1, beta 4/3."""
    kappa, fine = 0.5, np.linspace(-1, 1, 400_001)
    for slope, curvature in ((fine, (1.0, 1.0)), (fine + fine**3 / 3, (1.0, 4 / 3))):
        mass = np.exp(-kappa * n * np.abs(slope))
        for far in (0.5, 2.0, 6.0):
            chance = mass[n * np.abs(fine) > far].sum() / mass.sum()
            bound = gradient_tail(far, kappa, curvature=curvature)
            assert chance <= bound + 1e-4
            if n == 1000:
                assert bound == pytest.approx(min(1, chance * curvature[1]), rel=2e-2)


def test_what_grows_with_the_records_is_no_error_of_order_one_over_n() -> None:
    """Delta_z = n: the chance of an error above 1 stays the same, where the printed theorem has it vanish."""
    for n in (10, 1000):
        assert gradient_tail(float(n), 0.5, stretch=(n, n)) == pytest.approx(exp(-0.5))
        assert gradient_tail(float(n), 0.5) == pytest.approx(exp(-0.5 * n))


@pytest.mark.parametrize("seed", range(10))
def test_what_is_computed_from_a_release_tells_no_more(seed: int) -> None:
    """[partially-private-data, Lemma 14], with the difference as the theory has it."""
    rng = np.random.default_rng(seed)
    values, prior = rng.normal(size=4), rng.dirichlet(np.ones(4))
    chances, image = rng.dirichlet(np.ones(6), size=4), rng.integers(3, size=6)
    short = np.stack([np.bincount(image, row, 3) for row in chances]).astype(np.float64)
    joint = prior[:, None] * chances
    means = values @ joint / joint.sum(axis=0)
    merged = prior[:, None] * short
    coarse = (values @ merged / np.maximum(merged.sum(axis=0), 1e-300))[image]
    lost = float(joint.sum(axis=0) @ (means - coarse) ** 2)
    released, projected = (expected_variance(values, prior, law) for law in (chances, short))
    assert projected - released == pytest.approx(lost)
    assert lost > 0


def test_a_sufficient_projection_loses_nothing_and_another_does() -> None:
    thetas = [0.1, 0.3, 0.6, 0.9]
    bounded = projected_variance(12, 0.2, thetas)
    assert bounded[1] == pytest.approx(bounded[0], abs=1e-9)
    released, projected = projected_variance(12, 0.2, thetas, design="total")
    assert projected > released * 1.01


def test_what_is_no_number_of_dimensions_is_told() -> None:
    with pytest.raises(GuaranteeError, match="give at least 1 of them, at most all"):
        congenial_errors(2, 3, Fraction(1))
    with pytest.raises(GuaranteeError, match="curvature and stretch from small to large"):
        gradient_tail(1.0, 1.0, curvature=(2.0, 1.0))
