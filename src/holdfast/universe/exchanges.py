"""Tables near a known one, of which two records exchange some levels: what counts a cell can hold.

Part the attributes into S, T and R. Two records w and z that agree on T exchange S: they become c, with S of
w and R of z, and d, with the rest. All sums stay that never look at S and R at once, as a margin does whose
attributes meet only one of them; whether they stay is seen from the columns of A, which then have
A e_c + A e_d = A e_w + A e_z. So a cell c can gain a record wherever such w and z are there, and lose one as
a record of it exchanges with another. Each of these is a table that conforms: counts that are found so are
possible, and nothing is said of others. Two exchanges that each change the sums keep them together where one
takes back what the other changes: a selection keeps its count as one record comes to it and another leaves.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.sparse import csc_array

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.universe.universe import Universe

ENOUGH = 2
"""How far apart two counts of a cell are where no more is asked."""
PARTINGS, PASSES, VAIN = 200, 40, 4
"""Ways to part the attributes that are tried, how often at the most, and how often in vain before the end."""
MOST_CODES = 50_000_000
MOST_NEAR = 400_000
"""Exchanges that change sums, of which pairs are looked for."""
SEED = 5
"""Of what is picked; what is found is true of any."""


@dataclass(frozen=True, eq=False)
class Seen:
    """The least and the most records of each pattern in tables that were seen."""

    low: IntArray
    high: IntArray

    @property
    def apart(self) -> BoolArray:
        """Whether they are far enough apart that nobody asks for more."""
        return self.high - self.low >= ENOUGH

    def of(self, patterns: IntArray) -> "Seen":
        """Return those of some patterns."""
        return Seen(self.low[patterns], self.high[patterns])


def seen(universe: Universe, counts: IntArray, codes: IntArray) -> Seen:
    """Return counts that a table and its neighbours hold; ``codes`` has the levels of each cell, in rows."""
    kinds = universe.kinds
    found = _Neighbours(universe, counts, codes)
    if universe.limits is None and codes.shape[0] > 1 and np.prod(found.sizes, dtype=float) <= MOST_CODES:
        found.look()
    several = kinds.size > 1  # each cell of several that are alike can be empty
    return Seen(np.where(several, 0, found.held - found.down), found.held + found.up)


class _Neighbours:
    """What exchanges of a table do to each pattern."""

    def __init__(self, universe: Universe, counts: IntArray, codes: IntArray) -> None:
        self._kind = universe.kinds.of_cell
        self._columns = csc_array(universe.kinds.columns)
        self._counts, self._codes = counts, codes
        self.sizes = codes.max(axis=1, initial=0) + 1
        self.held = np.bincount(self._kind, weights=counts, minlength=universe.kinds.count).astype(np.int64)
        self.up, self.down = np.zeros_like(self.held), np.zeros_like(self.held)
        self._first = np.full((4, counts.size), -1, dtype=np.int64)
        self._near: list[IntArray] = []
        self._random = np.random.default_rng(SEED)
        self._sorted: dict[tuple[int, ...], tuple[IntArray, IntArray]] = {}

    def look(self) -> None:
        """Try partings of the attributes, as long as a pattern is open."""
        self._place = np.full(int(np.prod(self.sizes)), -1, dtype=np.int64)
        self._every = self._key(np.arange(self._codes.shape[0]))
        self._place[self._coded(self._codes)] = np.arange(self._counts.size)
        self._mark = self._random.integers(-(2**62), 2**62, self._columns.shape[0])
        self._hash = (self._columns.T @ self._mark)[self._kind]
        self._there = np.flatnonzero(self._counts)
        partings = [one for one in product((0, 1, 2), repeat=self._codes.shape[0]) if 0 in one and 2 in one]
        if len(partings) > PARTINGS:
            partings = [partings[at] for at in self._random.choice(len(partings), PARTINGS, replace=False)]
        useful, vain = set[tuple[int, ...]](), 0
        for number in range(PASSES):
            gained = 0
            for parting in partings if number == 0 else useful:
                cells = self._open
                if not cells.size or not self._there.size:
                    return
                gain = self._gain(cells, parting) + self._lose(cells, parting)
                useful = {*useful, parting} if gain else useful
                gained += gain
            vain = 0 if gained else vain + 1
            if vain == VAIN:
                break
        for _ in range(PASSES):
            cells = self._open
            if not cells.size or not partings:
                return
            self._near, most = [], MOST_NEAR // len(partings)
            cells = cells if cells.size <= most else np.sort(self._random.choice(cells, most, replace=False))
            for parting in partings:
                self._gain(cells, parting)
                self._lose(cells, parting)
            vain = 0 if self._pair(np.concatenate(self._near, axis=1)) else vain + 1
            if vain >= 2 * VAIN:
                return

    def _pair(self, near: IntArray) -> int:
        """Make two exchanges at once where one takes back what the other changes; rows as in `_noted`."""
        gains, into, out = near[0], near[1:3], near[3:]
        change = self._hash[into].sum(axis=0) - self._hash[out].sum(axis=0)
        order = np.argsort(change, kind="stable")
        begin, end = (np.searchsorted(change[order], -change, side=side) for side in ("left", "right"))
        picked = begin + (self._random.random(change.size) * (end - begin)).astype(np.int64)
        other = order[np.minimum(picked, order.size - 1)]
        into, out = np.vstack([into, into[:, other]]), np.vstack([out, out[:, other]])
        ranked = np.sort(out, axis=0)
        fits = (end > begin) & (np.diff(ranked, axis=0) > 0).all(axis=0)
        target = np.where(gains == 1, into[0], out[0])
        against = np.where(gains == 1, out, into)
        fits &= (self._kind[against] != self._kind[target]).all(axis=0)
        gains, into, out, target = gains[fits], into[:, fits], out[:, fits], target[fits]
        kept = self._same(into, out)
        gains, out, target = gains[kept], out[:, kept], target[kept]
        self.down[self._kind[target[gains == 0]]] = 1
        more = gains == 1
        return int((gains == 0).sum()) + self._grown(target[more], out[:, more], np.zeros(more.sum(), bool))

    def _grown(self, cells: IntArray, out: IntArray, twice: BoolArray) -> int:
        """Note that cells gain a record as others lose one, or two where these are others than before."""
        before = self._first[:, cells]
        shared = (before[:, None] == out[None, :]).any(axis=(0, 1))
        twice = twice | ((before[0] >= 0) & ~shared)
        new = before[0] < 0
        self._first[: out.shape[0], cells[new]] = out[:, new]
        old = self.up.copy()
        np.maximum.at(self.up, self._kind[cells], np.where(twice, 2, 1))
        return int((self.up > old).sum())

    def _noted(self, gains: int, into: IntArray, out: IntArray) -> None:
        """Keep exchanges: whether their first cell gains, the two cells that gain, and the two that lose."""
        self._near.append(np.vstack([np.full(into.shape[1], gains), into, out]))

    @property
    def _open(self) -> IntArray:
        apart = self.up + np.where(np.bincount(self._kind) > 1, self.held, self.down)
        return np.flatnonzero(apart[self._kind] < ENOUGH)

    def _key(self, names: IntArray) -> IntArray:
        """Return the factors by which the codes of some attributes make a number."""
        factors = np.zeros(self.sizes.size, dtype=np.int64)
        factors[names] = np.cumprod(np.concatenate([[1], self.sizes[names][:-1]]))
        return factors

    def _coded(self, codes: IntArray) -> IntArray:
        return np.asarray(self._every @ codes)

    def _alike(self, cells: IntArray, names: IntArray) -> IntArray:
        """Return for each cell an occupied one that agrees with it on some attributes; -1 without one."""
        factors = self._key(names)
        if (key := tuple(names.tolist())) not in self._sorted:
            known = factors @ self._codes[:, self._there]
            order = np.argsort(known, kind="stable")
            self._sorted[key] = known[order], self._there[order]
        (known, there), asked = self._sorted[key], factors @ self._codes[:, cells]
        begin, end = np.searchsorted(known, asked), np.searchsorted(known, asked, side="right")
        picked = begin + (self._random.random(cells.size) * (end - begin)).astype(np.int64)
        return np.where(end > begin, there[np.minimum(picked, there.size - 1)], -1)

    def _gain(self, cells: IntArray, parting: tuple[int, ...]) -> int:
        """Let cells gain a record, from w that agrees on S and T, and z that agrees on T and R."""
        part = np.array(parting)
        w = self._alike(cells, np.flatnonzero(part < 2))
        z = self._alike(cells, np.flatnonzero(part > 0))
        d = self._other(part, z, w)
        fits = (w >= 0) & (z >= 0) & (d >= 0)
        kind = self._kind
        fits &= (kind[w] != kind[cells]) & (kind[z] != kind[cells]) & ((w != z) | (self._counts[w] > 1))
        cells, w, z, d = (each[fits] for each in (cells, w, z, d))
        kept = self._same(np.array([cells, d]), np.array([w, z]))
        self._noted(1, np.array([cells, d])[:, ~kept], np.array([w, z])[:, ~kept])
        cells, w, z = cells[kept], w[kept], z[kept]
        twice = (self._counts[w] > 1) & (self._counts[z] > 1) & (w != z)
        return self._grown(cells, np.array([w, z]), twice)

    def _lose(self, cells: IntArray, parting: tuple[int, ...]) -> int:
        """Let cells lose a record, which exchanges S with one that agrees on T."""
        part = np.array(parting)
        cells = cells[(self._counts[cells] > 0) & (self.down[self._kind[cells]] == 0)]
        z = self._alike(cells, np.flatnonzero(part == 1))
        one, other = self._other(part, cells, z), self._other(part, z, cells)
        fits = (z >= 0) & (one >= 0) & (other >= 0)
        cells, z, one, other = (each[fits] for each in (cells, z, one, other))
        kind = self._kind
        moved = (kind[one] != kind[cells]) & (kind[other] != kind[cells]) & (z != cells)
        cells, z, one, other = (each[moved] for each in (cells, z, one, other))
        kept = self._same(np.array([one, other]), np.array([cells, z]))
        self._noted(0, np.array([one, other])[:, ~kept], np.array([cells, z])[:, ~kept])
        self.down[kind[cells[kept]]] = 1
        return int(kept.sum())

    def _other(self, part: IntArray, of: IntArray, rest: IntArray) -> IntArray:
        """Return the cells with S of some and the rest of others; -1 where there are none."""
        codes = np.where((part == 0)[:, None], self._codes[:, of], self._codes[:, rest])
        return np.where((of >= 0) & (rest >= 0), self._place[self._coded(codes)], -1)

    def _same(self, into: IntArray, out: IntArray) -> BoolArray:
        """Return whether all sums stay as records move to some cells from others: marks say so first."""
        found = self._hash[into].sum(axis=0) == self._hash[out].sum(axis=0)
        at = np.flatnonzero(found)
        left = sum(self._columns[:, self._kind[each[at]]] for each in into)
        left = csc_array(left - sum(self._columns[:, self._kind[each[at]]] for each in out))
        left.eliminate_zeros()
        found[at] = np.diff(left.indptr) == 0
        return np.asarray(found)
