"""The invariants as integer matrices over the cells: matrix @ counts is released exactly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
from scipy.sparse import csr_array

from holdfast.data.grid import ancestors
from holdfast.data.levels import range_words
from holdfast.data.narrow import Narrow
from holdfast.data.schema import Schema
from holdfast.data.selection import chosen_levels, select
from holdfast.lattice.arrays import IntArray, run_sums
from holdfast.lattice.spread import SpreadColumns, expanded
from holdfast.spec.constraints import Invariant, InvariantKind
from holdfast.spec.model import Spec
from holdfast.spec.values import Choice, Range, levels_or_range
from holdfast.system.errors import SpecError
from holdfast.system.ways import assigned, setting

if TYPE_CHECKING:
    from holdfast.data.cell_values import WeightEntries
    from holdfast.data.geography import Regions

_NAMED_LEVELS = 4
_MOST_FLOORS = 2000


@dataclass(frozen=True, eq=False)
class InvariantBlock:
    """One invariant of the spec: some rows of the matrix that every release keeps."""

    name: str
    kind: InvariantKind
    attributes: tuple[str, ...]
    """The attributes of a margin."""
    labels: tuple[str, ...]
    """What each row counts, in words."""
    given: csr_array[np.int64, tuple[int, int]] | SpreadColumns
    """Rows by cells; zero at structural zeros. By distinct columns, where cells of many nodes are alike."""
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The levels that a selection keeps of each of its attributes."""
    equals: int | None = None
    """The value that was published before, if the spec states one."""
    level: str | None = None
    """Where weights are the same at every node of a level: that level, whose nodes come first in the rows."""

    @property
    def matrix(self) -> csr_array[np.int64, tuple[int, int]]:
        """Rows by cells, every entry of them."""
        return expanded(self.given)

    def evaluate(self, counts: IntArray) -> IntArray:
        """Return the values of the rows for some counts of the cells."""
        if isinstance(self.given, SpreadColumns):
            return np.asarray(self.given.columns @ run_sums(counts, self.given.times), dtype=np.int64)
        if self.kind == "weights":  # other rows add up counts, and the total of a table fits
            sizes = abs(self.matrix).astype(np.float64) @ np.abs(counts.astype(np.float64))
            if np.max(sizes, initial=0.0) >= 2.0**62:
                raise SpecError(f"the invariant {self.name!r} does not fit 64 bits: give it smaller weights.")
        return np.asarray(self.matrix @ counts, dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return the definition as JSON-able values, from which the matrix can be made again."""
        definition: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "attributes": list(self.attributes),
            "where": {name: list(levels) for name, levels in self.where.items()},
            "labels": list(self.labels),
            "equals": self.equals,
        }
        if self.kind == "weights":
            entries = self.matrix.tocoo()
            definition["rows"] = entries.row.tolist()
            definition["cells"] = entries.col.tolist()
            definition["weights"] = entries.data.tolist()
            if self.level is not None:
                definition["level"] = self.level
        return definition

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], schema: Schema) -> Self:
        """Return the block that `to_dict` described, over the cells of a schema."""
        try:
            labels = tuple(str(label) for label in data["labels"])
            attributes = tuple(str(name) for name in data["attributes"])
            where = {str(name): tuple(levels) for name, levels in data["where"].items()}
            kind: InvariantKind = data["kind"]
            if kind not in get_args(InvariantKind):
                raise ValueError  # noqa: TRY301 - caught with the other damage below
            matrix: csr_array[np.int64, tuple[int, int]] | SpreadColumns
            if kind == "weights":
                matrix = _weights_matrix(
                    schema,
                    _whole_numbers(data["rows"]),
                    _whole_numbers(data["cells"]),
                    _whole_numbers(data["weights"]),
                    length=len(labels),
                )
            else:
                matrix = spread_margin(schema, attributes, where)[0]
            equals = data["equals"]
            if matrix.shape[0] != len(labels) or not isinstance(equals, int | None):
                raise ValueError  # noqa: TRY301
            level = data.get("level")
            if level is not None:
                schema.axis(level)
            return cls(str(data["name"]), kind, attributes, labels, matrix, where, equals, level)
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
            raise SpecError(
                "the description of an invariant is damaged: take it from the certificate as it was written."
            ) from None


def invariant_blocks(spec: Spec, schema: Schema) -> tuple[InvariantBlock, ...]:
    """Return the spec's invariants over the cells of a schema, in the order of the spec."""
    blocks: dict[str, InvariantBlock] = {}
    for number, invariant in enumerate(spec.invariants, start=1):
        block = _block(spec, schema, invariant, setting("invariants", number, "where"))
        if block.name in blocks:
            raise SpecError(
                f"{setting('invariants', number)} has the name {block.name!r} of an invariant before it: "
                "give it another name, or leave it out if it says the same."
            )
        blocks[block.name] = block
    return tuple(blocks.values())


def margin_block(schema: Schema, attributes: tuple[str, ...], name: str) -> InvariantBlock:
    """Return a margin of the whole table as an invariant."""
    matrix, kept = margin_matrix(schema, attributes, {})
    return InvariantBlock(name, "margin", attributes, margin_labels(schema, attributes, kept, ""), matrix)


def inequality_blocks(spec: Spec, schema: Schema) -> tuple[InvariantBlock, ...]:
    """Return what the spec's inequalities speak of, in the order of the spec."""
    return tuple(
        _block(spec, schema, item, setting("constraints.inequalities", number, "where"))
        for number, item in enumerate(spec.constraints.inequalities, start=1)
    )


def floor_blocks(spec: Spec, schema: Schema, count: str) -> tuple[tuple[InvariantBlock, int], ...]:
    """Return each cell that [constraints] floors bounds, and the least count that it may have.

    Bounds of 0 say nothing where no count is negative.
    """
    asked = spec.constraints.floors
    if asked is None:
        return ()
    from holdfast.data.cell_values import read_counts  # noqa: PLC0415
    from holdfast.data.files import Writing  # noqa: PLC0415 - few specs need polars here

    writing = Writing(spec.data.separator, spec.data.encoding)
    least = read_counts(spec.resolve(asked.file), schema, asked.count or count, writing)
    told = np.flatnonzero(schema.possible & ((least > 0) | (not spec.constraints.nonnegative)))
    if told.size > _MOST_FLOORS:
        raise SpecError(
            f"{setting('constraints.floors', 'file')} bounds {told.size:,} cells, and {_MOST_FLOORS:,} are"
            f" the most: bound sums of them by {setting('constraints.inequalities')}."
        )
    names = schema.names
    return tuple(
        (_block(spec, schema, Invariant(where=dict(zip(names, schema.cell(cell), strict=True))), ""), bound)
        for cell, bound in zip(told.tolist(), least[told].tolist(), strict=True)
    )


def _block(spec: Spec, schema: Schema, invariant: Invariant, place: str) -> InvariantBlock:
    if invariant.weights is not None:
        return _weights_block(spec, schema, invariant, spec.resolve(invariant.weights.file))
    attributes = invariant.attributes
    asked = invariant.where or {}
    where = chosen_levels(schema, asked, place=place) if asked else {}
    matrix, kept = spread_margin(schema, attributes, where)
    selection = _in_words(asked, where, schema)
    if attributes:
        name = " by ".join(attributes) + (f" within {selection}" if selection else "")
        labels = margin_labels(schema, attributes, kept, selection)
    else:
        name = selection or "total"
        labels = (name,)
    return InvariantBlock(
        invariant.name or name,
        invariant.kind,
        attributes,
        labels,
        matrix,
        where,
        invariant.equals,
    )


def margin_matrix(
    schema: Schema, attributes: Sequence[str], where: Mapping[str, tuple[str, ...]]
) -> tuple[csr_array[np.int64, tuple[int, int]], IntArray]:
    """Return the rows of a margin that the selection meets, and their places in the grid of the margin."""
    for name in attributes:
        schema.axis(name)
    margin = schema.grid.over(attributes)
    row = schema.grid.rows(margin)
    selected = select(schema, where) if where else np.ones(schema.size, dtype=np.bool_)
    met = np.zeros(margin.size, dtype=np.bool_)
    met[row[selected]] = True
    kept = np.flatnonzero(met)
    new_row = np.cumsum(met) - 1
    cells = np.flatnonzero(selected & schema.possible)
    ones = np.ones(len(cells), dtype=np.int64)
    matrix = csr_array((ones, (new_row[row[cells]], cells)), shape=(len(kept), schema.size))
    return matrix, kept


def spread_margin(
    schema: Schema, attributes: Sequence[str], where: Mapping[str, tuple[str, ...]]
) -> tuple[csr_array[np.int64, tuple[int, int]] | SpreadColumns, IntArray]:
    """Return what `margin_matrix` does, by distinct columns where cells of many nodes are alike."""
    narrow = Narrow.of(schema, {*attributes, *where})
    if narrow is None:
        return margin_matrix(schema, attributes, where)
    matrix, kept = margin_matrix(narrow.schema, attributes, where)
    return SpreadColumns(matrix, narrow.times), kept


def margin_labels(
    schema: Schema, attributes: Sequence[str], kept: IntArray, selection: str
) -> tuple[str, ...]:
    """Return what the rows of a margin are called, one for each combination of levels that is kept."""
    within = f" within {selection}" if selection else ""
    return tuple(
        ", ".join(f"{name} = {level}" for name, level in zip(attributes, levels, strict=True)) + within
        for levels in margin_levels(schema, attributes, kept)
    )


def margin_levels(schema: Schema, attributes: Sequence[str], kept: IntArray) -> tuple[tuple[str, ...], ...]:
    """Return the levels of the rows of a margin, one combination for each row that is kept."""
    if not attributes:
        return ((),) * kept.size
    margin = schema.grid.over(attributes)
    columns = []
    for name in attributes:
        levels = schema.attribute(name).levels
        columns.append([levels[code] for code in margin.codes(name)[kept].tolist()])
    return tuple(zip(*columns, strict=True))


def _in_words(asked: Mapping[str, Choice], where: Mapping[str, tuple[str, ...]], schema: Schema) -> str:
    """Return a selection in words: "sex = female and age 18 or over"."""
    words = []
    for name, levels in where.items():
        ranged = range_words(levels, schema.attribute(name).levels)
        choice = levels_or_range(asked[name])
        if ranged is not None and (isinstance(choice, Range) or len(levels) > _NAMED_LEVELS):
            words.append(f"{name} {ranged}")
        elif isinstance(choice, Range):
            words.append(f"{name} {choice.low} to {choice.high}")
        elif len(levels) <= _NAMED_LEVELS:
            words.append(f"{name} = {' or '.join(levels)}")
        else:
            words.append(f"{name} = {levels[0]} or {len(levels) - 1} other levels")
    return " and ".join(words)


def _weights_block(spec: Spec, schema: Schema, invariant: Invariant, path: Path) -> InvariantBlock:
    from holdfast.data.cell_values import read_weights  # noqa: PLC0415
    from holdfast.data.files import Writing  # noqa: PLC0415 - few specs need polars here

    writing = Writing(spec.data.separator, spec.data.encoding)
    name = invariant.name or path.stem
    if invariant.level is None:
        entries = read_weights(path, schema, writing)
        labels, places = entries.labels, (entries.rows, entries.cells, entries.weights)
    else:
        from holdfast.data.geography import Regions  # noqa: PLC0415

        regions = Regions.of(schema, spec.data.regions)
        if regions.cells is None:
            raise SpecError(
                f"{setting('data')} has no cells beside its geography, so {path} weighs nothing: write"
                f" {assigned('total', True)}."
            )
        entries = read_weights(path, regions.cells, writing)
        labels, places = at_every_node(regions, invariant.level, entries)
    matrix = _weights_matrix(schema, *places, length=len(labels))
    return InvariantBlock(name, "weights", (), labels, matrix, level=invariant.level)


def at_every_node(
    regions: "Regions", level: str, entries: "WeightEntries"
) -> tuple[tuple[str, ...], tuple[IntArray, IntArray, IntArray]]:
    """Return weights over the cells of a node as weights over all cells, a row for each node and label."""
    node, width = regions.spine.ancestors(level), regions.width
    rows = np.add.outer(node * len(entries.labels), entries.rows).ravel()
    cells = np.add.outer(np.arange(node.size) * width, entries.cells).ravel()
    codes = regions.spine.codes(level)
    labels = tuple(f"{level} = {code}, {label}" for code in codes for label in entries.labels)
    return labels, (rows, cells, np.tile(entries.weights, node.size))


def _whole_numbers(values: Sequence[object]) -> IntArray:
    if not all(type(value) is int for value in values):
        raise TypeError
    return np.array(values, dtype=np.int64)


def _weights_matrix(
    schema: Schema,
    rows: IntArray,
    cells: IntArray,
    weights: IntArray,
    *,
    length: int,
) -> csr_array[np.int64, tuple[int, int]]:
    kept = (weights != 0) & schema.possible[cells]
    return csr_array((weights[kept], (rows[kept], cells[kept])), shape=(length, schema.size), dtype=np.int64)


def even_cliques(schema: Schema, margins: Sequence[Sequence[str]]) -> tuple[frozenset[str], ...] | None:
    """Return the attributes that each margin fixes, if all are margins of one product with cells alike.

    A margin of tracts fixes their counties, too: sets hold all that their attributes lie in. Let every
    margin read an axis by one partition of its entries or not at all, a county wherever it reads the axis of
    counties and tracts. Then the margins are those of a full product, in which the parts stand for the
    levels of the axis. Where the parts have equally many entries, permuting parts and entries maps any cell
    to any other, as in a table of plain attributes; otherwise cells are not alike, and nothing is said.
    """
    closed = [
        frozenset(names).union(*(ancestors(name, schema.within) for name in names)) for names in margins
    ]
    for axis in schema.grid.axes:
        if not axis.steps:
            continue
        read = {clique.intersection(axis.names) for clique in closed} - {frozenset[str]()}
        if len(read) > 1:
            return None
        for names in read:
            part = axis.over(sorted(names))
            entries = np.bincount(part.place([axis.column(name) for name in part.names]))
            if entries.min() < entries.max():
                return None
    return tuple(closed)
