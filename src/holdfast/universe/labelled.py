"""Labelled people: how far apart two files of named people are that agree on the invariants.

A *file* gives each of n people, 1 to n, a cell: X = (X_1, ..., X_n). It conforms when its counts do, and
d(X, Y) is the number of people whose cells differ [semi-dp, Definition 1]. Several files have one table: when
two people exchange their cells two records change, and no count does. So there can be many files where there
is one table, and a guarantee of another mechanism, which is about people, is read at the distance of files.

*Semi-adjacency.* The worst case of `semi_adjacency` is that of files already, but where one table is left: it
is 0 for the table, and for people

    2 if two of them have different cells (they exchange), 0 if all have the same (one file is left).

*Alternatives* [semi-dp, Remark 14], over files X != Y of equally many people:

    a_min    = min over X, Y of d(X, Y)         some file has one this near;
    a_maxmin = max over X of min over Y of d(X, Y)    every file that has another one has one this near,

and 0 where no file has another. Call cells with equal columns of A alike. A person in a cell that is like
another takes that one alone: the next file is 1 away. Nobody else can move alone. So it is 2 where two people
are in different cells, and exchange. Else all n people are in one cell c like no other, n A e_c = t, and the
next file has the table Y != n e_c with the most people in c: it is n - Y_c away.

Public bounds may keep people in cells that are alike apart, so with them a step of one person is asked for in
the tables themselves, or in programs.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_array, csc_array, csr_array, eye_array, vstack

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.programs.solver import UNBOUNDED, Program, Status
from holdfast.universe.limited import listed
from holdfast.universe.limited_witness import KINDS, LimitedWitnesses
from holdfast.universe.limits import Limits
from holdfast.universe.semi_adjacency import SemiAdjacency
from holdfast.universe.universe import Universe

PATTERNS = 20_000
"""Patterns up to which a program is asked where counts alone do not tell."""


@dataclass(frozen=True)
class Labelled:
    """The semi-adjacency of files of people, and its alternatives [semi-dp, Remark 14].

    Attributes:
        worst_case: how many people change so that any one can have any possible value.
        exact: whether it is attained; else it is an upper bound.
        reference: where it is proved.
        a_min: the distance of the two nearest files, None where that is left open.
        a_maxmin: within which every file that has another one has one, None where that is left open.

    """

    worst_case: int
    exact: bool
    reference: str
    a_min: int | None
    a_maxmin: int | None


def labelled(universe: Universe, table: SemiAdjacency) -> Labelled:
    """Return what the semi-adjacency of a table means for the people in it."""
    if table.worst_case:
        return Labelled(table.worst_case, table.exact, table.reference, *_nearest(universe))
    reference = "theory, 2; semi-dp, Remark 17"
    if universe.limits is not None:  # one that bounds leave
        tables = listed(universe)
        people = 2 if tables is None or (np.count_nonzero(tables, axis=1) > 1).any() else 0
        return Labelled(people, exact=True, reference=reference, a_min=people, a_maxmin=people)
    # one table is left: all in one cell where the invariants are a multiple of its column, or nobody at all;
    # nobody moves alone, so what an exchange takes is the nearest file, too
    people = 0 if not universe.values.any() or _alone(universe)[0].size else 2
    return Labelled(people, exact=True, reference=reference, a_min=people, a_maxmin=people)


def _alone(universe: Universe) -> tuple[IntArray, IntArray]:
    """Return the patterns c and numbers n > 0 with n A e_c = t: all people may be in one cell of them.

    Where t = 0 that is a column of zeros, with any number; 0 stands for it.
    """
    columns, values = csc_array(universe.patterns.columns), universe.values
    entries, needed = np.diff(columns.indptr), np.count_nonzero(values)
    if needed == 0:
        free = np.flatnonzero(entries == 0)
        return free, np.zeros_like(free)
    fits = np.flatnonzero(entries == needed)
    block = csc_array(columns[:, fits])
    entry, value = block.data.reshape(-1, needed), values[block.indices].reshape(-1, needed)
    number = value // entry
    alike = (value == number * entry).all(axis=1) & (number == number[:, :1]).all(axis=1)
    alike &= number[:, 0] > 0
    return fits[alike], number[alike, 0]


def _nearest(universe: Universe) -> tuple[int | None, int | None]:
    """Return a_min and a_maxmin, None where they are left open."""
    if universe.limits is not None:
        tables = listed(universe)
        return _within(universe, universe.limits) if tables is None else _among(tables)
    several, total = universe.patterns.size > 1, universe.total
    if universe.settled is not None:
        held = universe.settled > 0
        one = 1 if (held & several).any() else 2 if held.sum() > 1 else 0
        return one, one
    if total == 0:
        return 0, 0
    if several.all() and (total is not None or universe.values.any()):
        return 1, 1  # whoever there is can move alone
    if not several.any() and total is not None and not _alone(universe)[0].size:
        return 2, 2  # no file has all people in one cell, and nobody moves alone
    if several.size > PATTERNS:
        return None, None
    questions = _Questions(universe, several)
    sharing, apart = questions.sharing(), questions.apart()
    nearest = list(questions.from_one_cell())
    if sharing is None or apart is None or None in nearest:
        return None, None
    steps = [1] * sharing + [2] * apart + [step for step in nearest if step]
    return min(steps, default=0), max(steps, default=0)


def _among(tables: IntArray) -> tuple[int, int]:
    """Return both from all tables: two people in different cells exchange, or the table becomes another."""
    sizes, steps = tables.sum(axis=1), []
    for table, size in zip(tables, sizes.tolist(), strict=True):
        apart = np.abs(tables[sizes == size] - table).sum(axis=1) // 2
        near = [*apart[apart > 0].tolist(), *([2] if np.count_nonzero(table) > 1 else [])]
        steps += [min(near)] if near else []
    return min(steps, default=0), max(steps, default=0)


def _within(universe: Universe, limits: Limits) -> tuple[int | None, int | None]:
    """Return both within bounds where nobody is in one cell with all others, so that two can exchange."""
    if universe.total is None or _alone(universe)[0].size or universe.kinds.count > KINDS:
        return None, None
    witnesses = LimitedWitnesses(universe, limits)
    stirs, still = witnesses.stirs(), witnesses.still()
    most = 2 if still.point is not None else 1 if still.status is Status.INFEASIBLE else None
    return None if stirs is None else 2 - stirs, most


class _Questions:
    """Whether files of some kind exist, each by an integer program over patterns; None where left open."""

    def __init__(self, universe: Universe, several: BoolArray) -> None:
        self._universe, self._several = universe, several
        self._columns, self._count = universe.patterns.columns, several.size
        self._most = np.full(self._count, UNBOUNDED)

    def sharing(self) -> bool | None:
        """Whether some file has a person in a cell that is like another."""
        if not self._several.any():
            return False
        return self._exists(self._several[None].astype(np.int64), [1], [UNBOUNDED], self._most)

    def apart(self) -> bool | None:
        """Whether some file has people in two cells at least, and nobody in one that is like another."""
        keep, ones = eye_array(self._count, dtype=np.int64), np.ones((1, self._count), dtype=np.int64)
        marks = block_array([[keep, -keep], [None, csr_array(ones)]], format="csr")  # mark <= count
        low = [*np.zeros(self._count, dtype=np.int64), 2]
        most = np.concatenate([np.where(self._several, 0, self._most), np.ones(self._count, dtype=np.int64)])
        return self._exists(marks, low, [UNBOUNDED] * (self._count + 1), most)

    def from_one_cell(self) -> Iterator[int | None]:
        """Yield how far the next file is from each that has all people in one cell like no other; 0: none."""
        for cell, number in zip(*_alone(self._universe), strict=True):
            if self._several[cell]:
                continue
            others = np.ones((1, self._count), dtype=np.int64)
            others[0, cell] = 0
            rows, low, high = others, [1], [UNBOUNDED]
            if number:
                rows = np.vstack([others, np.ones((1, self._count), dtype=np.int64)])
                low, high = [1, int(number)], [UNBOUNDED, int(number)]
            found = self._program(rows, low, high, self._most).solve(maximise=-others[0])
            if found.status is Status.INFEASIBLE:
                yield 0
            else:
                solved = found.status is Status.SOLVED and found.point is not None
                yield int(others[0] @ found.point) if solved and found.point is not None else None

    def _exists(
        self, rows: IntArray | csr_array, low: list[int], high: list[int], most: IntArray
    ) -> bool | None:
        found = self._program(rows, low, high, most).solve()
        return True if found.point is not None else False if found.status is Status.INFEASIBLE else None

    def _program(
        self, rows: IntArray | csr_array, low: list[int], high: list[int], most: IntArray
    ) -> Program:
        """Return the conforming tables that keep further rows; columns beyond the patterns are marks."""
        columns, values = csr_array(self._columns), self._universe.values
        wide = csr_array((columns.data, columns.indices, columns.indptr), (columns.shape[0], most.size))
        matrix = csr_array(vstack([wide, csr_array(rows)], format="csr"))
        ends = [np.concatenate([values, np.array(side, dtype=np.int64)]) for side in (low, high)]
        return Program(matrix, *ends, most=most)
