"""The Gaussian law with one variance on the kernel of an integer matrix, exactly: sums first, then cells.

Let T_e be the sum of n_e cells with equal columns, and G_n(T) the weight of n cells with sum T
(cell_sums.py). The sums have the weight prod G_n(T) on the tables that the matrix allows, and cells are then
drawn given their sums, one sum apart from the other (by_halves.py).

G_n(T) = G_n(0) exp(-T^2 / (2 n sigma^2)) h_n(T), where h_n(T) depends on T mod n alone: moving n cells by one
adds n to their sum, and to their squares what the exponential takes off. It is at most 1 by Poisson
summation, and nearly 1. So sums are proposed by the Gaussian law with the weights 1 / n (sum_shape.py), and
those that it keeps (klein.py) are kept with probability prod h_n(T). Only the sums have to be nearly
Gaussian, few and wide, and not every cell.
"""

from fractions import Fraction

import flint
import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.decisions import Real, ball_of, real, toss_coins
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.by_halves import EFFORT, given_sums
from holdfast.sampling.lattice.cell_sums import GaussianSums
from holdfast.sampling.lattice.klein import Proposal, chance_ball, check_width, log_acceptance, log_chance
from holdfast.sampling.lattice.sum_shape import SumShape
from holdfast.sampling.rejection import first_accepted, rows_at_once

PILOT, PILOT_SUMS = 256, 1 << 19
"""Proposals of a pilot, and the sums that these may have together."""
COST = 4.0
"""What one coordinate costs, in integers at `CELLS_PER_SECOND`.

It tells 64 and 256 integers for one Gaussian draw of 4 x 4 and 8 x 8 cells at sigma^2 = 16; CPU times said
40 and 210 (as "Gaussian 9, n x n" of `benchmarks/lattice.py` draws them).
"""
HOPELESS = -60.0
"""The log of a share of proposals to be kept that no pilot is needed for."""


def is_total(system: csr_array) -> bool:
    """Whether there is one row, and it adds up all cells."""
    return bool(system.shape[0] == 1 and system.nnz == system.shape[1] and np.all(system.data == 1))


class KernelGaussian:
    """Exact draws of exp(-||z||^2 / (2 sigma^2)) on the kernel of a full-rank integer matrix."""

    floats = True

    def __init__(self, shape: SumShape, sigma_squared: Fraction, law: GaussianSums) -> None:
        self._shape, self._sigma_squared, self._law = shape, sigma_squared, law
        self._sigma, self._sizes = float(sigma_squared) ** 0.5, shape.sizes
        check_width(self._sigma * float(shape.sum_shapes.max(initial=0.0)))
        self.acceptance = self._predict()
        cells = EFFORT * int(self._sizes[self._sizes > 1].sum())
        self.work = COST * self._sizes.size / self.acceptance + cells

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        most = rows_at_once(self._sizes.size)
        sums = first_accepted(lambda n: self._attempt(entropy, n), size, chance=self.acceptance, most=most)
        cells = given_sums(sums.ravel(), np.tile(self._sizes, size), self._law, entropy)
        return self._shape.in_place(cells.reshape(size, -1))

    def _attempt(self, entropy: Entropy, size: int) -> IntArray:
        sums, proposal, chance, margin = self._propose(entropy, size)

        def exact(i: int) -> Real:
            return real(lambda: self._chance_ball(sums[i], proposal, i))

        return sums[toss_coins(chance, margin, exact, entropy)]

    def _propose(self, entropy: Entropy, size: int) -> tuple[IntArray, Proposal, FloatArray, FloatArray]:
        """Return sums, the proposals they came from, the log of the chance to keep them, and its error."""
        sums, proposal = self._shape.propose_sums(np.full(size, self._sigma), entropy)
        exponent = (sums.astype(np.float64) ** 2 / self._sizes).sum(axis=1) / float(2 * self._sigma_squared)
        chance, margin = log_chance(proposal, exponent)
        several = np.flatnonzero(self._sizes > 1)
        parts = sums[:, several]
        log_h, error = self._law.log_waves(np.tile(self._sizes[several], size), parts.ravel())
        chance += log_h.reshape(parts.shape).sum(axis=1)
        return sums, proposal, chance, margin + error.reshape(parts.shape).sum(axis=1)

    def _chance_ball(self, sums: IntArray, proposal: Proposal, draw: int) -> flint.arb:
        """Return a ball around the chance to keep some sums, at the working precision."""
        square, waves = Fraction(0), flint.arb(1)
        for size, total in zip(self._sizes.tolist(), sums.tolist(), strict=True):
            square += Fraction(total * total, size)
            waves *= self._law.waves_ball(size, total)
        return chance_ball(proposal, draw, ball_of(square / (2 * self._sigma_squared))) * waves

    def _predict(self) -> float:
        """Estimate the acceptance by a seeded pilot."""
        likely = log_acceptance(self._shape.sum_shapes, self._sigma)
        if likely < HOPELESS:
            return max(float(np.exp(likely)), 1e-300)
        size = max(1, min(PILOT, PILOT_SUMS // self._sizes.size))  # of many sums one proposal tells enough
        chance = self._propose(SeededEntropy(0), size)[2]
        return max(float(np.exp(chance).mean()), 1e-300)
