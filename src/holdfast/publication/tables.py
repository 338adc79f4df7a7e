"""Published tables as one system: the cells of a population, and an interval for each published sum.

The cells are the product of some axes [holdfast, publication/axes.py], and every number is a sum of them, in
a margin of its table [holdfast, publication/margins.py].
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import IntArray
from holdfast.publication.axes import NestedAxis, all_levels, nested_axes
from holdfast.publication.files import PublishedFile, read_published
from holdfast.publication.intervals import Numbers
from holdfast.publication.levels import Levels
from holdfast.publication.margins import margins_of
from holdfast.publication.spec import PublicationSpec
from holdfast.system.errors import SpecError
from holdfast.system.text import closest, in_quotes

MOST_CELLS = 8_000_000


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
    levels = all_levels(spec, files)
    axes = nested_axes(spec, files, levels)
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
        for numbers, rows, families in margins_of(asked, file, levels, axes, told=place in told):
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
