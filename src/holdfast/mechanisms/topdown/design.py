"""What is measured of each level of a geography, and by how much one record can move it.

At each node g of a level every query is W x_g, one row a marginal cell. A record that changes leaves a cell
of one node and enters a cell of that or another one, so that all nodes of a level together move by

    W e_c - W e_c'  in one node,  or  W e_c  and  -W e_c'  in two  [theory, 11].

The rows of a marginal share no cell: it moves by 2 in l1 and the root of 2 in l2 at most, whatever the number
of nodes, and by nothing where the invariants fix all its answers. The number of records is the same in all
tables that are compared, but unless an invariant publishes it a total gets noise as for one record more.

Invariants and bounds stand by level as well: rows over the cells of a node, and their values at every node.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.data.geography import Regions
from holdfast.data.invariants import InvariantBlock, margin_matrix
from holdfast.data.node_queries import NodeQuery, QueryRows
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.rows import independent_rows
from holdfast.lattice.spread import SpreadColumns
from holdfast.mechanisms.topdown.area_sums import AreaSums, in_areas, of_areas
from holdfast.mechanisms.topdown.options import QueryChoice
from holdfast.mechanisms.topdown.queries import Passes, QueryRecord, passes_of, query_of
from holdfast.public import Public
from holdfast.system.errors import SpecError
from holdfast.system.ways import assigned, setting


@dataclass(frozen=True, eq=False)
class LevelInvariants:
    """Sums that are known exactly at every node of a level: A x_g = a_g."""

    rows: QueryRows
    values: IntArray
    """One line a node, one column a row."""


@dataclass(frozen=True, eq=False)
class LevelBounds:
    """Sums that stay within bounds at every node of a level; a bound that there is not is None."""

    rows: QueryRows
    at_least: int | None
    at_most: int | None


def kept_by_level(public: Public, regions: Regions) -> tuple[LevelInvariants, ...]:
    """Return what is invariant at each level, root first, as the spec has it there."""
    found: list[list[LevelInvariants]] = [[] for _ in regions.sizes]
    for held in public.invariants:
        if in_areas(held.block, regions) is not None:
            continue
        level, rows = local(held.block, regions)
        found[level].append(LevelInvariants(rows, node_values(held.block, held.values, level, rows, regions)))
    return tuple(
        _stacked(each, nodes, regions.width) for each, nodes in zip(found, regions.sizes, strict=True)
    )


def published_by_level(public: Public, regions: Regions) -> tuple[LevelInvariants, ...]:
    """Return what was published before of each level, root first; nothing where nothing was."""
    if not public.published:
        return ()
    found: list[list[LevelInvariants]] = [[] for _ in regions.sizes]
    for each in public.published:
        found[regions.levels.index(each.level)].append(LevelInvariants(each.query(regions).rows, each.values))
    return tuple(
        _stacked(each, nodes, regions.width) for each, nodes in zip(found, regions.sizes, strict=True)
    )


def bounded_by_level(public: Public, regions: Regions) -> tuple[tuple[LevelBounds, ...], ...]:
    """Return the inequalities at each level, root first."""
    found: list[list[LevelBounds]] = [[] for _ in regions.sizes]
    for floor in public.inequalities:
        if in_areas(floor.block, regions) is not None:
            continue
        level, rows = local(floor.block, regions)
        found[level].append(LevelBounds(rows, floor.at_least, floor.at_most))
    return tuple(map(tuple, found))


def local(block: InvariantBlock, regions: Regions) -> tuple[int, QueryRows]:
    """Return the place of the level of an invariant, and its rows over the cells of a node there.

    Raises SpecError where it is not the same at every node of one level.
    """
    levels, width = regions.levels, regions.width
    if block.kind == "weights":
        return _weights(block, regions)
    apart = [name for name in block.where if name in levels]
    if apart:
        raise SpecError(
            f"the invariant or bound {block.name!r} is for some of the nodes of {apart[0]}, and topdown"
            f" keeps what holds at every node of a level: give it {assigned('level', apart[0])}, or"
            f" {assigned('name', 'lattice-gaussian')} in {setting('mechanism')}."
        )
    depth = max((levels.index(name) for name in block.attributes if name in levels), default=0)
    names = [name for name in block.attributes if name not in levels]
    if regions.cells is None:
        return depth, csr_array(np.ones((1, width), dtype=np.int64))
    return depth, margin_matrix(regions.cells, names, block.where)[0]


def _weights(block: InvariantBlock, regions: Regions) -> tuple[int, QueryRows]:
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


def node_values(
    block: InvariantBlock, values: IntArray, level: int, rows: QueryRows, regions: Regions
) -> IntArray:
    """Return the values of a block, one line a node; a row without a cell that can be is 0."""
    nodes, number = regions.sizes[level], int(rows.shape[0])
    if block.kind == "weights":
        return np.asarray(values).reshape(nodes, number)
    if isinstance(block.given, SpreadColumns):
        some, first = block.given.first_cells()
    else:
        some = np.flatnonzero(np.diff(block.given.indptr))
        first = block.given.indices[block.given.indptr[:-1][some]].astype(np.int64)
    leaf, cell = np.divmod(first, regions.width)
    row_of = np.zeros(regions.width, dtype=np.int64)
    row_of[rows.indices] = np.repeat(np.arange(number), np.diff(rows.indptr))
    found = np.zeros((nodes, number), dtype=np.int64)
    found[regions.spine.ancestors(regions.levels[level])[leaf], row_of[cell]] = values[some]
    return found


def _stacked(parts: Sequence[LevelInvariants], nodes: int, width: int) -> LevelInvariants:
    none = LevelInvariants(csr_array((0, width), dtype=np.int64), np.zeros((nodes, 0), dtype=np.int64))
    every = (none, *parts)
    return LevelInvariants(
        csr_array(vstack([each.rows for each in every], format="csr")),
        np.concatenate([each.values for each in every], axis=1),
    )


def below(kept: Sequence[LevelInvariants], sizes: Sequence[int], level: int) -> QueryRows:
    """Return the rows that are known at every node of a level: its own, and those of levels below it.

    A level with as many nodes as this one has the same nodes, so its rows hold here, too.
    """
    known = list(_known(kept, sizes, level))
    return csr_array(vstack([kept[level].rows[:0], *known], format="csr"))


def _known(kept: Sequence[LevelInvariants], sizes: Sequence[int], level: int) -> Iterator[QueryRows]:
    for place, each in enumerate(kept):
        if place >= level or sizes[place] == sizes[level]:
            yield each.rows


@dataclass(frozen=True, eq=False)
class MeasuredQuery:
    """A query that is measured at every node of a level, or of every area of a kind.

    Attributes:
        level: the place of the level, root first, or of the kind after all levels.
        query: the place of the query.
        sensitivity: by how many counts one record moves it at most: the l1 norm, and the square of the l2.
        attained: whether some change of one record that keeps all invariants moves it so much.

    """

    level: int
    query: int
    sensitivity: int
    attained: bool


@dataclass(frozen=True, eq=False)
class MeasurementDesign:
    """The regions of a table, the queries of every node, and what is known at each level."""

    regions: Regions
    queries: tuple[NodeQuery, ...]
    kept: tuple[LevelInvariants, ...]
    bounded: tuple[tuple[LevelBounds, ...], ...]
    presence: bool = False
    """Whether records are added or removed, and none is another."""
    passes: Passes = ()
    """The queries that are estimated before others, and what each pass found stays."""
    costs: tuple[str, ...] = ()
    """What that cost whom, in words."""
    said: tuple[tuple[str, ...], ...] = ()
    """What each of these numbers counts, by level."""
    before: tuple[LevelInvariants, ...] = ()
    """What was published before, at each level: it binds what is estimated, not what is measured."""
    of_areas: tuple[AreaSums, ...] = ()
    """What is known, or bounded, of areas off the spine."""
    areas_measured: tuple[frozenset[int], ...] = ()
    """The queries that are measured of each kind of these."""

    @classmethod
    def of(
        cls,
        public: Public,
        asked: Sequence[QueryChoice] | Sequence[QueryRecord],
        passes: Sequence[Sequence[str]] = (),
        shares: Mapping[str, Fraction] | None = None,
    ) -> "MeasurementDesign":
        """Return the design of some queries for what is public: those of a spec, or of a certificate.

        Areas off the spine are measured where they have a share of their own.
        """
        regions = Regions.of(public.schema, public.geography)
        queries = tuple(
            each.query(regions) if isinstance(each, QueryRecord) else query_of(each, regions)
            for each in asked
        )
        for place, query in enumerate(queries):
            for other in queries[:place]:
                if query.name == other.name:
                    raise SpecError(
                        f"{setting('mechanism.queries')} asks for {query.name} twice: keep one, or give them"
                        " names."
                    )
            if query.rows.shape[0] == 0 or not query.rows.nnz:
                raise SpecError(
                    f"{setting('mechanism.queries')} asks for {query.name}, which counts no cell: widen it."
                )
        kept, bounded = kept_by_level(public, regions), bounded_by_level(public, regions)
        turns = passes_of(queries, passes, len(regions.names))
        before = published_by_level(public, regions)
        costs = tuple(dict.fromkeys(each.cost for each in public.published))
        said = tuple(
            tuple(
                ", ".join(
                    [
                        "published before",
                        *(f"{one} = {of}" for one, of in zip(query.marginal, label, strict=True)),
                    ]
                )
                for each in public.published
                if each.level == level
                for query in (each.query(regions),)
                for label in query.labels
            )
            for level in regions.levels
        )
        areas = of_areas(public, regions)
        presence = public.whom.presence
        measured = _areas_measured(regions, asked, shares or {})
        return cls(regions, queries, kept, bounded, presence, turns, costs, said, before, areas, measured)

    def asked(self, level: int) -> LevelInvariants:
        """Return what the counts of a level keep: what is invariant there, and what was published before."""
        if not self.before:
            return self.kept[level]
        return _stacked((self.kept[level], self.before[level]), self.regions.sizes[level], self.regions.width)

    def sums(self, level: int) -> tuple[str, ...]:
        """Return in words where each sum that the counts of a level keep is from, in the order of `asked`."""
        kept = ("an invariant",) * int(self.kept[level].rows.shape[0])
        return (*kept, *(self.said[level] if self.said else ()))

    def turn(self, query: int) -> int:
        """Return in which pass a query is estimated."""
        return next((turn for turn, places in enumerate(self.passes) if query in places), 0)

    @cached_property
    def measured(self) -> tuple[MeasuredQuery, ...]:
        """What is measured, level by level: the queries that the invariants do not fix."""
        return tuple(
            MeasuredQuery(level, place, self._sensitivity(level, query), self._attained(level, query))
            for level in range(len(self.regions.numbers))
            for place, query in enumerate(self.queries)
            if self._asked(level, place) and not self._fixed(level, query)
        )

    def _asked(self, level: int, query: int) -> bool:
        """Whether a query is asked of a level, or of a kind of areas."""
        kind = level - len(self.regions.sizes)
        return kind < 0 or (kind < len(self.areas_measured) and query in self.areas_measured[kind])

    def _fixed(self, level: int, query: NodeQuery) -> bool:
        """Whether invariants say all answers of a query on a level, decided exactly."""
        known = self._rows_known(level)
        if known.shape[0] == 0 or query.rows.shape[0] > known.shape[0]:
            return False  # the rows of a query are independent
        rank = independent_rows(known).size
        return independent_rows(csr_array(vstack([known, query.rows], format="csr"))).size == rank

    def _rows_known(self, level: int) -> QueryRows:
        """Return the rows that invariants tell of every node of a level, or of every area of a kind."""
        regions = self.regions
        if level < len(regions.sizes):
            return below(self.kept, regions.sizes, level)
        none = csr_array((0, regions.width), dtype=np.int64)
        whole = regions.numbers[level]
        mine = (each for each in self.of_areas if each.kind == level - len(regions.sizes))
        rows = (each.rows for each in mine if each.values is not None and each.areas.size == whole)
        return csr_array(vstack([none, *rows], format="csr"))

    def _sensitivity(self, level: int, query: NodeQuery) -> int:
        """Return the l1 norm, which is the square of the l2 norm, of what one record moves at most."""
        moved = self.regions.numbers[level] > 1 or query.rows.shape[0] > 1
        return 2 if moved and not self.presence else 1  # one row at the root: in or out of it

    def _attained(self, level: int, query: NodeQuery) -> bool:
        """Whether one record that changes, and no invariant with it, can move a query by its sensitivity."""
        areas = [each.rows for each in self.of_areas if each.values is not None]
        everything = csr_array(vstack([*(each.rows for each in self.kept), *areas], format="csr"))
        row, possible = query.row_of, self.regions.possible
        counted = row >= 0
        if self.presence:  # a record comes to a cell that no invariant counts
            return bool(possible[:, counted & (np.diff(everything.tocsc().indptr) == 0)].any())
        most = self._sensitivity(level, query)
        # within a leaf: two cells that all invariants treat alike, in different rows of the query
        for group in _alike(everything):
            some, rows = possible[:, group], row[group]
            for one in np.unique(rows[rows >= 0]).tolist():
                other = rows < 0 if most == 1 else (rows >= 0) & (rows != one)
                if (some[:, rows == one].any(axis=1) & some[:, other].any(axis=1)).any():
                    return True
        if most == 1:
            return False
        # to a node apart on this level: a cell that no invariant below their common ancestor counts
        for above in range(level if level < len(self.regions.sizes) else 0):
            if self.regions.sizes[above] < self.regions.sizes[above + 1]:
                lower = [*(each.rows for each in self.kept[above + 1 :]), *areas]
                free = counted & (np.diff(csr_array(vstack(lower, format="csr")).tocsc().indptr) == 0)
                if possible[:, free].all(axis=0).any():
                    return True
        return False


def _areas_measured(
    regions: Regions, asked: Sequence[QueryChoice] | Sequence[QueryRecord], shares: Mapping[str, Fraction]
) -> tuple[frozenset[int], ...]:
    """Return the queries with a weight on each kind of areas that has a share.

    Raises SpecError where a query names areas that have none.
    """
    weights, names = [each.on(tuple(regions.places)) for each in asked], tuple(regions.places)
    found = []
    for place, name in enumerate(names[len(regions.sizes) :], start=len(regions.sizes)):
        some = frozenset(at for at, own in enumerate(weights) if own[place])
        named = any(isinstance(each, QueryChoice) and name in each.named_levels for each in asked)
        if named and not shares.get(name):
            raise SpecError(
                f"{setting('mechanism.queries', 'weight')} names {name!r}, which has no share of the budget:"
                f" give it one in {setting('mechanism', 'allocation')}, or leave it out."
            )
        found.append(some if shares.get(name) else frozenset())
    return tuple(found)


def _alike(rows: QueryRows) -> list[IntArray]:
    """Return the groups of cells that have the same column."""
    columns = rows.tocsc()
    columns.sort_indices()
    groups: dict[tuple[bytes, bytes], list[int]] = {}
    for cell in range(columns.shape[1]):
        part = slice(columns.indptr[cell], columns.indptr[cell + 1])
        groups.setdefault((columns.indices[part].tobytes(), columns.data[part].tobytes()), []).append(cell)
    return [np.array(group) for group in groups.values()]
