"""Rows that are the one-way margins of features, recognised from the matrix alone.

In a full product two rows that read different features meet in all four ways (in both, in one, in neither).
So rows that do not are put together, and the levels of a feature are the distinct columns within its rows.
The columns are the full product exactly when they are as many as the combinations of levels. A margin is
fixed when the rows of its feature, with the total where the rows fix it, determine it [theory, 2].
"""

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import patterns
from holdfast.lattice.kernel import to_flint
from holdfast.lattice.rows import ones_combination

PAIRS = 20_000_000  # compare rows that share columns up to this many pairs of entries
ATOMS = 300  # solve for the margins of overlapping rows up to this many


class AxisMargins(NamedTuple):
    """Whole margins over sets of axes, of cells that are a product of so many levels in row-major order."""

    shape: tuple[int, ...]
    sets: tuple[frozenset[int], ...]


@dataclass(frozen=True, eq=False)
class Feature:
    """A classification of the columns of a block, and the sum over the columns of each level."""

    level: IntArray
    count: IntArray


def product_features(matrix: csr_array, values: IntArray) -> tuple[Feature, ...] | None:
    """Return the features whose one-way margins these rows fix, if the columns are their product.

    The columns of the 0/1 matrix must be distinct and tied into one block. None where they are no product,
    where the rows do not fix all margins, or where it is out of reach.
    """
    width = matrix.shape[1]
    per_column = np.bincount(matrix.indices, minlength=width)
    if (matrix.data != 1).any() or int((per_column**2).sum()) > PAIRS:
        return None
    size = np.diff(matrix.indptr).astype(np.int64)
    varied = np.flatnonzero(size < width)
    part = csr_array(matrix[varied])
    groups = [(csr_array(part[chosen]), values[varied[chosen]]) for chosen in _tied_rows(part, size[varied])]
    total = _total(matrix, values, groups)
    features: list[Feature] = []
    for rows, known in groups:
        level, columns = _levels(rows)
        count = _level_counts(columns, known, total)
        if count is None:
            return None
        features.append(Feature(level, count))
    return tuple(features) if prod(f.count.size for f in features) == width else None


def _total(matrix: csr_array, values: IntArray, groups: list[tuple[csr_array, IntArray]]) -> int | None:
    """Return the sum over all columns, when the rows determine it."""
    whole = np.flatnonzero(np.diff(matrix.indptr) == matrix.shape[1])
    if whole.size:
        return int(values[whole[0]])
    for rows, known in groups:
        if (np.bincount(rows.indices, minlength=matrix.shape[1]) == 1).all():
            return int(known.sum())
    weights = ones_combination(matrix)
    return None if weights is None else int(sum(c * int(values[row]) for row, c in weights.items()))


def _levels(rows: csr_array) -> tuple[IntArray, csr_array]:
    """Return the level of each column within some rows of ones, and the different columns."""
    by_column = rows.tocsc()
    if (np.diff(by_column.indptr) == 1).all():  # disjoint rows that meet every column
        _, first, level = np.unique(by_column.indices, return_index=True, return_inverse=True)
        return level.astype(np.int64), csr_array(by_column[:, first])
    atoms = patterns(rows)
    return atoms.of_cell, atoms.columns


def _tied_rows(matrix: csr_array, size: IntArray) -> list[IntArray]:
    """Return the rows in groups, linked where two do not meet in all four ways.

    Most pairs of rows are linked, so the few that are not are listed: what a set of rows does not reach is
    listed with all of them.
    """
    meet = coo_array(matrix @ matrix.T)
    first, second = size[meet.row] - meet.data, size[meet.col] - meet.data
    neither = matrix.shape[1] - meet.data - first - second
    free = (meet.data > 0) & (first > 0) & (second > 0) & (neither > 0)
    apart = csr_array(
        (np.ones(int(free.sum()), dtype=np.int64), (meet.row[free], meet.col[free])), meet.shape
    )
    groups: list[IntArray] = []
    left = np.arange(matrix.shape[0])
    while left.size:
        reached, left = left[:1], left[1:]
        group = [reached]
        while reached.size and left.size:
            among = np.zeros(matrix.shape[0], dtype=np.int64)
            among[reached] = 1
            near = np.asarray(csr_array(apart[left]) @ among) < reached.size
            reached, left = left[near], left[~near]
            group.append(reached)
        groups.append(np.sort(np.concatenate(group)))
    return groups


def _level_counts(levels: csr_array, values: IntArray, total: int | None) -> IntArray | None:
    """Return the sum over the columns of each level, when the rows and the total determine it."""
    entries = levels.tocsc()
    per_level = np.diff(entries.indptr)
    if per_level.max() <= 1:
        # disjoint rows: one level each, and at most one level in none of them
        rest = np.flatnonzero(per_level == 0)
        if rest.size and total is None:
            return None
        count = np.zeros(levels.shape[1], dtype=np.int64)
        count[per_level == 1] = values[entries.indices]
        if rest.size and total is not None:
            count[rest] = total - values.sum()
        return count
    if levels.shape[1] > ATOMS:
        return None
    system, right = levels.toarray(), values
    if total is not None:
        system = np.vstack([system, np.ones((1, levels.shape[1]), dtype=np.int64)])
        right = np.append(values, total)
    reduced, denominator, rank = to_flint(np.hstack([system, right[:, None]])).rref()
    if rank != levels.shape[1] or to_flint(system).rank() != rank:
        return None
    return np.array([int(reduced[i, rank] / denominator) for i in range(rank)], dtype=np.int64)
