"""The generalized discrete Gaussian law on a lattice [integer-subspace-dp, Definition 13].

q(z) is proportional to exp(-||z||_2^2 / (2 sigma^2)) on {z : A z = 0}, drawn exactly by the plan of its
components.
"""

from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.product import Margins
from holdfast.sampling.lattice.plan import Plan, Planned, plan_gaussian

WIDEST = Fraction(1 << 40) ** 2


class LatticeGaussianLaw(Planned):
    """q(z) proportional to exp(-||z||^2 / (2 sigma_squared)) on the kernel of a full-rank integer matrix."""

    def __init__(self, matrix: csr_array, sigma_squared: Fraction, margins: Margins | None = None) -> None:
        if not 1 / WIDEST <= sigma_squared <= WIDEST:
            raise SamplingError(
                f"Gaussian noise of variance {float(sigma_squared):.1e} cannot be drawn in 64-bit integers:"
                " ask for a standard deviation between 2^-40 and 2^40."
            )
        self.matrix, self.sigma_squared, self._margins = matrix, sigma_squared, margins

    @cached_property
    def plan(self) -> Plan:
        """How draws are made."""
        return plan_gaussian(self.matrix, self.sigma_squared, self._margins)

    def log_prob(self, points: IntArray) -> NDArray[np.float64]:
        """Return -||z||^2 / (2 sigma^2) for each row, minus infinity off the lattice."""
        on_lattice = ~(self.matrix @ points.T).any(axis=0)
        squares = (points.astype(np.float64) ** 2).sum(axis=1)
        return np.where(on_lattice, -squares / float(2 * self.sigma_squared), -np.inf)
