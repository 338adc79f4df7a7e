"""The generalized discrete Laplace laws on a lattice [integer-subspace-dp, Definition 9].

q(z) is proportional to exp(-epsilon ||z||) on {z : A z = 0}, for the l1 or the l2 norm. Both are drawn
exactly: l1 by the plan of its components, l2 by rejection from l1. For the latter, ||z||_1 <= sqrt(d)
||z||_2 over d cells, so with kappa <= epsilon / sqrt(d) a draw z of the l1 law with parameter kappa is
accepted with probability exp(-(epsilon ||z||_2 - kappa ||z||_1)) <= 1.
"""

from fractions import Fraction
from functools import cached_property
from math import exp, isqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.errors import SamplingError
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.exact.coin import root_exponents, toss_root_coin
from holdfast.sampling.exact.inversion import Integers
from holdfast.sampling.exact.rejection import BATCH_CELLS
from holdfast.sampling.plan import MOST_WORK, Plan, plan_l1

Norm = Literal["l1", "l2"]
PILOT = 1000


class LatticeLaplaceLaw:
    """q(z) proportional to exp(-epsilon ||z||) on the kernel of a full-rank integer matrix."""

    def __init__(self, matrix: csr_array, epsilon: Fraction, norm: Norm) -> None:
        self.matrix, self.epsilon, self.norm = matrix, epsilon, norm

    @cached_property
    def plan(self) -> Plan:
        """How l1 draws are made: of the law itself, or of the proposals for l2."""
        return plan_l1(self.matrix, self.epsilon if self.norm == "l1" else self._kappa)

    @cached_property
    def acceptance(self) -> float:
        """The share of l1 draws that is kept: 1 for l1, estimated by a seeded pilot for l2."""
        if self.norm == "l1":
            return 1.0
        squares, sums = _norms(self.plan.draw(SeededEntropy(0), PILOT))
        chance = np.exp(-root_exponents(self.epsilon, self._kappa, squares, sums))
        return max(float(chance.mean()), exp(-700))

    @property
    def work(self) -> float:
        """Integers proposed for one draw, expected."""
        return self.plan.work / self.acceptance

    @property
    def methods(self) -> tuple[str, ...]:
        """What is done, in sentences."""
        if self.norm == "l1":
            return self.plan.methods
        return (*self.plan.methods, f"thinned to the l2 norm (acceptance {self.acceptance:.2g})")

    def sample(self, entropy: Entropy, size: int) -> Integers:
        """Return ``size`` independent exact draws, one a row."""
        if self.work > MOST_WORK:
            raise SamplingError(
                f"no exact sampler draws l2 noise on {self.matrix.shape[1]} cells in reasonable time"
                f' (acceptance about {self.acceptance:.0e}): set norm = "l1" in [mechanism].'
            )
        if self.norm == "l1":
            return self.plan.draw(entropy, size)
        kept: list[Integers] = []
        missing = size
        while missing > 0:
            batch = int(
                min(1.2 * missing / self.acceptance + 16, max(16, BATCH_CELLS // self.matrix.shape[1]))
            )
            draws = self.plan.draw(entropy, batch)
            squares, sums = _norms(draws)
            draws = draws[toss_root_coin(self.epsilon, self._kappa, squares, sums, entropy)]
            kept.append(draws[:missing])
            missing -= kept[-1].shape[0]
        return np.concatenate(kept)

    def log_prob(self, points: Integers) -> NDArray[np.float64]:
        """Return -epsilon ||z|| for each row, minus infinity off the lattice."""
        on_lattice = ~(self.matrix @ points.T).any(axis=0)
        squares, sums = _norms(points)
        norm = sums if self.norm == "l1" else np.sqrt(squares)
        return np.where(on_lattice, -float(self.epsilon) * norm, -np.inf)

    @cached_property
    def _kappa(self) -> Fraction:
        """A rational at most epsilon / sqrt(d), close to it."""
        scale = 2**20 * (1 + int(self.matrix.shape[1] / self.epsilon))
        square = self.epsilon * self.epsilon * scale * scale / self.matrix.shape[1]
        return Fraction(isqrt(square.numerator // square.denominator), scale)


def _norms(points: Integers) -> tuple[Integers, Integers]:
    """Return ||z||_2^2 and ||z||_1 of each row."""
    return (points * points).sum(axis=1), np.abs(points).sum(axis=1)
