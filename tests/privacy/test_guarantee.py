from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.privacy.guarantee import Guarantee, Scope, Target, Unit, probability
from holdfast.privacy.intensity import (
    Approximate,
    Functional,
    GaussianDP,
    Intensity,
    Pure,
    ZeroConcentrated,
)
from holdfast.privacy.tradeoff import EpsilonDelta
from holdfast.system.errors import GuaranteeError
from holdfast.testing.goodness import two_way
from holdfast.universe.universe import Universe

TWO = Universe.of(csr_array(two_way(2, 2)), np.array([3, 3, 3]))
SCOPE = Scope.of(TWO, invariants=("county",), constraints=())


def guarantee(epsilon: Fraction, *, distance: int = 3) -> Guarantee:
    return Guarantee(SCOPE, Unit("record", "semi", distance), Pure(epsilon), ())


@given(st.fractions(min_value=Fraction(1, 100), max_value=20))
def test_the_stated_factor_is_never_too_small(epsilon: Fraction) -> None:
    stated = float(guarantee(epsilon).statement.split(" = ")[1].split(" times")[0].replace(",", ""))
    assert exp(float(epsilon)) <= stated <= 1.011 * exp(float(epsilon))


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(1, 2)))
def test_the_stated_probability_is_never_too_small(delta: Fraction) -> None:
    stated = Fraction(probability(delta))
    assert delta <= stated <= delta * Fraction(1011, 1000)
    said = Guarantee(SCOPE, Unit("record", "semi", 3), Approximate(Fraction(1), delta), ()).statement
    assert f"but for a probability of {probability(delta)}." in said


def test_a_stronger_guarantee_meets_a_weaker_target_only() -> None:
    assert guarantee(Fraction(1)).meets(Target("semi", Pure(Fraction(1))))
    assert guarantee(Fraction(1, 2)).meets(Target("semi", Pure(Fraction(1))))
    assert not guarantee(Fraction(101, 100)).meets(Target("semi", Pure(Fraction(1))))


def test_other_adjacencies_are_not_compared() -> None:
    with pytest.raises(GuaranteeError, match="cannot be compared"):
        guarantee(Fraction(1)).meets(Target("unit", Pure(Fraction(1))))


def test_the_scope_depends_on_matrix_and_values() -> None:
    rows = csr_array(two_way(2, 2))

    def digest(table: list[int]) -> str:
        on = Universe.of(rows, two_way(2, 2) @ np.array(table))
        return Scope.of(on, invariants=(), constraints=()).digest

    assert digest([2, 1, 1, 2]) == digest([1, 2, 2, 1])  # the same margins
    assert digest([2, 1, 1, 2]) != digest([3, 1, 1, 2])


def over(rows: NDArray[np.int64], distance: int, intensity: Intensity, *, per: str = "semi") -> Guarantee:
    on = Universe.of(csr_array(rows), rows @ np.array([2, 1, 1, 2]))
    scope = Scope.of(on, invariants=(str(rows.tolist()),), constraints=())
    return Guarantee(scope, Unit("record", per, distance), intensity, ())  # type: ignore[arg-type]


TOTAL, BY_ROW = np.array([[1, 1, 1, 1]]), np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
BY_COLUMN = np.array([[1, 0, 1, 0], [0, 1, 0, 1]])
ONE, TWO_EPSILON = Pure(Fraction(1)), Pure(Fraction(2))


def test_more_invariants_are_a_smaller_scope() -> None:
    wide, narrow = over(TOTAL, 2, ONE), over(BY_ROW, 2, ONE)
    assert narrow.scope.within(wide.scope)
    assert not wide.scope.within(narrow.scope)
    assert wide.implies(narrow)
    assert not narrow.implies(wide)
    assert wide.implies(wide)


def test_the_same_equations_in_other_words_are_the_same_scope() -> None:
    one, other = over(BY_ROW, 2, ONE), over(np.array([[1, 1, 1, 1], [1, 1, 0, 0]]), 2, ONE)
    assert one.scope.digest != other.scope.digest
    assert one.implies(other)
    assert other.implies(one)


def test_larger_distances_and_smaller_intensities_are_stronger() -> None:
    assert over(BY_ROW, 3, ONE).implies(over(BY_ROW, 2, ONE))
    assert not over(BY_ROW, 2, ONE).implies(over(BY_ROW, 3, ONE))
    assert over(BY_ROW, 2, ONE).implies(over(BY_ROW, 2, TWO_EPSILON))
    assert not over(BY_ROW, 2, TWO_EPSILON).implies(over(BY_ROW, 2, ONE))


def test_crossing_scopes_and_other_data_are_not_comparable() -> None:
    with pytest.raises(GuaranteeError, match="not comparable"):
        over(BY_ROW, 2, ONE).implies(over(BY_COLUMN, 2, ONE))
    with pytest.raises(GuaranteeError, match="not comparable"):
        over(BY_ROW, 2, ONE).implies(over(TOTAL, 1, ONE))
    nine = Universe.of(csr_array(two_way(3, 3)), two_way(3, 3) @ np.arange(9))
    with pytest.raises(GuaranteeError, match="4 and of 9 cells"):
        over(BY_ROW, 2, ONE).scope.within(Scope.of(nine, invariants=(), constraints=()))


def test_other_values_are_other_scopes() -> None:
    rows = csr_array(BY_ROW)
    one = Scope.of(Universe.of(rows, np.array([3, 3])), invariants=(), constraints=())
    other = Scope.of(Universe.of(rows, np.array([4, 2])), invariants=(), constraints=())
    assert not one.within(other)


def test_a_loss_in_proportion_covers_every_distance() -> None:
    per_record = over(BY_ROW, 1, ONE, per="unit")
    assert per_record.implies(over(BY_ROW, 3, Pure(Fraction(3))))
    assert not per_record.implies(over(BY_ROW, 3, Pure(Fraction(2))))
    assert not over(BY_ROW, 3, ONE).implies(per_record)


def test_standards_are_converted_where_a_theorem_allows() -> None:
    assert over(BY_ROW, 2, ONE).implies(over(BY_ROW, 2, ZeroConcentrated(Fraction(1, 2))))
    assert not over(BY_ROW, 2, ONE).implies(over(BY_ROW, 2, ZeroConcentrated(Fraction(4, 10))))
    functional = Functional(EpsilonDelta(1.0, 0.01, "lower"))
    assert over(BY_ROW, 2, ONE).implies(over(BY_ROW, 2, functional))
    assert not over(BY_ROW, 2, TWO_EPSILON).implies(over(BY_ROW, 2, functional))


@pytest.mark.parametrize(
    ("intensity", "words"),
    [
        (Approximate(Fraction(1), Fraction(1, 10**6)), "but for a probability of 1e-06"),
        (ZeroConcentrated(Fraction(1, 2)), "at most 0.5 alpha"),
        (GaussianDP(Fraction(3, 4)), "N(0.75, 1)"),
        (Functional(EpsilonDelta(1.0)), "tradeoff function"),
    ],
)
def test_every_standard_has_its_sentence(intensity: Intensity, words: str) -> None:
    statement = over(BY_ROW, 2, intensity).statement
    assert words in statement
    assert statement.startswith(
        "For any two tables with the same invariants that differ in at most 2 records,"
    )
