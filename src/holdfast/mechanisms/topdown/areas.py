"""Areas off the spine in the estimates: a node's table has, beside its cells, their sums by area.

Of the cells of a node those that no sum of an area tells apart make one class. With x for a node's cells and
y_ac for what area a has of class c in it, every node keeps

    sum_a y_ac = sum of x over c,   y_ac = 0 where no leaf of the node is in a,

and y adds up from children to parents as x does. So what is measured or known of an area is about cells of
the root, families are solved from the top down as without areas, and whole counts keep the areas exactly.

Where an area cuts a node nothing was measured of its parts. They are drawn to sums of what was measured
below, at the level and by the query where such a sum has the least variance: weights settle the estimate, and
no claim rests on them. In a node that no area cuts the sums by area follow from its cells, and are no
variables.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, eye_array, kron, vstack

from holdfast.data.geography import Areas
from holdfast.data.node_queries import QueryRows
from holdfast.estimation.hierarchy.beside import RowsAcross, beside, placed
from holdfast.estimation.hierarchy.level import Level, LevelQuery, SumsByArea
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.topdown.design import MeasurementDesign
from holdfast.mechanisms.topdown.measurements import Measurement, Values
from holdfast.programs.solver import UNBOUNDED

Pairs = Sequence[tuple[Measurement, IntArray]]


@dataclass(frozen=True, eq=False)
class AreaTable:
    """The sums of one kind of areas, as cells beside those of a node.

    Attributes:
        design: what is known of all places.
        kind: which areas, among those of the regions.

    """

    design: MeasurementDesign
    kind: int

    @property
    def areas(self) -> Areas:
        """The areas."""
        return self.design.regions.areas[self.kind]

    @property
    def place(self) -> int:
        """The place of the kind among the levels and the areas."""
        return len(self.design.regions.sizes) + self.kind

    @cached_property
    def classes(self) -> csr_array:
        """Classes by cells: what the sums of an area tell apart."""
        design = self.design
        rows = [each.rows for each in design.of_areas if each.kind == self.kind]
        rows += [design.queries[each.query].rows for each in design.measured if each.level == self.place]
        every = csr_array(vstack(rows, format="csr")) if rows else csr_array((0, design.regions.width))
        distinct, inverse = np.unique(every.toarray(), axis=1, return_inverse=True)
        of = np.asarray(inverse).ravel()
        met = np.asarray(distinct != 0).sum(axis=0) > 0
        some = np.flatnonzero(met[of]) if rows else of[:0]
        kept, row = np.unique(of[some], return_inverse=True)
        return csr_array(
            (np.ones(some.size, dtype=np.int64), (row.ravel(), some)), shape=(kept.size, of.size)
        )

    @property
    def width(self) -> int:
        """How many cells the sums of all areas are."""
        return len(self.areas.codes) * int(self.classes.shape[0])

    def level(self, place: int, pairs: Pairs) -> Level:
        """Return what is known and was measured of the sums, at the nodes of a level."""
        regions = self.design.regions
        nodes, last = regions.sizes[place], len(regions.sizes) - 1
        high = None
        if place == last:
            classes = int(self.classes.shape[0])
            inside = self.areas.of[:, None] == np.arange(len(self.areas.codes))
            high = np.repeat(np.where(inside, UNBOUNDED, 0), classes, axis=1)
        queries = list(self._measured(pairs) if place == 0 else ())
        if place < last and (drawn := self._drawn(place, pairs)) is not None:
            queries.append(drawn)
        known = self._known() if place == 0 else None
        ranges = self._ranges() if place == 0 else None
        return Level.of(
            regions.levels[place],
            nodes,
            self.width,
            queries=[query for query, _ in queries],
            answers=[answers for _, answers in queries],
            invariants=None if known is None else known[0],
            values=None if known is None else known[1][None, :],
            ranges=None if ranges is None else ranges[0],
            least=None if ranges is None else ranges[1][None, :],
            most=None if ranges is None else ranges[2][None, :],
            high=high,
        )

    def sums(self, place: int, before: int, cells: int) -> SumsByArea:
        """Return which cells these are among those of all tables, the first one having a place."""
        shape = len(self.areas.codes), int(self.classes.shape[0])
        columns = before + np.arange(self.width).reshape(shape)
        return SumsByArea(columns, placed(self.classes, 0, cells), self._of_nodes(place))

    def said(self, place: int) -> tuple[str, ...]:
        """Return in words what each equality of a level is."""
        if place:
            return ()
        name, codes = self.areas.name, self.areas.codes
        return tuple(
            f"an invariant of {name} {codes[area]}"
            for each in self.design.of_areas
            if each.kind == self.kind and each.values is not None
            for area in each.areas.tolist()
            for _ in range(each.rows.shape[0])
        )

    def _of_nodes(self, place: int) -> IntArray:
        """Return the area that each node of a level lies in, -1 where areas cut it."""
        regions = self.design.regions
        return regions.in_one_area(regions.levels[place], self.kind)

    def _by_class(self, rows: QueryRows) -> csr_array:
        """Return rows over cells as rows over classes: all cells of a class have the same in a row."""
        sizes = np.diff(self.classes.indptr)
        return csr_array((rows @ self.classes.T).multiply(1 / sizes)).astype(np.int64)

    def _at(self, areas: IntArray, rows: QueryRows) -> csr_array:
        """Return rows over cells at some areas, over the sums of all areas."""
        number = len(self.areas.codes)
        picked = csr_array(
            (np.ones(areas.size, dtype=np.int64), (np.arange(areas.size), areas)), shape=(areas.size, number)
        )
        return csr_array(kron(picked, self._by_class(rows), format="csr"))

    def _known(self) -> tuple[csr_array, IntArray] | None:
        some = [each for each in self.design.of_areas if each.kind == self.kind and each.values is not None]
        if not some:
            return None
        rows = vstack([self._at(each.areas, each.rows) for each in some], format="csr")
        return csr_array(rows), np.concatenate(
            [each.values.ravel() for each in some if each.values is not None]
        )

    def _ranges(self) -> tuple[csr_array, IntArray, IntArray] | None:
        some = [each for each in self.design.of_areas if each.kind == self.kind and each.values is None]
        if not some:
            return None
        rows = [self._at(each.areas, each.rows) for each in some]
        low = [-UNBOUNDED if each.at_least is None else each.at_least for each in some]
        high = [UNBOUNDED if each.at_most is None else each.at_most for each in some]
        sizes = [part.shape[0] for part in rows]
        least, most = (np.repeat(np.array(side, dtype=np.int64), sizes) for side in (low, high))
        return csr_array(vstack(rows, format="csr")), least, most

    def _measured(self, pairs: Pairs) -> Iterator[tuple[LevelQuery, IntArray]]:
        """Yield what was measured of the areas: cells of the root."""
        every = np.arange(len(self.areas.codes))
        for each, answers in pairs:
            if each.of.level == self.place:
                rows = self._at(every, self.design.queries[each.of.query].rows)
                query = LevelQuery(rows, 1 / each.variance, self.design.turn(each.of.query))
                yield query, answers.reshape(1, -1)

    def _drawn(self, place: int, pairs: Pairs) -> tuple[LevelQuery, IntArray] | None:
        """Return what the parts of the nodes of a level are drawn to: sums of what was measured below."""
        regions = self.design.regions
        if (self._of_nodes(place) >= 0).all():
            return None
        spine, sizes = regions.spine, regions.sizes
        node = spine.ancestors(regions.levels[place])
        parts = np.unique(node * len(self.areas.codes) + self.areas.of).size
        best: tuple[float, Measurement, IntArray, csr_array] | None = None
        for each, answers in pairs:
            below = each.of.level
            if not place < below < len(sizes) or (self._of_nodes(below) < 0).any():
                continue
            onto = _sums_of(self.design.queries[each.of.query].rows, self.classes)
            if onto is None:
                continue
            variance = each.variance * onto.nnz / onto.shape[0] * sizes[below] / parts
            if best is None or variance < best[0]:
                best = variance, each, answers, onto
        if best is None:
            return None
        variance, each, answers, onto = best
        above = np.arange(sizes[each.of.level])
        for parent in reversed(spine.parent[place : each.of.level]):
            above = parent[above]
        number, classes = len(self.areas.codes), int(self.classes.shape[0])
        sums = np.zeros((sizes[place] * number, classes), dtype=np.int64)
        np.add.at(sums, above * number + self._of_nodes(each.of.level), np.asarray(answers @ onto.T))
        every = csr_array(eye_array(self.width, dtype=np.int64))
        turn = self.design.turn(each.of.query)
        return LevelQuery(every, 1 / variance, turn), sums.reshape(sizes[place], -1)


def _sums_of(rows: QueryRows, classes: csr_array) -> csr_array | None:
    """Return classes by rows of a query, where every class is a union of rows; else None."""
    whole = np.diff(rows.indptr)
    met = csr_array(classes @ rows.T)
    met.data = (met.data == whole[met.indices]).astype(met.data.dtype)
    met.eliminate_zeros()
    same = csr_array(met @ rows)
    return met if abs(same - classes).sum() == 0 else None


def area_tables(design: MeasurementDesign) -> tuple[AreaTable, ...]:
    """Return the tables of the kinds of areas of which something is measured or known."""
    every = (AreaTable(design, kind) for kind in range(len(design.regions.areas)))
    return tuple(each for each in every if each.classes.shape[0])


def with_areas(
    own: Level, design: MeasurementDesign, place: int, measurements: Sequence[Measurement], values: Values
) -> Level:
    """Return a level of a table with the sums of its areas as cells beside its own."""
    tables = area_tables(design)
    if not tables:
        return own
    pairs = list(zip(measurements, values, strict=True))
    parts = [own, *(each.level(place, pairs) for each in tables)]
    ends = np.cumsum([part.cells for part in parts]).tolist()
    across = []
    if place == len(design.regions.sizes) - 1:  # it holds at the nodes above as well, as sums
        for each, before in zip(tables, ends, strict=False):
            classes = eye_array(each.classes.shape[0], dtype=np.int64)
            every = kron(np.ones((1, len(each.areas.codes)), dtype=np.int64), classes, format="csr")
            rows = placed(each.classes, 0, ends[-1]) - placed(csr_array(every), before, ends[-1])
            across.append(RowsAcross.of(csr_array(rows), own.nodes, least=True, most=True))
    sums = tuple(each.sums(place, before, ends[-1]) for each, before in zip(tables, ends, strict=False))
    return replace(beside(parts, across), by_area=sums)
