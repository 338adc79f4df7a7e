"""Published tables as one system: the cells of a population, and an interval for each published sum.

Attributes that lie in each other, as a tract in its county, share an **axis**, whose places are those of the
finest; other attributes have axes of their own, and the cells are the product of the axes. A table is split
into **margins**: in each attribute levels that are disjoint. Then every cell lies in one sum of a margin at
most, which is found by arithmetic. A cell of a margin that its table does not list, while it lists others of
each of its levels, is an unlisted zero; margins of totals tell nothing of what they do not list.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import polars as pl
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.publication.files import PublishedFile, read_hierarchy, read_published
from holdfast.publication.intervals import Numbers
from holdfast.publication.levels import Known, Levels, levels_of
from holdfast.publication.rules import RuleError, RuleReading
from holdfast.publication.spec import PublicationSpec, PublishedTable
from holdfast.system.errors import DataError, SpecError
from holdfast.system.text import closest, in_quotes
from holdfast.system.ways import setting

MOST_CELLS = 8_000_000


@dataclass(frozen=True, eq=False)
class NestedAxis:
    """Attributes that lie in each other: for each of them the leaf at every place."""

    attributes: tuple[str, ...]
    size: int
    leaf: Mapping[str, IntArray]


@dataclass(frozen=True, eq=False)
class PublishedTables:
    """All published numbers of a population.

    Attributes:
        spec: what was asked.
        files: the published files, in the order of the spec.
        levels: the levels of each attribute.
        axes: the axes of the cells, in row-major order.
        numbers: an interval for each published sum.
        table: the file that each number is from.
        row: its record there, -1 for a cell that is not listed.
        margin: the margin of its table that it is in.
        margins: for each margin the levels of each attribute, which are disjoint.

    """

    spec: PublicationSpec
    files: tuple[PublishedFile, ...]
    levels: Mapping[str, Levels]
    axes: tuple[NestedAxis, ...]
    numbers: Numbers
    table: IntArray
    row: IntArray
    margin: IntArray
    margins: tuple[Mapping[str, tuple[str, ...]], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of places of each axis."""
        return tuple(axis.size for axis in self.axes)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return prod(self.shape)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """All attributes, in the order of the axes."""
        return tuple(name for axis in self.axes for name in axis.attributes)

    def named(self, number: int) -> dict[str, str]:
        """Return the levels of a number that a row lists."""
        file, row = self.files[self.table[number]], int(self.row[number])
        return {name: str(column[row]) for name, column in zip(file.attributes, file.columns, strict=True)}

    def text(self, number: int) -> str:
        """Return what is printed for a number; nothing for one that is not listed."""
        row = int(self.row[number])
        return "" if row < 0 else str(self.files[self.table[number]].counts[row])

    def seen_from(self, folder: Path) -> "PublishedTables":
        """Return the same with paths that are relative to another folder."""
        spec = self.spec.seen_from(folder)
        named = zip(self.files, spec.published, strict=True)
        return replace(self, spec=spec, files=tuple(replace(file, name=table.path) for file, table in named))

    def some(self, numbers: IntArray) -> "PublishedTables":
        """Return the same cells where some numbers alone are published."""
        kept = self.numbers.some(numbers)
        table, row, margin = (each[numbers] for each in (self.table, self.row, self.margin))
        return replace(self, numbers=kept, table=table, row=row, margin=margin)

    def grouped(self, attributes: Sequence[str]) -> "Grouped":
        """Return the cells summed over all other attributes."""
        return Grouped.of(self.axes, attributes, self.levels)


@dataclass(frozen=True, eq=False)
class Grouped:
    """Sums of cells by some attributes: the sum that each cell is in, and the levels of each sum."""

    attributes: tuple[str, ...]
    of_cell: IntArray
    count: int
    codes: Mapping[str, IntArray]
    """For each attribute the leaf of every sum."""
    leaves: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(
        cls, axes: Sequence[NestedAxis], attributes: Sequence[str], levels: Mapping[str, Levels]
    ) -> "Grouped":
        """Group the cells by attributes."""
        place = np.zeros(1, dtype=np.int64)
        codes: dict[str, IntArray] = {}
        count = 1
        for axis in axes:
            asked = [name for name in axis.attributes if name in attributes]
            group, firsts = _distinct([axis.leaf[name] for name in asked], axis.size)
            codes = {name: np.repeat(code, firsts.size) for name, code in codes.items()}
            codes |= {name: np.tile(axis.leaf[name][firsts], count) for name in asked}
            place = (place[:, None] * firsts.size + group[None, :]).ravel()
            count *= firsts.size
        ordered = {name: codes[name] for name in attributes}
        return cls(
            tuple(attributes), place, count, ordered, {name: levels[name].leaves for name in attributes}
        )

    @property
    def matrix(self) -> csr_array:
        """The sums as rows."""
        cells = self.of_cell.size
        entries = np.ones(cells, dtype=np.int64), (self.of_cell, np.arange(cells))
        return csr_array(entries, shape=(self.count, cells))

    @property
    def table_shape(self) -> tuple[int, int] | None:
        """Rows and columns where sums are by one attribute or two, None by more."""
        sizes = [len(self.leaves[name]) for name in self.attributes]
        return (sizes[0], sizes[1] if len(sizes) > 1 else 1) if len(sizes) <= 2 else None

    def named(self, place: int) -> dict[str, str]:
        """Return the levels of a sum."""
        return {name: self.leaves[name][self.codes[name][place]] for name in self.attributes}


def _distinct(columns: Sequence[IntArray], size: int) -> tuple[IntArray, IntArray]:
    """Return for each place its group by some columns, in order of appearance, and the first of each."""
    key = np.zeros(size, dtype=np.int64)
    for column in columns:
        key = np.unique(key * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.argsort(order)
    return rank[group].astype(np.int64), first[order].astype(np.int64)


def read_publication(spec: PublicationSpec) -> PublishedTables:
    """Read the published tables of a spec, and say what each number tells."""
    return assembled(spec, tuple(read_published(table, spec.folder) for table in spec.published))


def assembled(
    spec: PublicationSpec, files: tuple[PublishedFile, ...], *, told: Collection[int] = ()
) -> PublishedTables:
    """Return tables that were read as one system; of those that are ``told`` numbers are true counts."""
    levels = _all_levels(spec, files)
    axes = _axes(spec, files, levels)
    cells = prod(axis.size for axis in axes)
    if cells > MOST_CELLS:
        sizes = " x ".join(str(axis.size) for axis in axes)
        raise SpecError(
            f"the attributes of all tables together make {sizes} cells, more than {MOST_CELLS:,}: audit"
            " tables that share attributes, or say which attributes lie within others."
        )
    parts, table, row, margin = [], [], [], []
    margins: list[Mapping[str, tuple[str, ...]]] = []
    for place, (asked, file) in enumerate(zip(spec.published, files, strict=True)):
        for numbers, rows, families in _margins(asked, file, levels, axes, told=place in told):
            parts.append(numbers)
            table.append(np.full(rows.size, place))
            row.append(rows)
            margin.append(np.full(rows.size, len(margins)))
            margins.append(families)
    numbers = Numbers(
        csr_array(vstack([one.matrix for one in parts], format="csr")),
        np.concatenate([one.low for one in parts]),
        np.concatenate([one.high for one in parts]),
    )
    found = PublishedTables(
        spec,
        files,
        levels,
        axes,
        numbers,
        np.concatenate(table),
        np.concatenate(row),
        np.concatenate(margin),
        tuple(margins),
    )
    _require_known(spec, found)
    return found


def _require_known(spec: PublicationSpec, found: PublishedTables) -> None:
    """Raise SpecError where an asked attribute is in no table."""
    asked = spec.population.attributes or found.attributes
    for name in asked:
        if name not in found.attributes:
            raise SpecError(
                f"the population has an attribute {in_quotes(name)}, which no table has:"
                f" {closest(name, found.attributes)}"
            )
    group = spec.population.group
    if group is not None and group.facts not in asked:
        raise SpecError(
            f"facts are asked of {in_quotes(group.facts)}, which is no attribute of the population:"
            f" {closest(group.facts, asked)}"
        )


def _all_levels(spec: PublicationSpec, files: Sequence[PublishedFile]) -> dict[str, Levels]:
    """Return the levels of each attribute over all files."""
    names = list(dict.fromkeys(name for file in files for name in file.attributes))
    for place, name in _named(spec):
        if name not in names:
            raise SpecError(f"{place} names {in_quotes(name)}, which no table has: {closest(name, names)}")
    found = {}
    for name in names:
        tables = [
            file.columns[file.attributes.index(name)].unique(maintain_order=True).to_list()
            for file in files
            if name in file.attributes
        ]
        merged = {
            level: inner for table in spec.published for level, inner in table.merged.get(name, {}).items()
        }
        hierarchy = spec.population.hierarchies.get(name)
        place = "" if hierarchy is None else str(spec.folder / hierarchy)
        known = Known(read_hierarchy(Path(place)) if place else None, place, merged)
        found[name] = levels_of(name, tables, known)
    return found


def _named(spec: PublicationSpec) -> Iterator[tuple[str, str]]:
    """Yield each attribute that a spec speaks of beside those of tables, with its place."""
    for name in spec.population.hierarchies:
        yield setting("population", "hierarchies"), name
    for name, outer in spec.population.within.items():
        yield setting("population", "within"), name
        yield setting("population", "within", name), outer
    for name in spec.coarsen.attributes or ():
        yield setting("coarsen", "attributes"), name
    for place, table in enumerate(spec.published, 1):
        for name in table.merged:
            yield setting("published", place, "merged"), name


def _axes(
    spec: PublicationSpec, files: Sequence[PublishedFile], levels: Mapping[str, Levels]
) -> tuple[NestedAxis, ...]:
    """Return the axes: attributes that lie in others are with the finest of them."""
    parents = _parents(spec, files, levels)
    taken: set[str] = set()
    axes = []
    inner = {parent for _, parent in parents}
    for name in levels:
        if name in inner:
            continue
        leaf = {name: np.arange(len(levels[name].leaves))}
        frontier = [name]
        while frontier:
            child = frontier.pop()
            for (one, parent), of in parents.items():
                if one == child and parent not in taken and parent not in leaf:
                    leaf[parent] = of[leaf[child]]
                    frontier.append(parent)
        taken |= set(leaf)
        order = [other for other in levels if other in leaf]
        axes.append(
            NestedAxis(tuple(order), len(levels[name].leaves), {other: leaf[other] for other in order})
        )
    asked = spec.population.attributes or tuple(levels)

    def place(axis: NestedAxis) -> int:
        return min((asked.index(name) for name in axis.attributes if name in asked), default=len(asked))

    return tuple(sorted(axes, key=place))


def _parents(
    spec: PublicationSpec, files: Sequence[PublishedFile], levels: Mapping[str, Levels]
) -> dict[tuple[str, str], IntArray]:
    """Return for each attribute and one that it lies in the leaf of the second for each of the first.

    It is said to lie there, or every table that has both is exact, so that other pairs hold nobody.
    """
    found: dict[tuple[str, str], IntArray] = {}
    names = list(levels)
    for child, parent in product(names, names):
        said = spec.population.within.get(child) == parent
        if said and (child == parent or spec.population.within.get(parent) == child):
            raise SpecError(
                f"{setting('population', 'within')} says that {in_quotes(child)} and {in_quotes(parent)} lie"
                " within each other: keep the one that is true."
            )
        if child == parent or (parent, child) in found:
            continue
        many, few = len(levels[child].leaves), len(levels[parent].leaves)
        if not said and (many <= few or few < 2):
            continue
        both = [
            (table, file)
            for table, file in zip(spec.published, files, strict=True)
            if child in file.attributes and parent in file.attributes
        ]
        if said and not both:
            raise SpecError(
                f"{setting('population', 'within', child)} is {in_quotes(parent)}, and no table has both:"
                " publish one that does, or leave that out."
            )
        if not both or not (said or all(table.rule == "exact" for table, _ in both)):
            continue
        of = _unique_parent(child, parent, [file for _, file in both], levels)
        if of is not None:
            found[child, parent] = of
        elif said:
            raise SpecError(
                f"{in_quotes(child)} is said to lie within {in_quotes(parent)}, but a table has a level of it"
                " in two of these, or in none: correct the table, or leave that out."
            )
    return found


def _unique_parent(
    child: str, parent: str, files: Sequence[PublishedFile], levels: Mapping[str, Levels]
) -> IntArray | None:
    """Return the leaf of the parent that each leaf of the child is with, None where there is none or two."""
    inner, outer = levels[child], levels[parent]
    if len(inner.leaves) < len(inner.members) or len(outer.leaves) < len(outer.members):
        leaves = {child: set(inner.leaves), parent: set(outer.leaves)}
    else:
        leaves = {}
    at = {level: place for place, level in enumerate(inner.leaves)}
    above = {level: place for place, level in enumerate(outer.leaves)}
    of = np.full(len(inner.leaves), -1, dtype=np.int64)
    for file in files:
        columns = [file.columns[file.attributes.index(name)] for name in (child, parent)]
        pairs = pl.DataFrame({"child": columns[0], "parent": columns[1]}).unique(maintain_order=True)
        for one, other in zip(pairs["child"].to_list(), pairs["parent"].to_list(), strict=True):
            if leaves and (one not in leaves[child] or other not in leaves[parent]):
                continue
            place, up = at[one], above[other]
            if of[place] >= 0 and of[place] != up:
                return None
            of[place] = up
    return None if (of < 0).any() else of


def _margins(
    table: PublishedTable,
    file: PublishedFile,
    levels: Mapping[str, Levels],
    axes: Sequence[NestedAxis],
    *,
    told: bool,
) -> Iterator[tuple[Numbers, IntArray, Mapping[str, tuple[str, ...]]]]:
    """Yield the numbers of each margin of a table, with their rows in it and the levels of the margin."""
    low, high, reading = _read_counts(table, file, told=told)
    families = {
        name: _families(levels[name], column.unique(maintain_order=True).to_list())
        for name, column in zip(file.attributes, file.columns, strict=True)
    }
    kinds = []
    codes = []
    for name, column in zip(file.attributes, file.columns, strict=True):
        family = {level: at for at, one in enumerate(families[name]) for level in one}
        code = {level: at for one in families[name] for at, level in enumerate(one)}
        kinds.append(_mapped(column, family))
        codes.append(_mapped(column, code))
    for choice in product(*(range(len(families[name])) for name in file.attributes)):
        mine = np.ones(low.size, dtype=np.bool_)
        for kind, at in zip(kinds, choice, strict=True):
            mine &= kind == at
        rows = np.flatnonzero(mine)
        if rows.size == 0:
            continue
        key = np.zeros(rows.size, dtype=np.int64)
        place = np.zeros(1, dtype=np.int64)
        outside = np.zeros(1, dtype=np.bool_)
        chosen = dict(zip(file.attributes, choice, strict=True))
        order = [name for axis in axes for name in axis.attributes if name in chosen]
        for name in order:
            size = len(families[name][chosen[name]])
            key = key * size + codes[file.attributes.index(name)][rows]
        for axis in axes:
            local, out = np.zeros(axis.size, dtype=np.int64), np.zeros(axis.size, dtype=np.bool_)
            span = 1
            for name in axis.attributes:
                if name not in chosen:
                    continue
                group = families[name][chosen[name]]
                of_leaf = np.full(len(levels[name].leaves), -1, dtype=np.int64)
                for number, level in enumerate(group):
                    of_leaf[list(levels[name].members[level])] = number
                here = of_leaf[axis.leaf[name]]
                out |= here < 0
                local = local * len(group) + here
                span *= len(group)
            place = (place[:, None] * span + local[None, :]).ravel()
            outside = (outside[:, None] | out[None, :]).ravel()
        finest = all(at == 0 for at in choice)
        absent = reading.absent if finest else None
        numbers, mine_rows = _numbers(file, rows, key, (low, high), (place, outside), absent)
        yield numbers, mine_rows, {name: tuple(families[name][at]) for name, at in chosen.items()}


def _numbers(
    file: PublishedFile,
    rows: IntArray,
    key: IntArray,
    ends: tuple[IntArray, IntArray],
    cells: tuple[IntArray, BoolArray],
    absent: tuple[int, int] | None,
) -> tuple[Numbers, IntArray]:
    """Return the numbers of one margin: those that are listed, and the zeros that are not."""
    place, outside = cells
    order = np.argsort(key, kind="stable")
    twice = np.flatnonzero(np.diff(key[order]) == 0)
    if twice.size:
        at = int(rows[order[twice[0] + 1]])
        raise DataError(f"{file.place(at)} lists a cell a second time: keep one of its rows.")
    inside = np.flatnonzero(~outside)
    sums, number = np.unique(place[inside], return_inverse=True)
    known = key[order]
    where = np.searchsorted(known, sums)
    where[where == known.size] = 0
    listed = known[where] == sums
    row = np.where(listed, rows[order[where]], -1)
    low, high = (np.where(listed, end[row], 0) for end in ends)
    if absent is not None:
        high = np.where(listed, high, absent[1])
        low = np.where(listed, low, absent[0])
    lost = np.setdiff1d(known, sums)
    if lost.size:
        at_row = int(rows[order[np.searchsorted(known, lost[0])]])
        if ends[0][at_row] > 0:
            raise DataError(f"{file.place(at_row)} counts somebody where no cell can be: correct it.")
    kept = np.flatnonzero(listed) if absent is None else np.arange(sums.size)
    entries = np.ones(inside.size, dtype=np.int64), (number, inside)
    matrix = csr_array(entries, shape=(sums.size, place.size))
    return Numbers(csr_array(matrix[kept]), low[kept], high[kept]), row[kept]


def _read_counts(
    table: PublishedTable, file: PublishedFile, *, told: bool
) -> tuple[IntArray, IntArray, RuleReading]:
    """Return what each count of a file says; raises DataError where its rule cannot give it."""
    tokens = file.counts.unique(maintain_order=True).to_list()
    reading = RuleReading.of(table, tokens, told=told)
    lows, highs = {}, {}
    for token in tokens:
        try:
            lows[token], highs[token] = reading.interval(token)
        except RuleError as error:
            at = int((file.counts == token).arg_max() or 0)
            if told:  # it is confidential
                said = "no true count: write a whole number, or name the symbol"
                raise DataError(f"{file.place(at)} has {said}.") from None
            raise DataError(f"{file.place(at)} has {error}.") from None
    return _mapped(file.counts, lows), _mapped(file.counts, highs), reading


def _mapped(column: pl.Series, values: Mapping[str, int]) -> IntArray:
    found = column.replace_strict(list(values), list(values.values()), return_dtype=pl.Int64)
    return np.asarray(found.to_numpy(), dtype=np.int64)


def _families(levels: Levels, listed: Sequence[str]) -> list[list[str]]:
    """Split levels into families of disjoint ones, the finest first."""
    order = sorted(listed, key=lambda level: len(levels.members[level]))
    families: list[list[str]] = []
    used: list[set[int]] = []
    for level in order:
        members = levels.members[level]
        for family, taken in zip(families, used, strict=True):
            if taken.isdisjoint(members):
                family.append(level)
                taken.update(members)
                break
        else:
            families.append([level])
            used.append(set(members))
    return families
