from fractions import Fraction

import numpy as np
import pytest

from holdfast.sampling.chains.kernel import LaplaceTarget, MarkovWalk, accept, non_negative
from holdfast.sampling.entropy import SeededEntropy

CENTRE = np.array([1, 2, 0])
POINTS = np.array([[1, 2, 0], [4, -2, 0], [0, 0, 3]])


def test_the_statistic_is_a_whole_number() -> None:
    one, two = (LaplaceTarget(Fraction(1, 2), CENTRE, norm) for norm in ("l1", "l2"))
    assert one.statistic(POINTS).tolist() == [0, 7, 6]
    assert two.statistic(POINTS).tolist() == [0, 25, 14]
    assert one.log_prob(np.array([0, 7])).tolist() == [0, -3.5]
    assert two.log_prob(np.array([0, 25])).tolist() == [0, -2.5]


def test_constraints() -> None:
    assert non_negative(POINTS).tolist() == [True, False, True]
    target = LaplaceTarget(Fraction(1), CENTRE, "l1", lambda points: points[:, 0] > points[:, 2])
    assert target.inside(POINTS).tolist() == [True, True, False]
    assert LaplaceTarget(Fraction(1), CENTRE).inside(POINTS).all()


def test_a_target_without_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        LaplaceTarget(Fraction(0), CENTRE)
    with pytest.raises(ValueError, match="centre"):
        LaplaceTarget(Fraction(1), -CENTRE, constraint=non_negative)


def test_a_walk_needs_a_move_and_a_start_inside() -> None:
    target = LaplaceTarget(Fraction(1), CENTRE, constraint=non_negative)
    with pytest.raises(ValueError, match="move"):
        MarkovWalk(np.zeros((0, 3), dtype=np.int64), target, Fraction(1))
    walk = MarkovWalk(np.array([[1, -1, 0]]), target, Fraction(1))
    with pytest.raises(ValueError, match="outside the support"):
        walk.init(np.array([[3, -1, 1]]))
    with pytest.raises(OverflowError):
        walk.moved(walk.start(1, SeededEntropy(0)), walk.moves, np.array([2**62]))


@pytest.mark.parametrize("ratio", [np.nan, np.inf])
def test_a_ratio_that_is_no_number_raises(ratio: float) -> None:
    with pytest.raises(ArithmeticError):
        accept(np.array([0.0, ratio]), np.zeros(2, dtype=np.uint64))


def test_certain_and_impossible_decisions() -> None:
    ends = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert accept(np.zeros(2), ends).all()
    assert accept(np.full(2, 3.0), ends).all()
    assert not accept(np.full(2, -np.inf), ends).any()
