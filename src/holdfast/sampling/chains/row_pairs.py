"""A heat bath for two-way tables with both margins: pairs of rows, drawn anew as a whole.

One update pairs the rows at random (an odd one sits out) and draws the two rows of each pair from their law
given everything else: their totals, the sums of their columns, and the other rows (two_rows.py).

* The target stays: pairs of rows share no cell, so given the pairing each pair is drawn from its conditional
  law under a product of cell weights. Such a draw is reversible, a product of draws on disjoint cells and
  a mixture over pairings as well.
* Every table is reached: the basic moves connect all non-negative tables with the same margins
  [diaconis1998, Section 2], each one lies in two rows, and with a positive chance these are paired, moved so,
  and all other rows stay.

A table with two rows is drawn exactly by one update.
"""

from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray, WordArray
from holdfast.sampling.chains.kernel import (
    CentredKernel,
    ChainState,
    Info,
    LaplaceTarget,
    located,
    non_negative,
)
from holdfast.sampling.chains.two_rows import TwoRowLaw, TwoRows
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.uniform import uniform_below
from holdfast.system.errors import SamplingError


def joining_order(more: IntArray) -> IntArray:
    """Order the columns that two coupled heat baths join, by how much ``more`` the second has in them.

    Two chains draw the same two rows by the same words, and what they hold fixed differs in the sums s and s'
    of the columns only: totals of rows are invariants. Where s = s' they draw the same. Elsewhere each total
    is drawn by inversion of the same word. **The order in which columns are joined is free**: it changes
    neither chain's law, so it may depend on where both chains are. Columns with s_j = s'_j come first; those
    that differ come last, one with more next to one with fewer, the largest differences of both signs at the
    end, to be joined before anything else. Then a difference mostly stays within the columns that it was in.
    In the order of the table it would be carried from column to column, and chains of a large table stay
    apart.
    """
    turn = np.full_like(more, np.iinfo(np.int64).min)
    for offset, signed in enumerate((more, -more)):
        rank = np.argsort(np.argsort(-signed, axis=1, kind="stable"), axis=1)  # 0 for the largest
        turn = np.where(signed > 0, -2 * rank - offset, turn)
    return np.argsort(turn, axis=1, kind="stable")


_law = lru_cache(maxsize=16)(TwoRowLaw)


class RowPairs(CentredKernel):
    """Chains over non-negative tables; ``cells`` names the cell in each row and column of the table."""

    updates = 1

    def __init__(self, cells: IntArray, target: LaplaceTarget) -> None:
        if target.norm != "l1" or target.constraint is not non_negative:
            raise SamplingError(
                "pairs of rows are drawn under the l1 norm with non-negative counts only: walk by a Markov"
                " basis instead."
            )
        if cells.ndim != 2 or min(cells.shape) < 2 or set(cells.ravel().tolist()) != set(range(cells.size)):
            raise ValueError("every cell lies in one row and one column, at least two of each")
        if cells.size != target.centre.size:
            raise ValueError("the cells are not those of the target")
        self.cells, self.target = cells, target
        self.law = _law(target.epsilon)

    @property
    def pairs(self) -> int:
        """How many pairs of rows one update draws."""
        return int(self.cells.shape[0]) // 2

    def propose(self, state: ChainState, update: int, entropy: Entropy) -> ChainState:  # noqa: ARG002 - all alike
        """Pair the rows and draw all pairs anew."""
        upper, lower = self.paired(state.points.shape[0], entropy)
        words = self.words(upper.shape[0], entropy)
        return self.filled(
            state, upper, lower, self.law.draw(self.given(state, upper, lower), words, entropy)
        )

    def propose_pair(
        self,
        one: ChainState,
        other: ChainState,
        update: int,  # noqa: ARG002 - all alike
        entropy: Entropy,
    ) -> tuple[ChainState, ChainState]:
        """Draw the same pairs of rows by the same words, columns in the order that lets chains meet."""
        upper, lower = self.paired(one.statistic.size, entropy)
        words = self.words(upper.shape[0], entropy)
        for_one, for_other = (self.given(state, upper, lower) for state in (one, other))
        apart = (for_one.sums != for_other.sums).any(axis=1)
        order = joining_order(for_other.sums - for_one.sums)
        place = np.argsort(order, axis=1)
        rows = np.take_along_axis(self.law.draw(for_one.reordered(order), words, entropy), place, 1)
        others = rows.copy()
        if apart.any():
            again = self.law.draw(for_other.reordered(order).rows(apart), words[apart], entropy)
            others[apart] = np.take_along_axis(again, place[apart], 1)
        return self.filled(one, upper, lower, rows), self.filled(other, upper, lower, others)

    def log_ratio(self, state: ChainState, candidate: ChainState) -> FloatArray:  # noqa: ARG002 - always accepted
        """Return 0: a draw from a conditional law of the target is always accepted."""
        return np.zeros(candidate.statistic.size)

    def step(self, state: ChainState, entropy: Entropy) -> tuple[ChainState, Info]:
        """Make one step of every chain."""
        return self.propose(state, 0, entropy), Info(np.ones(state.statistic.size, dtype=np.int64), 1)

    def paired(self, chains: int, entropy: Entropy) -> tuple[IntArray, IntArray]:
        """Return a uniform pairing for each chain: the cells of the upper and of the lower rows.

        There is one row for each chain and pair, those of one chain next to each other.
        """
        rows = np.tile(np.arange(self.cells.shape[0]), (chains, 1))
        each = np.arange(chains)
        for last in range(rows.shape[1] - 1, 0, -1):  # Fisher and Yates
            other = uniform_below(np.full(chains, last + 1), entropy)
            rows[each, other], rows[:, last] = rows[:, last], rows[each, other]
        paired = self.cells[rows[:, : 2 * self.pairs]]
        width = self.cells.shape[1]
        return paired[:, ::2].reshape(-1, width), paired[:, 1::2].reshape(-1, width)

    def words(self, tables: int, entropy: Entropy) -> WordArray:
        """Return the words that ``tables`` pairs of rows are drawn by."""
        width = self.cells.shape[1] - 1
        return entropy.words(tables * width).reshape(tables, width)

    def given(self, state: ChainState, upper: IntArray, lower: IntArray) -> TwoRows:
        """Return what is held fixed while pairs of rows are drawn."""
        above, below = self._values(state, upper), self._values(state, lower)
        centre = self.target.centre
        return TwoRows(above.sum(axis=1), above + below, centre[upper], centre[lower])

    def filled(self, state: ChainState, upper: IntArray, lower: IntArray, drawn: IntArray) -> ChainState:
        """Return the states with the upper rows as drawn, and the lower ones as follows from that."""
        sums = self._values(state, upper) + self._values(state, lower)
        points = state.points.copy()
        chain = self._chain(upper)
        points[chain, upper], points[chain, lower] = drawn, sums - drawn
        return located(self.target, points)

    def _chain(self, rows: IntArray) -> IntArray:
        return (np.arange(rows.shape[0]) // self.pairs)[:, None]

    def _values(self, state: ChainState, rows: IntArray) -> IntArray:
        found: IntArray = state.points[self._chain(rows), rows]
        return found


def two_way_cells(matrix: csr_array) -> IntArray | None:
    """Return the cells of a two-way table with both margins, or None where ``matrix`` is no such design.

    The rows of ``matrix`` are independent and its cells in the order of the table, rows or columns first.
    With r rows and c columns there are r + c - 1 of them, and they vanish on the basic moves; then they
    span the same space as the margins. The shorter side becomes the rows, so that two given rows are
    paired more often.
    """
    rank, size = matrix.shape
    for rows in range(2, size // 2 + 1):
        if size % rows or rows + size // rows != rank + 1:
            continue
        cells = np.arange(size, dtype=np.int64).reshape(rows, -1)
        by_row = np.diff(matrix.toarray().reshape(rank, rows, -1), axis=1)
        if not np.diff(by_row, axis=2).any():
            return cells if rows <= size // rows else np.ascontiguousarray(cells.T)
    return None
