"""Anchors: cells that close a system A z = 0 in whole numbers, whatever the other cells hold.

Columns of A are a unimodular basis of its column lattice when they are independent and every column is
a whole combination of them. The cells B of such columns are *anchors*, the others, J, are *free*:

    A z = 0   exactly when   z_B = -N z_J,      N = A_B^-1 A_J, whole,

so {z : A z = 0} is Z^J, seen from the free cells [theory, 12]. Which bases are found, heaviest cells first:

* **a spanning forest** [holdfast, lattice/forest.py] where the rows are two families of nested totals: a
  basis of largest weight, by the greedy algorithm;
* **corner points** for whole margins that cross in other ways. Choose a level of every axis. Cells are
  anchors where the axes that are not at this level are within one margin. With F for such axes, a cell of
  the free ones moves the anchor that agrees with it on F and is at the chosen levels elsewhere by

      alpha_F = -1 - (sum of alpha_G over the G that hold F and more),

  so that each margin of its levels adds up to 0, from the largest down;
* **elimination** with pivots 1 and -1 for anything else that is small.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations

import numpy as np
from scipy.sparse import csc_array, csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.components import Patterns, components, patterns
from holdfast.lattice.forest import Basis, DeepError, forest, two_families
from holdfast.lattice.kernel import integer_kernel, solve_in_order
from holdfast.lattice.product import AxisMargins

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
