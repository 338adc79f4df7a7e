"""Lemma 34: a test of one's own against the tradeoff function of its outcome."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from holdfast.mechanisms.canonical import Tulap
from holdfast.privacy.tradeoff import EpsilonDelta, Gaussian, Tradeoff, at_least, tradeoff_of
from holdfast.privacy.tradeoff.order import check_chances, check_test
from holdfast.system.errors import GuaranteeError
from holdfast.testing.goodness import two_way
from holdfast.universe.universe import Universe

F = [EpsilonDelta(1.0, 0.0), EpsilonDelta(0.5, 0.1), Gaussian(1.0)]


@pytest.mark.parametrize("f", F, ids=["pure", "approximate", "gaussian"])
@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_it_is_whether_the_outcome_is_private(f: Tradeoff, one: float, other: float) -> None:
    found = check_chances([one, other], [(0, 1)], f)
    if found.excess > 1e-9 or found.excess == 0:  # else rounding decides
        laws = [np.array([1 - chance, chance]) for chance in (one, other)]
        both = [tradeoff_of(*pair) for pair in (laws, laws[::-1])]
        assert found.kept == all(at_least(true, f) for true in both)


TABLES = Universe.of(csr_array(two_way(2, 2)), two_way(2, 2) @ np.array([3, 1, 1, 3]))


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_odds_ratio_test_of_theorem_37_keeps_f_and_no_smaller_one(epsilon: float) -> None:
    """phi(x) = F(x_11 - m), F the canonical noise: one step of x_11 is what f allows."""
    noise = Tulap(Fraction(epsilon))
    found = check_test(lambda table: float(noise.cdf(table[0] - 2.3)), TABLES, 3, EpsilonDelta(epsilon, 0.0))
    assert found.kept
    assert found.pairs == 4  # of five tables in a line
    stricter = EpsilonDelta(0.9 * epsilon, 0.0)
    assert not check_test(lambda table: float(noise.cdf(table[0] - 2.3)), TABLES, 3, stricter).kept


def test_a_plain_test_is_not_private() -> None:
    found = check_test(lambda table: float(table[0] > 2), TABLES, 3, EpsilonDelta(1.0, 0.0))
    assert not found.kept
    assert found.excess == pytest.approx(1.0)
    assert found.worst is not None
    with pytest.raises(GuaranteeError, match="between 0 and 1"):
        check_test(lambda table: float(table[0]), TABLES, 3, EpsilonDelta(1.0, 0.0))
    assert check_chances([0.0, 1.0], [], EpsilonDelta(1.0, 0.0)).kept
