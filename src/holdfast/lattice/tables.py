"""Parts of a table over axes, and sums over it: read where they are needed, nothing of them is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray


@dataclass(frozen=True, eq=False)
class PartCells:
    """The cells of parts of a table that are alike, one row a part: products of entries of its axes.

    ``entries`` has, for each axis, the entries of each of its nodes, one row a node; a part is a node of
    each. ``sizes`` are those of the axes, and cells are in row-major order over them.
    """

    sizes: tuple[int, ...]
    entries: tuple[IntArray, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """How many parts there are, and how many cells each has."""
        return prod(len(each) for each in self.entries), prod(each.shape[1] for each in self.entries)

    @property
    def size(self) -> int:
        """The number of cells of all parts."""
        return prod(self.shape)

    def part(self, begin: int, end: int) -> IntArray:
        """Return the cells from one to before another, where parts follow each other; whole parts alone."""
        width = self.shape[1]
        return np.concatenate([self.row(one) for one in range(begin // width, end // width)])

    def row(self, part: int) -> IntArray:
        """Return the cells of one part."""
        nodes = np.unravel_index(part, tuple(len(each) for each in self.entries))
        cells = np.zeros(1, dtype=np.int64)
        for size, entries, node in zip(self.sizes, self.entries, nodes, strict=True):
            cells = np.add.outer(cells * size, entries[node]).ravel()
        return cells

    def all(self) -> IntArray:
        """Return the cells of all parts, one row a part."""
        return np.stack([self.row(part) for part in range(self.shape[0])])


def reading_sums(
    points: IntArray, shape: Sequence[int], parts: Sequence[NDArray[np.signedinteger[Any]] | None]
) -> IntArray:
    """Return the sums of tables over parts of their axes, one table a row; None stands for single entries.

    The entries of an axis have the number of their part.
    """
    tables = points.reshape(len(points), *shape)
    for axis in range(len(shape), 0, -1):
        part = parts[axis - 1]
        if part is None:
            continue
        if not part.any():
            tables = tables.sum(axis=axis, keepdims=True)
            continue
        if (np.diff(part) < 0).any():
            order = np.argsort(part, kind="stable")
            tables, part = tables.take(order, axis=axis), part[order]
        tables = np.add.reduceat(tables, np.flatnonzero(np.diff(part, prepend=-1)), axis=axis)
    return tables.reshape(len(points), prod(tables.shape[1:]))
