"""Public bounds B x >= b on the tables of a universe, and which of them narrow it [theory, 1].

Bounds are public knowledge as equations are: they belong to what is compared. Most change nothing, and that
is found first, so that a universe that they do not narrow is treated as one without them:

* a bound that no table of counts with the invariants can break is left out;
* bounds that leave one value of a sum are an equation, and join the invariants.

Both are shown by duality. If rational weights m on the rows of A, and l >= 0 on those of B, have
m A + l B <= c in every cell, then c x >= m t + l b for every table, as x >= 0; a whole number c x above v - 1
is at least v. Such weights are seen at once where one invariant counts all that a bound does, or where the
invariants bound each cell; a linear program suggests others, and they are checked in whole numbers. What is
not shown stays a bound, which is always right.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np
from scipy.sparse import block_array, csr_array, eye_array, vstack

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.lattice.components import patterns
from holdfast.programs.solver import UNBOUNDED, Sides, suggest

PROGRAMS = 200  # bounds that are asked about one by one
WORK = 400_000  # bounds times kinds of cells up to which linear programs are asked
DENOMINATOR = 1_000
NEARLY = 1e-6


@dataclass(frozen=True, eq=False)
class Limits:
    """B x >= b: integer rows over the cells and their least values; `Limits.of` divides them."""

    rows: csr_array
    least: IntArray

    @classmethod
    def of(cls, rows: csr_array, least: IntArray) -> "Limits":
        """Return the bounds, each divided by what its weights have in common: counts are whole."""
        clean = csr_array(rows.astype(np.int64))
        clean.sum_duplicates()
        clean.eliminate_zeros()
        common = np.ones(clean.shape[0], dtype=np.int64)
        filled = np.flatnonzero(np.diff(clean.indptr))
        if filled.size:
            common[filled] = np.gcd.reduceat(np.abs(clean.data), clean.indptr[filled])
        clean.data //= np.repeat(common, np.diff(clean.indptr))
        return cls(clean, -(-np.asarray(least, dtype=np.int64) // common))

    @property
    def count(self) -> int:
        """The number of bounds."""
        return int(self.least.size)

    def hold(self, points: IntArray) -> BoolArray:
        """Tell which rows of counts keep them."""
        return np.asarray(((points @ self.rows.T) >= self.least).all(axis=1))

    def take(self, which: IntArray | BoolArray) -> "Limits":
        """Return some of them."""
        return Limits(csr_array(self.rows[which]), self.least[which])

    @property
    def of_cells(self) -> bool:
        """Whether each bounds a single cell."""
        return bool((np.diff(self.rows.indptr) <= 1).all())

    @cached_property
    def ranges(self) -> tuple[IntArray, IntArray]:
        """What each cell holds at least and at most by one bound, 0 and UNBOUNDED where none says.

        A bound of a single cell says the least, one that only takes away the most of each of its cells.
        """
        rows, row = self.rows, _row_of(self.rows)
        low, high = np.zeros(rows.shape[1], dtype=np.int64), np.full(rows.shape[1], UNBOUNDED)
        single = (np.diff(rows.indptr) == 1)[row] & (rows.data > 0)  # the weight is 1
        np.maximum.at(low, rows.indices[single], self.least[row[single]])
        gives = np.zeros(rows.shape[0], dtype=bool)
        gives[row[rows.data > 0]] = True
        takes = ~gives[row]
        np.minimum.at(high, rows.indices[takes], self.least[row[takes]] // rows.data[takes])
        return low, high


def together(limits: Iterable[Limits | None]) -> Limits | None:
    """Return the bounds of all, which are over the same cells."""
    some = [one for one in limits if one is not None]
    if not some:
        return None
    rows = csr_array(vstack([one.rows for one in some], format="csr"))
    return Limits(rows, np.concatenate([one.least for one in some]))


def narrowed(matrix: csr_array, values: IntArray, limits: Limits) -> tuple[Limits | None, Limits | None]:
    """Return the bounds that tables with A x = t may break, and those that are equations, each or None."""
    left = _breakable(matrix, values, Limits.of(limits.rows, limits.least))
    equal = _equations(matrix, values, left)
    if not equal.any():
        return (left if left.count else None), None
    rows = csr_array(vstack([matrix, left.rows[equal]]))
    others = _breakable(rows, np.concatenate([values, left.least[equal]]), left.take(~equal))
    return (others if others.count else None), left.take(equal)


def follows(matrix: csr_array, values: IntArray, known: Limits | None, limits: Limits) -> bool:
    """Whether it is shown that tables with A x = t that keep the known bounds keep others, too."""
    said = set() if known is None else {_content(known, place) for place in range(known.count)}
    new = np.array([_content(limits, place) not in said for place in range(limits.count)], dtype=bool)
    return not _breakable(matrix, values, limits.take(new)).count


def _breakable(matrix: csr_array, values: IntArray, limits: Limits) -> Limits:
    """Leave out what the invariants imply."""
    left = limits.take(_least_seen(matrix, values, limits.rows) < limits.least)
    if not 0 < left.count <= PROGRAMS or (system := _LimitedSystem.of(matrix, values, left)) is None:
        return left
    rows = system.limits.rows.toarray()
    implied = [system.shows(rows[k], int(left.least[k]), by_limits=False) for k in range(left.count)]
    return left.take(~np.array(implied, dtype=bool))


def _least_seen(matrix: csr_array, values: IntArray, rows: csr_array) -> FloatArray:
    """Return what sums of cells are at least, by invariants that count records: A_j x = t_j, A_j of 0, 1.

    A cell of A_j holds at most t_j, and so do cells that are all in A_j together. A sum of positive weights
    over all cells of A_j, and others, is at least t_j. Counts up to 2^53 are exact as floats.
    """
    other = np.zeros(matrix.shape[0], dtype=bool)
    other[_row_of(matrix)[matrix.data != 1]] = True
    sums, known = csr_array(matrix[~other]), values[~other].astype(np.float64)
    most = np.full(matrix.shape[1], np.inf)
    np.minimum.at(most, sums.indices, known[_row_of(sums)])

    row, takes = _row_of(rows), rows.data < 0
    low, weight = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    np.subtract.at(low, row[takes], -rows.data[takes] * most[rows.indices[takes]])
    np.maximum.at(weight, row[takes], -rows.data[takes])
    bound, whole = _contained(_entries(rows, takes), sums)
    np.maximum.at(low, bound, -weight[bound] * known[whole])
    whole, bound = _contained(sums, _entries(rows, ~takes))
    only = weight[bound] == 0
    np.maximum.at(low, bound[only], known[whole[only]])
    return low


def _row_of(matrix: csr_array) -> IntArray:
    """Return the row of each entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _entries(rows: csr_array, which: BoolArray) -> csr_array:
    """Return some entries of rows, as ones."""
    ones = np.ones(int(which.sum()), dtype=np.int64)
    return csr_array((ones, (_row_of(rows)[which], rows.indices[which])), shape=rows.shape)


def _contained(inner: csr_array, outer: csr_array) -> tuple[IntArray, IntArray]:
    """Return the pairs of rows of ones such that the first, not empty, is within the second."""
    common = (inner @ csr_array(outer.T)).tocoo()
    full = common.data == np.diff(inner.indptr)[common.row]
    return common.row[full].astype(np.int64), common.col[full].astype(np.int64)


@dataclass(frozen=True, eq=False)
class _LimitedSystem:
    """A x = t and B x >= b over the kinds of cells, those with equal columns of both."""

    matrix: csr_array
    values: IntArray
    limits: Limits

    @classmethod
    def of(cls, matrix: csr_array, values: IntArray, limits: Limits) -> "_LimitedSystem | None":
        """Return the system; None where it is too large for programs."""
        kinds = patterns(csr_array(vstack([matrix, limits.rows])))
        if kinds.count * limits.count > WORK:
            return None
        columns = kinds.columns
        split = Limits(csr_array(columns[matrix.shape[0] :]), limits.least)
        return cls(csr_array(columns[: matrix.shape[0]]), values, split)

    def shows(self, row: IntArray, least: int, *, by_limits: bool) -> bool:
        """Whether weights are found that show row x >= least; by the invariants alone, or with the bounds."""
        limits = self.limits if by_limits else self.limits.take(np.zeros(0, dtype=np.int64))
        system = csr_array(vstack([self.matrix, limits.rows])).T.tocsr()
        known = np.concatenate([self.values, limits.least])
        free = np.concatenate([np.full(self.values.size, -np.inf), np.zeros(limits.count)])
        upper = Sides(np.full(row.size, -np.inf), row.astype(np.float64))
        found = suggest(
            -known.astype(np.float64), csr_array(system), upper, Sides(free, np.full(known.size, np.inf))
        )
        if found is None or known @ found < least - 1 + NEARLY:
            return False
        return _proves(system, known, found, row, least, free=self.values.size)

    @property
    def always_tight(self) -> IntArray:
        """The bounds that no real table keeps with room to spare, as far as floats tell.

        Tables are scaled up freely, A x = t s, B x - e >= b s, s >= 1, so the largest sum of e <= 1 has e = 1
        for every bound with room.
        """
        count, cells = self.limits.count, self.matrix.shape[1]
        t, b = csr_array(self.values[:, None]), csr_array(self.limits.least[:, None])
        none, room = (
            csr_array((t.shape[0], count), dtype=np.int64),
            csr_array(eye_array(count, dtype=np.int64)),
        )
        rows = block_array([[self.matrix, none, -t], [self.limits.rows, -room, -b]], format="csr")
        zero = np.zeros(t.shape[0])
        low = np.concatenate([zero, np.zeros(count)])
        high = np.concatenate([zero, np.full(count, np.inf)])
        least = np.concatenate([np.zeros(cells + count), [1.0]])
        most = np.concatenate([np.full(cells, np.inf), np.ones(count), [np.inf]])
        cost = np.concatenate([np.zeros(cells), -np.ones(count), [0.0]])
        found = suggest(cost, csr_array(rows), Sides(low, high), Sides(least, most))
        return np.flatnonzero(found[cells : cells + count] < 0.5) if found is not None else np.arange(count)


def _proves(
    system: csr_array, known: IntArray, weights: FloatArray, row: IntArray, least: int, *, free: int
) -> bool:
    """Whether weights, rounded, show row x >= least; the first ``free`` of them may be negative."""
    exact = [Fraction(float(weight)).limit_denominator(DENOMINATOR) for weight in weights]
    common = lcm(*(weight.denominator for weight in exact))
    whole = np.array([int(weight * common) for weight in exact], dtype=object)
    if (whole[free:] < 0).any():
        return False
    below = all(
        sum(int(entry) * whole[k] for k, entry in zip(keys, entries, strict=True)) <= common * int(most)
        for keys, entries, most in _columns(system, row)
    )
    return below and bool(sum(whole * known.astype(object)) > common * (least - 1))


def _columns(system: csr_array, row: IntArray) -> Iterator[tuple[list[int], list[int], int]]:
    """Yield, for each kind of cells, the weights' places, their entries, and what they may add up to."""
    for cell, most in enumerate(row.tolist()):
        part = slice(system.indptr[cell], system.indptr[cell + 1])
        yield system.indices[part].tolist(), system.data[part].tolist(), most


def _equations(matrix: csr_array, values: IntArray, limits: Limits) -> BoolArray:
    """Tell which bounds hold with equality in every table."""
    tight = _opposite(limits)
    if 0 < limits.count <= PROGRAMS and (system := _LimitedSystem.of(matrix, values, limits)) is not None:
        rows = system.limits.rows.toarray()
        for one in system.always_tight.tolist():
            tight[one] |= system.shows(-rows[one], -int(limits.least[one]), by_limits=True)
    return tight


def _opposite(limits: Limits) -> BoolArray:
    """Tell which bounds another one turns into an equation: B x >= b and -B x >= -b."""
    said = {_content(limits, place) for place in range(limits.count)}
    turned = Limits(-limits.rows, -limits.least)
    return np.array([_content(turned, place) in said for place in range(limits.count)], dtype=bool)


def _content(limits: Limits, place: int) -> tuple[bytes, bytes, int]:
    """Return what makes a bound equal to another."""
    part = slice(limits.rows.indptr[place], limits.rows.indptr[place + 1])
    return (
        limits.rows.indices[part].astype(np.int64).tobytes(),
        limits.rows.data[part].tobytes(),
        int(limits.least[place]),
    )
