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
from math import prod

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.lattice.margins import LevelledAxis, MarginStrategy
from holdfast.lattice.product import AxisMargins
from holdfast.lattice.rows import independent_rows
from holdfast.programs.solver import UNBOUNDED, Program
from holdfast.universe.move_programs import CLASSES, MovePrograms
from holdfast.universe.separate import CHANGES, ENTRY, KINDS, L1, SQUARE, Norms, Product, separate, trivial
from holdfast.universe.tables import capacities
from holdfast.universe.universe import Universe, blocks_of, product_of, small_product

# Limits of patience: they bound how many integer programs are solved, and beyond them a bound is told.
LIMITED = 100  # the same where bounds tell cells apart, or some cells count and others do not
FEW = 20_000  # patterns up to which programs over all tables are tried
BLOCKS = 20  # blocks of features looked at for such a pattern
TRIES = 20  # patterns tried for a simple pair of cells
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


def norms_of(moves: MovePrograms, upper: Norms) -> Sensitivity:
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
