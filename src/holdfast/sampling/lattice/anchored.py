"""Independent discrete Laplace noise on free cells, which anchors close [theory, 12].

With anchors B for a matrix A and free cells J, {z : A z = 0} is Z^J by z_B = -N z_J. So

    q(z) proportional to exp(-kappa ||z_J||_1)   on   {z : A z = 0}

is drawn as one double geometric number for each free cell and one sum for each anchor, at any size. Any
linear form of it, w'z = (w_J - N'w_B)'z_J, is a sum of independent double geometric numbers with whole
coefficients. With v = 2 a / (1 - a)^2, a = exp(-kappa), one has the characteristic function
1 / (1 + v (1 - cos t)); and E |S| of a whole number S that is symmetric about 0 is

    (1 / pi) times the integral over 0 < t < pi of (1 - phi(t)) / (1 - cos t),

since it is |s| for phi(t) = cos(s t). With t = 2 arctan(e^y) it is that of (1 - phi) e^-y over all y, which
equal steps sum up to far more digits than are told.
"""

from fractions import Fraction
from functools import cached_property
from math import expm1, pi, sqrt

import numpy as np

from holdfast.lattice.anchors import Anchors
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.plan import Block, Independent
from holdfast.sampling.numbers.exponential import DoubleGeometric, checked_rate
from holdfast.sampling.rejection import rows_at_once

STEPS = np.linspace(-40.0, 40.0, 1601)
"""Steps of a twentieth in y."""
Coefficients = tuple[tuple[int, int], ...]
"""The sizes of coefficients other than 0, and how many there are of each."""


class AnchoredLaw:
    """q(z) proportional to exp(-kappa ||z_J||_1), for anchors of a full-rank integer matrix."""

    floats = False
    acceptance = 1.0

    def __init__(self, anchors: Anchors, kappa: Fraction) -> None:
        self.anchors, self.kappa = anchors, checked_rate(kappa)
        self.cells = anchors.cells.size + anchors.free.size

    @property
    def methods(self) -> tuple[str, ...]:
        """What is done, in sentences."""
        return tuple(block.method for block in self.steps)

    @property
    def work(self) -> float:
        """Integers that one draw takes: one for each free cell, and the sums of the anchors."""
        return float(self.cells)

    @cached_property
    def steps(self) -> tuple[Block, ...]:
        """The free cells, drawn at once."""
        free = self.anchors.free
        cell = Independent(free.size, DoubleGeometric(self.kappa))
        return (Block(free[None], cell, "free-of-anchors"),)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        anchors = self.anchors
        draws = np.empty((size, self.cells), dtype=np.int64)
        for begin in range(0, size, most := rows_at_once(self.cells)):
            some = draws[begin : begin + most]
            free = self.steps[0].sampler.sample(entropy, len(some))
            some[:, anchors.free] = free
            some[:, anchors.cells] = -(anchors.closing @ free.T).T
        return draws

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return -kappa ||z_J||_1 for each row, minus infinity off the lattice."""
        free, closed = points[:, self.anchors.free], points[:, self.anchors.cells]
        on_lattice = ~(closed + (self.anchors.closing @ free.T).T).any(axis=1)
        return np.where(on_lattice, -float(self.kappa) * np.abs(free).sum(axis=1), -np.inf)

    def coefficients(self, cells: IntArray, weights: IntArray) -> Coefficients:
        """Return those of the free cells in the sum of some cells with these weights other than 0."""
        place, closing = self._place[cells], self.anchors.closing
        free, closed = place >= 0, ~place[place < 0]
        rows = closing[closed]
        length = np.diff(rows.indptr)
        at = np.concatenate([place[free], rows.indices])
        each = np.concatenate([weights[free], -np.repeat(weights[~free], length) * rows.data])
        _, which = np.unique(at, return_inverse=True)
        total = np.zeros(which.max(initial=-1) + 1, dtype=np.int64)
        np.add.at(total, which, each)
        sizes, times = np.unique(np.abs(total[total != 0]), return_counts=True)
        return tuple(zip(sizes.tolist(), times.tolist(), strict=True))

    @cached_property
    def variance(self) -> float:
        """That of a free cell, v."""
        # a = exp(-kappa): 2 a / (1 - a)^2, also where kappa is small
        return 2 * float(np.exp(-float(self.kappa))) / expm1(-float(self.kappa)) ** 2

    @cached_property
    def error(self) -> float:
        """The mean absolute error of a free cell, 2 a / (1 - a^2)."""
        return -2 * float(np.exp(-float(self.kappa))) / expm1(-2 * float(self.kappa))

    @cached_property
    def anchor_errors(self) -> FloatArray:
        """The mean absolute error of each anchor."""
        closing, kinds = abs(self.anchors.closing), {}
        sizes = np.unique(closing.data)
        rows = np.repeat(np.arange(closing.shape[0]), np.diff(closing.indptr))
        counts = np.zeros((closing.shape[0], sizes.size), dtype=np.int64)
        np.add.at(counts, (rows, np.searchsorted(sizes, closing.data)), 1)
        alike, which = np.unique(counts, axis=0, return_inverse=True)
        for kind, times in enumerate(alike):
            kinds[kind] = self.mean_absolute(tuple(zip(sizes.tolist(), times.tolist(), strict=True)))
        return np.array([kinds[kind] for kind in which.ravel().tolist()], dtype=np.float64)

    def mean_absolute(self, coefficients: Coefficients) -> float:
        """Return E |S| for the sum of free cells with some coefficients."""
        spread = sqrt(self.variance * sum(times * size**2 for size, times in coefficients)) or 1.0
        y = STEPS - np.log(spread)
        angle = 2 * np.arctan(np.exp(y))
        log_phi = np.zeros(y.size)
        for size, times in coefficients:
            log_phi -= times * np.log1p(2 * self.variance * np.sin(size * angle / 2) ** 2)
        return float((-np.expm1(log_phi) * np.exp(-y)).sum() * (STEPS[1] - STEPS[0]) / pi)

    @cached_property
    def _place(self) -> IntArray:
        """The place of each cell among the free ones, or ~place among the anchors."""
        place = np.empty(self.cells, dtype=np.int64)
        place[self.anchors.free] = np.arange(self.anchors.free.size)
        place[self.anchors.cells] = ~np.arange(self.anchors.cells.size)
        return place
