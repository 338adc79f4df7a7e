"""What a processed table must keep: A v = t, least <= v <= most, B v >= b, all in whole numbers.

The bounds and the rows B are public knowledge. A structural zero has most = 0. Real tables are kept on a
grid: v = numerators / scale conforms exactly when the numerators conform to t, the bounds and b times the
scale.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.estimation.totals import Groups, nested
from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.components import Component, components
from holdfast.programs.solver import UNBOUNDED
from holdfast.system.errors import DataError

LARGEST = 2**53
"""Numbers up to here are the same in the solver's arithmetic and in integers."""


class Structure:
    """What rows tie together, worked out once for all values: groups with one sum each, and other blocks."""

    def __init__(self, rows: csr_array, exact: BoolArray) -> None:
        """Take the rows, and which of them are kept with equality."""
        self._rows, self._exact = rows, exact

    @property
    def groups(self) -> Groups:
        """The groups that nested rows of ones come down to."""
        return self._split[0]

    @cached_property
    def blocks(self) -> tuple[tuple[Component, csr_array], ...]:
        """The cells that other rows tie together, and these rows."""
        left = np.flatnonzero(self._split[1])
        found = components(csr_array(self._rows[left])) if left.size else ()
        return tuple(
            (
                Component(cells=part.cells, rows=left[part.rows]),
                csr_array(self._rows[left[part.rows]][:, part.cells]),
            )
            for part in found
            if part.rows.size
        )

    @cached_property
    def _split(self) -> tuple[Groups, BoolArray]:
        rows = self._rows
        length = np.diff(rows.indptr)
        others = np.repeat(np.arange(rows.shape[0]), length)[rows.data != 1]
        plain = self._exact.copy()
        plain[others] = False
        plain[length == 0] = True  # it ties nothing
        return nested(rows, plain)


@dataclass(frozen=True, eq=False)
class Conforming:
    """The set of tables; rows are those of A and then those of B, with low <= rows v <= high."""

    rows: csr_array
    low: IntArray
    high: IntArray
    least: IntArray
    most: IntArray
    structure: Structure

    @classmethod
    def of(
        cls,
        matrix: csr_array,
        values: IntArray,
        *,
        least: IntArray | None = None,
        most: IntArray | None = None,
        rows: csr_array | None = None,
        at_least: IntArray | None = None,
    ) -> "Conforming":
        """Return the set of matrix v = values, least <= v <= most (0 and no limit), rows v >= at_least."""
        cells = matrix.shape[1]
        B = csr_array((0, cells), dtype=np.int64) if rows is None else rows
        b = np.zeros(B.shape[0], dtype=np.int64) if at_least is None else at_least
        least = np.zeros(cells, dtype=np.int64) if least is None else least
        most = np.full(cells, UNBOUNDED) if most is None else most
        if (
            values.shape != (matrix.shape[0],)
            or B.shape[1] != cells
            or b.shape != (B.shape[0],)
            or least.shape != (cells,)
            or most.shape != (cells,)
        ):
            raise DataError(
                f"the constraints are not over the {cells} cells of the invariants: give one bound a cell and"
                " one value a row."
            )
        stacked = csr_array(vstack([matrix, B], format="csr").astype(np.int64))
        stacked.sum_duplicates()
        stacked.eliminate_zeros()
        exact = np.arange(stacked.shape[0]) < matrix.shape[0]
        return cls(
            stacked,
            np.concatenate([values, b]),
            np.concatenate([values, np.full(b.size, UNBOUNDED)]),
            least,
            most,
            Structure(stacked, exact),
        )

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.rows.shape[1])

    def times(self, scale: int) -> "Conforming":
        """Return the set of the numerators of points on the grid of 1/scale."""
        low, high, least, most = (
            _times(bound, scale) for bound in (self.low, self.high, self.least, self.most)
        )
        return Conforming(self.rows, low, high, least, most, self.structure)

    def within(self, least: IntArray, most: IntArray) -> "Conforming":
        """Return the part of the set in a box."""
        return replace(self, least=np.maximum(self.least, least), most=np.minimum(self.most, most))

    def holds(self, point: IntArray) -> bool:
        """Whether a table is in the set, with exact equality in integers."""
        sums = self.rows @ point
        return bool(
            (sums >= self.low).all()
            and (sums <= self.high).all()
            and (point >= self.least).all()
            and (point <= self.most).all()
        )

    def groups(self) -> tuple[Groups, IntArray]:
        """Return the groups of cells that have one sum each, and these sums."""
        empty = np.diff(self.rows.indptr) == 0
        if ((self.low > 0) & empty).any() or ((self.high < 0) & empty).any():
            raise infeasible()
        groups = self.structure.groups
        sums = groups.sums(self.low)
        if sums is None:
            raise infeasible()
        return groups, sums

    def blocks(self) -> Iterator[tuple[IntArray, "Conforming"]]:
        """Yield the cells that other rows tie together, and what these rows and bounds ask of them."""
        for block, rows in self.structure.blocks:
            low, high = self.low[block.rows], self.high[block.rows]
            bounds = (low, high, self.least[block.cells], self.most[block.cells])
            yield block.cells, Conforming(rows, *bounds, Structure(rows, low == high))


def infeasible() -> DataError:
    """Return the error that no table keeps everything."""
    return DataError(
        "no table keeps all the invariants, bounds and constraints at once: check the values, and take out"
        " the constraint that contradicts them."
    )


def _times(values: IntArray, scale: int) -> IntArray:
    finite = values < UNBOUNDED
    if np.abs(values[finite]).max(initial=0) > LARGEST // scale:
        raise DataError(
            f"counts beyond {LARGEST // scale:,} do not fit the solver's numbers in steps of 1/{scale}: ask"
            " for fewer decimal places."
        )
    return np.where(finite, np.where(finite, values, 0) * scale, UNBOUNDED)
