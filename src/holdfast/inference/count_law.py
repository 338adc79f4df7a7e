"""The law of x_11 in 2 x 2 tables with both margins given [holdfast, data/two_by_two.py].

With w the odds ratio, x_11 x_22 / (x_12 x_21) in probabilities,

    P_w(x_11 = h) is proportional to C(t_1., h) C(t_2., t_.1 - h) w^h,
    max(0, t_1. + t_.1 - n) <= h <= min(t_1., t_.1),

Fisher's noncentral hypergeometric law [semi-dp, Section 5.3; theory, 9].
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from holdfast.data.two_by_two import Margins
from holdfast.mechanisms.canonical.noise import Floats

NEGLIGIBLE = 46.0
"""exp(-46) < 1e-19: values this much less likely than the mode are left out."""


@dataclass(frozen=True)
class CountLaw:
    """The law of x_11, summed over tables that share one odds ratio (one table, or strata)."""

    margins: tuple[Margins, ...]

    @property
    def lowest(self) -> int:
        """The least sum."""
        return sum(margins.lowest for margins in self.margins)

    @property
    def highest(self) -> int:
        """The largest sum."""
        return sum(margins.highest for margins in self.margins)

    def at(self, log_odds: float) -> tuple[Floats, Floats]:
        """Return the values and their probabilities for an odds ratio; those below 1e-19 are left out."""
        first, total = 0, np.ones(1)
        for margins in self.margins:
            start, probabilities = _noncentral(margins, log_odds)
            first, total = first + start, np.convolve(total, probabilities)
        return first + np.arange(total.size, dtype=np.float64), total


def _noncentral(margins: Margins, log_odds: float) -> tuple[int, Floats]:
    """Return the first value and the probabilities, summed outwards from the mode by their ratios.

    P(h + 1) / P(h) = w (t_1. - h)(t_.1 - h) / ((h + 1)(t_2. - t_.1 + h + 1)) falls with h.
    """
    mode = _mode(margins, log_odds)
    r, c, d = margins.rows[0], margins.columns[0], margins.rows[1] - margins.columns[0]
    curvature = 1 / (r - mode + 1) + 1 / (c - mode + 1) + 1 / (mode + 1) + 1 / (d + mode + 1)
    reach = int(12 / sqrt(curvature)) + 60
    first, last = max(margins.lowest, mode - reach), min(margins.highest, mode + reach)
    h = np.arange(first, last, dtype=np.float64)
    steps = np.log(r - h) + np.log(c - h) - np.log(h + 1) - np.log(d + h + 1) + log_odds
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    logs -= logs.max()
    kept = np.flatnonzero(logs > -NEGLIGIBLE)
    weights = np.exp(logs[kept[0] : kept[-1] + 1])
    return first + int(kept[0]), weights / weights.sum()


def _mode(margins: Margins, log_odds: float) -> int:
    """Return the least h whose successor is not more likely."""
    r, c, d = margins.rows[0], margins.columns[0], margins.rows[1] - margins.columns[0]
    low, high = margins.lowest, margins.highest
    while low < high:
        h = (low + high) // 2
        rises = log(r - h) + log(c - h) + log_odds > log(h + 1) + log(d + h + 1)
        low, high = (h + 1, high) if rises else (low, h)
    return low
