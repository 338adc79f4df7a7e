"""Cases and deaths with a public total, against a quadratic solver and all whole numbers next to it."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize

from holdfast.processing.contraction import nearest_ordered, whole_ordered
from holdfast.system.errors import DataError

Pair = tuple[NDArray[np.int64], NDArray[np.int64], int]


@st.composite
def problems(draw: st.DrawFn) -> Pair:
    places = draw(st.integers(1, 4))
    counts = st.lists(st.integers(-6, 9), min_size=places, max_size=places).map(np.array)
    return draw(counts), draw(counts), draw(st.integers(0, 12))


@settings(max_examples=60, deadline=None)
@given(problems())
def test_nothing_is_nearer(problem: Pair) -> None:
    a, b, total = problem
    c, d = nearest_ordered(a, b, total)
    assert c.sum() == pytest.approx(total, abs=1e-9)
    assert (c >= d - 1e-9).all()
    assert (d >= 0).all()
    size = a.size

    def squares(v: NDArray[np.float64]) -> float:
        return float(((v[:size] - a) ** 2).sum() + ((v[size:] - b) ** 2).sum())

    found = minimize(
        squares,
        np.concatenate([np.full(size, total / size), np.zeros(size)]),
        constraints=[
            LinearConstraint(np.repeat(np.array([[1.0, 0.0]]), size, axis=1), total, total),
            LinearConstraint(np.hstack([np.eye(size), -np.eye(size)]), 0, np.inf),
        ],
        bounds=[(0, None)] * (2 * size),
        method="SLSQP",
    )
    assert squares(np.concatenate([c, d])) <= float(found.fun) + 1e-5


@settings(max_examples=60, deadline=None)
@given(problems())
def test_no_whole_numbers_next_to_it_are_nearer(problem: Pair) -> None:
    a, b, total = problem
    real = np.round(np.concatenate(nearest_ordered(a, b, total)), 9)
    c, d = whole_ordered(a, b, total)
    assert c.sum() == total
    assert (c >= d).all()
    assert (d >= 0).all()
    allowed = []
    for up in product((0, 1), repeat=real.size):
        point = np.floor(real) + up
        cases, deaths = point[: a.size], point[a.size :]
        if cases.sum() == total and (cases >= deaths).all():
            allowed.append(float(np.abs(point - real).sum()))
    assert np.abs(np.concatenate([c, d]) - real).sum() == pytest.approx(min(allowed), abs=1e-6)


def test_many_tables_are_solved_at_once() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(-50, 200, (30, 67)), rng.integers(-20, 20, (30, 67))
    c, d = whole_ordered(a, b, 3000)
    assert (c.sum(axis=1) == 3000).all()
    for row in range(30):
        one = whole_ordered(a[row], b[row], 3000)
        assert np.array_equal(one, (c[row], d[row]))


def test_a_sum_below_zero_is_refused() -> None:
    with pytest.raises(DataError, match="the sum -1"):
        nearest_ordered(np.array([1]), np.array([0]), -1)
