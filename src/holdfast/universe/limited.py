"""Semi-adjacency and vacuity where public bounds narrow the universe [theory, 2].

With bounds fewer tables conform, so one person's change can take *more* records than under the invariants
alone: [semi-dp, Theorem 16] does not hold any more. Tables that can be listed are compared one by one.
Beyond, these upper bounds of the worst case are known:

* The number of records, where it is fixed: no two datasets are farther apart.
* Single cells with a least count only, x >= f. The tables are f and those with the invariants t - A f, so X
  holds a part f that stays. Where f_y >= 1, or X_y >= 1, an exchange of two makes anybody y. Else y is
  possible in the rest, c changes there make a record y, and person i takes it while its maker takes x: c +
  1, with c as in `bounds.py`.
* Bounds of single cells, A totally unimodular. Let Y conform, Y_y >= 1, of the same size, X_y = 0. Y - X is
  a sum of circuits of A and the number of records that agree with it in sign. For one of them, g, g_y = 1,
  and X + g lies between X and Y in every cell, so it keeps the bounds of cells, too. Entries of g are -1, 0
  or 1, and its support is at most one more than the rank of its component [schrijver1986]. Other bounds are
  rows of the same system with a slack each; where that is totally unimodular, the same holds with its rank.
* Cells in order, such as cases and deaths: see `ordered_bound`.

A search for the costliest table, in `limited_witness.py`, finds whether less is enough.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.sparse import block_array, csr_array, eye_array, vstack

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import components
from holdfast.lattice.nested import is_totally_unimodular
from holdfast.programs.solver import UNBOUNDED, Program, Status
from holdfast.system.errors import GuaranteeError
from holdfast.system.ways import setting
from holdfast.universe.bounds import (
    AdjacencyBound,
    decomposable_bound,
    product_bound,
    total_bound,
    unimodular_bound,
)
from holdfast.universe.limits import Limits
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe


def ordered_bound(universe: Universe, limits: Limits) -> AdjacencyBound | None:
    """Return a bound where cells are in order, as no more deaths than cases and cases than tests [theory, 2].

    Let places have counts of h levels, x_1 >= x_2 >= ... >= x_h >= 0, and let the totals of all levels over
    the places be fixed. A place is then made of *stacks*: one of height k holds one record in each of the
    levels 1 to k, and the place has x_k - x_(k+1) of them. The totals fix how many stacks of each height
    there are, and they may be put at any place: the tables are all ways to place the stacks.

    Let somebody in level l of place i ask for level r of place j, X_y = 0. Let m be the height of the highest
    stack at j, 0 where there is none, so m < r; let k >= r be that of one elsewhere, at i'; it exists, as y
    is possible.

    * l <= m: the stacks k and m change places: k - m records, and one more for person i, at most h in all.
    * l > m, so i is not j; person i is in a stack a >= l. If a >= r, it changes places with m: a - m records,
      person i among them. Else k goes to j, a to i', and m to i: in each of the levels m + 1 to k one record
      moves, in level l one that leaves i: k - m records, person i among them.

    Where X_y >= 1, two exchange. So the worst case is at most max(2, h). With several such groups of places,
    each with its own totals, a record y of another group is made by k - m <= h changes, and person i takes it
    while its maker takes x: at most h + 1.
    """
    above = _next_above(limits)
    if above is None or universe.settled is None:
        return None
    heights = [int((universe.settled[[*group]] > 0).sum()) for group in _groups(universe, above)]
    filled = [height for height in heights if height]
    return AdjacencyBound(max(2, max(filled) + (len(filled) > 1)), "theory, 2") if filled else None


def _next_above(limits: Limits) -> IntArray | None:
    """Return for each cell the one that holds at least as much, -1 for none; None for other bounds."""
    rows = limits.rows
    if (np.diff(rows.indptr) != 2).any() or limits.least.any():
        return None
    cell, sign = rows.indices.reshape(-1, 2), rows.data.reshape(-1, 2)
    if (np.sort(sign, axis=1) != [-1, 1]).any():
        return None
    lower, upper = cell[sign < 0], cell[sign > 0]
    if np.unique(lower).size < lower.size or np.unique(upper).size < upper.size:
        return None
    above = np.full(rows.shape[1], -1)
    above[lower] = upper
    return above


def _groups(universe: Universe, above: IntArray) -> list[tuple[int, ...]]:
    """Return the patterns by level of each group of places; none where places of one group differ."""
    of_cell = universe.patterns.of_cell
    below = np.full(above.size, -1)
    below[above[above >= 0]] = np.flatnonzero(above >= 0)
    found: set[tuple[int, ...]] = set()
    seen = 0
    for top in np.flatnonzero(above < 0).tolist():
        place = [top]
        while (low := int(below[place[-1]])) >= 0:
            place.append(low)
        seen += len(place)
        found.add(tuple(of_cell[place].tolist()))
    levels = [pattern for group in found for pattern in group]
    once = len(set(levels)) == len(levels)  # else a total is over cells of several levels or groups
    return sorted(found) if once and seen == above.size else []


TABLES = 500  # tables that are compared one by one
CELLS = 24  # cells up to which they are looked for
BEGINNINGS = 50_000  # beginnings of tables that are looked at for them
PATTERNS = 1_000  # kinds of cells up to which each is asked whether its count can differ
RECORDS = 16  # records up to which their number is a bound of any use
FAR = 1 << 30


@lru_cache(maxsize=8)
def listed(universe: Universe) -> IntArray | None:
    """Return all tables of a small universe, None where they are too many."""
    if universe.cells > CELLS:
        return None
    try:
        return conforming_tables(universe, TABLES, BEGINNINGS)
    except GuaranteeError:
        return None


def readings(tables: IntArray) -> tuple[int, int]:
    """Return the worst case and the literal reading over all tables, from the definition.

    With u = Y - X, x of X is y in Y at the distance ||u||_1 / 2 + [u_x >= 0] + [u_y <= 0] if Y_y >= 1:
    where u takes a record from x it is that one, and where u gives one to y it is that one.
    """
    sizes, cells = tables.sum(axis=1), tables.shape[1]
    largest = np.zeros((cells, cells), dtype=np.int64)
    least = np.full((cells, cells), FAR)
    for table, size in zip(tables, sizes.tolist(), strict=True):
        others = tables[sizes == size]
        u = others - table
        to = np.abs(u).sum(axis=1)[:, None] // 2 + np.where(others > 0, u <= 0, FAR)
        for x in np.flatnonzero(table):
            cost = (to + (u[:, x] >= 0)[:, None]).min(axis=0)
            cost[x] = FAR
            known = cost < FAR
            largest[x, known] = np.maximum(largest[x, known], cost[known])
            least[x] = np.minimum(least[x], cost)
    return int(largest.max(initial=0)), int(least[least < FAR].max(initial=0))


def limited_bound(universe: Universe, limits: Limits) -> AdjacencyBound | None:
    """Return the smallest of the known upper bounds of the worst case, or None when there is none."""
    known = [_circuits(universe, limits), ordered_bound(universe, limits)]
    if limits.of_cells and (limits.rows.data > 0).all():
        rest = replace(universe.unlimited, values=universe.values - universe.matrix @ limits.ranges[0])
        found = decomposable_bound(rest.cliques) or product_bound(rest)
        known.append(None if found is None else replace(found, value=max(found.value, 2)))
    total = total_bound(universe)
    known.append(total if total is not None and total.value <= RECORDS else None)
    return min((one for one in known if one is not None), key=lambda bound: bound.value, default=None)


def _circuits(universe: Universe, limits: Limits) -> AdjacencyBound | None:
    """Return the bound by totally unimodular rows."""
    if limits.of_cells:
        return unimodular_bound(universe.unlimited)
    ones = csr_array(np.ones((1, universe.cells), dtype=np.int64))
    several = csr_array(limits.rows[np.diff(limits.rows.indptr) > 1])
    first = np.sign(several.data[several.indptr[:-1]])
    several.data *= np.repeat(first, np.diff(several.indptr))  # a row and its negative have the same minors
    rows = csr_array(vstack([universe.matrix, *(() if universe.total is not None else (ones,)), several]))
    if not is_totally_unimodular(rows):
        return None
    rank = max((block.rows.size for block in components(rows)), default=0)
    return AdjacencyBound((rank + 1) // 2 + 1, "theory, 2")


@lru_cache(maxsize=8)
def one_limited_table(universe: Universe, *, alike: bool = True) -> bool:
    """Whether no two different tables have equally many records, or, unless ``alike``, however many.

    Raises GuaranteeError where it cannot be decided, as a single table would be published as it is.
    """
    if (tables := listed(universe)) is not None:
        sizes = np.unique(tables.sum(axis=1)).size if alike else 1
        return bool(sizes == tables.shape[0])
    kinds = universe.kinds
    if _always_in_several(universe):
        return False
    if universe.total is not None:
        return _one_around(universe)
    if kinds.count <= PATTERNS:
        return _none_differs(universe, alike=alike)
    raise _undecided()


def _always_in_several(universe: Universe) -> bool:
    """Whether every table has a record in a cell that shares its kind, which can move to the other one."""
    kinds, (low, _) = universe.kinds, universe.sides
    alone = (kinds.size == 1)[kinds.columns.indices] | (kinds.columns.data < 0)
    row = np.repeat(np.arange(low.size), np.diff(kinds.columns.indptr))
    other = np.zeros(low.size, dtype=bool)
    other[row[alone]] = True
    return bool((~other & (low > 0)).any())


def _one_around(universe: Universe) -> bool:
    """Whether a table that a program finds is the only one: no cell can hold more than there."""
    kinds = universe.kinds
    program = Program(kinds.columns, *universe.sides, most=np.full(kinds.count, UNBOUNDED))
    weights = np.random.default_rng(0).integers(1, 1_000, size=kinds.count)
    ends = [program.solve(maximise=sign * weights) for sign in (1, -1)]
    points = [end.point for end in ends if end.point is not None]
    if not points:
        raise _undecided()
    if (points[0] != points[-1]).any() or (points[0][kinds.size > 1] > 0).any():
        return False
    if kinds.count > PATTERNS:
        raise _undecided()
    for z in range(kinds.count):
        more = program.solve(least={z: int(points[0][z]) + 1})
        if more.point is not None:
            return False
        if more.status is not Status.INFEASIBLE:
            raise _undecided()
    return True


def _none_differs(universe: Universe, *, alike: bool) -> bool:
    """Whether no pair (X, Y) of tables differs, of one size if ``alike``, nor has a record that can move.

    The programs are over (X, Y, Y - X): some count grows where tables differ. Nothing is maximised, as
    counts may have no end.
    """
    kinds, (low, high) = universe.kinds, universe.sides
    count, rows = kinds.count, kinds.columns
    ones = csr_array(np.full((1, count), int(alike), dtype=np.int64))
    each = csr_array(eye_array(count, dtype=np.int64))
    blocks: list[list[csr_array | None]] = [
        [rows, None, None],
        [None, rows, None],
        [ones, -ones, None],
        [each, -each, each],
    ]
    nothing = np.zeros(1 + count, dtype=np.int64)
    both = Program(
        csr_array(block_array(blocks)),
        np.concatenate([low, low, nothing]),
        np.concatenate([high, high, nothing]),
        least=np.repeat([0, 0, -UNBOUNDED], count),
        most=np.full(3 * count, UNBOUNDED),
    )
    for z in range(count):
        asked = [2 * count + z, *([z] if kinds.size[z] > 1 else [])]
        for found in (both.solve(least={place: 1}) for place in asked):
            if found.point is not None:
                return False
            if found.status is not Status.INFEASIBLE:
                raise _undecided()
    return True


def _undecided() -> GuaranteeError:
    return GuaranteeError(
        "it could not be decided whether the inequalities leave more than one table, and a single one would"
        f" be published as it is: give fewer or wider inequalities in {setting('constraints')}."
    )
