"""The l1 Laplace law on {z : A z = 0}, constraint by constraint.

Put the rows of a 0/1 matrix A in an order, and let each row *own* the cells in it that no earlier row owns;
cells in no row at all are free. Suppose every row owns at least one cell. Then z can be drawn row by row:
when a row's turn comes, the cells it shares with earlier rows are known and sum to -s, and its own n cells
must sum to s. With G_s the weight of n integers with sum s (offset_total),

    q(z)  prop. to  prod_rows q(own cells | s) G_s,

so drawing each row's own cells from q(. | s) and accepting with probability prod G_s / G_0 is exact. Rows
are handled in layers; a draw that a layer rejects goes no further. For an r x c table with both margins:
some of the rows first (s = 0), then the columns' cells in the other rows, then the last cell of each of
those rows.
"""

from fractions import Fraction

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.accept import first_accepted, rows_at_once
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.offset_total import OffsetTotal
from holdfast.sampling.lattice.one_total import OneTotal
from holdfast.sampling.lattice.order import Order, Step
from holdfast.sampling.numbers.exponential import DoubleGeometric

PILOT, PILOT_CELLS = 2048, 1 << 19
"""Draws of a pilot, and the cells it may take."""
RAREST = 1e-300


class Cascade:
    """Exact draws of the l1 Laplace law on the kernel of a 0/1 matrix, in a given order of its rows."""

    def __init__(self, cells: int, order: Order, epsilon: Fraction) -> None:
        self._cells, self._order, self._epsilon = cells, order, epsilon
        owned = [step.own for layer in order for step in layer]
        self._free = np.setdiff1d(np.arange(cells), np.concatenate(owned))
        sizes = {own.size for own in owned}
        self._given = {n: OffsetTotal(n, epsilon) for n in sizes}
        self._zero = {n: OneTotal(n, epsilon) for n in sizes if n > 1}
        self._single = DoubleGeometric(epsilon)
        self.acceptance, self.work = self._predict()

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases: where several cells share a sum that is drawn before."""
        return any(step.known.size and step.own.size > 1 for layer in self._order for step in layer)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row: the first accepted ones of a long sequence."""
        most = 2 * rows_at_once(self._cells)
        return first_accepted(lambda n: self._attempt(entropy, n), size, chance=self.acceptance, most=most)

    def _attempt(self, entropy: Entropy, size: int) -> IntArray:
        draws = self._begin(entropy, size)
        for layer in self._order:
            draws = self._fill(self._thin(draws, layer, entropy), layer, entropy)
        return draws

    def _predict(self) -> tuple[float, float]:
        """Estimate the acceptance, and the cells drawn for an accepted draw, by a seeded pilot.

        It goes layer by layer and refills what a layer leaves, so that small chances can be told.
        """
        entropy, chance, work = SeededEntropy(0), 1.0, float(self._free.size)
        draws = self._begin(entropy, max(64, min(PILOT, PILOT_CELLS // self._cells)))
        for layer in self._order:
            for step in layer:
                if not step.known.size:
                    continue
                sums = draws[:, _columns(step.known)].sum(axis=1)
                chance *= float(self._given[step.own.size].shares(sums).mean())
                left = self._thin(draws, (step,), entropy)
                if not left.shape[0] or chance < RAREST:
                    return max(chance, RAREST), self._cells / max(chance, RAREST)
                draws = np.resize(left, draws.shape)
            work += chance * sum(step.own.size for step in layer)
            draws = self._fill(draws, layer, entropy)
        return chance, work / chance

    def _begin(self, entropy: Entropy, size: int) -> IntArray:
        draws = np.zeros((size, self._cells), dtype=np.int64)
        if self._free.size:
            free = self._single.sample(entropy, size * self._free.size)
            draws[:, _columns(self._free)] = free.reshape(size, -1)
        return draws

    def _thin(self, draws: IntArray, layer: tuple[Step, ...], entropy: Entropy) -> IntArray:
        """Keep each draw with probability prod G_s / G_0 over the rows of a layer."""
        for step in layer:
            if step.known.size:
                sums = draws[:, _columns(step.known)].sum(axis=1)
                draws = draws[self._given[step.own.size].toss(sums, entropy)]
        return draws

    def _fill(self, draws: IntArray, layer: tuple[Step, ...], entropy: Entropy) -> IntArray:
        """Draw the own cells of a layer's rows, given the cells before."""
        for step in layer:
            if step.known.size:
                sums = -draws[:, _columns(step.known)].sum(axis=1)
                draws[:, _columns(step.own)] = self._given[step.own.size].draw(sums, entropy)
            elif step.own.size > 1:
                draws[:, _columns(step.own)] = self._zero[step.own.size].sample(entropy, draws.shape[0])
        return draws


def _columns(cells: IntArray) -> IntArray | slice:
    """Return successive cells as a slice, which is faster."""
    first, last = int(cells[0]), int(cells[-1])
    successive = last - first + 1 == cells.size and bool((np.diff(cells) == 1).all())
    return slice(first, last + 1) if successive else cells
