"""Dividing one budget among several tables, in exact rationals that sum to the whole.

A target in mu is divided by its square, which is what adds up [dong2022, Corollary 3.3]; roots are rounded
down, and so is a mu of more digits than are stated, so that all tables together never state more than it.

By "least-error" the sum of the expected l1 errors of all tables, each times its weight, is least. Noise with
a density in proportion to exp(-kappa ||z||) on a lattice of m dimensions has an expected norm of m / kappa
but for the steps of the lattice, since the norm has a gamma law; kappa is epsilon over the stretch s, the
largest norm that is to be hidden. So table j errs by m_j s_j / epsilon_j, and with a fixed sum of the
epsilon_j the errors are least where epsilon_j is in proportion to the root of w_j m_j s_j. Gaussian noise
errs in l1 in proportion to the root of (cells x m_j) times sigma, and rho_j = s_j^2 / (2 sigma^2): there
rho_j is in proportion to (w_j^2 cells m_j s_j^2)^(1/3), and mu_j^2 is 2 rho_j or little more [theory, 10].
"""

from collections.abc import Sequence
from fractions import Fraction

import flint

from holdfast.privacy.integer_gaussian import stated_mu
from holdfast.privacy.premises import Premises
from holdfast.privacy.roots import floor_root
from holdfast.releases.joint import JointPremises
from holdfast.spec.privacy import Privacy
from holdfast.spec.tables import TablesSpec

STEPS = 1000
"""A division for least error is rounded to so many parts of the budget."""
ADDED = ("epsilon", "delta", "rho")
"""The numbers of a target that add up over the tables."""


def part_of(privacy: Privacy, fraction: Fraction) -> dict[str, Fraction]:
    """Return the numbers of a target that a table with a fraction of the budget is asked for."""
    asked = {name: getattr(privacy, name) for name in ADDED}
    parts = {name: value * fraction for name, value in asked.items() if value is not None}
    if privacy.mu is not None:
        parts["mu"] = floor_root(fraction * stated_mu(privacy.mu) ** 2)
    return parts


def table_privacy(privacy: Privacy, fraction: Fraction, scope: JointPremises) -> Privacy:
    """Return the target of a table: its part of the budget, at the distance of the joint scope."""
    return Privacy(**{**dict(privacy), **part_of(privacy, fraction), "distance": scope.distance})


def divide(spec: TablesSpec, premises: Sequence[Premises]) -> tuple[Fraction, ...]:
    """Return the fraction of the budget that each table gets, from public values alone."""
    weights = [Fraction(1) if table.weight is None else table.weight for table in spec.tables]
    return fractions(spec.budget.division, spec.privacy.standard, weights, premises)


def fractions(
    division: str, standard: str, weights: Sequence[Fraction], premises: Sequence[Premises]
) -> tuple[Fraction, ...]:
    """Return a division, which is in proportion to the weights unless errors are to be least."""
    if division == "least-error":
        return least_error(
            [_power(standard, weight, one) for weight, one in zip(weights, premises, strict=True)],
            4 if standard == "pure" else 3,
        )
    return tuple(weight / sum(weights) for weight in weights)


def _power(standard: str, weight: Fraction, premises: Premises) -> Fraction:
    """Return the power of a table's share, the fourth or the third, up to a factor that all have."""
    m, cells = premises.universe.dimension, premises.universe.cells
    if standard == "pure":
        return weight**2 * m**2 * premises.squared_stretch("l1")
    return weight**2 * cells * m * premises.squared_stretch("l2")


def least_error(powers: Sequence[Fraction], root: int) -> tuple[Fraction, ...]:
    """Return fractions in proportion to roots, rounded to steps that sum exactly, none to nothing.

    >>> least_error([Fraction(1), Fraction(16)], 4)
    (Fraction(333, 1000), Fraction(667, 1000))
    """
    steps = max(STEPS, 10 * len(powers))
    sizes = [_floor_root(power, root) for power in powers]
    whole = sum(sizes)
    parts = [max(1, size * steps // whole) for size in sizes]
    nearest = sorted(range(len(sizes)), key=lambda place: (-(sizes[place] * steps % whole), place))
    for place in nearest[: max(0, steps - sum(parts))]:
        parts[place] += 1
    parts[parts.index(max(parts))] -= sum(parts) - steps  # what the smallest got beyond their share
    return tuple(Fraction(part, steps) for part in parts)


def _floor_root(value: Fraction, root: int) -> int:
    """Return a root in units of 2^-64, rounded down, and at least one unit."""
    scaled = (value.numerator << (64 * root)) // value.denominator
    return max(1, int(flint.fmpz(scaled).root(root)))
