"""The moves that span the hull: the sensitivity space, one of each pair u and -u.

Two-way tables. Let both margins of an r x c table be kept. A vector of S_a is p - q with multisets p, q of
k <= a cells that have the same rows, the same columns and no cell in common. For k = 2 that is a cycle of
four cells, for k = 3 one of six: with rows i, i, j the two cells of row i in p and those in q would be
disjoint pairs, but at most one of three columns can change places with row j. A cycle has records to take
exactly when its rows and columns all count at least one record: what is left of the margins is not negative,
and any two margins with the same total have a table. [semi-dp, Proposition 32] names the cycles of four
cells only; for r, c >= 3 these protect tables two records apart, not three [theory, 3].

Other universes are listed by `sensitivity_space`.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.kernel import integer_kernel
from holdfast.lattice.product import AxisMargins, product_features
from holdfast.lattice.rows import independent_rows
from holdfast.programs.solver import UNBOUNDED, Program, Status
from holdfast.spec.privacy import Neighbours
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import counted
from holdfast.universe.presence import presence_space
from holdfast.universe.space import MOST_ENTRIES, SETS, sensitivity_space
from holdfast.universe.tables import capacities
from holdfast.universe.universe import Universe

# Limits of patience and memory: the norm of a point is a program with a column for each difference.
MOST_MOVES = 500_000  # cycles of a two-way table
MOST_LISTED = 100_000  # differences of other universes, with their signs
CHUNK = 256  # vectors, from all over the list, looked at together in search of a basis
EVEN, ODD = ((0, 1, 2), (1, 2, 0), (2, 0, 1)), ((0, 2, 1), (2, 1, 0), (1, 0, 2))


class UnlistedError(GuaranteeError):
    """The differences are too many to be listed; ``fact`` says how many, without the way out."""

    def __init__(self, fact: str) -> None:
        super().__init__(f"{fact}: use coarser attributes.")
        self.fact = fact


class FurtherSumError(GuaranteeError):
    """All differences keep a sum that conforming tables need not share."""


@dataclass(frozen=True, eq=False)
class HullMoves:
    """Nonzero integer vectors, one a row, that stand for themselves and their negatives.

    Attributes:
        vectors: rows x d.
        adjacency: tables at most this many records apart differ by one of the moves.
        additive: whether ||z||_K = ||z||_1 / l1 on the whole span, by a proof.
        searched: whether a solver said which moves have records to take.
        table: for a two-way table the cell of each row and column, those with records only.

    """

    vectors: csr_array
    adjacency: int
    additive: bool = False
    searched: bool = False
    table: IntArray | None = None

    def __len__(self) -> int:
        return int(self.vectors.shape[0])

    @property
    def cells(self) -> int:
        """The number of cells, d."""
        return int(self.vectors.shape[1])

    @cached_property
    def l1(self) -> int:
        """The largest ||u||_1, M."""
        return int(abs(self.vectors).sum(axis=1).max())

    @property
    def basis(self) -> IntArray:
        """Moves that form a basis of the span."""
        return np.asarray(self.vectors[self.independent].toarray())

    @cached_property
    def independent(self) -> IntArray:
        """The indices of moves that form a basis of the span."""
        if self.table is not None:
            return _corner_cycles(self.table)
        kept = np.zeros(0, dtype=np.int64)
        outside = np.arange(len(self))
        while outside.size:
            # a move outside the span of those kept is not orthogonal to all that they are orthogonal to
            more = np.concatenate([kept, outside[:: -(-outside.size // CHUNK)]])
            kept = more[independent_rows(self.vectors[more])]
            beyond = integer_kernel(self.vectors[kept].toarray())
            outside = np.flatnonzero((self.vectors @ beyond.T).any(axis=1))
        return kept


def basic_moves(rows: int, columns: int) -> HullMoves:
    """Return the cycles of four cells of an r x c table, row by row: the moves of tables 2 records apart.

    [semi-dp, Proposition 32] states them for 3 records, where they are too few unless r or c is 2.
    """
    return _cycles(np.arange(rows * columns).reshape(rows, columns), rows * columns, 2)


@lru_cache(maxsize=2)  # asked for to see whether it can be listed, and again by the noise
def sensitivity_moves(universe: Universe, adjacency: int, neighbours: Neighbours = "replace") -> HullMoves:
    """Return the sensitivity space S_a of a universe, a = adjacency.

    Raises UnlistedError where S_a cannot be listed, GuaranteeError where nothing can change.
    """
    if neighbours == "add-remove" and universe.total is not None:
        return replace(sensitivity_moves(universe, adjacency // 2), adjacency=adjacency)
    table = _two_way(universe)
    if table is not None and adjacency <= 3:
        return _cycles(table, universe.cells, adjacency)
    space = sensitivity_space if neighbours == "replace" else presence_space
    try:
        vectors = space(universe, adjacency, MOST_LISTED)
    except GuaranteeError as error:
        raise _too_many(universe, counted(adjacency, "record")) from error
    first = vectors[np.arange(len(vectors)), (vectors != 0).argmax(axis=1)]
    _require_some(len(vectors))
    # one record moves between cells with equal columns, as in one row of two: see `_cycles`
    return HullMoves(csr_array(vectors[first > 0]), adjacency, additive=adjacency == 1, searched=True)


def require_listable(universe: Universe, adjacency: int | None = None) -> None:
    """Raise UnlistedError where sizes alone say that a sensitivity space cannot be listed, or that it is {0}.

    Nothing is searched for this. Where the adjacency a is not given, it is said of every S_a. Two lower
    bounds do it:

    * S_1 lies in every S_a, and a group of m cells with one total that counts somebody has m (m - 1) of its
      differences, with an entry for every cell;
    * let all margins of k attributes be kept. Then a difference other than 0 moves 2^k records at least: it
      has two slices other than 0 along any attribute, as these sum to 0, and all margins of k - 1 attributes
      of each are 0. So S_a is {0}, or multisets of 2^k cells have to be listed.
    """
    if _two_way(universe) is not None:
        return
    if adjacency is not None and comb(universe.cells + adjacency - 1, adjacency) > SETS:
        raise _too_many(universe, f"up to {counted(adjacency, 'record')}")
    held = np.ones(universe.patterns.count) if universe.rank == 0 else universe.settled
    size = universe.patterns.size.astype(object)
    alike = 0 if held is None else int(np.sum((size * (size - 1))[held > 0]))
    apart = 1 if universe.margins is None else 2 ** _kept_ways(universe.margins)
    most = min(MOST_LISTED, MOST_ENTRIES // universe.cells)
    if alike > most or comb(universe.cells + apart - 1, apart) > SETS:
        raise _too_many(universe, f"{counted(apart, 'record')} and more")


def _kept_ways(margins: AxisMargins) -> int:
    """Return the largest k such that the margins of all sets of k attributes are kept, 0 for the total."""
    axes = [axis for axis, size in enumerate(margins.shape) if size > 1]
    ways = 0
    while ways < len(axes) and all(
        any(kept.issuperset(some) for kept in margins.sets) for some in combinations(axes, ways + 1)
    ):
        ways += 1
    return ways


def _too_many(universe: Universe, apart: str) -> UnlistedError:
    return UnlistedError(
        f"the differences of tables {apart} apart cannot all be listed for {universe.cells:,} cells"
    )


def _two_way(universe: Universe) -> IntArray | None:
    """Return the cells of a two-way table with both margins kept, by row and column with records."""
    if (universe.patterns.size != 1).any() or len(universe.components) != 1:
        return None
    columns = universe.patterns.columns
    features = product_features(columns, universe.values)
    if features is None or len(features) != 2 or universe.total is None:
        return None
    row, column = (feature.level[universe.patterns.of_cell] for feature in features)
    table = np.empty((features[0].count.size, features[1].count.size), dtype=np.int64)
    table[row, column] = np.arange(universe.cells)
    if universe.rank != sum(table.shape) - 1:
        return None
    return table[np.ix_(features[0].count > 0, features[1].count > 0)]


def _cycles(table: IntArray, cells: int, adjacency: int) -> HullMoves:
    """Return the cycles of 2 k cells, k <= adjacency <= 3.

    With two rows, z = (w, -w) and w sums to 0. Moving what is above 0 in w to where it is below writes w as
    a sum of ||w||_1 / 2 differences of two cells, so z is one of ||z||_1 / 4 cycles of four cells: no
    fewer can do, and the norm is ||z||_1 / 4.
    """
    count = sum(
        cycles * comb(table.shape[0], k) * comb(table.shape[1], k)
        for k, cycles in ((2, 1), (3, 6))
        if adjacency >= k
    )
    if count > MOST_MOVES:
        raise UnlistedError(
            f"the {table.shape[0]} x {table.shape[1]} table has {count:,} differences to list, more than"
            f" {MOST_MOVES:,}"
        )
    four = _four_cycles(table) if adjacency >= 2 else np.zeros((0, 4), dtype=np.int64)
    six = _six_cycles(table) if adjacency >= 3 else np.zeros((0, 6), dtype=np.int64)
    width = np.repeat([4, 6], [len(four), len(six)])
    _require_some(width.size)
    start = np.concatenate([[0], np.cumsum(width)])
    signs = np.tile([1, -1], start[-1] // 2)
    vectors = csr_array(
        (signs, np.concatenate([four.ravel(), six.ravel()]), start), shape=(width.size, cells), dtype=np.int64
    )
    vectors.sort_indices()
    return HullMoves(vectors, adjacency, additive=min(table.shape) == 2, table=table)


def _four_cycles(table: IntArray) -> IntArray:
    """Return (i, j), (i, l), (k, l), (k, j) for rows i < k and columns j < l; signs alternate."""
    rows, columns = (_subsets(size, 2) for size in table.shape)
    i, k = rows[:, None, 0], rows[:, None, 1]
    j, l = columns[None, :, 0], columns[None, :, 1]  # noqa: E741
    return np.stack([table[i, j], table[i, l], table[k, l], table[k, j]], axis=-1).reshape(-1, 4)


def _six_cycles(table: IntArray) -> IntArray:
    """Return p - q for permutations p, q of three rows to three columns without a common cell."""
    rows, columns = (_subsets(size, 3) for size in table.shape)
    found = [
        np.stack(
            [
                table[rows[:, None, i], columns[None, :, permutation[i]]]
                for i in range(3)
                for permutation in (one, other)
            ],
            axis=-1,
        ).reshape(-1, 6)
        for kind in (EVEN, ODD)
        for one, other in combinations(kind, 2)
    ]
    return np.concatenate(found)


def _corner_cycles(table: IntArray) -> IntArray:
    """Return which cycles of four cells pass the last row and column: one for each other cell."""
    last_row, last_column = (_subsets(size, 2)[:, 1] == size - 1 for size in table.shape)
    return np.flatnonzero((last_row[:, None] & last_column[None, :]).ravel())


def _subsets(size: int, of: int) -> IntArray:
    return np.array(list(combinations(range(size), of)), dtype=np.int64).reshape(-1, of)


def _require_some(count: int) -> None:
    if count == 0:
        raise GuaranteeError(
            "no two tables with these invariants are that few records apart, so nothing is left to protect:"
            " drop or coarsen an invariant, or publish the table as it is."
        )


def span_matrix(universe: Universe, moves: HullMoves) -> csr_array:
    """Return a full-rank integer matrix whose kernel is the span of the moves: A, and what else they keep.

    The span may be smaller than {z : A z = 0}. Noise then leaves some sums w x exactly as they are, beside
    the invariants. That tells nothing where w x is the same for every conforming table, as for a cell that
    the invariants and x >= 0 force to 0. Otherwise it would publish more than the invariants, and is refused:
    the number of records, for one, where no invariant fixes it.

    Raises FurtherSumError where the moves keep a sum that differs between conforming tables.
    """
    basis = moves.basis
    if basis.shape[0] == universe.dimension:
        return universe.matrix
    still = np.flatnonzero(~basis.any(axis=0))
    possible = still[capacities(universe)[universe.patterns.of_cell[still]] != 0]
    cells = csr_array(np.eye(universe.cells, dtype=np.int64))
    _require_constant(universe, cells[possible].toarray())
    # without the entries of the cells that stay, the invariants tie the others alone
    rest = universe.matrix.toarray()
    rest[:, still] = 0
    matrix = csr_array(vstack([cells[still], csr_array(rest)], format="csr"))
    kept = independent_rows(matrix)
    if kept.size < universe.cells - basis.shape[0]:
        further = integer_kernel(basis)
        _require_constant(universe, further)
        matrix = csr_array(vstack([matrix, csr_array(further)], format="csr"))
        kept = independent_rows(matrix)
    return csr_array(matrix[kept])


def _require_constant(universe: Universe, rows: IntArray) -> None:
    """Raise unless each row w has one value w x on all conforming tables."""
    most = np.full(universe.cells, UNBOUNDED)
    program = Program(universe.matrix, universe.values, universe.values, most=most)
    if not all(_constant(program, row) for row in rows):
        raise FurtherSumError(
            "tables that few records apart always agree in some other sum than the invariants, such as the"
            " number of records: make that sum an invariant."
        )


def _constant(program: Program, row: IntArray) -> bool:
    """Whether w x is largest and smallest at the same value."""
    ends = []
    for sign in (1, -1):
        outcome = program.solve(maximise=sign * row)
        if outcome.status is not Status.SOLVED or outcome.point is None:
            return False
        ends.append(int(row @ outcome.point))
    return ends[0] == ends[1]
