from fractions import Fraction
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.privacy.intensity import Approximate, GaussianDP, Pure, ZeroConcentrated, total
from holdfast.privacy.tradeoff import EpsilonDelta, at_least, group
from holdfast.system.errors import GuaranteeError

small = st.fractions(min_value=Fraction(1, 100), max_value=3, max_denominator=1000)


@given(small, st.integers(1, 6))
def test_groups_scale_exactly(value: Fraction, k: int) -> None:
    assert Pure(value).group(k) == Pure(k * value)
    assert GaussianDP(value).group(k) == GaussianDP(k * value)
    assert ZeroConcentrated(value).group(k) == ZeroConcentrated(k * k * value)


@given(small, st.integers(1, 5))
def test_the_delta_of_a_group_is_rounded_up_a_little(epsilon: Fraction, k: int) -> None:
    delta = Fraction(1, 10**9)
    truth = 1e-9 * sum(exp(j * float(epsilon)) for j in range(k))
    grouped = Approximate(epsilon, delta).group(k)
    assert grouped.epsilon == k * epsilon
    assert truth * (1 - 1e-12) <= float(grouped.delta) <= truth * (1 + 1e-9)


def test_the_group_formula_is_the_definition_unrolled() -> None:
    # Two steps by hand: P <= e^eps (e^eps R + delta) + delta.
    grouped = Approximate(Fraction(1), Fraction(1, 1000)).group(2)
    assert abs(float(grouped.delta) - (1 + exp(1)) / 1000) < 1e-12


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", "1e-9"), ("1", "1e-3"), ("0", "0.01"), ("3", "0")])
def test_a_group_is_implied_by_the_tradeoff_function_composed(epsilon: str, delta: str, k: int) -> None:
    one = Approximate(Fraction(epsilon), Fraction(delta))
    many = one.group(k)
    f = EpsilonDelta(float(one.epsilon), float(one.delta))
    assert at_least(group(f, k), EpsilonDelta(float(many.epsilon), float(many.delta)))


def test_groups_too_large_are_worth_nothing() -> None:
    assert Approximate(Fraction(10), Fraction(1, 10**9)).group(100).delta == 1
    assert Approximate(Fraction(10), Fraction(0)).group(100).delta == 0
    assert ZeroConcentrated(Fraction("2.56")).group(2) == ZeroConcentrated(Fraction("10.24"))  # the census


def test_totals() -> None:
    assert total([Pure(Fraction(1, 3))] * 3) == Pure(Fraction(1))
    assert total([ZeroConcentrated(Fraction(1, 3)), ZeroConcentrated(Fraction(1))]).parameters() == {
        "rho": Fraction(4, 3)
    }
    assert total([GaussianDP(Fraction(3)), GaussianDP(Fraction(4))]) == GaussianDP(Fraction(5))
    irrational = total([GaussianDP(Fraction(1)), GaussianDP(Fraction(1))]).parameters()["mu"]
    assert 0 <= irrational**2 - 2 < Fraction(1, 10**10)
    both = total([Approximate(Fraction(1), Fraction(2, 3)), Approximate(Fraction(1), Fraction(2, 3))])
    assert both == Approximate(Fraction(2), Fraction(1))


def test_standards_do_not_mix() -> None:
    with pytest.raises(GuaranteeError, match="different standards"):
        total([Pure(Fraction(1)), ZeroConcentrated(Fraction(1))])
