"""Invariants and bounds by level: rows over the cells of a node, and their values at every node."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.data.invariants import InvariantBlock, margin_matrix
from holdfast.data.regions import Regions
from holdfast.errors import SpecError
from holdfast.lattice.arrays import IntArray
from holdfast.public import Public

Rows = csr_array
"""Rows over the cells of one node."""


@dataclass(frozen=True, eq=False)
class Kept:
    """Sums that are known exactly at every node of a level: A x_g = a_g."""

    rows: Rows
    values: IntArray
    """One line a node, one column a row."""


@dataclass(frozen=True, eq=False)
class Bounded:
    """Sums that stay within bounds at every node of a level; a bound that there is not is None."""

    rows: Rows
    at_least: int | None
    at_most: int | None


def kept_by_level(public: Public, regions: Regions) -> tuple[Kept, ...]:
    """Return what is invariant at each level, root first, as the spec has it there."""
    found: list[list[Kept]] = [[] for _ in regions.sizes]
    for held in public.invariants:
        level, rows = local(held.block, regions)
        found[level].append(Kept(rows, _values(held.block, held.values, level, rows, regions)))
    return tuple(
        _stacked(each, nodes, regions.width) for each, nodes in zip(found, regions.sizes, strict=True)
    )


def bounded_by_level(public: Public, regions: Regions) -> tuple[tuple[Bounded, ...], ...]:
    """Return the inequalities at each level, root first."""
    found: list[list[Bounded]] = [[] for _ in regions.sizes]
    for floor in public.inequalities:
        level, rows = local(floor.block, regions)
        found[level].append(Bounded(rows, floor.at_least, floor.at_most))
    return tuple(map(tuple, found))


def local(block: InvariantBlock, regions: Regions) -> tuple[int, Rows]:
    """Return the place of the level of an invariant, and its rows over the cells of a node there.

    Raises SpecError where it is not the same at every node of one level.
    """
    levels, width = regions.levels, regions.width
    if block.kind == "weights":
        return _weights(block, regions)
    apart = [name for name in block.where if name in levels]
    if apart:
        raise SpecError(
            f"the invariant or bound {block.name!r} is for some of the nodes of {apart[0]}, and topdown keeps"
            f' what holds at every node of a level: give it level = "{apart[0]}", or name ='
            ' "lattice-gaussian" in [mechanism].'
        )
    depth = max((levels.index(name) for name in block.attributes if name in levels), default=0)
    names = [name for name in block.attributes if name not in levels]
    if regions.cells is None:
        return depth, csr_array(np.ones((1, width), dtype=np.int64))
    return depth, margin_matrix(regions.cells, names, block.where)[0]


def _weights(block: InvariantBlock, regions: Regions) -> tuple[int, Rows]:
    """Return weights over the cells of a node; entries that structural zeros take from one another has."""
    if block.level is None and len(regions.sizes) > 1:
        raise SpecError(
            f"the weights {block.name!r} are over all cells, and topdown keeps what holds at every node of a"
            " level: weigh the cells of a node, and give them a level of the geography."
        )
    level = 0 if block.level is None else regions.levels.index(block.level)
    entries = block.matrix.tocoo()
    rows = len(block.labels) // regions.sizes[level]
    dense = np.zeros((rows, regions.width), dtype=np.int64)
    dense[entries.row % rows, entries.col % regions.width] = entries.data
    return level, csr_array(dense)


def _values(block: InvariantBlock, values: IntArray, level: int, rows: Rows, regions: Regions) -> IntArray:
    """Return the values of a block, one line a node; a row without a cell that can be is 0."""
    nodes, number = regions.sizes[level], int(rows.shape[0])
    if block.kind == "weights":
        return np.asarray(values).reshape(nodes, number)
    some = np.diff(block.matrix.indptr) > 0
    first = block.matrix.indices[block.matrix.indptr[:-1][some]]
    leaf, cell = np.divmod(first, regions.width)
    row_of = np.zeros(regions.width, dtype=np.int64)
    row_of[rows.indices] = np.repeat(np.arange(number), np.diff(rows.indptr))
    found = np.zeros((nodes, number), dtype=np.int64)
    found[regions.spine.ancestors(regions.levels[level])[leaf], row_of[cell]] = values[some]
    return found


def _stacked(parts: Sequence[Kept], nodes: int, width: int) -> Kept:
    none = Kept(csr_array((0, width), dtype=np.int64), np.zeros((nodes, 0), dtype=np.int64))
    every = (none, *parts)
    return Kept(
        csr_array(vstack([each.rows for each in every], format="csr")),
        np.concatenate([each.values for each in every], axis=1),
    )


def below(kept: Sequence[Kept], sizes: Sequence[int], level: int) -> Rows:
    """Return the rows that are known at every node of a level: its own, and those of levels below it.

    A level with as many nodes as this one has the same nodes, so its rows hold here, too.
    """
    known = list(_known(kept, sizes, level))
    return csr_array(vstack([kept[level].rows[:0], *known], format="csr"))


def _known(kept: Sequence[Kept], sizes: Sequence[int], level: int) -> Iterator[Rows]:
    for place, each in enumerate(kept):
        if place >= level or sizes[place] == sizes[level]:
            yield each.rows
