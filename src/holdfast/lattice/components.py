"""Equal columns and independent blocks of a sparse integer matrix.

Cells with the same column take part in the same equations, so they are interchangeable; blocks that
share no equation can be treated apart. Both shrink a large sparse system to a small one.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.sparse import csc_array, csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.spread import SpreadColumns


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct columns of a matrix, in order of first appearance.

    Attributes:
        of_column: the pattern of each column that was given.
        columns: the distinct columns, rows x K.
        size: how many cells share each pattern.
        given: the columns of a matrix whose columns stand many times; None where each is of one cell.

    """

    of_column: IntArray
    columns: csr_array
    size: IntArray
    given: SpreadColumns | None = None

    @cached_property
    def of_cell(self) -> IntArray:
        """The pattern of each cell."""
        return self.of_column if self.given is None else self.of_column[self.given.of_cell]

    @property
    def count(self) -> int:
        """The number of patterns, K."""
        return int(self.size.size)


@dataclass(frozen=True, eq=False)
class Component:
    """Cells and rows that are linked by nonzero entries."""

    cells: IntArray
    rows: IntArray


def patterns(matrix: csr_array | SpreadColumns) -> Patterns:
    """Group the cells whose columns are identical."""
    if isinstance(matrix, SpreadColumns):
        found = patterns(matrix.columns)
        size = np.bincount(found.of_column, matrix.each, minlength=found.count).astype(np.int64)
        return Patterns(found.of_column, found.columns, size, matrix)
    columns = canonical(matrix)
    seed = 0
    while True:
        first, of_cell = _group(_fingerprints(columns, seed))
        # a fingerprint is a hint only: the grouping stands when every column equals its leader's
        if _all_equal(columns, first[of_cell]):
            break
        seed += 1
    return Patterns(
        of_column=of_cell,
        columns=csr_array(columns[:, first]),
        size=np.bincount(of_cell, minlength=first.size).astype(np.int64),
    )


def components(matrix: csr_array) -> tuple[Component, ...]:
    """Split the bipartite graph of rows and cells into its connected components.

    Cells without any row are put together into one component with no rows, the last one: nothing
    ties them, so they factorise in any case. Rows without any cell belong to no component.
    """
    columns = canonical(matrix)
    label = linked_rows(columns)
    tied = np.flatnonzero(np.diff(columns.indptr))
    used = np.unique(columns.indices).astype(np.int64)
    cell_label = np.zeros(columns.shape[1], dtype=np.int64)
    cell_label[tied] = label[columns.indices[columns.indptr[tied]]]
    blocks = [
        Component(cells=of_cells, rows=of_rows)
        for of_cells, of_rows in zip(
            _by_label(tied, cell_label),
            _by_label(used, label),
            strict=True,
        )
    ]
    free = np.flatnonzero(np.diff(columns.indptr) == 0)
    if free.size:
        blocks.append(Component(cells=free, rows=np.zeros(0, dtype=np.int64)))
    return tuple(blocks)


def linked_rows(columns: csc_array) -> IntArray:
    """Return for each row the first row that it is linked to by cells.

    Each group of rows joins the earliest that it shares a cell with, until no cell has rows of two groups.
    """
    label = np.arange(columns.shape[0])
    starts = columns.indptr[:-1][np.diff(columns.indptr) > 0]
    cell = np.repeat(np.arange(starts.size), np.diff(np.append(starts, columns.nnz)))
    while columns.nnz:
        found = label[columns.indices]
        earliest = np.minimum.reduceat(found, starts)[cell]
        if np.array_equal(found, earliest):
            break
        np.minimum.at(label, found, earliest)
        while not np.array_equal(label, label[label]):
            label = label[label]
    return label


def canonical(matrix: csr_array) -> csc_array:
    """Return the matrix by columns: int64, no stored zeros, sorted, no duplicates."""
    columns = csc_array(matrix.astype(np.int64))
    columns.sum_duplicates()
    columns.eliminate_zeros()
    return columns


def _fingerprints(columns: csc_array, seed: int) -> IntArray:
    """Return a random linear form of each column, modulo 2^64."""
    rows, cells = columns.shape
    weights = np.random.default_rng(seed).integers(-(2**63), 2**63 - 1, size=rows, dtype=np.int64)
    running = np.zeros(columns.nnz + 1, dtype=np.int64)
    np.cumsum(columns.data * weights[columns.indices], out=running[1:])
    return np.asarray(np.diff(running[columns.indptr]), dtype=np.int64).reshape(cells)


def _group(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first position of each distinct key, in order, and the group of each position."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order].astype(np.int64), rank[group].astype(np.int64)


def _all_equal(columns: csc_array, leader: IntArray) -> bool:
    """Whether every column equals the column of its leader, entry by entry."""
    length = np.diff(columns.indptr)
    if not np.array_equal(length, length[leader]):
        return False
    shift = np.repeat(columns.indptr[:-1][leader] - columns.indptr[:-1], length)
    other = np.arange(columns.nnz) + shift
    return bool(
        np.array_equal(columns.indices, columns.indices[other])
        and np.array_equal(columns.data, columns.data[other])
    )


def _by_label(members: IntArray, label: IntArray) -> list[IntArray]:
    """Split the members by their label, labels ascending."""
    if members.size == 0:
        return []
    order = members[np.argsort(label[members], kind="stable")]
    cuts = np.flatnonzero(np.diff(label[order])) + 1
    return [order[start:end] for start, end in pairwise([0, *cuts.tolist(), order.size])]
