"""What is public of the confidential table, and a table that agrees with it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from holdfast.errors import DataError, InvariantError
from holdfast.estimation.conforming import Conforming
from holdfast.estimation.integers import integers_l1
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.public import Floor, Public
from holdfast.universe.capacity import capacities
from holdfast.universe.universe import Universe

Design = tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
"""The shape of a table and the axes of each of its margins, where these are all that is kept."""

MOST_CELLS = 40
"""Tables with more cells are not listed."""
PREFIXES = 10
"""How many times as many beginnings of tables are held as there may be tables."""


@dataclass(frozen=True, eq=False)
class Facts:
    """The tables x >= 0 with A x = t and B x >= b, in whole numbers.

    Attributes:
        matrix: A, with independent rows.
        values: t.
        rows: B.
        least: b.
        design: the margins that A has, where it has no other rows and no cell is left out.

    """

    matrix: csr_array
    values: IntArray
    rows: csr_array
    least: IntArray
    design: Design | None = None

    @classmethod
    def of(
        cls,
        matrix: csr_array,
        values: IntArray,
        rows: csr_array | None = None,
        least: IntArray | None = None,
        design: Design | None = None,
    ) -> "Facts":
        """Return the facts of invariants, and of inequalities if there are any."""
        cells = matrix.shape[1]
        B = csr_array((0, cells), dtype=np.int64) if rows is None else csr_array(rows, copy=True)
        B.eliminate_zeros()
        b = np.zeros(B.shape[0], dtype=np.int64) if least is None else least
        return cls(matrix, np.asarray(values, dtype=np.int64), B, b, design)

    @classmethod
    def of_release(cls, public: Public) -> "Facts":
        """Return what is public of the possible cells of a released table."""
        design = None
        if public.cliques is not None and not public.schema.nestings:
            axes = tuple(tuple(public.schema.axis(name) for name in clique) for clique in public.cliques)
            design = (public.schema.shape, axes)
        universe = public.universe
        known = cls.of(universe.matrix, universe.values, design=design)
        return known.bounded(public.inequalities, public.possible)

    def bounded(self, floors: Iterable[Floor], possible: IntArray) -> "Facts":
        """Return these facts and further inequalities, which are given over all cells."""
        rows, least = [self.rows], [self.least]
        for floor in floors:
            B = csr_array(floor.block.matrix[:, possible].astype(np.int64))
            for name, bound in floor.bounds.items():
                sign = 1 if name == "at_least" else -1
                rows.append(sign * B)
                least.append(np.full(B.shape[0], sign * bound, dtype=np.int64))
        B = csr_array(vstack(rows, format="csr"))
        B.eliminate_zeros()
        return replace(self, rows=B, least=np.concatenate(least))

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.matrix.shape[1])

    def without(self, absent: NDArray[np.bool_]) -> "Facts":
        """Return what holds of the other cells where some have no records."""
        if not absent.any():
            return self
        kept = np.flatnonzero(~absent)
        matrix, rows = csr_array(self.matrix[:, kept]), csr_array(self.rows[:, kept])
        return Facts(matrix, self.values, rows, self.least)

    def hold(self, tables: IntArray) -> NDArray[np.bool_]:
        """Tell which tables, one a row, agree with all of it, in integers."""
        kept = (tables >= 0).all(axis=1)
        kept &= (np.asarray(self.matrix @ tables.T) == self.values[:, None]).all(axis=0)
        kept &= (np.asarray(self.rows @ tables.T) >= self.least[:, None]).all(axis=0)
        return np.asarray(kept)

    def nearest(self, counts: IntArray | FloatArray) -> IntArray:
        """Return the table nearest to some counts in l1; raises DataError where there is no table at all."""
        return integers_l1(counts, self._conforming)

    @property
    def possible(self) -> bool:
        """Whether there is such a table."""
        try:
            self.nearest(np.zeros(self.cells, dtype=np.int64))
        except DataError:
            return False
        return True

    def tables(self, most: int) -> IntArray | None:
        """Return all of them, where no more than ``most`` tables have the invariants.

        Cells are filled one after the other, and what the rest of the cells cannot make up for is dropped.
        """
        try:
            universe = Universe.of(self.matrix, self.values)
            bound = capacities(universe)[universe.patterns.of_cell]
        except InvariantError:
            return np.zeros((0, self.cells), dtype=np.int64)
        if self.cells > MOST_CELLS or (bound > most * PREFIXES).any():
            return None
        A = self.matrix.toarray()
        least = np.pad(np.cumsum((np.minimum(A, 0) * bound)[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
        greatest = np.pad(np.cumsum((np.maximum(A, 0) * bound)[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
        found, left = np.zeros((1, 0), dtype=np.int64), self.values[None]
        for cell in range(self.cells):
            counts = np.arange(bound[cell] + 1)
            if len(found) * counts.size > most * PREFIXES**2:
                return None
            found = np.column_stack([np.repeat(found, counts.size, axis=0), np.tile(counts, len(found))])
            left = np.repeat(left, counts.size, axis=0) - found[:, -1:] * A[:, cell]
            kept = ((left >= least[:, cell + 1]) & (left <= greatest[:, cell + 1])).all(axis=1)
            found, left = found[kept], left[kept]
            if len(found) > most * PREFIXES:
                return None
        return found[self.hold(found)] if len(found) <= most else None

    @cached_property
    def low(self) -> IntArray:
        """The least count of each cell: 0, or more where B says so of the cell by itself."""
        low = np.zeros(self.cells, dtype=np.int64)
        alone = np.flatnonzero(self._alone)
        np.maximum.at(low, self.rows.indices[self.rows.indptr[alone]], self.least[alone])
        return low

    @cached_property
    def joint(self) -> tuple[csr_array, IntArray]:
        """B and b of all other inequalities."""
        return csr_array(self.rows[np.flatnonzero(~self._alone)]), self.least[~self._alone]

    @cached_property
    def _alone(self) -> NDArray[np.bool_]:
        single: NDArray[np.bool_] = np.diff(self.rows.indptr) == 1
        single[single] = self.rows.data[self.rows.indptr[:-1][single]] == 1
        return single

    @cached_property
    def _conforming(self) -> Conforming:
        rows, least = self.joint
        return Conforming.of(self.matrix, self.values, least=self.low, rows=rows, at_least=least)
