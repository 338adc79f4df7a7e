"""The curves of epsilon by swap rate are drawn through the points where they turn."""

from math import exp, log

import numpy as np
import pytest
from matplotlib.figure import Figure

from holdfast.cli.swapping_audit import _curve
from holdfast.mechanisms.swapping.bounds import EpsilonBound


@pytest.mark.parametrize(
    ("size", "bound", "log_odds", "level"),
    [
        (3, "tight", -log(2) / 3, 2 * log(2) / 3),  # from ln(2)/3 - ln o to (ln 2 - ln o)/2
        (3, "tight", log(2) / 3, log(2) / 3),  # from there to ln o
        (2, "tight", 0, 0),
        (4, "tight", log(9) / 4, log(9) / 4),
        (10, "slides", log(11) / 2, log(11) / 2),
        (10, "slides", 0, log(11)),  # p = 1/2
    ],
)
def test_turns_are_drawn(size: int, bound: EpsilonBound, log_odds: float, level: float) -> None:
    axes = Figure().subplots()
    _curve(axes, size, bound)
    drawn = np.asarray(axes.lines[0].get_xydata(), dtype=float)
    turn = 1 / (1 + exp(-log_odds)), level
    assert np.abs(drawn - turn).max(axis=1).min() < 1e-9
