"""Confidence intervals from estimates and their exact variances.

What is exact: the estimate is linear in the measurements, so it is unbiased and its variance is the one
computed, whatever the law of the noise. Invariants are used, so no interval is longer than without them, and
what they fix is a point.

What is not: the quantile is that of a normal law. Discrete Gaussian noise is on whole numbers, and its sums
are close to normal but not equal to it. The coverage is near the level where the noise of a measurement has a
standard deviation of a few units, or the estimate weighs many measurements. With one narrow measurement alone
it is P(|z| <= h) for whole z, which moves in steps: with a standard deviation of 1, .877 for .90.
Discrete Laplace noise has a law further from the normal one, and more measurements must come together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import SpecError
from holdfast.estimation.tree.combination import union
from holdfast.estimation.tree.covariance import variances
from holdfast.estimation.tree.passes import Estimates
from holdfast.lattice.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class NormalIntervals:
    """The intervals estimate -+ quantile times standard deviation.

    Attributes:
        estimate: the best linear unbiased estimates.
        variance: their variances; 0 where invariants fix the query, infinite where nothing measures it.
        probability: that of covering, of each interval by itself.

    """

    estimate: FloatArray
    variance: FloatArray
    probability: float

    @property
    def half_width(self) -> FloatArray:
        """The quantile of the normal law times the standard deviation."""
        return np.asarray(NormalDist().inv_cdf((1 + self.probability) / 2) * np.sqrt(self.variance))

    @property
    def low(self) -> FloatArray:
        """The lower ends."""
        return np.asarray(self.estimate - self.half_width)

    @property
    def high(self) -> FloatArray:
        """The upper ends."""
        return np.asarray(self.estimate + self.half_width)

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Whether the invariants fix the query: then the interval is a point, and certain."""
        return np.asarray(self.variance == 0)


def normal_intervals(estimate: FloatArray, variance: FloatArray, probability: float) -> NormalIntervals:
    """Return the intervals of estimates with these variances.

    >>> found = normal_intervals(np.array([10.0]), np.array([4.0]), 0.9)
    >>> [round(float(end), 2) for end in (found.low[0], found.high[0])]
    [6.71, 13.29]
    """
    # users say level, as in a level of confidence; here a level is one of the geography
    if not 0 < probability < 1:
        raise SpecError(f"the level is {probability}: give a probability between 0 and 1, such as 0.9.")
    return NormalIntervals(np.asarray(estimate), np.asarray(variance), float(probability))


def intervals_at(
    estimates: Estimates, level: str, queries: FloatArray, probability: float
) -> NormalIntervals:
    """Return an interval for each node (a row) of a level and each query (a row over the cells)."""
    Q = np.asarray(queries, dtype=np.float64)
    return normal_intervals(estimates.at(level) @ Q.T, variances(estimates, level, Q), probability)


def intervals_of_union(
    estimates: Estimates, nodes: Mapping[str, IntArray], queries: FloatArray, probability: float
) -> NormalIntervals:
    """Return an interval for each query of the sum of the tables of disjoint nodes, given by level."""
    return normal_intervals(*union(estimates, nodes, queries), probability)
