"""The containment order of norms, against points of the balls."""

from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import GuaranteeError
from holdfast.testing.goodness import two_way
from holdfast.universe.hull.norm import Ball, NormName
from holdfast.universe.universe import Universe

NORMS: tuple[NormName, ...] = get_args(NormName)
RNG = np.random.default_rng(1)


def size(ball: Ball, point: object) -> float:
    """Return the norm of a point over the radius of a ball of l1, l2 or linf."""
    order = {"l1": 1, "l2": 2, "linf": np.inf}[ball.norm]
    return float(np.linalg.norm(np.asarray(point, dtype=float), order) / float(ball.square) ** 0.5)


def some_points(ball: Ball) -> list[object]:
    """Return points on the rim of a ball, its corners among them."""
    if ball.norm == "hull":
        return list(ball.points)
    d = ball.dimension
    directions = [*np.eye(d), *product((1, -1), repeat=d), *RNG.normal(size=(200, d))]
    return [np.asarray(one) / size(ball, one) for one in directions]


@settings(max_examples=60, deadline=None)
@given(arrays(np.int64, st.tuples(st.integers(1, 4), st.integers(2, 3)), elements=st.integers(-3, 3)))
def test_a_ball_within_another_has_its_points_there(points: IntArray) -> None:
    if not points.any():
        return
    balls = {norm: Ball.around(points, norm) for norm in NORMS}
    for one, other in product(NORMS, NORMS):
        if other == "hull":
            continue
        largest = max(size(balls[other], point) for point in some_points(balls[one]))
        assert balls[one].within(balls[other]) == (largest <= 1 + 1e-9), (one, other)


@pytest.mark.parametrize(("shape", "table"), [((2, 2), [2, 1, 1, 2]), ((3, 3), [1, 0, 1, 0, 1, 1, 1, 1, 0])])
def test_the_hull_of_the_differences_is_preferred_to_every_norm(
    shape: tuple[int, int], table: list[int]
) -> None:
    """Theorem 31; and no other ball lies in it, as it has no room beyond its span."""
    rows = two_way(*shape)
    universe = Universe.of(csr_array(rows), rows @ np.array(table))
    hull = Ball.of(universe, 3, "hull")
    for norm in ("l1", "l2", "linf"):
        assert hull.within(Ball.of(universe, 3, norm))
    assert hull.within(hull)
    assert not Ball.of(universe, 3, "l1").within(hull)


def test_of_two_norms_neither_may_be_preferred() -> None:
    """One record without invariants, e_x - e_y: l1 has radius 2 and linf 1, in three dimensions."""
    moves = np.array([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    one, cube = Ball.around(moves, "l1"), Ball.around(moves, "linf")
    assert not one.within(cube)
    assert not cube.within(one)


def test_hulls_of_full_rank() -> None:
    cross, square = np.eye(2, dtype=np.int64), np.array([[1, 1], [1, -1]])
    assert Ball.around(cross, "hull").within(Ball.around(square, "hull"))
    assert not Ball.around(square, "hull").within(Ball.around(cross, "hull"))
    assert Ball.around(cross, "l1").within(Ball.around(cross, "hull"))  # the same
    assert Ball.around(cross, "linf").within(Ball.around(square, "hull"))  # the same
    assert not Ball.around(cross, "linf").within(Ball.around(cross, "hull"))


def test_refusals() -> None:
    cross = np.eye(2, dtype=np.int64)
    with pytest.raises(GuaranteeError, match="is not decided"):
        Ball.around(cross, "l2").within(Ball.around(cross, "hull"))
    with pytest.raises(GuaranteeError, match="same cells"):
        Ball.around(cross, "l1").within(Ball.around(np.eye(3, dtype=np.int64), "l1"))
    with pytest.raises(GuaranteeError, match="not all of them 0"):
        Ball.around(np.zeros((1, 2), dtype=np.int64), "l1")
