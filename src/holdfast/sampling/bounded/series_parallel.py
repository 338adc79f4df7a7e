"""Taking a system A z = 0 apart into sums of two numbers and ties between two numbers.

A *unit* is an integer that stands for some cells; at first every cell is one. Two rules merge units
without losing a solution, and so never enlarge a table of weights beyond one dimension:

* *sum*: units with the same column of A (or opposite ones) act on the system only through their sum;
* *tie*: units with p s_j = q s_i in every solution, p and q coprime, are s_i = p t and s_j = q t for
  one integer t, their new unit.

In the language of matroids these are the parallel and series reductions. They end with units that must be
zero, units that are free, and cores of units that neither rule takes apart; a core is enumerated as a
whole. Totals, partitions, hierarchies of totals, two crossing totals and 2 x c tables with both margins
have no core. Supports stay intervals: of a cell [low, infinity), of a sum the sum, of a tie the intersection.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import gcd, inf

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import components, patterns
from holdfast.lattice.kernel import integer_kernel, to_flint
from holdfast.system.errors import SamplingError

ValueRange = tuple[float, float]
"""The least and the greatest value: integers, or infinite."""
SWEEPS = 20


class NoVectorError(SamplingError):
    """The bounds leave no vector at all."""

    def __init__(self) -> None:
        super().__init__("no vector keeps the invariants within these bounds: widen the bounds.")


@dataclass(frozen=True)
class Cell:
    """One cell with its lower bound; None is no bound."""

    low: int | None


@dataclass(frozen=True)
class Sum:
    """s = left + right, two nodes by number."""

    left: int
    right: int


@dataclass(frozen=True)
class Tie:
    """Every child is its factor times t."""

    children: tuple[int, ...]
    factors: tuple[int, ...]


TreeNode = Cell | Sum | Tie


@dataclass(frozen=True)
class CircuitUnit:
    """An occurrence of a node: ``place`` is where its value stands in a draw."""

    node: int
    place: int


@dataclass(frozen=True, eq=False)
class Core:
    """Units whose values are t times the rows of ``basis``, t any integer vector.

    The basis is in echelon form: the first nonzero entry of each row is positive and stands right of the
    one before, so that t can be enumerated entry by entry. ``supports`` bound the units as the whole
    system does, which is often closer than their own supports.
    """

    units: tuple[CircuitUnit, ...]
    basis: IntArray
    supports: tuple[ValueRange, ...]


@dataclass(eq=False)
class Circuit:
    """How the cells of a system hang together.

    Attributes:
        nodes: every kind of node once, children before parents.
        occurrences: for each node that is not a cell the places of its value and of its children, one row
            an occurrence.
        places: how many places there are; the first ones are the cells.
        zero, free, cores: where the reductions ended.

    """

    nodes: list[TreeNode] = field(default_factory=list)
    occurrences: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)
    places: int = 0
    zero: list[CircuitUnit] = field(default_factory=list)
    free: list[CircuitUnit] = field(default_factory=list)
    cores: list[Core] = field(default_factory=list)
    supports: list[ValueRange] = field(default_factory=list)
    _number: dict[TreeNode, int] = field(default_factory=dict)

    def cell(self, low: int | None, place: int) -> CircuitUnit:
        """Return the unit of one cell."""
        return CircuitUnit(self._intern(Cell(low)), place)

    def sum(self, units: Sequence[CircuitUnit]) -> CircuitUnit:
        """Return the unit of a sum, by halves: alike units side by side share their tables."""
        if len(units) == 1:
            return units[0]
        half = len(units) // 2
        left, right = self.sum(units[:half]), self.sum(units[half:])
        return self._occur(Sum(left.node, right.node), left, right)

    def tie(self, units: tuple[CircuitUnit, ...], factors: tuple[int, ...]) -> CircuitUnit:
        """Return the unit t with every given unit its factor times t."""
        return self._occur(Tie(tuple(u.node for u in units), factors), *units)

    def _occur(self, node: TreeNode, *children: CircuitUnit) -> CircuitUnit:
        unit = CircuitUnit(self._intern(node), self.places)
        self.places += 1
        self.occurrences.setdefault(unit.node, []).append((unit.place, *(c.place for c in children)))
        return unit

    def _intern(self, node: TreeNode) -> int:
        if node not in self._number:
            self._number[node] = len(self.nodes)
            self.nodes.append(node)
            self.supports.append(self._support(node))
        return self._number[node]

    def _support(self, node: TreeNode) -> ValueRange:
        if isinstance(node, Cell):
            return -inf if node.low is None else node.low, inf
        if isinstance(node, Sum):
            left, right = self.supports[node.left], self.supports[node.right]
            return left[0] + right[0], left[1] + right[1]
        support: ValueRange = (-inf, inf)
        for child, factor in zip(node.children, node.factors, strict=True):
            support = _meet(support, self.supports[child], factor)
        return support


def take_apart(matrix: csr_array, low: Sequence[int | None]) -> Circuit:
    """Reduce the system A z = 0, low <= z."""
    circuit = Circuit(places=matrix.shape[1])
    groups = patterns(matrix)
    members: list[list[CircuitUnit]] = [[] for _ in range(groups.count)]
    # Equal bounds side by side, so that halves are alike.
    order = sorted(range(matrix.shape[1]), key=lambda i: (low[i] is not None, low[i] or 0))
    for i in order:
        members[groups.of_cell[i]].append(circuit.cell(low[i], i))
    for component in components(groups.columns):
        if not component.rows.size:
            circuit.free += [unit for k in component.cells for unit in members[k]]
            continue
        block = groups.columns[component.rows][:, component.cells].toarray().astype(np.int64)
        _reduce(circuit, block, [circuit.sum(members[k]) for k in component.cells])
    for unit in circuit.zero:
        _meet(circuit.supports[unit.node], (0, 0), 1)
    return circuit


def _reduce(circuit: Circuit, block: IntArray, units: list[CircuitUnit]) -> None:
    while units:
        block, units = _merge(circuit, block, units)
        block = block[block.any(axis=1)]
        if not units:
            return
        relation = _short_row(block)
        if relation is None:
            # Two entries of every solution are tied exactly when their columns of the kernel are parallel.
            relation = _parallel(integer_kernel(block))
            if relation is None:
                circuit.cores.append(_core(circuit, block, units))
                return
        pair, factors = relation
        rest = [k for k in range(len(units)) if k not in pair]
        tied = tuple(units[k] for k in pair)
        remaining = [units[k] for k in rest]
        if factors == (0,):
            circuit.zero += tied
            block, units = block[:, rest], remaining
            continue
        if int(np.abs(block).max()) * sum(map(abs, factors)) >= 2**63:
            raise SamplingError("the invariants combine with weights beyond 64 bits: use smaller weights.")
        column = block[:, pair] @ np.array(factors, dtype=np.int64)
        block = np.column_stack([block[:, rest], column])
        units = [*remaining, circuit.tie(tied, factors)]


def _merge(circuit: Circuit, block: IntArray, units: list[CircuitUnit]) -> tuple[IntArray, list[CircuitUnit]]:
    """Sum the units with equal or opposite columns; those without any entry are free."""
    alike: dict[bytes, list[CircuitUnit]] = {}
    columns: dict[bytes, IntArray] = {}
    for column, unit in zip(block.T, units, strict=True):
        if not column.any():
            circuit.free.append(unit)
            continue
        sign = 1 if (-column).tobytes() not in alike else -1
        key = (sign * column).tobytes()
        columns[key] = sign * column
        alike.setdefault(key, []).append(unit if sign == 1 else circuit.tie((unit,), (-1,)))
    merged = [circuit.sum(sorted(same, key=lambda u: (u.node, u.place))) for same in alike.values()]
    if not merged:
        return np.zeros((block.shape[0], 0), dtype=np.int64), []
    return np.column_stack(list(columns.values())), merged


UnitRelation = tuple[tuple[int, ...], tuple[int, ...]]
"""Positions of units and the factors that tie them; the factor 0 alone means that a unit is zero."""


def _short_row(block: IntArray) -> UnitRelation | None:
    """Return the relation of a row with one or two entries."""
    count = np.count_nonzero(block, axis=1)
    short = np.flatnonzero(count <= 2)
    if not short.size:
        return None
    row = short[np.argmin(count[short])]
    entries = np.flatnonzero(block[row]).tolist()
    if len(entries) == 1:
        return (entries[0],), (0,)
    return tuple(entries), _coprime(int(block[row, entries[1]]), -int(block[row, entries[0]]))


def _parallel(kernel: IntArray) -> UnitRelation | None:
    seen: dict[bytes, tuple[int, int]] = {}
    for k, column in enumerate(kernel.T):
        if not column.any():
            return (k,), (0,)
        divisor = int(np.gcd.reduce(column)) * (1 if column[np.flatnonzero(column)[0]] > 0 else -1)
        key = (column // divisor).tobytes()
        if key in seen:
            other, multiple = seen[key]
            return (other, k), _coprime(multiple, divisor)
        seen[key] = k, divisor
    return None


def _core(circuit: Circuit, block: IntArray, units: list[CircuitUnit]) -> Core:
    """Return what is left, the units with the shortest supports first."""
    supports = _propagate(block, [circuit.supports[u.node] for u in units])
    order = sorted(range(len(units)), key=lambda k: supports[k][1] - supports[k][0])
    echelon = to_flint(integer_kernel(block[:, order])).hnf()
    basis = np.array([[int(entry) for entry in row] for row in echelon.tolist()], dtype=np.int64)
    return Core(tuple(units[k] for k in order), basis, tuple(supports[k] for k in order))


def _propagate(block: IntArray, supports: list[ValueRange]) -> list[ValueRange]:
    """Narrow supports by what each equation leaves to one unit when the others are at their ends."""
    supports = list(supports)
    for _ in range(SWEEPS):
        before = list(supports)
        for row in block:
            entries = [(k, int(row[k])) for k in np.flatnonzero(row)]
            ends = {k: sorted(c * end for end in supports[k]) for k, c in entries}
            for k, c in entries:
                low = -sum(ends[j][1] for j, _ in entries if j != k)
                high = -sum(ends[j][0] for j, _ in entries if j != k)
                supports[k] = _meet(supports[k], (low, high), c)
        if supports == before:
            break
    return supports


def _meet(support: ValueRange, product: ValueRange, factor: int) -> ValueRange:
    """Return the values t of a support with factor t inside another."""
    low, high = product if factor > 0 else (-product[1], -product[0])
    low = max(support[0], -_floor_divide(-low, abs(factor)))
    high = min(support[1], _floor_divide(high, abs(factor)))
    if low > high:
        raise NoVectorError
    return low, high


def _coprime(p: int, q: int) -> tuple[int, int]:
    divisor = gcd(p, q) * (1 if p > 0 else -1)
    return p // divisor, q // divisor


def _floor_divide(value: float, factor: int) -> float:
    return value if value in (inf, -inf) else value // factor
