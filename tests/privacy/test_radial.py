"""Theorem A.1 of congenial DP against sums over all places."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.privacy.profile import radial_loss
from holdfast.system.errors import GuaranteeError

REACH = 30


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 3), min_size=REACH, max_size=REACH), st.integers(1, 4))
def test_it_is_the_loss_of_whole_numbers(falls: list[float], apart: int) -> None:
    log_f = np.concatenate([[0.0], -np.cumsum(falls)])
    alpha = radial_loss(np.arange(REACH + 1), log_f)
    places = np.arange(-REACH, REACH - apart + 1)
    ratio = log_f[np.abs(places)] - log_f[np.abs(places + apart)]
    assert ratio.max() <= alpha * apart + 1e-9
    one = log_f[np.abs(np.arange(-REACH, REACH))] - log_f[np.abs(np.arange(-REACH, REACH) + 1)]
    assert one.max() == pytest.approx(alpha)


@pytest.mark.parametrize(("beta", "loss"), [(0.5, 1.0), (0.6, 1 / 1.2), (0.9, 1 / 1.8)])
def test_projections_of_two_laplace_counts(beta: float, loss: float) -> None:
    """(A.1) and (A.2) of the appendix, at epsilon 1: the loss is 1 / (2 max(beta, 1 - beta))."""
    u = np.linspace(0, 60, 60_001)
    if beta == 0.5:
        density = (1 + u) * np.exp(-u) / 4
    else:
        parts = beta * np.exp(-u / (2 * beta)) - (1 - beta) * np.exp(-u / (2 * (1 - beta)))
        density = parts / (4 * (2 * beta - 1))
    found = radial_loss(u, np.log(density))
    assert found <= loss + 1e-6
    assert found == pytest.approx(loss, rel=0.02)


@pytest.mark.parametrize(
    ("radii", "values", "said"),
    [
        ([0, 1, 2], [0.0, -1.0, -0.5], "rises up to the radius 2"),
        ([0, 1], [0.0, -np.inf], "positive"),
        ([1, 0], [0.0, -1.0], "rising from 0"),
        ([0], [0.0], "two at least"),
    ],
)
def test_refusals(radii: list[int], values: list[float], said: str) -> None:
    with pytest.raises(GuaranteeError, match=said):
        radial_loss(radii, values)
