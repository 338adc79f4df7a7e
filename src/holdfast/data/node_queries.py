"""Queries of the table of a node: marginals, of levels put together and of some of the cells.

A query is a list of rows, each the sum of some cells, and no cell is in two of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.sparse import csr_array

from holdfast.data.geography import Regions
from holdfast.data.invariants import margin_levels, margin_matrix
from holdfast.data.schema import Schema
from holdfast.data.selection import chosen_levels
from holdfast.lattice.arrays import IntArray
from holdfast.spec.values import Bins, Choice
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import assigned, setting

QueryRows = csr_array
"""Rows over the cells of one node."""

TOTAL = "total"
"""The name of the query that asks for the sum of all cells."""
DETAILED = "detailed"
"""What the query of all attributes may be called, too."""
Groups = Mapping[str, tuple[str, ...]]
"""New levels of an attribute, or attributes with some levels: by name, the levels that are meant."""


@dataclass(frozen=True, eq=False)
class NodeQuery:
    """A query of the table of a node: its rows, and the levels of each by the attributes of its margin."""

    name: str
    marginal: tuple[str, ...]
    rows: QueryRows
    labels: tuple[tuple[str, ...], ...]
    recode: Mapping[str, Groups] = field(default_factory=dict)
    where: Groups = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        marginal: Sequence[str],
        regions: Regions,
        *,
        name: str | None = None,
        recode: Mapping[str, Groups] | None = None,
        where: Groups | None = None,
        key: str = "mechanism.queries",
    ) -> "NodeQuery":
        """Return a marginal of some attributes, with levels put together and of some cells.

        Raises SpecError where one is not among the cells. ``key`` is that of the options that ask for it.
        """
        groups, some = recode or {}, where or {}
        for each in (*marginal, *some):
            _require(each, regions, key)
        ordered = tuple(each for each in regions.names if each in marginal)
        called = name or " by ".join(ordered) or TOTAL
        if regions.cells is None:
            return cls(called, (), csr_array(np.ones((1, regions.width), dtype=np.int64)), ((),))
        rows, kept = margin_matrix(regions.cells, ordered, some)
        labels = margin_levels(regions.cells, ordered, kept)
        if groups:
            rows, labels = _put_together(rows, labels, [groups.get(each) for each in ordered])
        return cls(called, ordered, rows, labels, groups, some)

    @classmethod
    def asked(
        cls,
        marginal: Sequence[str],
        regions: Regions,
        *,
        name: str | None = None,
        recode: Mapping[str, Bins],
        where: Mapping[str, Choice] | None = None,
        key: str = "mechanism.queries",
    ) -> "NodeQuery":
        """Return what a section of a spec asks for, by the levels that it means."""
        if regions.cells is None or not (recode or where):
            return cls.of(marginal, regions, name=name, key=key)
        cells = regions.cells
        some = _ordered(cells, chosen_levels(cells, where, place=setting(key, "where"))) if where else {}
        for each in recode:
            _require(each, regions, key)
        groups = {
            each: {
                new: _in_order(
                    cells,
                    each,
                    chosen_levels(cells, {each: taken}, place=f"{setting(key, 'recode')} {new!r}")[each],
                )
                for new, taken in bins.items()
            }
            for each, bins in recode.items()
        }
        return cls.of(marginal, regions, name=name, recode=groups, where=some, key=key)

    @property
    def plain(self) -> bool:
        """Whether it is a marginal of all cells as they are."""
        return not (self.recode or self.where)

    def called(self, name: str, width: int) -> bool:
        """Whether a spec may mean it by a name beside its own: its attributes in any order, or `detailed`."""
        if not self.plain or not self.marginal:
            return self.plain and name == TOTAL
        named = sorted(part.strip() for part in name.replace(" by ", "*").split("*"))
        return named == sorted(self.marginal) or (name == DETAILED and len(self.marginal) == width)

    @property
    def row_of(self) -> IntArray:
        """The row that each cell is in; -1 where it is in none."""
        found = np.full(self.rows.shape[1], -1, dtype=np.int64)
        found[self.rows.indices] = np.repeat(np.arange(self.rows.shape[0]), np.diff(self.rows.indptr))
        return found


def _require(name: str, regions: Regions, key: str) -> None:
    if name not in regions.names:
        said = closest(name, regions.names) if regions.names else f"write {assigned('marginal', [])}."
        raise SpecError(
            f"{setting(key, 'marginal')} names {name!r}, which is not among the cells of"
            f" {setting('data')}: {said}"
        )


def _in_order(cells: Schema, name: str, chosen: Sequence[str]) -> tuple[str, ...]:
    return tuple(level for level in cells.attribute(name).levels if level in chosen)


def _ordered(cells: Schema, chosen: Groups) -> dict[str, tuple[str, ...]]:
    return {name: _in_order(cells, name, chosen[name]) for name in cells.names if name in chosen}


def _put_together(
    rows: QueryRows, labels: Sequence[tuple[str, ...]], groups: Sequence[Groups | None]
) -> tuple[QueryRows, tuple[tuple[str, ...], ...]]:
    """Return rows with levels put together, in the order of the new levels; others are left out."""
    new_of = [
        None if each is None else {level: new for new, taken in each.items() for level in taken}
        for each in groups
    ]
    axes = [
        list(dict.fromkeys(label[at] for label in labels)) if each is None else list(each)
        for at, each in enumerate(groups)
    ]
    order: dict[tuple[str | None, ...], int] = {label: row for row, label in enumerate(product(*axes))}
    onto = np.full(len(labels), -1, dtype=np.int64)
    for row, label in enumerate(labels):
        new = (
            level if known is None else known.get(level) for level, known in zip(label, new_of, strict=True)
        )
        onto[row] = order.get(tuple(new), -1)
    used = np.unique(onto[onto >= 0])
    some = np.flatnonzero(onto >= 0)
    ones = np.ones(some.size, dtype=np.int64)
    together = csr_array((ones, (np.searchsorted(used, onto[some]), some)), shape=(used.size, len(labels)))
    listed = list(product(*axes))
    return csr_array(together @ rows), tuple(listed[row] for row in used.tolist())
