"""A kernel on a support that can be enumerated, beside its transition matrix from first principles.

Proposal probabilities are written down from the algorithms; only the acceptance comes from the kernels. That
the kernels propose as they should is tested by comparing their steps with these matrices.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.points import lattice_points
from holdfast.sampling.chains.kernel import ChainState, Kernel, LaplaceTarget, non_negative

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

TABLE = np.array([2, 1, 0, 1, 0, 2])
"""A 2 x 3 table; seven more share its margins."""


@dataclass(frozen=True, eq=False)
class Case:
    """A kernel, its states at given points, all points of its target, their law, and the matrix of a step."""

    kernel: Kernel
    at: Callable[[Integers], ChainState]
    points: Integers
    law: Floats
    matrix: Floats

    def row(self, i: int) -> dict[tuple[int, ...], float]:
        """Return where one step from a point leads."""
        return self.listed(self.matrix[i])

    def listed(self, law: Floats) -> dict[tuple[int, ...], float]:
        """Return the chances of the points by point."""
        return dict(zip(map(tuple, self.points.tolist()), law.tolist(), strict=True))


def truncated(epsilon: Fraction, table: Integers) -> LaplaceTarget:
    return LaplaceTarget(epsilon, table, constraint=non_negative)


def support(target: LaplaceTarget, matrix: Integers) -> tuple[Integers, Floats]:
    """Return all points of a target and their probabilities."""
    points = target.centre + lattice_points(matrix, {4: 12, 6: 6}.get(matrix.shape[1], 3))
    points = points[target.inside(points)]
    difference = (points - target.centre).astype(np.float64)
    size = np.linalg.norm(difference, 1 if target.norm == "l1" else 2, axis=1)
    weight = np.exp(-float(target.epsilon) * size)
    return points, weight / weight.sum()


def double_geometric(jumps: Integers, rate: Fraction) -> Floats:
    a = np.exp(-float(rate))
    return np.asarray((1 - a) / (1 + a) * a ** np.abs(jumps))


def metropolis(kernel: Kernel, states: ChainState, chance: Floats) -> Floats:
    """Return the matrix of one step: ``chance`` has the probability that an update proposes each point."""
    size = states.statistic.size
    moved = np.zeros((size, size))
    for i in range(size):
        one = states.rows(np.full(size, i))
        moved[i] = chance[i] * np.exp(np.minimum(0, kernel.log_ratio(one, states)))
    np.fill_diagonal(moved, 0)
    np.fill_diagonal(moved, 1 - moved.sum(axis=1))
    assert moved.min() >= -1e-15
    return np.linalg.matrix_power(moved, kernel.updates)
