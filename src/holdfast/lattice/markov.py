"""Markov bases: moves that connect every two non-negative tables with the same margins.

A basis of the lattice {u : A u = 0} connects all integer points, but a path may have to leave the
non-negative ones. A Markov basis never has to [diaconis1998]. It is known by formula for decomposable
margins, where every move exchanges two records [dobra2003], and for totals of disjoint groups. Where a design
falls apart into blocks of such kinds, so does its basis.
"""

from collections.abc import Sequence
from itertools import combinations, product
from math import comb, prod
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import components, patterns
from holdfast.lattice.kernel import integer_kernel, to_flint
from holdfast.lattice.product import product_features
from holdfast.lattice.rows import independent_rows
from holdfast.system.errors import DataError, SamplingError
from holdfast.system.files import special

MOST_ENTRIES = 50_000_000
"""Integers in the array of all moves: a bound on memory."""
Cliques = Sequence[Sequence[int]]


def markov_basis_two_way(rows: int, columns: int) -> IntArray:
    """Return the basic moves of a table with both margins: +1 -1 / -1 +1 on two rows and two columns."""
    return markov_basis_decomposable((rows, columns), ((0,), (1,)))


def markov_basis_partition(groups: Sequence[int] | IntArray) -> IntArray:
    """Return the moves e_i - e_j within each group; ``groups`` names the group of each cell.

    They connect all tables with the same group totals: one record at a time goes where it belongs.
    """
    label = np.asarray(groups, dtype=np.int64)
    members = [np.flatnonzero(label == group) for group in np.unique(label)]
    _check_size(sum(comb(cells.size, 2) for cells in members), label.size)
    pairs = [pair for cells in members for pair in combinations(cells.tolist(), 2)]
    return _moves(label.size, [(one, other) for one, other in pairs], (1, -1))


def markov_basis_decomposable(shape: Sequence[int], cliques: Cliques) -> IntArray:
    """Return the moves of a table whose margins over ``cliques`` are kept [dobra2003].

    ``cliques`` are sets of axes. Each separator S of their junction tree splits the other axes into two
    sides; for two cells that agree on S, the move exchanges what they have on one side. Axes in no clique
    are free: records also move between cells that differ on those alone.

    Raises SamplingError where the cliques have no junction tree.
    """
    if not cliques:
        raise ValueError("name at least one margin; the grand total is the margin over no axis")
    cells = np.arange(prod(shape)).reshape(shape)
    covered = sorted(set().union(*map(set, cliques)))
    free = [axis for axis in range(len(shape)) if axis not in covered]
    # one copy of the exchanges is enough: the free axes can be brought to level 0 first
    home = cells[tuple(0 if axis in free else slice(None) for axis in range(len(shape)))]
    place = {axis: i for i, axis in enumerate(covered)}
    parts = [markov_basis_partition(_without(cells, free))] if free else []
    for one, between, other in _separations(cliques):
        quads = _exchanges(home, *([place[axis] for axis in side] for side in (one, between, other)))
        parts.append(_moves(cells.size, quads, (1, 1, -1, -1)))
    return np.unique(np.concatenate(parts), axis=0) if parts else np.zeros((0, cells.size), dtype=np.int64)


def markov_basis(
    matrix: csr_array, shape: Sequence[int] | None = None, cliques: Cliques | None = None
) -> IntArray:
    """Return a Markov basis of a design: blocks of independent features, or margins that are decomposable.

    Blocks (cells that no row ties to others) move apart from each other. Within one, records move freely
    between cells with equal columns, so exchanges between the first cells of each kind are enough. Group
    totals in any nesting, and margins on [a, b] and [b, c], fall into such blocks. Margins along longer trees
    do not, and need their ``shape`` and ``cliques``.

    Raises SamplingError for any other design.
    """
    cells = matrix.shape[1]
    kinds = patterns(matrix)
    first = np.unique(kinds.of_cell, return_index=True)[1]
    parts = [markov_basis_partition(kinds.of_cell)]
    for block in components(kinds.columns):
        part = csr_array(kinds.columns[block.rows][:, block.cells])
        if independent_rows(part).size == block.cells.size:
            continue  # the total of each kind of cell is fixed
        table = _independence_table(part) if block.rows.size else None
        if table is None and shape is not None and cliques is not None:
            return markov_basis_decomposable(shape, cliques)
        if table is None:
            raise SamplingError(
                "no Markov basis is known for these invariants: keep margins that are decomposable, or give"
                " the moves in a file (4ti2 computes them)."
            )
        moves = markov_basis_decomposable(table.shape, [[axis] for axis in range(table.ndim)])
        _check_size(sum(map(len, parts)) + len(moves), cells)
        parts.append(np.zeros((len(moves), cells), dtype=np.int64))
        parts[-1][:, first[block.cells[table.ravel()]]] = moves
    return np.concatenate(parts)


def _independence_table(matrix: csr_array) -> IntArray | None:
    """Return the columns of a block by the levels of its features, whose one-way margins are kept."""
    features = product_features(matrix, np.zeros(matrix.shape[0], dtype=np.int64))
    if features is None:
        return None
    table = np.empty([feature.count.size for feature in features], dtype=np.int64)
    table[tuple(feature.level for feature in features)] = np.arange(matrix.shape[1])
    return table


def read_moves(path: Path, matrix: csr_array) -> IntArray:
    """Read moves from a text file of integers: the number of moves and of cells, then one move a line.

    It is checked that they keep the invariants and span the lattice. That they connect every two
    non-negative tables is the word of whoever made the file.
    """
    try:
        if special(path) is not None:
            raise ValueError  # noqa: TRY301 - a pipe or a device, which is not opened
        numbers = np.array([int(word) for word in path.read_text(encoding="utf-8").split()], dtype=np.int64)
        moves = numbers[2:].reshape(int(numbers[0]), int(numbers[1]))
    except (OSError, ValueError, IndexError, OverflowError) as error:
        raise DataError(
            f"{path} holds no matrix of moves: write its two sizes, then its integers."
        ) from error
    if moves.shape[1] != matrix.shape[1] or (matrix @ moves.T).any():
        raise DataError(f"a move in {path} does not keep the invariants: compute them for this design.")
    basis = integer_kernel(matrix.toarray())
    form = to_flint(moves).hnf().tolist()[: basis.shape[0]]
    if moves.shape[0] < basis.shape[0] or form != to_flint(basis).hnf().tolist():
        raise DataError(f"the moves in {path} do not span the lattice of the invariants: some are missing.")
    return moves


def _separations(cliques: Cliques) -> list[tuple[list[int], list[int], list[int]]]:
    """Return (one side, separator, other side) for each edge of a junction tree."""
    sets = {frozenset(clique) for clique in cliques}
    nodes = sorted((c for c in sets if not any(c < other for other in sets)), key=sorted)
    side = list(range(len(nodes)))
    edges = []
    # Kruskal, heaviest separator first: a junction tree is a maximum spanning tree, if there is one
    for i, j in sorted(combinations(range(len(nodes)), 2), key=lambda e: -len(nodes[e[0]] & nodes[e[1]])):
        if side[i] != side[j]:
            edges.append((i, j))
            side = [side[i] if s == side[j] else s for s in side]
    for axis in set().union(*nodes):
        holding = sum(axis in node for node in nodes) - sum(axis in nodes[i] & nodes[j] for i, j in edges)
        if holding != 1:
            raise SamplingError(
                "these margins are not decomposable, so no Markov basis is known by formula: keep one more"
                " or one fewer margin, or give the moves in a file (4ti2 computes them)."
            )
    found = []
    for i, j in edges:
        reached = {i}
        while grown := {b for e in edges if e != (i, j) for a, b in (e, e[::-1]) if a in reached} - reached:
            reached |= grown
        between = nodes[i] & nodes[j]
        one = set().union(*(nodes[k] for k in reached)) - between
        other = set().union(*(nodes[k] for k in range(len(nodes)) if k not in reached)) - between
        found.append((sorted(one), sorted(between), sorted(other)))
    return found


def _exchanges(
    cells: IntArray, one: list[int], between: list[int], other: list[int]
) -> list[tuple[int, ...]]:
    """Return cells (a, b, c, d) of the moves e_a + e_b - e_c - e_d for one separator."""
    sizes = [prod(cells.shape[axis] for axis in side) for side in (between, one, other)]
    blocks = cells.transpose([*between, *one, *other]).reshape(sizes)
    _check_size(sizes[0] * comb(sizes[1], 2) * comb(sizes[2], 2), cells.size)
    return [
        (int(block[i, k]), int(block[j, m]), int(block[i, m]), int(block[j, k]))
        for block in blocks
        for (i, j), (k, m) in product(combinations(range(sizes[1]), 2), combinations(range(sizes[2]), 2))
    ]


def _without(cells: IntArray, axes: list[int]) -> IntArray:
    """Name for each cell the first cell that agrees with it outside some axes."""
    first = cells[tuple(slice(1) if axis in axes else slice(None) for axis in range(cells.ndim))]
    return np.broadcast_to(first, cells.shape).ravel()


def _moves(cells: int, places: Sequence[tuple[int, ...]], entries: tuple[int, ...]) -> IntArray:
    moves = np.zeros((len(places), cells), dtype=np.int64)
    for row, place in enumerate(places):
        moves[row, list(place)] = entries
    return moves


def _check_size(moves: int, cells: int) -> None:
    if moves * cells > MOST_ENTRIES:
        raise SamplingError(f"{moves} moves of {cells} cells are too many to list: use coarser attributes.")
