"""How far post-processing is off on average, measured on a stand-in for the confidential table.

The release is unbiased: z and -z are equally likely, so E y = x. A projection that leaves no negative counts
tends to push small cells up and others down [theory, 5]. How much depends on the table. The confidential one
must not enter, as the measured bias is published; a public stand-in x' that keeps the invariants takes its
place. For seeded draws z_k of the public noise law,

    bias_i = mean over k of P(y_k)_i - y_k,i   with y_k = x' + z_k, and its standard error,

P being the method. Subtracting y_k rather than x' changes nothing in the mean, as E z = 0, and takes away
most of the noise. The bias for the confidential table is of this kind, not this number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from holdfast.errors import DataError
from holdfast.estimation.conforming import Conforming
from holdfast.estimation.fixed_point import FixedPoint
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.law import Law


@dataclass(frozen=True)
class Mean:
    """The mean bias of a group of cells, its standard error, and the mean of their stand-in counts."""

    cells: int
    stand_in: float
    bias: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Bias:
    """What a method added to the counts of simulated releases of the stand-in, one release a row."""

    stand_in: IntArray
    moves: FloatArray

    @property
    def draws(self) -> int:
        """The number of simulated releases."""
        return int(self.moves.shape[0])

    @property
    def mean(self) -> FloatArray:
        """The bias of each cell."""
        return np.asarray(self.moves.mean(axis=0), dtype=np.float64)

    @property
    def standard_error(self) -> FloatArray:
        """Its standard error."""
        return np.asarray(self.moves.std(axis=0, ddof=1) / sqrt(self.draws), dtype=np.float64)

    @property
    def small(self) -> Mean:
        """The quarter of the cells with the smallest stand-in counts; ties by place."""
        return self._group(self._order[: self._quarter])

    @property
    def large(self) -> Mean:
        """The quarter of the cells with the largest stand-in counts."""
        return self._group(self._order[-self._quarter :])

    @property
    def _order(self) -> IntArray:
        return np.argsort(self.stand_in, kind="stable").astype(np.int64)

    @property
    def _quarter(self) -> int:
        return max(1, self.stand_in.size // 4)

    def _group(self, cells: IntArray) -> Mean:
        moves = self.moves[:, cells].mean(axis=1)
        error = float(moves.std(ddof=1)) / sqrt(self.draws)
        return Mean(int(cells.size), float(self.stand_in[cells].mean()), float(moves.mean()), error)


def bias(
    noise: Law,
    stand_in: IntArray,
    conforming: Conforming,
    method: Callable[[IntArray, Conforming], FixedPoint],
    *,
    draws: int,
    seed: int = 0,
) -> Bias:
    """Process simulated releases of a public stand-in; never give it the confidential table."""
    if draws < 2:
        raise DataError(f"{draws} draws give no standard error of a bias: ask for 2 or more.")
    if not conforming.holds(stand_in):
        raise DataError("the stand-in does not keep the invariants and constraints: make one that does.")
    releases = stand_in + noise.sample(SeededEntropy(seed), draws)
    return Bias(stand_in, np.array([method(y, conforming).values - y for y in releases]))
