"""The l1 Laplace law on {z : A z = 0}, by integer-only rejection.

Split the cells into *free* and *closing* ones and the rows of A into *strata* and the rest, such that
the strata are sums over disjoint sets of free cells, and the rest of A is invertible on the closing
cells. Then

    q(z) prop. to prod_strata a^||z_S||_1 [sum z_S = 0]  x  prod_single a^|z_i|  x  a^||z_closing||_1.

The first two factors are drawn exactly (one_total, exponential), the closing cells follow by solving the
rest of A, and the draw is accepted with probability a^||z_closing||_1: a coin, tossed exactly. Where the
determinant of the closing columns is not 1 or -1, draws whose solution is not whole are rejected as well.
For an r x c table with both margins the strata are r - 1 rows and the closing cells the last row. Without
strata this is the plain rejection of [theory, 6].
"""

from fractions import Fraction

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.accept import first_accepted, rows_at_once
from holdfast.sampling.decisions.floats import Flags
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.one_total import OneTotal
from holdfast.sampling.lattice.split import Split
from holdfast.sampling.numbers.exponential import DoubleGeometric, ExpCoin

PILOT = 4096


class Rejection:
    """Exact draws of the l1 Laplace law on the kernel of a full-rank integer matrix."""

    floats = False

    def __init__(self, split: Split, epsilon: Fraction) -> None:
        self._split, self._epsilon = split, epsilon
        self._cells = split.free.size + split.closing.size
        self._totals = {n: OneTotal(n, epsilon) for n in {s.size for s in split.strata}}
        self._single = DoubleGeometric(epsilon)
        self._coin = ExpCoin(epsilon)
        self.acceptance = self._predict()
        self.work = self._cells / self.acceptance

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row: the first accepted ones of a long sequence."""
        most = rows_at_once(self._cells)
        return first_accepted(lambda n: self._attempt(entropy, n), size, chance=self.acceptance, most=most)

    def _attempt(self, entropy: Entropy, size: int) -> IntArray:
        free = self._propose(entropy, size)
        closing, whole = self._close(free)
        heads = np.flatnonzero(whole)
        heads = heads[self._coin.toss(np.abs(closing[heads]).sum(axis=1), entropy)]
        draws = np.empty((heads.size, self._cells), dtype=np.int64)
        draws[:, self._split.free] = free[heads]
        draws[:, self._split.closing] = closing[heads]
        return draws

    def _propose(self, entropy: Entropy, size: int) -> IntArray:
        split = self._split
        parts = [self._totals[s.size].sample(entropy, size) for s in split.strata]
        if split.single.size:
            single = self._single.sample(entropy, size * split.single.size)
            parts.append(single.reshape(size, -1))
        return np.concatenate(parts, axis=1) if parts else np.zeros((size, 0), dtype=np.int64)

    def _close(self, free: IntArray) -> tuple[IntArray, Flags]:
        split = self._split
        scaled = free @ split.solve.T
        closing = scaled // split.determinant
        return closing, (closing * split.determinant == scaled).all(axis=1)

    def _predict(self) -> float:
        """Estimate the acceptance from a pilot run of public, seeded proposals."""
        closing, whole = self._close(self._propose(SeededEntropy(0), PILOT))
        norm = np.abs(closing).sum(axis=1)
        chance = np.exp(-float(self._epsilon) * norm) * whole
        return max(float(chance.mean()), 1e-300)
