"""The generalized discrete Laplace laws on a lattice [integer-subspace-dp, Definition 9].

q(z) is proportional to exp(-epsilon ||z||) on {z : A z = 0}, for the l1 or the l2 norm. Both are drawn
exactly: l1 by the plan of its components, l2 by a mixture of lattice Gaussian laws (radial.py).
"""

from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.product import Margins
from holdfast.sampling.lattice.plan import Plan, Planned, plan_l1, plan_l2
from holdfast.sampling.numbers.exponential import checked_rate

Norm = Literal["l1", "l2"]


class LatticeLaplaceLaw(Planned):
    """q(z) proportional to exp(-epsilon ||z||) on the kernel of a full-rank integer matrix."""

    def __init__(
        self, matrix: csr_array, epsilon: Fraction, norm: Norm, margins: Margins | None = None
    ) -> None:
        self.matrix, self.epsilon, self.norm = matrix, checked_rate(epsilon), norm
        self._margins = margins

    @cached_property
    def plan(self) -> Plan:
        """How draws are made."""
        if self.norm == "l1":
            return plan_l1(self.matrix, self.epsilon)
        return plan_l2(self.matrix, self.epsilon, self._margins)

    def log_prob(self, points: IntArray) -> NDArray[np.float64]:
        """Return -epsilon ||z|| for each row, minus infinity off the lattice."""
        on_lattice = ~(self.matrix @ points.T).any(axis=0)
        squares, sums = _norms(points)
        norm = sums if self.norm == "l1" else np.sqrt(squares)
        return np.where(on_lattice, -float(self.epsilon) * norm, -np.inf)


def _norms(points: IntArray) -> tuple[IntArray, IntArray]:
    """Return ||z||_2^2 and ||z||_1 of each row."""
    return (points * points).sum(axis=1), np.abs(points).sum(axis=1)
