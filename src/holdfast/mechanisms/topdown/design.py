"""What is measured of each level of a geography, and by how much one record can move it.

At each node g of a level every query is W x_g, one row a marginal cell. A record that changes leaves a cell
of one node and enters a cell of that or another one, so that all nodes of a level together move by

    W e_c - W e_c'  in one node,  or  W e_c  and  -W e_c'  in two  [theory, 11].

The rows of a marginal share no cell: it moves by 2 in l1 and the root of 2 in l2 at most, whatever the number
of nodes, and by nothing where the invariants fix all its answers. The number of records is the same in all
tables that are compared, but unless an invariant publishes it a total gets noise as for one record more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from holdfast.data.invariants import margin_matrix
from holdfast.data.regions import Regions
from holdfast.errors import SpecError
from holdfast.lattice.rows import independent_rows
from holdfast.mechanisms.topdown.kept import Bounded, Kept, Rows, below, bounded_by_level, kept_by_level
from holdfast.public import Public
from holdfast.spec.closest import closest

TOTAL = "total"
"""The name of the query that asks for the sum of all cells."""


@dataclass(frozen=True, eq=False)
class Query:
    """A marginal of the table of a node."""

    marginal: tuple[str, ...]
    rows: Rows

    @classmethod
    def of(cls, marginal: Sequence[str], regions: Regions, *, of: str = "queries") -> "Query":
        """Return the marginal of some attributes; raises SpecError where one is not among the cells.

        ``of`` is the key of the mechanism's options that asks for it.
        """
        for name in marginal:
            if name not in regions.names:
                said = closest(name, regions.names) if regions.names else "write marginal = []."
                raise SpecError(
                    f"[[mechanism.{of}]] marginal names {name!r}, which is not among the cells of [data]:"
                    f" {said}"
                )
        if regions.cells is None:
            return cls((), csr_array(np.ones((1, regions.width), dtype=np.int64)))
        ordered = tuple(name for name in regions.names if name in marginal)
        return cls(ordered, margin_matrix(regions.cells, ordered, {})[0])

    @property
    def name(self) -> str:
        """What it is called: its attributes."""
        return " by ".join(self.marginal) or TOTAL


@dataclass(frozen=True, eq=False)
class Measured:
    """A query that is measured at every node of a level.

    Attributes:
        level: the place of the level, root first.
        query: the place of the query.
        sensitivity: by how many counts one record moves it at most: the l1 norm, and the square of the l2.
        attained: whether some change of one record that keeps all invariants moves it so much.

    """

    level: int
    query: int
    sensitivity: int
    attained: bool


@dataclass(frozen=True, eq=False)
class Design:
    """The regions of a table, the queries of every node, and what is known at each level."""

    regions: Regions
    queries: tuple[Query, ...]
    kept: tuple[Kept, ...]
    bounded: tuple[tuple[Bounded, ...], ...]

    @classmethod
    def of(cls, public: Public, marginals: Sequence[Sequence[str]]) -> "Design":
        """Return the design of some marginals for what is public."""
        regions = Regions.of(public.schema, public.geography)
        queries = tuple(Query.of(marginal, regions) for marginal in marginals)
        for place, query in enumerate(queries):
            if query.marginal in [other.marginal for other in queries[:place]]:
                raise SpecError(f"[[mechanism.queries]] asks for {query.name} twice: keep one.")
        return cls(regions, queries, kept_by_level(public, regions), bounded_by_level(public, regions))

    @cached_property
    def measured(self) -> tuple[Measured, ...]:
        """What is measured, level by level: the queries that the invariants do not fix."""
        return tuple(
            Measured(level, place, self._sensitivity(level, query), self._attained(level, query))
            for level in range(len(self.regions.sizes))
            for place, query in enumerate(self.queries)
            if not self._fixed(level, query)
        )

    def _fixed(self, level: int, query: Query) -> bool:
        """Whether invariants say all answers of a query on a level, decided exactly."""
        known = below(self.kept, self.regions.sizes, level)
        if known.shape[0] == 0 or query.rows.shape[0] > known.shape[0]:
            return False  # the rows of a marginal are independent
        rank = independent_rows(known).size
        return independent_rows(csr_array(vstack([known, query.rows], format="csr"))).size == rank

    def _sensitivity(self, level: int, query: Query) -> int:
        """Return the l1 norm, which is the square of the l2 norm, of what one record moves at most."""
        return 2 if self.regions.sizes[level] > 1 or query.rows.shape[0] > 1 else 1

    def _attained(self, level: int, query: Query) -> bool:
        """Whether one record that changes, and no invariant with it, can move a query by its sensitivity."""
        if self._sensitivity(level, query) == 1:
            return False  # only a record more or less would
        everything = csr_array(vstack([each.rows for each in self.kept], format="csr"))
        row = _row_of(query.rows)
        possible = self.regions.possible
        # within a leaf: two cells that all invariants treat alike, in different rows of the query
        for group in _alike(everything):
            some = possible[:, group]
            apart = row[group] != row[group][0]
            if apart.any() and (some[:, ~apart].any(axis=1) & some[:, apart].any(axis=1)).any():
                return True
        # to a node apart on this level: a cell that no invariant below their common ancestor counts
        for above in range(level):
            if self.regions.sizes[above] < self.regions.sizes[above + 1]:
                lower = csr_array(vstack([each.rows for each in self.kept[above + 1 :]], format="csr"))
                free = np.diff(lower.tocsc().indptr) == 0
                if possible[:, free].all(axis=0).any():
                    return True
        return False


def _row_of(rows: Rows) -> NDArray[np.int64]:
    """Return the row that each cell is in; all cells are in one."""
    found = np.zeros(rows.shape[1], dtype=np.int64)
    found[rows.indices] = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return found


def _alike(rows: Rows) -> list[NDArray[np.int64]]:
    """Return the groups of cells that have the same column."""
    columns = rows.tocsc()
    columns.sort_indices()
    groups: dict[tuple[bytes, bytes], list[int]] = {}
    for cell in range(columns.shape[1]):
        part = slice(columns.indptr[cell], columns.indptr[cell + 1])
        groups.setdefault((columns.indices[part].tobytes(), columns.data[part].tobytes()), []).append(cell)
    return [np.array(group) for group in groups.values()]
