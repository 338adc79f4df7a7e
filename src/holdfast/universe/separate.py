"""The largest norms of S_a where the universe is a product.

Components of A share no row, so D_t is the product of their universes D_i. When A implies the total
number of records, it implies the number n_i in each component: the weights c with c A = 1 split by
component. So every u in S_a sums to zero within each, and it is any choice of u_i in S_{b_i} of D_i
with sum b_i <= a. Norms that add up over cells are then largest at

    max { sum f_i(b_i) : sum b_i <= a },   f_i(b) the largest norm over S_b of D_i,

a knapsack; the largest entry is max f_i(a). The knapsack is solved with upper bounds of f_i. Those that
its optimal choice rests on are improved, first by the bounds over all of the lattice, which components
with the same matrix share, then by the exact values; until an optimal choice has exact values only.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.rows import ones_combination
from holdfast.universe.tables import capacities
from holdfast.universe.universe import Universe

# Limits of patience, as in sensitivity.py: what exceeds them is left to programs over all cells.
KINDS = 64  # distinct matrices of components
CHANGES = 12  # a, for which each b <= a may be asked
WORK = 10_000  # patterns of the components solved exactly, in total

L1, SQUARE, ENTRY = range(3)
Norms = tuple[int, int, int]
PartChanges = list[tuple[int, int]]  # (part, changes)


@dataclass(frozen=True, eq=False)
class ProductPart:
    """Components with the same matrix and the same values.

    Attributes:
        universe: the universe of one of them.
        records: how many records it has.
        copies: how many there are.
        kind: parts of one kind have the same lattice up to the order of cells.

    """

    universe: Universe
    records: int
    copies: int
    kind: object


def separate(universe: Universe, adjacency: int) -> list[ProductPart] | None:
    """Return the components that can change, those with more room for it first.

    None when the number of records in each is not an invariant, or a is large.
    """
    if adjacency > CHANGES or len(universe.components) < 2 or universe.total is None:
        return None
    weights = ones_combination(universe.matrix) or {}
    room = np.minimum(capacities(universe), adjacency)
    found: dict[tuple[object, bytes], tuple[Universe, int, int]] = {}
    copies: Counter[tuple[object, bytes]] = Counter()
    for component in universe.components:
        if component.cells.size == component.rows.size:
            continue  # its rows are independent: one table
        terms = (weights.get(row, Fraction(0)) * int(universe.values[row]) for row in component.rows.tolist())
        records = int(sum(terms, Fraction(0)))
        if records == 0:
            continue
        matrix = csr_array(universe.matrix[component.rows][:, component.cells])
        values = universe.values[component.rows]
        key = (_content(matrix), values.tobytes())
        if key not in found:
            total = int(room[np.unique(universe.patterns.of_cell[component.cells])].sum())
            found[key] = (Universe(matrix, values, None), records, total)
        copies[key] += 1
    order = sorted(found, key=lambda key: -found[key][2])
    # permuting levels maps any component of full margins to any other
    alike = universe.cliques is not None
    return [ProductPart(*found[key][:2], copies[key], None if alike else key[0]) for key in order]


class Product:
    """Upper bounds of the norms of each part for each number of changes, improved on demand.

    Args:
        parts: the components.
        adjacency: a.
        bound: given upper bounds, returns better ones over S_b that hold for all tables of a part.
        exact: given upper bounds, returns the norms over S_b of a part and whether they are attained.

    """

    def __init__(
        self,
        parts: list[ProductPart],
        adjacency: int,
        bound: Callable[[Universe, int, Norms], Norms],
        exact: Callable[[Universe, int, Norms], tuple[Norms, bool]],
    ) -> None:
        self._parts, self._a = parts, adjacency
        self._bound, self._exact = bound, exact
        start = np.array([trivial(b) for b in range(adjacency + 1)], dtype=np.int64)
        self._lattice = {part.kind: start.copy() for part in parts}
        self._upper = np.tile(start, (len(parts), 1, 1))
        for bounds, part in zip(self._upper, parts, strict=True):
            bounds[part.records + 1 :] = 0  # no more than all records change
        self._missing = np.full((len(parts), adjacency + 1), 2)  # improvements left: bound, exact
        self._open: set[tuple[int, int]] = set()  # not attained after all
        self._work = 0

    def largest(self, norm: int) -> tuple[int, bool]:
        """Return the largest value of a norm and whether it is attained; an upper bound if not."""
        while True:
            value, choice = self._entry() if norm == ENTRY else self._knapsack(norm)
            rough = [(-self._missing[i, b], b, i) for i, b in choice if self._missing[i, b]]
            if not rough:
                return value, self._open.isdisjoint(choice)
            missing, b, index = min(rough)
            if missing == -2:
                self._confine(index, b)
            elif not self._settle(index, b):
                return value, False

    def _confine(self, first: int, b: int) -> None:
        """Bound all parts of a kind at b changes by what their lattice allows."""
        kind = self._parts[first].kind
        shared = self._lattice[kind]
        norms = self._bound(self._parts[first].universe, b, _norms(shared[b]))
        _lower(shared, b, norms)
        for index, part in enumerate(self._parts):
            if part.kind == kind:
                _lower(self._upper[index], b, norms)
                self._missing[index, b] = min(self._missing[index, b], 1)

    def _settle(self, index: int, b: int) -> bool:
        """Replace the bounds of a part at b changes by exact values, if the work allows it."""
        part = self._parts[index]
        size = part.universe.patterns.count
        if self._work and self._work + size > WORK:
            return False
        self._work += size
        norms, attained = self._exact(part.universe, b, _norms(self._upper[index, b]))
        _lower(self._upper[index], b, norms)
        self._missing[index, b] = 0
        if not attained:
            self._open.add((index, b))
        return True

    def _entry(self) -> tuple[int, PartChanges]:
        """Return the largest entry and a part that has it, best known and with few changes."""
        entries = self._upper[:, :, ENTRY]
        value = int(entries.max(initial=0))
        if value == 0:
            return 0, []
        ties = np.argwhere(entries == value).tolist()
        _, b, index = min((int(self._missing[i, b]), b, i) for i, b in ties)
        return value, [(index, b)]

    def _knapsack(self, norm: int) -> tuple[int, PartChanges]:
        """Return the largest sum with at most a changes and a choice of parts that has it.

        Among such choices, one that is best known and has few changes.
        """
        unit = 2 * self._a + 1  # more than can be missing
        # best[c]: the largest sum with at most c changes
        best: list[tuple[int, PartChanges]] = [(0, []) for _ in range(self._a + 1)]
        for index, values in self._items(unit * self._upper[:, :, norm] - self._missing):
            for c in range(self._a, 0, -1):
                for b in range(1, c + 1):
                    value = best[c - b][0] + values[b]
                    if value > best[c][0]:
                        best[c] = (value, [*best[c - b][1], (index, b)])
        value, choice = next(entry for entry in best if entry[0] == best[-1][0])
        return -(-value // unit), choice

    def _items(self, values: IntArray) -> Iterator[tuple[int, list[int]]]:
        """Yield parts and their values by changes, no more than a with the same values."""
        seen: Counter[bytes] = Counter()
        for index in np.flatnonzero((values > 0).any(axis=1)).tolist():
            profile = values[index].tobytes()
            number = min(self._parts[index].copies, self._a - seen[profile])
            seen[profile] += number
            for _ in range(number):
                yield index, values[index].tolist()


def _norms(bounds: IntArray) -> Norms:
    l1, square, entry = bounds.tolist()
    return l1, square, entry


def _lower(bounds: IntArray, b: int, norms: Norms) -> None:
    """Use better bounds at b changes; fewer do not reach further."""
    bounds[: b + 1] = np.minimum(bounds[: b + 1], norms)


def trivial(a: int) -> Norms:
    """Return the norms when a records of one cell go to another: no norms are larger."""
    return 2 * a, 2 * a * a, a


def _content(matrix: csr_array) -> tuple[object, ...]:
    """Return what makes a matrix equal to another."""
    matrix.sum_duplicates()
    arrays = (matrix.indptr, matrix.indices, matrix.data)
    return (matrix.shape, *(np.asarray(part, dtype=np.int64).tobytes() for part in arrays))
