"""Steps between tables that agree with what is public: each of them is reached from every other.

Equalities alone [diaconis1998; holdfast, lattice/markov.py]:

    cells in no invariant           one record more or less
    cells with equal columns of A   a record goes from one to another
    both margins of a table         two records exchange their columns
    other designs                   the moves of a Markov basis, listed

Floors of single cells change nothing: counts above them are a table with the same moves. Other inequalities
B x >= b add slacks s = B x - b >= 0 to the table, which moves change along, and a Markov basis of A need not
connect the tables that are left. Here they are connected by

    sums of nested or disjoint sets of cells, in A and in B, bounded from below or above: the tables are an
        M-convex set, or a projection of one, and single records that come, go or move connect it
        [murota2003];
    comparisons x_i >= x_j + b, b >= 0, of each cell i with at most one other and without a circle: with
        x_i - x_j - b in place of x_i it is a table of counts without further inequalities, and moves of
        its design are moves here.

What is none of these is connected by moves that are found while all tables are listed, or refused.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, vstack
from scipy.sparse.csgraph import connected_components

from holdfast.inference.posterior.table_constraints import TableConstraints
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import components, patterns
from holdfast.lattice.kernel import integer_kernel, reduced_basis
from holdfast.lattice.markov import markov_basis, markov_basis_decomposable
from holdfast.lattice.rows import independent_rows
from holdfast.sampling.chains.row_pairs import two_way_cells
from holdfast.system.errors import SamplingError
from holdfast.system.ways import setting

MOST_LISTED = 500_000
"""Moves that are listed one by one."""
MOST_TABLES = 20_000
"""Tables that are listed to see whether they are connected."""
SMALL = 16
"""Cells of a group whose pairs are all listed in any case."""
SOME = 100
"""Tables that are looked at for the shortest way out of those that are connected."""
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Moves:
    """Moves by their kinds.

    Attributes:
        alone: cells whose counts may change by themselves.
        paired: cells whose records go from one to another, those of one group side by side.
        starts: where each group begins, and where the last one ends.
        table: the cells of a table, by row and column, whose records exchange their columns; or none.
        listed: other moves, one a row, over the cells and the slacks of inequalities.

    """

    alone: IntArray = field(default_factory=lambda: _NONE)
    paired: IntArray = field(default_factory=lambda: _NONE)
    starts: IntArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    table: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    listed: csr_array = field(default_factory=lambda: csr_array((0, 0), dtype=np.int64))

    @property
    def none(self) -> bool:
        """Whether there is nothing to move: one table alone agrees with what is public."""
        return not (self.alone.size or self.paired.size or self.table.size or self.listed.shape[0])

    def listing(self, cells: int, *, every: bool = False, order: IntArray | None = None) -> csr_array:
        """Return moves as rows over so many cells; raises SamplingError where they are too many.

        Of large groups of cells it has as many pairs as connect all tables of counts, or ``every`` one. The
        pairs are of cells that stand close to each other, and in another ``order`` of all cells, if any.
        """
        pairs = []
        for begin, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            group = self.paired[begin:end]
            pairs.append(group[_pairs(group.size, every=every)])
            if order is not None and group.size > SMALL:
                other = group[np.argsort(order[group])]
                pairs.append(other[_pairs(group.size, every=every)])
        rows, columns = self.table.shape
        squares = rows * (rows - 1) * columns * (columns - 1) // 4
        number = sum(pair.shape[1] for pair in pairs)
        if number + squares + self.alone.size + self.listed.shape[0] > MOST_LISTED:
            raise SamplingError(_too_many())
        found = [csr_array(eye_array(cells, dtype=np.int64, format="csr")[self.alone])]
        found += [_rows(list(pair), (1, -1), cells) for pair in pairs]
        if squares:
            (r, s), (c, d) = np.triu_indices(rows, k=1), np.triu_indices(columns, k=1)
            r, s = (np.repeat(each, c.size) for each in (r, s))
            c, d = (np.tile(each, r.size // c.size) for each in (c, d))
            corners = [self.table[r, c], self.table[s, d], self.table[r, d], self.table[s, c]]
            found.append(_rows(corners, (1, 1, -1, -1), cells))
        if self.listed.shape[0]:
            found.append(csr_array(self.listed[:, :cells]))
        return _stacked(found, cells)


def connecting_moves(constraints: TableConstraints) -> Moves:
    """Return moves that connect all tables that keep the constraints; raises SamplingError without any."""
    rows, _ = constraints.joint
    if rows.shape[0] == 0:
        return _between_counts(constraints)
    moves = _records(constraints) if _laminar(constraints) else _comparing(constraints)
    if moves is None:
        moves = _seen(constraints)
    slack = csr_array(moves @ rows.T)
    listed = csr_array(hstack([moves, slack], format="csr").astype(np.int64))
    listed.eliminate_zeros()
    return Moves(listed=listed)


def _between_counts(constraints: TableConstraints) -> Moves:
    """Return the moves of equalities."""
    matrix = constraints.matrix
    tied = np.zeros(constraints.cells, dtype=np.bool_)
    tied[matrix.indices] = True
    alone = np.flatnonzero(~tied)
    table = two_way_cells(matrix) if tied.all() else None
    if table is not None:
        return Moves(table=table)
    cells = np.flatnonzero(tied)
    part = csr_array(matrix[:, cells])
    kinds = patterns(part)
    order = np.argsort(kinds.of_cell, kind="stable")
    sizes = np.bincount(kinds.of_cell, minlength=kinds.count)
    several = np.repeat(sizes > 1, sizes)
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > 1])]).astype(np.int64)
    try:
        between = _between_kinds(kinds.columns)
    except SamplingError:
        return Moves(
            listed=_of_design(constraints)
            if constraints.design is not None and tied.all()
            else _seen(constraints)
        )
    # from the first cell of a kind to that of another
    first = cells[np.unique(kinds.of_cell, return_index=True)[1]]
    listed = csr_array(
        (between.data, first[between.indices], between.indptr), (between.shape[0], constraints.cells)
    )
    return Moves(alone, cells[order[several]], starts, listed=listed)


def _between_kinds(columns: csr_array) -> csr_array:
    """Return moves between cells with different columns, one cell of each kind."""
    kinds = columns.shape[1]
    found = [csr_array((0, kinds), dtype=np.int64)]
    for block in components(columns):
        part = csr_array(columns[block.rows][:, block.cells])
        free = block.cells.size - independent_rows(part).size
        if free == 0:
            continue  # the total of each kind of cell is fixed
        # on a line tables without negative counts lie side by side
        moves = csr_array(integer_kernel(part.toarray()) if free == 1 else markov_basis(part))
        placed = (moves.data, block.cells[moves.indices], moves.indptr)
        found.append(csr_array(placed, shape=(moves.shape[0], kinds)))
    return csr_array(vstack(found, format="csr"))


def _of_design(constraints: TableConstraints) -> csr_array:
    """Return the moves of decomposable margins, or what is seen to be enough."""
    if constraints.design is None:
        return _seen(constraints)
    try:
        return csr_array(markov_basis_decomposable(*constraints.design))
    except SamplingError:
        return _seen(constraints)


def _laminar(constraints: TableConstraints) -> bool:
    """Whether A and B are sums, from below or above, over sets of cells that are nested or disjoint."""
    rows, _ = constraints.joint
    sets = abs(csr_array(vstack([constraints.matrix, rows], format="csr")))
    sizes = np.diff(sets.indptr)
    one_sign = np.abs(np.asarray(rows.sum(axis=1)).ravel()) == np.diff(rows.indptr)
    if (constraints.matrix.data != 1).any() or (sets.data != 1).any() or not one_sign.all():
        return False
    common = (sets @ sets.T).tocoo()
    return bool((common.data == np.minimum(sizes[common.row], sizes[common.col])).all())


def _records(constraints: TableConstraints) -> csr_array:
    """Return all moves of single records that keep the equalities."""
    kinds = patterns(constraints.matrix)
    tied = np.zeros(constraints.cells, dtype=np.bool_)
    tied[constraints.matrix.indices] = True
    order = np.argsort(kinds.of_cell, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(kinds.of_cell))]).astype(np.int64)
    return Moves(np.flatnonzero(~tied), order, starts).listing(constraints.cells, every=True)


def _comparing(constraints: TableConstraints) -> csr_array | None:
    """Return the moves of x_i - x_j - b in place of x_i; None where B has other rows."""
    B, least = constraints.joint
    if (np.diff(B.indptr) != 2).any() or (least < 0).any():
        return None
    above: dict[int, int] = {}
    for row in range(B.shape[0]):
        at = slice(B.indptr[row], B.indptr[row + 1])
        entries = dict(zip(B.data[at].tolist(), B.indices[at].tolist(), strict=True))
        if set(entries) != {1, -1} or entries[1] in above or constraints.low[entries[1]]:
            return None
        above[entries[1]] = entries[-1]
    back = np.eye(constraints.cells, dtype=np.int64)  # x = back w, up to a shift
    for cell in above:
        below, seen = above.get(cell), {cell}
        while below is not None:
            if below in seen:
                return None
            seen.add(below)
            back[cell, below] = 1
            below = above.get(below)
    changed = csr_array(constraints.matrix @ csr_array(back))
    moves = _between_counts(TableConstraints.of(changed, constraints.values)).listing(constraints.cells)
    return csr_array(moves @ csr_array(back.T))


def _seen(constraints: TableConstraints) -> csr_array:
    """Return moves that are seen to connect all tables: short ones of the lattice, and what is missing.

    As long as tables fall apart, the shortest difference of two that are apart becomes a move.
    """
    tables = constraints.tables(MOST_TABLES)
    if tables is None:
        raise SamplingError(
            "no moves are known that reach every table with these invariants and inequalities: keep margins"
            " that are decomposable, or state sums of nested or separate sets of cells, or comparisons of"
            " single cells."
        )
    place = {table.tobytes(): number for number, table in enumerate(tables)}
    moves = list(reduced_basis(constraints.matrix.toarray()))
    edges: list[tuple[int, int]] = []
    fresh = moves
    while True:
        for step in fresh:
            moved = ((number, place.get(table.tobytes())) for number, table in enumerate(tables + step))
            edges += [(number, other) for number, other in moved if other is not None]
        one, other = np.array(edges, dtype=np.int64).reshape(-1, 2).T
        graph = csr_array((np.ones(one.size), (one, other)), shape=(len(tables), len(tables)))
        parts, part = connected_components(graph, directed=False)
        if parts <= 1:
            return csr_array(np.array(moves, dtype=np.int64).reshape(-1, constraints.cells))
        inside, outside = tables[part == part[0]], tables[part != part[0]]
        apart = [np.abs(outside - table).sum(axis=1) for table in inside[:SOME]]
        nearest, far = divmod(int(np.argmin(apart)), len(outside))
        fresh = [outside[far] - inside[nearest]]
        moves += fresh


def _pairs(size: int, *, every: bool) -> IntArray:
    """Return pairs of cells that records go between: each two, or those 1, 2, 4, ... apart in a circle.

    Records go around a circle one by one, so that neighbours are enough to connect all tables of counts.
    """
    if size <= SMALL or (every and size * (size - 1) // 2 <= MOST_LISTED):
        return np.stack(np.triu_indices(size, k=1))
    if every:
        raise SamplingError(_too_many())
    cells, apart = np.arange(size), 1 << np.arange(size.bit_length() - 1)
    return np.stack([np.tile(cells, apart.size), ((cells + apart[:, None]) % size).ravel()])


def _rows(cells: list[IntArray], entries: tuple[int, ...], width: int) -> csr_array:
    count = cells[0].size
    columns = np.stack(cells, axis=1).ravel()
    data = np.tile(np.array(entries, dtype=np.int64), count)
    return csr_array((data, columns, np.arange(0, data.size + 1, len(entries))), shape=(count, width))


def _stacked(parts: list[csr_array], width: int) -> csr_array:
    return csr_array(vstack([csr_array((0, width), dtype=np.int64), *parts], format="csr"))


def _too_many() -> str:
    return (
        f"there are more than {MOST_LISTED:,} moves between tables: use coarser attributes, of a top-down"
        f" release a higher level in {setting('model')}, or leave the inequalities out."
    )
