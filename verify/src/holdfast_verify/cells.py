"""The cells of a table, and sums over them, in integers of any size.

The cells are all combinations of the levels of the attributes, in the order of a counter whose last place
runs fastest. Attributes that lie in each other, a tract in a county, make one axis, which has the
combinations that can be, sorted. An axis stands where the first of its attributes does.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from math import prod
from typing import Any

from holdfast_verify.record import DamagedError, field, object_of, objects, text_of, texts, wholes

MOST_CELLS = 100_000_000
OUT = -(MOST_CELLS**2)
"""Added for a level that is not counted: whatever else is added, the sum is below 0."""
STATUS = "status"
STATUSES = ("noisy", "exact", "forced", "structural zero", "estimated")
NUMBER = re.compile(r"[+-]?\d{1,300}(\.\d{1,300})?", re.ASCII)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@dataclass(frozen=True)
class Axis:
    """Attributes that lie in each other, or one alone, with the places of levels that go together."""

    names: tuple[str, ...]
    entries: list[tuple[int, ...]]


@dataclass(frozen=True)
class Cells:
    """The cells of a table, and the name of its counts."""

    levels: dict[str, list[str]]
    axes: list[Axis]
    zeros: bytearray
    """For each cell 1 where it cannot occur; nothing where all can."""
    count: str
    status: bool
    """Whether a column after the counts has the status of each cell."""

    @classmethod
    def of(cls, table: Any) -> "Cells":
        """Return the cells that the section of a table describes."""
        schema, count = object_of(table, "schema"), text_of(table, "count")
        each = [(text_of(one, "name"), texts(one, "levels")) for one in objects(schema, "attributes")]
        names = [name for name, _ in each]
        for words in ([*names, count], *(levels for _, levels in each)):
            if not words or len(set(words)) < len(words):
                raise DamagedError("a name or a level of the table stands twice, or is none")
        if not names:
            raise DamagedError("the table has no attributes")
        status = table.get("status", False)
        if type(status) is not bool or (status and STATUS in (*names, count)):
            raise DamagedError("the status of the cells has no column")
        axes = _axes(dict(each), schema.get("within", []))
        size = prod(len(axis.entries) for axis in axes)
        if not 0 < size <= MOST_CELLS:
            raise DamagedError("the levels or zeros of the table are of no table")
        return cls(dict(each), axes, _zeros(objects(schema, "structural_zeros"), size), count, status)

    @property
    def size(self) -> int:
        """The number of cells."""
        return prod(len(axis.entries) for axis in self.axes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of a file of them."""
        return (*self.levels, self.count, *((STATUS,) if self.status else ()))

    @property
    def quoted(self) -> "Cells":
        """The same with names as they stand in a file where formulas are quoted."""
        renamed = [replace(axis, names=tuple(map(_quoted, axis.names))) for axis in self.axes]
        levels = {_quoted(name): list(map(_quoted, own)) for name, own in self.levels.items()}
        return replace(self, levels=levels, axes=renamed, count=_quoted(self.count))

    def rows(self, levels: dict[str, list[str]]) -> Iterator[tuple[str, ...]]:
        """Yield for each cell what stands for its levels, in the order of the attributes."""
        parts = [
            [
                tuple(levels[name][code] for name, code in zip(axis.names, entry, strict=True))
                for entry in axis.entries
            ]
            for axis in self.axes
        ]
        flat = [name for axis in self.axes for name in axis.names]
        order = [flat.index(name) for name in self.levels]
        straight = order == sorted(order)
        for combination in product(*parts):
            row = tuple(chain.from_iterable(combination))
            yield row if straight else tuple(row[at] for at in order)

    def sums(
        self, attributes: Sequence[str], where: dict[str, list[str]], counts: Sequence[int]
    ) -> list[int]:
        """Return the sums of a margin among the cells of some levels, in order; none that has no cell."""
        steps = [[0] * len(axis.entries) for axis in self.axes]
        home = {name: at for at, axis in enumerate(self.axes) for name in axis.names}
        stride = 1
        for at in reversed(dict.fromkeys(home[name] for name in attributes)):
            own = [self.axes[at].names.index(name) for name in attributes if home[name] == at]
            seen = [tuple(entry[place] for place in own) for entry in self.axes[at].entries]
            rank = {one: place for place, one in enumerate(sorted(set(seen)))}
            steps[at] = [rank[one] * stride for one in seen]
            stride *= len(rank)
        for name, chosen in where.items():
            at = home[name]
            codes, place = {self.levels[name].index(one) for one in chosen}, self.axes[at].names.index(name)
            steps[at] = [
                step if entry[place] in codes else OUT
                for step, entry in zip(steps[at], self.axes[at].entries, strict=True)
            ]
        found: dict[int, int] = {}
        for cell, (key, count) in enumerate(zip(map(sum, product(*steps)), counts, strict=True)):
            if key >= 0:
                found[key] = found.get(key, 0) + (0 if self.zeros and self.zeros[cell] else count)
        return [found[key] for key in sorted(found)]


@dataclass(frozen=True)
class Claim:
    """What an invariant or an inequality adds up, with a label for each sum."""

    name: str
    labels: list[str]
    attributes: list[str]
    where: dict[str, list[str]]
    weighted: list[tuple[int, int, int]] | None
    """The row, the cell and the weight of each entry, where cells are weighted."""

    @classmethod
    def of(cls, item: Any, cells: Cells) -> "Claim":
        """Return the claim of a section."""
        name, kind = text_of(item, "name"), field(item, "kind")
        labels, attributes, where = texts(item, "labels"), texts(item, "attributes"), object_of(item, "where")
        chosen = {one: texts(where, one) for one in where}
        if kind not in ("margin", "total", "where", "weights") or len(set(attributes)) < len(attributes):
            raise DamagedError("an invariant is of no known kind")
        for one in (*attributes, *chosen):
            if one not in cells.levels or not set(chosen.get(one, ())) <= set(cells.levels[one]):
                raise DamagedError("an invariant speaks of an attribute or level that is not in the table")
        if kind != "weights":
            return cls(name, labels, attributes, chosen, None)
        rows, places, weights = (wholes(item, part) for part in ("rows", "cells", "weights"))
        fits = all(0 <= row < len(labels) for row in rows) and all(0 <= at < cells.size for at in places)
        if not fits or not len(rows) == len(places) == len(weights):
            raise DamagedError("weights of an invariant are not of the table")
        return cls(name, labels, attributes, chosen, list(zip(rows, places, weights, strict=True)))

    def sums(self, cells: Cells, counts: Sequence[int]) -> list[int]:
        """Return the sums of some counts."""
        if self.weighted is None:
            found = cells.sums(self.attributes, self.where, counts)
        else:
            found = [0] * len(self.labels)
            for row, cell, weight in self.weighted:
                found[row] += 0 if cells.zeros and cells.zeros[cell] else weight * counts[cell]
        if len(found) != len(self.labels):
            raise DamagedError(f"there are {len(found)} sums for {len(self.labels)} labels")
        return found


def _zeros(runs: list[Any], size: int) -> bytearray:
    """Return the marks of cells in runs, each told by its first and last one, in order and apart."""
    marks, least = bytearray(size if runs else 0), 0
    for run in runs:
        if not isinstance(run, list) or len(run) != 2 or not all(type(cell) is int for cell in run):
            raise DamagedError("the structural zeros of the table are not in runs")
        first, last = run
        if not least <= first <= last < size:
            raise DamagedError("the levels or zeros of the table are of no table")
        marks[first : last + 1] = b"\1" * (last - first + 1)
        least = last + 2
    return marks


Nested = dict[str, tuple[str, list[int]]]
"""For each attribute another one, and a level of one for each level of the other."""


def _nested(levels: dict[str, list[str]], nestings: Any) -> tuple[Nested, Nested]:
    """Return what each attribute lies in, and what is beside that: what each area is made of."""
    within: Nested = {}
    areas: Nested = {}
    for one in nestings if isinstance(nestings, list) else [None]:
        inner, outer, parents = text_of(one, "attribute"), text_of(one, "within"), wholes(one, "parents")
        if inner not in levels or outer not in levels:
            raise DamagedError("attributes are not nested as it is said")
        if len(parents) != len(levels[inner]) or any(not 0 <= at < len(levels[outer]) for at in parents):
            raise DamagedError("attributes are not nested as it is said")
        if inner not in within:
            within[inner] = (outer, parents)
        elif outer in areas:
            raise DamagedError("attributes are not nested as it is said")
        else:  # beside the tree: a column that tells no entries apart
            areas[outer] = (inner, parents)
    if any(name in within or name in [outer for outer, _ in within.values()] for name in areas):
        raise DamagedError("attributes are not nested as it is said")
    return within, areas


def _axes(levels: dict[str, list[str]], nestings: Any) -> list[Axis]:
    """Return the axes of attributes, of which some lie in others."""
    within, areas = _nested(levels, nestings)
    above = {name: _above(areas[name][0] if name in areas else name, within) for name in levels}
    groups: dict[str, list[str]] = {}
    for name in levels:
        groups.setdefault(above[name][-1], []).append(name)
    axes = []
    for root, names in groups.items():
        found: list[tuple[int, ...]] = [(code,) for code in range(len(levels[root]))]
        order = [root]
        for name in sorted(names, key=lambda one: len(above[one])):
            if name == root or name in areas:
                continue
            outer, parents = within[name]
            children: list[list[int]] = [[] for _ in levels[outer]]
            for code, parent in enumerate(parents):
                children[parent].append(code)
            place = order.index(outer)
            if sum(len(children[entry[place]]) for entry in found) > MOST_CELLS:
                raise DamagedError("the levels of the table are of no table")
            found = [(*entry, code) for entry in found for code in children[entry[place]]]
            order.append(name)
        for name in names:
            if name in areas:
                inner, parents = areas[name]
                at = order.index(inner)
                found = [(*entry, parents[entry[at]]) for entry in found]
                order.append(name)
        places = [order.index(name) for name in names]
        axes.append(Axis(tuple(names), sorted(tuple(entry[at] for at in places) for entry in found)))
    return axes


def _above(name: str, within: dict[str, tuple[str, list[int]]]) -> list[str]:
    """Return an attribute and all that it lies in, the outermost last."""
    found = [name]
    while found[-1] in within:
        found.append(within[found[-1]][0])
        if found[-1] == name or len(found) > len(within) + 1:
            raise DamagedError("an attribute lies in itself")
    return found


def _quoted(text: str) -> str:
    """Return a text as it stands where formulas are quoted for spreadsheets."""
    runs = text.startswith(_FORMULA) and len(text) > 1 and not NUMBER.fullmatch(text)
    return f"'{text}" if runs or text.startswith("'") else text
