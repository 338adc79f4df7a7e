"""Queries of the table of a node: marginals, of levels put together and of some of the cells.

A query is a list of rows, each the sum of some cells, and no cell is in two of them. So what one record moves
in it is told by the rows of the cells that it leaves and enters, or by none [theory, 11].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy.sparse import csr_array

from holdfast.data.geography import Regions
from holdfast.data.invariants import margin_levels, margin_matrix
from holdfast.data.schema import Schema
from holdfast.data.selection import chosen_levels
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.topdown.options import QueryChoice
from holdfast.spec.values import Rational
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


class QueryRecord(BaseModel):
    """A query of every node, by the levels that it names, and its part in each level, root first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    marginal: tuple[str, ...]
    recode: dict[str, dict[str, tuple[str, ...]]]
    where: dict[str, tuple[str, ...]]
    weights: tuple[Rational, ...]


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
        key: str = "queries",
    ) -> "NodeQuery":
        """Return a marginal of some attributes, with levels put together and of some cells.

        Raises SpecError where one is not among the cells. ``key`` is that of the options that ask for it.
        """
        groups, some = recode or {}, where or {}
        for each in (*marginal, *some):
            if each not in regions.names:
                said = closest(each, regions.names) if regions.names else f"write {assigned('marginal', [])}."
                raise SpecError(
                    f"{setting(f'mechanism.{key}', 'marginal')} names {each!r}, which is not among the cells"
                    f" of {setting('data')}: {said}"
                )
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
    def asked(cls, asked: QueryChoice, regions: Regions) -> "NodeQuery":
        """Return what a spec asks for, by the levels that it means."""
        if regions.cells is None or not (asked.recode or asked.where):
            return cls.of(asked.marginal, regions, name=asked.name)
        cells, place = regions.cells, setting("mechanism.queries", "where")
        where = _ordered(cells, chosen_levels(cells, asked.where, place=place)) if asked.where else {}
        recode = {
            name: {
                new: _in_order(cells, name, chosen_levels(cells, {name: taken}, place=_recoded(new))[name])
                for new, taken in bins.items()
            }
            for name, bins in asked.recode.items()
        }
        for name, bins in recode.items():
            for level in cells.attribute(name).levels:
                if (said := [new for new, taken in bins.items() if level in taken])[1:]:
                    raise SpecError(
                        f"{setting('mechanism.queries', 'recode')} puts {level!r} of {name} in {said[0]!r}"
                        f" and in {said[1]!r}: keep it in one of them, or ask for each in a query of its own."
                    )
        return cls.of(asked.marginal, regions, name=asked.name, recode=recode, where=where)

    @classmethod
    def recorded(cls, record: QueryRecord, regions: Regions) -> "NodeQuery":
        """Return the query that a certificate records."""
        return cls.of(record.marginal, regions, name=record.name, recode=record.recode, where=record.where)

    def record(self, weights: Sequence[Fraction]) -> dict[str, object]:
        """Return it as a certificate keeps it."""
        return {
            "name": self.name,
            "marginal": self.marginal,
            "recode": {name: dict(groups) for name, groups in self.recode.items()},
            "where": dict(self.where),
            "weights": tuple(weights),
        }

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


def _recoded(new: str) -> str:
    return f"{setting('mechanism.queries', 'recode')} {new!r}"


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


Passes = tuple[tuple[int, ...], ...]
"""Places of queries, those that are estimated first before others."""


def passes_of(queries: Sequence[NodeQuery], asked: Sequence[Sequence[str]], width: int) -> Passes:
    """Return the queries of each pass; those that none names come with the last. None means all at once.

    Raises SpecError where a name is that of no query, or where two mean the same one.
    """
    found: list[list[int]] = []
    taken: set[int] = set()
    for names in asked:
        found.append([])
        for name in names:
            places = [at for at, query in enumerate(queries) if query.name == name] or [
                at for at, query in enumerate(queries) if query.called(name, width)
            ]
            if not places:
                raise SpecError(
                    f"{setting('mechanism', 'passes')} names the query {name!r}, which is not among them:"
                    f" {closest(name, [query.name for query in queries])}"
                )
            if places[0] in taken:
                raise SpecError(
                    f"{setting('mechanism', 'passes')} names the query {name!r} twice: what a pass found"
                    " stays as it is, so keep one."
                )
            taken.add(places[0])
            found[-1].append(places[0])
    if len(found) < 2:
        return ()
    found[-1] += [at for at in range(len(queries)) if at not in taken]
    return tuple(tuple(sorted(each)) for each in found)
