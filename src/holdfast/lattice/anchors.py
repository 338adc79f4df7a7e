"""Anchors: cells that close a system A z = 0 in whole numbers, whatever the other cells hold.

Columns of A are a unimodular basis of its column lattice when they are independent and every column is
a whole combination of them. The cells B of such columns are *anchors*, the others, J, are *free*:

    A z = 0   exactly when   z_B = -N z_J,      N = A_B^-1 A_J, whole,

so {z : A z = 0} is Z^J, seen from the free cells [theory, 12]. Which bases are found, heaviest cells first:

* **a spanning forest** where the rows are two families of nested totals: a
  basis of largest weight, by the greedy algorithm;
* **corner points** for whole margins that cross in other ways. Choose a level of every axis. Cells are
  anchors where the axes that are not at this level are within one margin. With F for such axes, a cell of
  the free ones moves the anchor that agrees with it on F and is at the chosen levels elsewhere by

      alpha_F = -1 - (sum of alpha_G over the G that hold F and more),

  so that each margin of its levels adds up to 0, from the largest down;
* **elimination** with pivots 1 and -1 for anything else that is small.

**Spanning forests.** Let rows of ones split into two families, in each of which any two are nested or
disjoint. What a row has beyond those inside of it is its *part* [holdfast, lattice/nested.py]; taking inner
rows from outer ones is a unimodular change of rows, after which every column has at most one 1 in each
family. So a column is an edge between two parts, or between a part and the *ground*, which stands for no
row, and bases are spanning trees from the ground. With P_v the signed edges on the way from v to the
ground,

    e_v = P_v,    P_v = (the edge from v to the next vertex w) - P_w,

and a column between v and w is P_v + P_w: entries are -1, 0 and 1, and the basis is unimodular [theory, 12].
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations

import numpy as np
import scipy
from scipy.sparse import coo_array, csc_array, csr_array, vstack

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.components import Patterns, canonical, components, patterns
from holdfast.lattice.kernel import integer_kernel, solve_in_order
from holdfast.lattice.nested import Nested
from holdfast.lattice.product import AxisMargins

PAIRS = 50_000_000
"""Pairs of rows that share columns, which are compared."""
MOST_STEPS = 100_000_000
"""Edges on the ways of all columns together."""


class DeepError(ValueError):
    """The ways through a forest are too long to be listed."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Columns that are a basis, and every column as a whole combination of them: rows by columns."""

    columns: IntArray
    combination: csr_array


def two_families(columns: csr_array) -> IntArray:
    """Return the side of each row, 0 or 1, such that none cross within one side; -1 where there is none.

    Rows with a path of crossings of odd length back to themselves have no side, nor have rows with other
    entries than 1.
    """
    by_column = canonical(columns)
    count = columns.shape[0]
    length = np.diff(by_column.indptr)
    if int((length.astype(np.int64) ** 2).sum()) > PAIRS:
        return np.full(count, -1, dtype=np.int64)
    common = coo_array(by_column @ by_column.T)
    size = np.bincount(by_column.indices, minlength=count)
    smaller = np.minimum(size[common.row], size[common.col])
    crossing = (common.data != 0) & (common.data < smaller) & (common.row != common.col)
    one, other = common.row[crossing], common.col[crossing]
    graph = _graph(np.ones(one.size), one, other + count, 2 * count)
    _, label = scipy.sparse.csgraph.connected_components(graph, directed=False)
    plain = np.ones(count, dtype=np.bool_)
    plain[by_column.indices[by_column.data != 1]] = False
    side = np.where(label[:count] < label[count:], 0, 1)
    return np.where(plain & (label[:count] != label[count:]), side, -1)


def _graph(lengths: IntArray | FloatArray, one: IntArray, other: IntArray, size: int) -> csr_array:
    """Return edges between some of so many places; older SciPy looks at graphs with short indices alone."""
    ends = one.astype(np.int32), other.astype(np.int32)
    return csr_array((lengths, ends), shape=(size, size))


def forest(columns: csr_array, weight: FloatArray, sides: IntArray) -> Basis:
    """Return a basis of largest weight of distinct columns, whose independent rows have these sides.

    Of equal columns the first is taken.
    """
    rows, count = columns.shape
    one, other = (_ends(columns, np.flatnonzero(sides == side)) for side in (0, 1))
    # ranks in place of weights: different, so that every machine finds the same forest
    rank = np.empty(count, dtype=np.float64)
    rank[np.argsort(-weight, kind="stable")] = np.arange(1, count + 1)
    edges = np.flatnonzero(one != other)  # a column without rows is no edge
    graph = _graph(rank[edges], one[edges], other[edges], rows + 1)
    tree = scipy.sparse.csgraph.minimum_spanning_tree(graph).tocoo()
    at = np.argsort(rank)[tree.data.astype(np.int64) - 1]
    reached, before = scipy.sparse.csgraph.breadth_first_order(tree.tocsr(), 0, directed=False)
    column = np.full(rows + 1, -1, dtype=np.int64)
    below = np.where(before[tree.row] == tree.col, tree.row, tree.col)
    column[below] = at
    ways = _ways(reached.astype(np.int64), before.astype(np.int64), one[edges], other[edges])
    ends = csr_array(
        (
            np.ones(2 * edges.size, dtype=np.int64),
            (np.tile(edges, 2), np.concatenate([one[edges], other[edges]])),
        ),
        shape=(count, rows + 1),
    )
    combination = csr_array(csr_array(ends @ ways).T)
    combination.eliminate_zeros()
    return Basis(column[1:], combination)


def _ends(columns: csr_array, rows: IntArray) -> IntArray:
    """Return the part of each column in a family, by its row counted from 1; 0 is the ground."""
    family = csc_array(columns[rows])
    length = np.diff(family.indptr)
    if length.max(initial=0) > 1:
        owner = Nested.of(family).owner
    else:
        owner = np.full(length.size, -1, dtype=np.int64)
        owner[length == 1] = family.indices
    return np.where(owner < 0, 0, np.append(rows, -1)[owner] + 1).astype(np.int64)


def _ways(reached: IntArray, before: IntArray, one: IntArray, other: IntArray) -> csr_array:
    """Return P, one row a vertex and one column the edge above a vertex other than the ground."""
    vertices = before.size
    depth = np.zeros(vertices, dtype=np.int64)
    layer, layers = reached[:1], [reached[:1]]
    position = np.empty(vertices, dtype=np.int64)
    position[reached] = np.arange(reached.size)
    above = position[before[reached[1:]]]  # ascending: vertices are reached layer by layer
    begin, end = 0, 1
    while end < reached.size:
        stop = 1 + int(np.searchsorted(above, end))
        layer = reached[end:stop]
        depth[layer] = len(layers)
        layers.append(layer)
        begin, end = end, stop
    if int(depth[one].sum() + depth[other].sum()) > MOST_STEPS:
        raise DeepError("the cells hang together along ways that are too long to be closed one by one")
    found = [csr_array((1, vertices - 1), dtype=np.int64)]
    begin = 0
    for layer in layers[1:]:
        own = csr_array(
            (np.ones(layer.size, dtype=np.int64), (np.arange(layer.size), layer - 1)),
            shape=(layer.size, vertices - 1),
        )
        found.append(csr_array(own - found[-1][position[before[layer]] - begin]))
        begin += found[-2].shape[0]
    stacked = csr_array(vstack(found, format="csr"))
    return csr_array(stacked[position])


MOST_WORK = 2e9
"""Numbers that an elimination may change: some seconds."""
MOST_CELLS = 60
"""Cells of a system whose rows are made primitive, where the rows as they are have no such pivots."""
MOST_AXES = 16
"""Axes whose sets are all looked at."""

Face = frozenset[int]


@dataclass(frozen=True, eq=False)
class Anchors:
    """A split of the cells: z_anchors = -closing z_free.

    Attributes:
        cells: the anchors, ascending.
        free: the other cells, ascending.
        closing: N, one row an anchor and one column a free cell.

    """

    cells: IntArray
    free: IntArray
    closing: csr_array

    @cached_property
    def mirrored(self) -> int:
        """The least c_j over the free cells j: the sum of |n| over rows of N whose only entry is n, at j."""
        alone = self.closing[np.flatnonzero(np.diff(self.closing.indptr) == 1)]
        held = np.bincount(alone.indices, np.abs(alone.data), self.free.size)
        return int(held.min()) if held.size else 0


class NoAnchorsError(ValueError):
    """No anchors were found; says why."""


def anchors(
    matrix: csr_array,
    weight: FloatArray,
    margins: AxisMargins | None = None,
    seen: Patterns | None = None,
) -> Anchors:
    """Return anchors for a full-rank matrix, cells of large weight where there is a choice.

    ``seen`` are its patterns, if they are known. Of equal cells the first is taken. Raises NoAnchorsError
    where none close the system in whole numbers, or none are found in time.
    """
    seen = patterns(matrix) if seen is None else seen
    order = np.argsort(-weight, kind="stable")
    leader = np.empty(seen.count, dtype=np.int64)
    leader[seen.of_cell[order[::-1]]] = order[::-1]  # the first of each pattern stays
    sides = two_families(seen.columns)
    if (sides < 0).any() and margins is not None and len(margins.shape) <= MOST_AXES:
        return _corner_points(margins, weight)
    try:
        basis = _basis(seen.columns, weight[leader], sides)
    except DeepError as error:
        raise NoAnchorsError(str(error)) from error
    order = np.argsort(leader[basis.columns])
    cells = leader[basis.columns][order]
    free = np.setdiff1d(np.arange(matrix.shape[1]), cells, assume_unique=True)
    combination = csc_array(csr_array(basis.combination)[order])
    return Anchors(cells, free, csr_array(combination[:, seen.of_cell[free]]))


def _basis(columns: csr_array, weight: FloatArray, sides: IntArray) -> Basis:
    """Return a basis of distinct columns: a forest where the rows have sides, else by elimination."""
    if not (sides < 0).any():
        return forest(columns, weight, sides)
    parts: list[tuple[IntArray, Basis]] = []
    hard = np.zeros(columns.shape[0], dtype=np.bool_)
    touched = np.zeros(columns.shape[1], dtype=np.bool_)
    for part in components(columns):
        if (sides[part.rows] < 0).any():
            system = csr_array(columns[part.rows][:, part.cells]).toarray()
            parts.append((part.cells, _eliminated(system, weight[part.cells])))
            hard[part.rows], touched[part.cells] = True, True
    plain, rest = np.flatnonzero(~hard), np.flatnonzero(~touched)
    if rest.size:
        some = csr_array(columns[plain][:, rest])
        parts.append((rest, forest(some, weight[rest], sides[plain])))
    rows, cells, data, begin = [], [], [], 0
    for place, found in parts:
        entries = found.combination.tocoo()
        rows.append(entries.row + begin)
        cells.append(place[entries.col])
        data.append(entries.data)
        begin += found.columns.size
    joined = np.concatenate(data), (np.concatenate(rows), np.concatenate(cells))
    chosen = np.concatenate([place[found.columns] for place, found in parts])
    return Basis(chosen, csr_array(joined, shape=(begin, columns.shape[1])))


def _eliminated(system: IntArray, weight: FloatArray) -> Basis:
    """Return a basis by elimination, heavy columns first."""
    rows, cells = system.shape
    order = np.argsort(-weight, kind="stable")[None]
    if float(rows) * rows * cells > MOST_WORK:
        raise NoAnchorsError(f"{rows:,} invariants cross over {cells:,} cells in more ways than are solved")
    found = solve_in_order(system, order)
    if found is None and cells <= MOST_CELLS:
        found = solve_in_order(integer_kernel(integer_kernel(system)), order)
    if found is None:
        raise NoAnchorsError("no cells found close the invariants in whole numbers")
    combination = np.zeros((rows, cells), dtype=np.int64)
    combination[np.arange(rows), found.closing[0]] = 1
    combination[:, found.free[0]] = found.coefficients[0]
    return Basis(found.closing[0], csr_array(combination))


def _corner_points(margins: AxisMargins, weight: FloatArray) -> Anchors:
    """Return the corner points of whole margins, at the level of every axis that weighs most."""
    shape, axes = margins.shape, range(len(margins.shape))
    codes = np.unravel_index(np.arange(weight.size), shape)
    chosen = [int(np.bincount(codes[i], weight, shape[i]).argmax()) for i in axes]
    strides = np.array([int(np.prod(shape[i + 1 :])) for i in axes], dtype=np.int64)
    steps = [(codes[i] - chosen[i]) * strides[i] for i in axes]
    moved = np.zeros(weight.size, dtype=np.int64)
    for i in axes:
        moved |= np.asarray(codes[i] != chosen[i], dtype=np.int64) << i
    faces = {
        frozenset(some)
        for one in margins.sets
        for some in chain.from_iterable(combinations(sorted(one), size) for size in range(len(one) + 1))
    }
    is_face = np.zeros(1 << len(shape), dtype=np.bool_)
    is_face[[sum(1 << i for i in face) for face in faces]] = True
    anchor = is_face[moved]
    cells, free = np.flatnonzero(anchor), np.flatnonzero(~anchor)
    place = np.cumsum(anchor) - 1
    column = np.cumsum(~anchor) - 1
    rows, columns, data = [], [], []
    corner = int(np.array(chosen, dtype=np.int64) @ strides)
    for number in np.unique(moved[free]).tolist():
        support = frozenset(i for i in axes if number >> i & 1)
        held = np.flatnonzero(moved == number)
        for face, alpha in _alphas(faces, support).items():
            if alpha:
                at = corner + sum((steps[i][held] for i in face), np.zeros(held.size, dtype=np.int64))
                rows.append(place[at])
                columns.append(column[held])
                data.append(np.full(held.size, -alpha, dtype=np.int64))
    none = [np.zeros(0, dtype=np.int64)]
    entries = (
        np.concatenate([*none, *data]),
        (np.concatenate([*none, *rows]), np.concatenate([*none, *columns])),
    )
    return Anchors(cells, free, csr_array(entries, shape=(cells.size, free.size)))


def _alphas(faces: set[Face], support: Face) -> dict[Face, int]:
    """Return what one record at levels of the support moves the anchor of each face within it by."""
    found: dict[Face, int] = {}
    for face in sorted((face for face in faces if face <= support), key=len, reverse=True):
        found[face] = -1 - sum(alpha for other, alpha in found.items() if other > face)
    return found
