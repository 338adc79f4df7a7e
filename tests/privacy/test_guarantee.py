from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.goodness import two_way

from holdfast.errors import GuaranteeError
from holdfast.privacy.guarantee import Guarantee, Scope, Target, Unit
from holdfast.privacy.intensity import Pure
from holdfast.universe.universe import Universe

TWO = Universe.of(csr_array(two_way(2, 2)), np.array([3, 3, 3]))
SCOPE = Scope.of(TWO, invariants=("county",), constraints=())


def guarantee(epsilon: Fraction, *, distance: int = 3) -> Guarantee:
    return Guarantee(SCOPE, Unit("record", "semi", distance), Pure(epsilon), ())


@given(st.fractions(min_value=Fraction(1, 100), max_value=20))
def test_the_stated_factor_is_never_too_small(epsilon: Fraction) -> None:
    stated = float(guarantee(epsilon).statement.split(" = ")[1].split(" times")[0])
    assert exp(float(epsilon)) <= stated <= 1.011 * exp(float(epsilon))


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
