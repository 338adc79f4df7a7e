"""The Dirichlet-multinomial mass, against other people's and against sums over everything."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.stats import dirichlet_multinomial
from tests.mechanisms.wasserstein.mass import log_mass

from holdfast.data.schema import Attribute, Attributes, Schema
from holdfast.mechanisms.wasserstein.measure import covered, pseudo_counts
from holdfast.system.errors import SpecError

PSEUDO = (Fraction(7, 2), Fraction(1, 2), Fraction(40))


@pytest.mark.parametrize("counts", [(0, 0, 9), (3, 2, 4), (9, 0, 0), (0, 0, 0)])
def test_the_mass_is_that_of_scipy(counts: tuple[int, ...]) -> None:
    found = log_mass(np.array(counts), PSEUDO)
    truth = dirichlet_multinomial.logpmf(counts, list(map(float, PSEUDO)), np.array(sum(counts)))
    assert found == pytest.approx(float(truth))


def test_masses_add_up_to_one() -> None:
    """With n = 6, the printed formula of the paper does not: it has its ones in other places [theory, 7]."""
    tables = [y for y in product(range(7), repeat=3) if sum(y) == 6]
    assert sum(exp(log_mass(np.array(y), PSEUDO)) for y in tables) == pytest.approx(1)


def test_past_counts_are_scaled_and_have_a_floor() -> None:
    past = np.array([10, 0, 1])
    assert pseudo_counts(past, Fraction(1, 4), Fraction(1, 2)) == tuple(map(Fraction, ("5/2", "1/2", "1/2")))
    assert pseudo_counts(past, Fraction(2), Fraction(0)) == tuple(map(Fraction, (20, 0, 2)))


def test_a_prior_is_over_a_selection() -> None:
    schema = Schema(Attributes((Attribute("county", ("p", "q")), Attribute("kind", ("c", "d")))))
    assert covered(schema, None).all()
    assert covered(schema, {"kind": "c"}).tolist() == [True, False, True, False]
    with pytest.raises(SpecError, match="prior_where"):
        covered(schema, {"sort": "c"})
