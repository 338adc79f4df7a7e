"""Mixtures of products: never below the exponential of their loss, and what is left is told right."""

from fractions import Fraction

import flint
import numpy as np
import pytest

from holdfast.sampling.bounded.losses import LargestLoss, MixedLoss, RootLoss, SquareLoss, SumLoss, Term
from holdfast.system.errors import SamplingError

POINTS = np.array([[0, 0], [1, 0], [0, -2], [3, 3], [-40, 7], [200, -200]])
WIDEST = 200


def masses(term: Term) -> float:
    """Return the mass of one product over few cells, about."""
    if term.radius is not None:
        return 2 * float(np.log1p(2 * term.radius))
    return -float(np.log(float(term.square) + 1e-6))


@pytest.mark.parametrize("kappa", ["1/50", "1", "6"])
@pytest.mark.parametrize("kind", [RootLoss, LargestLoss, SumLoss, SquareLoss])
def test_terms_together_are_above_the_loss(kind: type[MixedLoss], kappa: str) -> None:
    loss = kind(Fraction(kappa))  # type: ignore[call-arg]
    terms = loss.terms(masses, WIDEST)
    rest, off = loss.log_rest(POINTS, terms)
    z = np.abs(POINTS).astype(np.float64)
    for i, point in enumerate(POINTS):
        with flint.ctx.workprec(200):
            exact = float(loss.exact_rest(point, terms).mid())
        assert exact <= 0
        assert abs(exact - rest[i]) <= off[i] + 1e-12 * abs(exact)
        logs = [
            term.log_coefficient - float(term.linear) * z[i].sum() - float(term.square) * (z[i] ** 2).sum()
            for term in terms
            if term.radius is None or z[i].max() <= term.radius
        ]
        total = float(np.logaddexp.reduce(logs))
        assert total + rest[i] == pytest.approx(-loss.values(POINTS)[i], abs=1e-7)


def test_weights_of_cells_count() -> None:
    loss = SumLoss(Fraction(1, 2), (Fraction(1), Fraction(3)))
    assert loss.values(np.array([[2, -1]])).tolist() == [2.5]


@pytest.mark.parametrize("kind", [RootLoss, LargestLoss])
def test_norms_that_tie_all_counts_need_bounds(kind: type[MixedLoss]) -> None:
    with pytest.raises(SamplingError, match="where each of them has bounds"):
        kind(Fraction(1)).terms(masses, None)  # type: ignore[call-arg]
