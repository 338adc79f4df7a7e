"""The conforming universe: every table that agrees with the invariants.

D_t = {x >= 0 integer : A x = t} over d cells [theory, 1]. Cells with equal columns of A are
interchangeable, so most questions about D_t are asked of its patterns: the sums over such cells.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from holdfast.errors import InvariantError
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import Component, Patterns, components, patterns
from holdfast.lattice.nested import nested_counts
from holdfast.lattice.product import Margins
from holdfast.lattice.rows import independent_and_wrong, ones_combination
from holdfast.programs.integer import Program
from holdfast.programs.solver import UNBOUNDED, Status
from holdfast.universe.features import Block, blocks_of


@dataclass(frozen=True, eq=False)
class Universe:
    """The tables x >= 0 with A x = t; make one with `Universe.of`.

    Attributes:
        matrix: A, with independent rows only, rows x d.
        values: t, for those rows.
        cliques: the attribute sets, when the invariants are exactly their margins over the full
            product of levels (frozenset() is the grand total); None otherwise.
        margins: the same by the axes of the cells, where these are known.

    """

    matrix: csr_array
    values: IntArray
    cliques: tuple[frozenset[str], ...] | None
    margins: Margins | None = None

    @classmethod
    def of(
        cls,
        matrix: csr_array,
        values: IntArray,
        cliques: tuple[frozenset[str], ...] | None = None,
        *,
        margins: Margins | None = None,
        occupied: bool = False,
    ) -> "Universe":
        """Return the universe of A x = t without redundant rows.

        Raises InvariantError when rows contradict each other or no table of counts keeps them. The second is
        not asked where the values were evaluated on a table, so that it is ``occupied``.
        """
        clean = csr_array(matrix.astype(np.int64))
        clean.sum_duplicates()
        clean.eliminate_zeros()
        values = np.asarray(values, dtype=np.int64)
        kept, wrong = independent_and_wrong(clean, values)
        if wrong.size:
            raise InvariantError(
                f"invariant row {int(wrong[0])} has the value {int(values[wrong[0]])}, which the "
                "other invariants contradict: evaluate all of them on the same data."
            )
        universe = cls(csr_array(clean[kept]), values[kept], cliques, margins)
        if not occupied:
            universe._require_a_table()
        return universe

    @property
    def cells(self) -> int:
        """The number of cells, d."""
        return int(self.matrix.shape[1])

    @property
    def rank(self) -> int:
        """The rank of A."""
        return int(self.matrix.shape[0])

    @property
    def dimension(self) -> int:
        """The dimension of the lattice of differences, d - rank."""
        return self.cells - self.rank

    @cached_property
    def patterns(self) -> Patterns:
        """The cells grouped by equal columns of A."""
        return patterns(self.matrix)

    @cached_property
    def settled(self) -> IntArray | None:
        """The count of each pattern, where the invariants are nested totals that fix all of them, else None.

        Each total less those next inside of it is that of one pattern, at any number of levels.
        """
        return nested_counts(self.patterns.columns, self.values)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """The blocks of cells that share no invariant."""
        return components(self.matrix)

    @cached_property
    def pattern_components(self) -> tuple[Component, ...]:
        """The blocks of patterns that share no invariant, the largest first."""
        return tuple(sorted(components(self.patterns.columns), key=lambda block: -block.cells.size))

    @cached_property
    def known_blocks(self) -> list[Block | None]:
        """The first of them as products of features, as far as anyone asked for them [features.py]."""
        return []

    @cached_property
    def total(self) -> int | None:
        """The number of records n, when the invariants determine it; else None."""
        weights = ones_combination(self.matrix)
        if weights is None:
            return None
        return int(sum((c * int(self.values[row]) for row, c in weights.items()), Fraction(0)))

    def _require_a_table(self) -> None:
        """Raise unless some table of counts keeps the invariants."""
        columns = self.patterns.columns
        # a row alone with one pattern needs no solver: its count is value / entry
        alone = self._rows_of_one_pattern()
        entry = np.asarray(columns[alone].sum(axis=1), dtype=np.int64).ravel()
        bad = alone[(self.values[alone] % entry != 0) | (self.values[alone] // entry < 0)]
        if bad.size:
            raise InvariantError(
                f"an invariant has the value "
                f"{int(self.values[bad[0]])}, which no table of counts can have: check that value."
            )
        rest = np.setdiff1d(np.arange(self.rank), alone)
        if rest.size == 0 or self._deals_out():
            return
        if self.settled is not None:
            self._require_counts(self.settled)
            return
        block = csr_array(columns[rest])
        block = csr_array(block[:, np.unique(block.indices)])
        most = np.full(block.shape[1], UNBOUNDED)
        program = Program(block, self.values[rest], self.values[rest], most=most)
        status = program.solve().status
        if status is Status.INFEASIBLE:
            raise InvariantError(
                "no table of nonnegative counts has these invariants: evaluate all of them on the "
                "same data and check the structural zeros."
            )
        if status is not Status.SOLVED:
            raise InvariantError(
                "it could not be decided whether any table of counts has these invariants: publish "
                "fewer or simpler ones."
            )

    def _require_counts(self, counts: IntArray) -> None:
        """Raise where nested totals leave a count below zero."""
        if (counts < 0).any():
            raise InvariantError(
                "no table of nonnegative counts has these invariants: evaluate all of them on the "
                "same data and check the structural zeros."
            )

    def _deals_out(self) -> bool:
        """Whether all blocks are products whose counts can be dealt out: of one total, none below 0."""
        for block in blocks_of(self):
            if block is None or len({int(feature.count.sum()) for feature in block.features}) > 1:
                return False
            if any((feature.count < 0).any() for feature in block.features):
                return False
        return True

    def _rows_of_one_pattern(self) -> IntArray:
        """Return the rows that touch one pattern, which no other row touches."""
        columns = self.patterns.columns
        rows_of_pattern = np.bincount(columns.indices, minlength=columns.shape[1])
        single = np.flatnonzero(np.diff(columns.indptr) == 1)
        touched = columns.indices[columns.indptr[single]]
        return np.asarray(single[rows_of_pattern[touched] == 1], dtype=np.int64)
