"""How far a table can move when at most a records change.

The sensitivity space is S_a = {u = x - x' : x, x' in D_t, sum u = 0, ||u||_1 <= 2 a}
[theory, 3]; the largest norms in it calibrate noise. Write u = p - q with p, q >= 0 and sums over
cells with equal columns: P, Q of a pattern. Within a pattern all of P may fall on one cell and all
of Q on another, or both on the same when it has no other. So the largest norms are integer programs
over patterns.

Public bounds B x >= b leave fewer pairs: the norms without them are upper bounds at the same a. In the
programs both tables keep them, over kinds of cells with equal columns of A and B.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

import numpy as np
from scipy.sparse import block_array, coo_array, csr_array, eye_array, vstack

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.lattice.components import Patterns, patterns
from holdfast.lattice.kernel import to_flint
from holdfast.lattice.margins import LevelledAxis, MarginStrategy
from holdfast.lattice.product import AxisMargins
from holdfast.lattice.rows import independent_rows
from holdfast.programs.solver import NODES, UNBOUNDED, Program, Sides, Status, suggest
from holdfast.universe.separate import CHANGES, ENTRY, KINDS, L1, SQUARE, Norms, Product, separate, trivial
from holdfast.universe.tables import capacities
from holdfast.universe.universe import Universe, blocks_of, product_of, small_product

# Limits of patience: they bound how many integer programs are solved, and beyond them a bound is told.
CLASSES = 400  # solve for each pattern up to this many
LIMITED = 100  # the same where bounds tell cells apart, or some cells count and others do not
FEW = 20_000  # patterns up to which programs over all tables are tried
BLOCKS = 20  # blocks of features looked at for such a pattern
TRIES = 20  # patterns tried for a simple pair of cells
UNARY = 4_000  # binaries in the program for the squared norm
ENTRIES = 240_000  # of a program times its nodes: those of large ones take long, and a bound comes early
LEAST_NODES = 20
FARTHEST = CHANGES  # records up to which different tables are looked for


@dataclass(frozen=True)
class Sensitivity:
    """The largest norms of S_a; upper bounds when not exact."""

    l1: int
    l2_squared: int
    linf: int
    exact: bool


def sensitivity(universe: Universe, adjacency: int) -> Sensitivity:
    """Return the largest ||u||_1, ||u||_2^2 and ||u||_inf over S_a for a = adjacency."""
    if adjacency == 0 or universe.dimension == 0:
        return Sensitivity(0, 0, 0, exact=True)
    a = adjacency
    if universe.limits is not None:
        return _limited(universe, a)
    if _one_cell_can_give_all_to_another(universe, a):
        return Sensitivity(*trivial(a), exact=True)
    if (known := _of_product(universe, a)) is not None:
        return known
    if (known := _of_margins(universe, a)) is not None:
        return known
    symmetric = universe.cliques is not None
    parts = separate(universe, a)
    if parts is None or len({part.kind for part in parts}) > KINDS:
        return _together(universe, a, symmetric=symmetric)

    def bound(part: Universe, b: int, upper: Norms) -> Norms:
        if b == 1:
            # one record moves between cells with equal columns only
            return trivial(int((part.patterns.size > 1).any()))
        if (known := _of_product(part, b)) is not None:
            return known.l1, known.l2_squared, known.linf
        found = norms_of(MovePrograms(part, b, tables=False, symmetric=symmetric), upper)
        return found.l1, found.l2_squared, found.linf

    def exact(part: Universe, b: int, upper: Norms) -> tuple[Norms, bool]:
        if _one_cell_can_give_all_to_another(part, b):
            return trivial(b), True
        if (known := _of_product(part, b)) is not None:
            return (known.l1, known.l2_squared, known.linf), known.exact
        found = norms_of(MovePrograms(part, b), upper)
        return (found.l1, found.l2_squared, found.linf), found.exact

    product = Product(parts, a, bound, exact)
    (l1, l1_exact), (square, square_exact), (linf, linf_exact) = map(product.largest, (L1, SQUARE, ENTRY))
    return Sensitivity(l1, square, linf, exact=l1_exact and square_exact and linf_exact)


def _limited(universe: Universe, a: int) -> Sensitivity:
    """Return the norms of pairs of tables that both keep the bounds, or those without them as bounds."""
    upper = sensitivity(universe.unlimited, a)
    if universe.kinds.count > LIMITED:
        return replace(upper, exact=False)
    return norms_of(MovePrograms(universe, a), (upper.l1, upper.l2_squared, upper.linf))


def _of_product(universe: Universe, a: int) -> Sensitivity | None:
    """Return the norms where the universe is one product of features [`FeatureBlock`], else None.

    Where levels are rarely in use and there are many patterns, these are bounds.
    """
    block = product_of(universe)
    if block is None or block.several:
        return None
    held = block.holds(a)
    if not held and universe.patterns.count <= FEW:
        return None
    levels = block.levels(a)
    matrix = small_product(levels)
    matrix = csr_array(matrix[independent_rows(matrix)])
    small = Universe(matrix, matrix @ np.full(matrix.shape[1], a), None)
    found = norms_of(MovePrograms(small, a, tables=False, symmetric=True), trivial(a))
    return replace(found, exact=found.exact and held)


def _of_margins(universe: Universe, a: int) -> Sensitivity | None:
    """Return the norms where whole margins of a large table cross, and counts are frequent; None elsewhere.

    The records before and after a move have the same entries of an axis that some margin reads: at most a
    of them, and else 2 a. The entries of an axis being alike, the moves in so many of each are all there
    are. Some table has any of them where one has as many records in all of these cells as an entry takes.
    """
    margins = universe.margins
    if margins is None or prod(margins.shape) != universe.cells or not margins.sets:
        return None
    read = frozenset().union(*margins.sets)
    sizes = [min(size, a if axis in read else 2 * a) for axis, size in enumerate(margins.shape)]
    if prod(sizes) >= min(CLASSES, universe.patterns.count):
        return None
    axes = tuple(axis for size in sizes if (axis := LevelledAxis.of(size, ())) is not None)
    kept = [tuple(int(axis in one and sizes[axis] > 1) for axis in range(len(sizes))) for one in margins.sets]
    small = MarginStrategy(axes, tuple(kept), ())
    nothing = csr_array((0, prod(sizes)), dtype=np.int64)
    matrix = csr_array(vstack([nothing, *map(small.rows, kept)], format="csr"))
    matrix = csr_array(matrix[independent_rows(matrix)])
    moves = MovePrograms(
        Universe(matrix, matrix @ np.full(matrix.shape[1], a), None), a, tables=False, symmetric=True
    )
    found = norms_of(moves, trivial(a))
    columns, values = universe.patterns.columns, universe.values
    program = Program(columns, values, values, most=np.full(universe.patterns.count, UNBOUNDED))
    some = universe.patterns.of_cell[_frequent(universe, margins, sizes)]
    least = np.bincount(some, minlength=universe.patterns.count) * found.linf
    held = program.solve(least={int(z): int(least[z]) for z in np.unique(some)}).point is not None
    return found if held else None


def _frequent(universe: Universe, margins: AxisMargins, sizes: Sequence[int]) -> IntArray:
    """Return the cells of so many entries of each axis, those of which the invariants count most."""
    counted = (universe.matrix.T @ universe.values).reshape(margins.shape)  # by all margins together
    chosen = [
        np.argsort(
            -counted.sum(axis=tuple(other for other in range(counted.ndim) if other != axis)), kind="stable"
        )[:size]
        for axis, size in enumerate(sizes)
    ]
    return np.arange(universe.cells).reshape(margins.shape)[np.ix_(*chosen)].ravel()


def largest_part(universe: Universe, adjacency: int, cells: BoolArray, space: Sensitivity) -> int:
    """Return the largest sum of |u| over some cells in S_a, a = adjacency; its largest norms are ``space``.

    An upper bound where there are many patterns: of products of features whose corner is left out, by
    moves of as many levels as records change, beside the corner's; of others, the largest ||u||_1.
    """
    if (small := _of_corner(universe, adjacency, cells)) is not None:
        universe, cells = small
        tables = False
    else:
        tables = True
        if universe.kinds.count > LIMITED:
            return space.l1
    moves = MovePrograms(universe, adjacency, tables=tables, apart=cells)
    return moves.largest_part(max(1, min(space.linf, adjacency)), space.l1)


def _of_corner(universe: Universe, a: int, cells: BoolArray) -> tuple[Universe, BoolArray] | None:
    """Return a small table whose moves bound those of a large one, where the cells are all but a corner.

    Let the universe be one product of features and the cells be those that are off one level of at least two
    of them. As in `FeatureBlock`, u lies in a levels a feature: by permuting levels other than the corner's,
    in the first a + 1 of each.
    """
    block = product_of(universe)
    if block is None or block.several or universe.limits is not None or universe.patterns.count <= LIMITED:
        return None
    off = np.zeros(universe.cells, dtype=np.int64)
    for feature in block.features:
        level = feature.level[universe.patterns.of_cell]
        off += level != np.bincount(level[~cells], minlength=feature.count.size).argmax()
    if not np.array_equal(off >= 2, cells):
        return None
    levels = block.levels(a + 1)
    if np.prod(levels) > CLASSES:
        return None
    matrix = small_product(levels)
    small = np.count_nonzero(np.indices(levels).reshape(len(levels), -1), axis=0) >= 2
    matrix = csr_array(matrix[independent_rows(matrix)])
    return Universe(matrix, matrix @ np.full(matrix.shape[1], a), None), small


def least_distance(universe: Universe, above: int = 0) -> int | None:
    """Return how many records the nearest two different tables of equal size are apart.

    It is known that none are at most ``above`` apart. None when none are within ``FARTHEST``, or the solver
    leaves it open.
    """
    if universe.limits is not None and universe.kinds.count > LIMITED:
        return None
    parts = None if universe.limits is not None else separate(universe, FARTHEST)
    universes = [universe] if parts is None else [part.universe for part in parts]
    found = [MovePrograms(part, FARTHEST).smallest_sum(above) for part in universes]
    return None if None in found else min((distance for distance in found if distance), default=None)


def _together(universe: Universe, a: int, *, symmetric: bool) -> Sensitivity:
    """Return the norms from programs over all cells."""
    l1, square, linf = trivial(a)
    if symmetric:
        linf, _ = MovePrograms(universe, a, tables=False, symmetric=True).largest_entry(linf)
    return norms_of(MovePrograms(universe, a), (l1, square, linf))


def norms_of(moves: "MovePrograms", upper: Norms) -> Sensitivity:
    """Return the largest norms of the moves, given upper bounds."""
    linf, linf_exact = moves.largest_entry(upper[ENTRY])
    l1, l1_exact = moves.largest_sum(linf, upper[L1])
    if linf <= 1:
        # entries are -1, 0 or 1, so their squares add up to ||u||_1
        return Sensitivity(l1, l1, linf, exact=linf_exact and l1_exact)
    square, square_exact = moves.largest_square(linf, min(l1 * linf, upper[SQUARE]))
    return Sensitivity(l1, square, linf, exact=linf_exact and l1_exact and square_exact)


def _one_cell_can_give_all_to_another(universe: Universe, a: int) -> bool:
    """Whether a cell can hold a records that may all move to a cell with an equal column.

    No norm can be larger than after such a move.
    """
    bound = np.where(universe.patterns.size > 1, capacities(universe), 0)
    if not (bound >= a).any() or universe.settled is not None:
        return bool((bound >= a).any())
    for part, block in zip(universe.pattern_components[:BLOCKS], blocks_of(universe), strict=False):
        if block is not None and (block.most[universe.patterns.size[part.cells] > 1] >= a).any():
            return True
    columns, values = universe.patterns.columns, universe.values
    candidates = np.argsort(-bound, kind="stable")[:TRIES]
    program = Program(columns, values, values, most=np.full(bound.size, UNBOUNDED))
    return any(program.solve(least={int(z): a}).point is not None for z in candidates if bound[z] >= a)


class MovePrograms:
    """Programs over (X, P, Q): X conforms, X - Q >= 0, and P - Q changes at most a records.

    Without tables X, programs over (P, Q): all moves in the lattice. Then, if symmetric, the first
    pattern stands for all. Cells that are ``apart`` are no part of a pattern with others. Where the
    ``presence`` of records is told apart, P - Q adds and removes at most a records in all [theory, 14].
    """

    def __init__(
        self,
        universe: Universe,
        a: int,
        *,
        tables: bool = True,
        symmetric: bool = False,
        apart: BoolArray | None = None,
        presence: bool = False,
    ) -> None:
        self._universe, self._a, self._presence = universe, a, presence
        self._groups = universe.kinds if tables else universe.patterns
        if apart is not None:
            self._groups, self._inside = _set_apart(self._groups, apart)
        self._count = self._groups.count
        self._skip = self._count if tables else 0
        self._considered = 1 if symmetric and not tables else self._count
        self._single = np.flatnonzero(self._groups.size == 1)

    def largest_entry(self, upper: int) -> tuple[int, bool]:
        """Return the largest ||u||_inf and whether it is attained; by symmetry, of u > 0."""
        best, settled = 0, self._considered <= CLASSES
        program = self._program(*self._rows())
        for pattern in self._by_promise()[:CLASSES]:
            objective = self._entry(int(pattern))
            outcome = program.solve(maximise=objective)
            if outcome.point is not None:
                best = max(best, int(objective @ outcome.point))
            settled = settled and outcome.status is Status.SOLVED
            if best >= upper:
                return best, True
        return (best, True) if settled else (upper, False)

    def largest_sum(self, linf: int, upper: int) -> tuple[int, bool]:
        """Return the largest ||u||_1 and whether it is attained."""
        program = self._program(*self._disjoint(*self._rows(), linf))
        objective = np.zeros(self._skip + 2 * self._count + self._single.size, dtype=np.int64)
        objective[self._skip : self._skip + 2 * self._count] = 1
        outcome = program.solve(maximise=objective)
        reached = 0 if outcome.point is None else int(objective @ outcome.point)
        if outcome.status is Status.SOLVED or reached == upper:
            return reached, True
        return (upper if outcome.bound is None else max(reached, min(upper, outcome.bound))), False

    def largest_part(self, linf: int, upper: int) -> int:
        """Return the largest sum of |u| over the cells that are apart, or ``upper``."""
        program = self._program(*self._disjoint(*self._rows(), linf))
        objective = np.zeros(self._skip + 2 * self._count + self._single.size, dtype=np.int64)
        for begin in (self._skip, self._skip + self._count):
            objective[begin : begin + self._count] = self._inside
        outcome = program.solve(maximise=objective)
        if outcome.point is None or outcome.status is not Status.SOLVED:
            return upper
        return min(upper, int(objective @ outcome.point))

    def smallest_sum(self, above: int) -> int | None:
        """Return the smallest ||u||_1 / 2 above a number, 0 where no u is that long, None when left open."""
        matrix, low, high = self._rows()
        low[-1] = above + 1
        program = self._program(*self._disjoint(matrix, low, high, self._a))
        objective = np.zeros(self._skip + 2 * self._count + self._single.size, dtype=np.int64)
        objective[self._skip : self._skip + self._count] = -1
        outcome = program.solve(maximise=objective)
        if outcome.status is Status.UNKNOWN:
            return None
        return 0 if outcome.point is None else -int(objective @ outcome.point)

    def largest_square(self, linf: int, upper: int) -> tuple[int, bool]:
        """Return the largest ||u||_2^2 and whether it is attained.

        Counts are written in unary, the j-th unit of an entry with the weight 2 j - 1.
        """
        if 2 * self._count * linf > UNARY:
            return upper, False
        matrix, low, high = self._disjoint(*self._rows(), linf)
        width, units = matrix.shape[1], 2 * self._count * linf
        first = np.arange(2 * self._count).repeat(linf)
        sums = coo_array((np.ones(units, dtype=np.int64), (first, np.arange(units))))
        entries = eye_array(2 * self._count, width, k=self._skip, dtype=np.int64)
        # a unit is used only after the one before it
        later = np.flatnonzero(np.arange(units) % linf)
        steps = np.arange(later.size)
        order = coo_array(
            (
                np.concatenate([np.ones(later.size), -np.ones(later.size)]).astype(np.int64),
                (np.concatenate([steps, steps]), np.concatenate([later - 1, later])),
            ),
            shape=(later.size, units),
        )
        joined = block_array([[matrix, None], [entries, -sums], [None, order]], format="csr")
        nothing = np.zeros(2 * self._count, dtype=np.int64)
        program = Program(
            csr_array(joined),
            np.concatenate([low, nothing, np.zeros(later.size, dtype=np.int64)]),
            np.concatenate([high, nothing, np.ones(later.size, dtype=np.int64)]),
            most=np.concatenate([self._most(width), np.ones(units, dtype=np.int64)]),
            nodes=_nodes(joined),
        )
        weights = 2 * (np.arange(units) % linf) + 1
        objective = np.concatenate([np.zeros(width, dtype=np.int64), weights])
        outcome = program.solve(maximise=objective)
        reached = 0 if outcome.point is None else int(objective @ outcome.point)
        if outcome.status is Status.SOLVED or reached == upper:
            return reached, True
        return (upper if outcome.bound is None else max(reached, min(upper, outcome.bound))), False

    def _entry(self, pattern: int) -> IntArray:
        """Return the objective whose maximum is the largest entry in a cell of the pattern."""
        objective = np.zeros(self._skip + 2 * self._count, dtype=np.int64)
        objective[self._skip + pattern] = 1
        if self._groups.size[pattern] == 1:
            objective[self._skip + self._count + pattern] = -1
        return objective

    def _by_promise(self) -> IntArray:
        """Return the patterns, those with several cells and large values first."""
        if not self._skip:
            return np.arange(self._considered, dtype=np.int64)
        bound = np.zeros(self._count, dtype=np.int64)
        bound[self._groups.of_cell] = capacities(self._universe)[self._universe.patterns.of_cell]
        return np.lexsort((-bound, self._groups.size == 1)).astype(np.int64)

    def _rows(self) -> tuple[csr_array, IntArray, IntArray]:
        """Return A X = t, b (P - Q) = 0, X - Q >= 0 and sum P <= a as rows over (X, P, Q).

        Where there are bounds, X and X + P - Q keep them. Where presence counts, the number of records may
        change, and sum P + sum Q <= a.
        """
        rank, values = self._universe.rank, self._universe.values
        columns, bounds = csr_array(self._groups.columns[:rank]), csr_array(self._groups.columns[rank:])
        keep = eye_array(self._count, dtype=np.int64)
        ones = csr_array(np.ones((1, self._count), dtype=np.int64))
        changes = columns if self._presence else csr_array(vstack([columns, ones]))
        removed = ones if self._presence else 0 * ones
        same = np.zeros(changes.shape[0], dtype=np.int64)
        zeros = np.zeros(self._count, dtype=np.int64)
        if not self._skip:
            rows = block_array([[changes, -changes], [ones, removed]], format="csr")
            return csr_array(rows), np.append(same, 0), np.append(same, self._a)
        blocks: list[list[csr_array | None]] = [
            [columns, None, None],
            [None, changes, -changes],
            [csr_array(keep), None, csr_array(-keep)],
            [None, ones, removed],
        ]
        least: list[IntArray] = []
        if self._universe.limits is not None:
            blocks = [[bounds, None, None], [bounds, bounds, -bounds], *blocks]
            least = 2 * [self._universe.limits.least]
        rows = block_array(blocks, format="csr")
        none = [np.full(part.size, UNBOUNDED) for part in least]
        low = np.concatenate([*least, values, same, zeros, [0]])
        high = np.concatenate([*none, values, same, np.full(self._count, UNBOUNDED), [self._a]])
        return csr_array(rows), low, high

    def _disjoint(
        self, matrix: csr_array, low: IntArray, high: IntArray, linf: int
    ) -> tuple[csr_array, IntArray, IntArray]:
        """Add a binary for each pattern of one cell: its P or its Q is 0."""
        number = self._single.size
        pick = eye_array(self._count, dtype=np.int64).tocsr()[self._single]
        side = linf * eye_array(number, dtype=np.int64)
        before = csr_array((number, self._skip), dtype=np.int64)
        nothing = csr_array((number, self._count), dtype=np.int64)
        apart = block_array([[before, pick, nothing, -side], [before, nothing, pick, side]])
        width = self._skip + 2 * self._count + number
        wide = csr_array((matrix.data, matrix.indices, matrix.indptr), (low.size, width))
        caps = np.concatenate([np.zeros(number, dtype=np.int64), np.full(number, linf)])
        return (
            csr_array(vstack([wide, apart])),
            np.concatenate([low, np.full(2 * number, -UNBOUNDED)]),
            np.concatenate([high, caps]),
        )

    def _most(self, width: int) -> IntArray:
        """Return the upper bounds of X, of P and Q, and of the binaries."""
        tables = np.full(self._skip, UNBOUNDED)
        entries = np.full(2 * self._count, self._a)
        binaries = np.ones(width - tables.size - entries.size, dtype=np.int64)
        return np.concatenate([tables, entries, binaries])

    def _program(self, matrix: csr_array, low: IntArray, high: IntArray) -> Program:
        return Program(matrix, low, high, most=self._most(matrix.shape[1]), nodes=_nodes(matrix))


def _nodes(matrix: csr_array) -> int:
    """Return how many nodes a search may have, which is what limits it."""
    return max(LEAST_NODES, min(NODES, ENTRIES // max(1, matrix.nnz)))


def _set_apart(groups: Patterns, apart: BoolArray) -> tuple[Patterns, BoolArray]:
    """Return the groups with some cells as groups of their own, and which of them these are."""
    cells = np.arange(apart.size)
    of = csr_array((np.ones(apart.size, dtype=np.int64), (groups.of_cell, cells)))
    found = patterns(csr_array(vstack([of, csr_array(apart[None].astype(np.int64))], format="csr")))
    first = np.full(found.count, apart.size)
    np.minimum.at(first, found.of_cell, cells)
    columns = csr_array(groups.columns[:, groups.of_cell[first]])
    return replace(found, columns=columns), apart[first]


ALWAYS = Fraction(2)
SPREAD_CLASSES = 400  # one linear program for each pattern up to this many
AXES = 10  # whole margins of up to so many attributes
DENSE = 20_000_000  # entries of columns
DENOMINATOR = 10_000


def spread(universe: Universe) -> Fraction:
    """Return an upper bound on the largest (2 ||u||_2 / ||u||_1)^2 over the lattice, at most 2.

    For a difference u of two tables, ||u||_1 / 2 records change. Noise scaled to ||u||_2 is calibrated
    by the largest (2 ||u||_2 / ||u||_1)^2 over the lattice {u integer : A u = 0, sum u = 0}. As
    ||u||_2^2 <= ||u||_inf ||u||_1 it is at most

        4 / min { ||u||_1 : u real, A u = 0, sum u = 0, u_z = 1 for some cell z }.

    By duality, any rational mu with |b_k mu| <= 1 in all cells k other than z shows that this minimum
    is at least 1 - b_z mu, where b_k is the column of cell k with a 1 appended. The solver only
    suggests mu; the bound is checked in rationals. It never exceeds 2, since sum u = 0.
    """
    if universe.dimension == 0:
        return Fraction(0)
    if (universe.patterns.size > 1).any():
        return ALWAYS  # one record moves between cells with equal columns: attained
    # summed over the other levels u keeps its largest entry, and ||u||_1 does not grow
    margins = universe.margins
    if margins is not None and margins.sets and len(margins.shape) <= AXES:
        return _spread_at(_with_ones(_of_two_levels(margins)), 0)
    if (block := product_of(universe)) is not None:
        return _spread_at(_with_ones(small_product(block.levels(2))), 0)
    count = universe.patterns.count
    # permuting levels maps any cell to any other, so one cell stands for all
    classes = range(1 if universe.cliques is not None else count)
    if len(classes) > SPREAD_CLASSES or count * universe.rank > DENSE:
        return ALWAYS
    columns = _with_ones(universe.patterns.columns)
    return max(_spread_at(columns, z) for z in classes)


def _of_two_levels(margins: AxisMargins) -> csr_array:
    """Return the rows of the same margins of a table with two levels of each attribute, at the most."""
    shape = tuple(min(size, 2) for size in margins.shape)
    codes = np.indices(shape).reshape(len(shape), -1)
    rows = []
    for axes in map(sorted, margins.sets):
        sizes = [shape[axis] for axis in axes]
        place = np.ravel_multi_index([*codes[axes]], sizes) if axes else np.zeros_like(codes[0])
        rows.append(csr_array((np.arange(np.prod(sizes, dtype=np.int64))[:, None] == place).astype(np.int64)))
    return csr_array(vstack(rows, format="csr"))


def _with_ones(columns: csr_array) -> IntArray:
    """Return the columns b_k, one a row."""
    ones = csr_array(np.ones((1, columns.shape[1]), dtype=np.int64))
    return csr_array(vstack([columns, ones])).toarray().T.copy()


def _spread_at(columns: IntArray, z: int) -> Fraction:
    """Return an upper bound on 4 ||u||_inf / ||u||_1 for u that are largest in cell z."""
    others = np.delete(columns, z, axis=0)
    ones, free = np.ones(others.shape[0]), np.full(columns.shape[1], np.inf)
    mu = suggest(
        columns[z].astype(np.float64), csr_array(others), Sides.of(-ones, ones), Sides.of(-free, free)
    )
    if mu is not None:
        return min(ALWAYS, 4 / _certified_minimum(columns, z, mu))
    # without a minimum no u has a nonzero entry there: column z is independent of the others
    fixed = to_flint(others).rank() < to_flint(columns).rank()
    return Fraction(0) if fixed else ALWAYS


def _certified_minimum(columns: IntArray, z: int, mu: FloatArray) -> Fraction:
    """Return a proved lower bound on ||u||_1 with u_z = 1, from a suggested dual solution."""
    exact = [Fraction(float(value)).limit_denominator(DENOMINATOR) for value in mu]
    products = [
        sum((int(entry) * exact[i] for i, entry in enumerate(column) if entry), Fraction(0))
        for column in columns
    ]
    scale = max([Fraction(1), *(abs(v) for k, v in enumerate(products) if k != z)])
    return max(Fraction(2), 1 - products[z] / scale)
