"""The worst case where cells are in order: no more deaths than cases, no more cases than tests [theory, 2].

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

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.universe.bounds import Bound
from holdfast.universe.limits import Limits
from holdfast.universe.universe import Universe


def ordered_bound(universe: Universe, limits: Limits) -> Bound | None:
    """Return the bound where all bounds are such orders and the invariants fix the total of each level."""
    above = _next_above(limits)
    if above is None or universe.settled is None:
        return None
    heights = [int((universe.settled[[*group]] > 0).sum()) for group in _groups(universe, above)]
    filled = [height for height in heights if height]
    return Bound(max(2, max(filled) + (len(filled) > 1)), "theory, 2") if filled else None


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
