"""The conforming universe: every table that agrees with what is public.

D_t = {x >= 0 integer : A x = t, B x >= b} over d cells [theory, 1], t being the invariants and b public
bounds. Cells with equal columns of A are interchangeable where no bound tells them apart, so most questions
about D_t are asked of its patterns: the sums over such cells.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import Component, Patterns, components, patterns
from holdfast.lattice.nested import nested_counts
from holdfast.lattice.product import AxisMargins, Feature, product_features
from holdfast.lattice.rows import independent_and_wrong, ones_combination
from holdfast.lattice.spread import SpreadColumns, expanded
from holdfast.programs.solver import UNBOUNDED, Program, Status
from holdfast.system.errors import InvariantError
from holdfast.universe.limits import Limits, follows, narrowed


@dataclass(frozen=True, eq=False)
class FeatureBlock:
    """Patterns that are a product of features with fixed counts: questions about them need no solver.

    Let every block (cells that no row ties to others) be the full product of features k with counts c_k(l) of
    their levels l, n records in all. Any way to deal out n levels of each feature to n records is a table.

    *Semi-adjacency.* q + 1 changes are enough for q features [bounds.py], and needed where levels y_k are in
    use with sum c_k(y_k) < n, each beside another level in use: deal them out to different records, and let x
    be a record with none of them. Records that change to make one record y have all y_k among them, x has
    none and every other record at most one, so q others change.

    *Sensitivity.* A difference u = p - q of a records each has A p = A q: each feature has the same levels in
    p and q, at most a of them. So by permuting levels u lies in the product of a levels a feature, whose
    largest norms are those of all differences; and where the a most frequent levels of each feature are a or
    more times in use, some table holds q, hence every norm is attained.
    """

    features: tuple[Feature, ...]
    several: bool

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.features[0].count.sum())

    @property
    def used(self) -> list[IntArray]:
        """The counts of the levels in use, for each feature with two or more."""
        counts = (np.sort(feature.count[feature.count > 0])[::-1] for feature in self.features)
        return [count for count in counts if count.size > 1]

    def levels(self, most: int) -> tuple[int, ...]:
        """How many levels each feature has, no more than some."""
        return tuple(min(feature.count.size, most) for feature in self.features)

    @property
    def most(self) -> IntArray:
        """The most records that each pattern can hold, as some table does: what its rarest level has."""
        most: IntArray = np.min([feature.count[feature.level] for feature in self.features], axis=0)
        return most

    def holds(self, changes: int) -> bool:
        """Whether some table holds any so many records of the most frequent levels."""
        frequent = (np.sort(feature.count)[::-1][:changes] for feature in self.features)
        return all(bool((count >= changes).all()) for count in frequent)

    @property
    def needs_all(self) -> bool:
        """Whether some change takes one record more than there are features."""
        used = self.used
        rarest = sum(int(count[-1]) for count in used)
        return len(used) == len(self.features) > 1 and rarest < self.records


def blocks_of(universe: "Universe") -> Iterator[FeatureBlock | None]:
    """Yield the blocks of several patterns, the largest first; None for those that are no products."""
    known = universe.known_blocks
    for place, part in enumerate(universe.pattern_components):
        if part.cells.size == 1:
            return
        if place == len(known):
            known.append(_block(universe, part))
        yield known[place]


def _block(universe: "Universe", part: Component) -> FeatureBlock | None:
    """Return a component of the patterns as a product of features, None where it is none."""
    seen = universe.patterns
    if part.rows.size == 0:
        return None
    columns = seen.columns
    if part.cells.size < seen.count:
        columns = csr_array(columns[part.rows][:, part.cells])
    features = product_features(columns, universe.values[part.rows])
    return FeatureBlock(features, bool((seen.size[part.cells] > 1).any())) if features else None


def product_of(universe: "Universe") -> FeatureBlock | None:
    """Return the universe as one product of features, None where it is none."""
    if len(universe.components) != 1 or universe.patterns.count == universe.rank:
        return None
    block = next(blocks_of(universe), None)
    return block if block is not None and len(block.features) > 1 else None


@lru_cache(maxsize=64)
def small_product(levels: tuple[int, ...]) -> csr_array:
    """Return the one-way margins of a product of features, over its cells."""
    shape = np.indices(levels).reshape(len(levels), -1)
    rows = [
        csr_array((np.arange(size)[:, None] == shape[k]).astype(np.int64)) for k, size in enumerate(levels)
    ]
    return csr_array(vstack(rows, format="csr"))


@dataclass(frozen=True, eq=False)
class Universe:
    """The tables x >= 0 with A x = t and B x >= b; make one with `Universe.of`.

    Attributes:
        given: A, with independent rows only, rows x d; bounds that leave one value are among them.
            By its distinct columns, where cells of many nodes are alike.
        values: t, for those rows.
        cliques: the attribute sets, when the invariants are exactly their margins over the full
            product of levels (frozenset() is the grand total); None otherwise.
        margins: the same by the axes of the cells, where these are known.
        limits: the bounds that tables with A x = t may break; None where there are none [limits.py].
        declared: the bounds as they were given.
        met: whether bounds that leave one value are among the rows of A.

    """

    given: csr_array | SpreadColumns
    values: IntArray
    cliques: tuple[frozenset[str], ...] | None
    margins: AxisMargins | None = None
    limits: Limits | None = None
    declared: Limits | None = None
    met: bool = False

    @classmethod
    def of(
        cls,
        matrix: csr_array | SpreadColumns,
        values: IntArray,
        cliques: tuple[frozenset[str], ...] | None = None,
        *,
        margins: AxisMargins | None = None,
        limits: Limits | None = None,
        occupied: bool = False,
    ) -> "Universe":
        """Return the universe of A x = t and B x >= b without redundant rows.

        Raises InvariantError when rows contradict each other or no table of counts keeps them. The second is
        not asked where the values were evaluated on a table, so that it is ``occupied``.
        """
        columns = matrix.columns if isinstance(matrix, SpreadColumns) else matrix
        clean = csr_array(columns.astype(np.int64))
        clean.sum_duplicates()
        clean.eliminate_zeros()
        values = np.asarray(values, dtype=np.int64)
        kept, wrong = independent_and_wrong(clean, values)
        if wrong.size:
            raise InvariantError(
                f"invariant row {int(wrong[0])} has the value {int(values[wrong[0]])}, which the "
                "other invariants contradict: evaluate all of them on the same data."
            )
        left = csr_array(clean[kept])
        given = SpreadColumns(left, matrix.times) if isinstance(matrix, SpreadColumns) else left
        universe = cls(given, values[kept], cliques, margins)
        if not occupied:
            universe._require_a_table()
        if limits is None:
            return universe
        every = expanded(SpreadColumns(clean, matrix.times) if isinstance(matrix, SpreadColumns) else clean)
        return universe._within(limits, every, values, occupied=occupied)

    def _within(self, limits: Limits, rows: csr_array, known: IntArray, *, occupied: bool) -> "Universe":
        """Return the tables that keep bounds; ``rows`` are all invariants, which say more at a glance."""
        left, equations = narrowed(rows, known, limits)
        if equations is not None:
            rows = csr_array(vstack([self.matrix, equations.rows], format="csr"))
            values = np.concatenate([self.values, equations.least])
            universe = Universe.of(rows, values, occupied=occupied)
            universe = replace(universe, limits=left, declared=limits, met=True)
        else:
            universe = replace(self, limits=left, declared=limits)
        if not occupied and left is not None:
            universe._require_kept(left)
        return universe

    def implies(self, limits: Limits) -> bool:
        """Whether it is shown that every table keeps some bounds."""
        return follows(self.matrix, self.values, self.limits, limits)

    @property
    def narrowed(self) -> bool:
        """Whether bounds leave fewer tables, as far as is known."""
        return self.met or self.limits is not None

    @property
    def unlimited(self) -> "Universe":
        """The tables with the same invariants, whether or not they keep the bounds."""
        return self if self.limits is None else replace(self, limits=None, declared=None)

    @property
    def matrix(self) -> csr_array:
        """A, every entry of it."""
        return expanded(self.given)

    @property
    def cells(self) -> int:
        """The number of cells, d."""
        return int(self.given.shape[1])

    @property
    def rank(self) -> int:
        """The rank of A."""
        return int(self.given.shape[0])

    @property
    def dimension(self) -> int:
        """The dimension of the lattice of differences, d - rank."""
        return self.cells - self.rank

    @cached_property
    def patterns(self) -> Patterns:
        """The cells grouped by equal columns of A."""
        return patterns(self.given)

    @cached_property
    def kinds(self) -> Patterns:
        """The cells grouped by equal columns of A and B, one below the other: what is interchangeable."""
        if self.limits is None:
            return self.patterns
        return patterns(csr_array(vstack([self.matrix, self.limits.rows], format="csr")))

    @cached_property
    def sides(self) -> tuple[IntArray, IntArray]:
        """The least and the most of the rows of A and B: t twice, b and UNBOUNDED."""
        if self.limits is None:
            return self.values, self.values
        return (
            np.concatenate([self.values, self.limits.least]),
            np.concatenate([self.values, np.full(self.limits.count, UNBOUNDED)]),
        )

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
    def known_blocks(self) -> list[FeatureBlock | None]:
        """The first of them as products of features, as far as anyone asked for them [`FeatureBlock`]."""
        return []

    @cached_property
    def total(self) -> int | None:
        """The number of records n, when the invariants determine it; else None."""
        narrow = self.given.columns if isinstance(self.given, SpreadColumns) else self.given
        weights = ones_combination(narrow)
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

    def _require_kept(self, limits: Limits) -> None:
        """Raise unless some table of counts keeps the bounds, too."""
        kinds = self.kinds
        program = Program(kinds.columns, *self.sides, most=np.full(kinds.count, UNBOUNDED))
        outcome = program.solve()
        if outcome.point is None:
            raise InvariantError(
                "no table of counts is known that has these invariants and keeps all"
                f" {limits.count:,} inequalities that bind it: correct or drop one of them."
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
