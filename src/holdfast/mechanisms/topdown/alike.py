"""Cells of a node that a design does not tell apart, and the design over classes of them.

Two levels of an attribute are alike where exchanging them maps the rows of every query, and those of the
invariants of every level, onto each other. Such an exchange maps the design to itself, so counts that are
exchanged are off alike, and one level of each class can stand for all. Let H be what exchanges the others.
The best linear unbiased estimate is unique, so that of a count which H leaves as it is depends on nothing
but sums over orbits of H: of cells, where each attribute has the levels that stand for classes and the rest
of each class, and of rows, where k noises of variance v make one of variance k v. The variances are those of
the whole design, and 2,016 cells become a few dozen. Rows are compared by sums of random numbers of 64 bits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from holdfast.data.geography import Regions
from holdfast.data.invariants import margin_levels
from holdfast.data.node_queries import QueryRows
from holdfast.lattice.arrays import FloatArray, IntArray

MOST_WORK = 2_000_000_000
"""Entries that are looked at to find levels of an attribute that are alike; where it takes more, none is."""


@dataclass(frozen=True, eq=False)
class AlikeCells:
    """Classes of the cells of a node.

    Attributes:
        regions: the nodes and their cells.
        stands: by attribute, the level that stands for each.

    """

    regions: Regions
    stands: tuple[IntArray, ...]

    @classmethod
    def of(
        cls, regions: Regions, rows: Sequence[QueryRows], chosen: Sequence[Mapping[str, tuple[str, ...]]] = ()
    ) -> "AlikeCells":
        """Return the classes by some rows, of which each set is one; selections tell their levels apart."""
        cells = regions.cells
        if cells is None or cells.nestings or regions.areas:
            return cls(regions, ())
        sizes = tuple(len(each.levels) for each in cells.attributes)
        entries = sum(each.nnz + each.shape[0] for each in rows)
        if prod(sizes) != regions.width:
            return cls(regions, ())
        by_size = sorted(rows, key=lambda each: int(each.nnz))
        found = []
        for axis, attribute in enumerate(cells.attributes):
            sets = [set(some[attribute.name]) for some in chosen if attribute.name in some]
            signs = [tuple(level in each for each in sets) for level in attribute.levels]
            stands = np.arange(len(signs))
            found.append(stands)
            if entries * len(signs) ** 2 > 2 * MOST_WORK:
                continue
            for level, sign in enumerate(signs):
                for other in np.unique(stands[:level]).tolist():
                    exchange = _exchange(sizes, axis, level, other)
                    if sign == signs[other] and all(_same(each, exchange) for each in by_size):
                        stands[level] = other
                        break
        return cls(regions, tuple(found))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of levels of each attribute."""
        return tuple(map(len, self.stands))

    @cached_property
    def cells(self) -> IntArray:
        """The class of each cell."""
        if not self.stands:
            return np.arange(self.regions.width)
        classes = [
            np.unique(2 * each + (each != np.arange(each.size)), return_inverse=True)[1]
            for each in self.stands
        ]
        grid = np.ix_(*(each.ravel() for each in classes))
        shape = [int(each.max()) + 1 for each in classes]
        return np.ravel_multi_index(np.broadcast_arrays(*grid), shape).ravel()

    @cached_property
    def first(self) -> IntArray:
        """A cell of each class."""
        return np.unique(self.cells, return_index=True)[1]

    def orbits(self, rows: QueryRows) -> csr_array:
        """Return what sums up rows that H exchanges: one row an orbit, one column a row."""
        number = int(rows.shape[0])
        here, there = [np.arange(number)], [np.arange(number)]
        for exchange in self._exchanges():
            known, moved = _sums(rows), _sums(rows, exchange)
            here.append(np.argsort(moved, kind="stable"))
            there.append(np.argsort(known, kind="stable"))
        pairs = np.concatenate(here), np.concatenate(there)
        graph = csr_array((np.ones(pairs[0].size, dtype=np.int8), pairs), shape=(number, number))
        orbits, of = connected_components(graph, directed=False)
        return csr_array((np.ones(number, dtype=np.int64), (of, np.arange(number))), shape=(orbits, number))

    def over(self, rows: QueryRows, orbits: csr_array) -> csr_array:
        """Return the sums of rows over orbits, as rows over the classes."""
        return csr_array(csr_array(orbits @ rows)[:, self.first])

    def asked(self, names: Sequence[str], kept: IntArray, rows: QueryRows) -> tuple[FloatArray, IntArray]:
        """Return the rows of a margin that stand for all, over the classes, and which stands for each."""
        cells = self.regions.cells
        if cells is None or not self.stands:
            return rows.toarray().astype(np.float64), np.arange(rows.shape[0])
        place = {each.name: (each.levels, self.stands[axis]) for axis, each in enumerate(cells.attributes)}
        known: dict[tuple[str, ...], int] = {}
        of, first = list[int](), list[int]()
        for row, cell in enumerate(margin_levels(cells, names, kept)):
            key = tuple(
                place[name][0][int(place[name][1][place[name][0].index(level)])]
                for name, level in zip(names, cell, strict=True)
            )
            if known.setdefault(key, len(known)) == len(first):
                first.append(row)
            of.append(known[key])
        return rows[first][:, self.first].toarray().astype(np.float64), np.array(of)

    def _exchanges(self) -> Iterator[IntArray]:
        """Yield exchanges of two levels that generate H."""
        for axis, stands in enumerate(self.stands):
            for each in np.unique(stands):
                rest = np.flatnonzero(stands == each)[1:]
                for level in rest[1:].tolist():
                    yield _exchange(self.sizes, axis, int(rest[0]), level)


def _exchange(sizes: Sequence[int], axis: int, one: int, other: int) -> IntArray:
    """Return the cells with two levels of an attribute exchanged."""
    levels = np.arange(sizes[axis])
    levels[[one, other]] = other, one
    return np.take(np.arange(prod(sizes)).reshape(sizes), levels, axis=axis).ravel()


def _sums(rows: QueryRows, exchange: IntArray | None = None) -> IntArray:
    """Return the sum over each row of numbers that stand for cells, modulo 2^64: the same of equal rows."""
    numbers = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, size=rows.shape[1], dtype=np.int64)
    return np.asarray(rows @ (numbers if exchange is None else numbers[exchange]), dtype=np.int64)


def _same(rows: QueryRows, exchange: IntArray) -> bool:
    """Whether an exchange of cells maps rows onto each other."""
    return bool(np.array_equal(np.sort(_sums(rows)), np.sort(_sums(rows, exchange))))
