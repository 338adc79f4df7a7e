"""The law that chains converge to where no exact draw is known: weights of any loss and base measure."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from scipy.special import gammaln

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.mechanisms.wasserstein.laws import SamplingDesign

UNIT = 2.0**-32
"""Logs of weights are whole multiples of it: a chain decides in floats anyway."""


@dataclass(frozen=True, eq=False)
class WeightedTarget:
    """p(y) prop. to nu(y) exp(-kappa L(x, y)) around a table x; the statistic is minus its log, in units."""

    design: SamplingDesign
    centre: IntArray = field(repr=False)

    def statistic(self, points: IntArray) -> IntArray:
        """Return minus the log weight of each row, in whole units."""
        logs = float(self.design.kappa) * self.design.loss.values(points - self.centre)
        for cell, a in enumerate(self.design.base.pseudo or ()):
            if a != 1:
                k = np.maximum(points[:, cell], 0).astype(np.float64)
                logs = logs - (gammaln(k + float(a)) - gammaln(k + 1))
        return np.rint(logs / UNIT).astype(np.int64)

    def inside(self, points: IntArray) -> BoolArray:
        """Return whether each row is a release."""
        return self.design.base.inside(points)

    def log_prob(self, statistic: IntArray) -> FloatArray:
        """Return the log weight for each value of the statistic."""
        return -UNIT * statistic.astype(np.float64)


@dataclass(frozen=True, eq=False)
class WeightedTargets:
    """The laws around all tables."""

    design: SamplingDesign

    def around(self, centre: IntArray) -> WeightedTarget:
        """Return the law around a table."""
        return WeightedTarget(self.design, centre)

    def jump(self, moves: IntArray) -> Fraction:
        """Return kappa times the smallest loss of a move, of those that have one."""
        sizes = self.design.loss.values(moves)
        seen = sizes[sizes > 0]
        least = float(seen.min()) if seen.size else 1.0
        return self.design.kappa * Fraction(least).limit_denominator(1000)
