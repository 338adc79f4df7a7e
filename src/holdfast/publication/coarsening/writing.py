"""The coarser tables as files, with a spec of how they are published: their audit is the evidence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from holdfast.lattice.arrays import BoolArray
from holdfast.publication.coarsening.names import name_of
from holdfast.publication.coarsening.recoding import Recoding
from holdfast.publication.coarsening.truth import Truth
from holdfast.publication.levels import TOTALS
from holdfast.publication.spec import Population, PublicationSpec, PublishedTable

SPEC = "published.toml"
PUBLISHED, POPULATION = PublishedTable.section[0], Population.section[0]


@dataclass(frozen=True, eq=False, repr=False)
class Coarser:
    """Tables as they are to be published: each with its name, how it is read, and its rows."""

    tables: tuple[PublishedTable, ...]
    frames: tuple[pl.DataFrame, ...]
    population: Mapping[str, Any]
    hierarchies: Mapping[str, Path]
    """The files of nested levels, by attribute."""

    @property
    def files(self) -> dict[str, bytes]:
        """What is to be published, by name: every table as CSV, hierarchies, and the spec of them."""
        found = {
            table.path: frame.write_csv().encode()
            for table, frame in zip(self.tables, self.frames, strict=True)
        }
        found |= {path.name: path.read_bytes() for path in self.hierarchies.values()}
        return {**found, SPEC: self.toml.encode()}

    def spec(self, folder: Path) -> PublicationSpec:
        """Return the spec of the tables in a folder."""
        tables = [one.model_dump(exclude_defaults=True) for one in self.tables]
        return PublicationSpec.of({"published": tables, "population": self.population}, folder=folder)

    @property
    def toml(self) -> str:
        """The spec as a file."""
        lines = []
        for table in self.tables:
            lines += [f"[[{PUBLISHED}]]", *_pairs(table.model_dump(mode="json", exclude_defaults=True)), ""]
        return "\n".join([*lines, f"[{POPULATION}]", *_pairs(self.population)]) + "\n"


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_value(value)}" for name, value in values.items()]


def _value(value: Any) -> str:
    """Return a value as TOML has it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_text(name)} = {_value(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else _text(str(value))


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in escaped) + '"'


def suppressed(truth: Truth, hidden: BoolArray, primary: BoolArray) -> Coarser:
    """Return the tables with some numbers hidden."""
    tables = truth.tables

    def table(place: int) -> tuple[PublishedTable, list[str]]:
        asked = tables.spec.published[place]
        texts = tables.files[place].counts.to_list()
        second = asked.symbol if asked.secondary is None else asked.secondary
        for number in np.flatnonzero((tables.table == place) & hidden & (tables.row >= 0)).tolist():
            texts[int(tables.row[number])] = asked.symbol if primary[number] else second
        how = PublishedTable(
            path="-",
            rule="suppressed",
            below=asked.below or 1,
            symbol=asked.symbol,
            secondary=second,
            zeros=asked.zeros,
        )
        return how, texts

    return _coarser(truth, table)


def rounded_tables(truth: Truth, base: int) -> Coarser:
    """Return the tables with every number rounded to the nearest multiple of a base."""
    tables = truth.tables

    def table(place: int) -> tuple[PublishedTable, list[str]]:
        counts = tables.files[place].counts.cast(pl.Int64)
        near = base * ((counts + base // 2) // base)
        return PublishedTable(path="-", rule="rounded", base=base), near.cast(pl.String).to_list()

    return _coarser(truth, table)


def recoded(recoding: Recoding, chosen: BoolArray) -> Coarser:
    """Return the tables with levels merged, and what every merged level stands for."""
    truth = recoding.truth
    tables = truth.tables
    blocks, merged = recoding.blocks(chosen), recoding.merged(chosen)
    stands: dict[str, dict[str, tuple[int, ...]]] = {name: {} for name in blocks}

    def names(margin: int, name: str) -> list[str]:
        """Return what each level of a margin is called once levels are merged."""
        family, levels = tables.margins[margin][name], tables.levels[name]
        joined = recoding.joined(margin, name, blocks)
        found = []
        for level in range(len(family)):
            inside = [other for other in range(len(family)) if joined[other] == joined[level]]
            leaves = sorted({leaf for other in inside for leaf in levels.members[family[other]]})
            found.append(family[level] if len(inside) == 1 else name_of(levels, leaves))
            if name in stands:
                stands[name][found[-1]] = tuple(leaves)
        return found

    def table(place: int) -> tuple[PublishedTable, pl.DataFrame]:
        file = tables.files[place]
        mine = np.flatnonzero(tables.table == place)
        first = mine[np.sort(np.unique(merged.of_number[mine], return_index=True)[1])]
        columns = {name: np.empty(first.size, dtype=object) for name in file.attributes}
        for margin in np.unique(tables.margin[first]).tolist():
            rows = np.flatnonzero(tables.margin[first] == margin)
            for name in file.attributes:
                called = np.array(names(margin, name), dtype=object)
                columns[name][rows] = called[recoding.codes[name][first[rows]]]
        counts = merged.numbers.low[merged.of_number[first]]
        frame = pl.DataFrame(
            [
                *(pl.Series(name, column.tolist(), dtype=pl.String) for name, column in columns.items()),
                pl.Series(file.count, counts.astype(str).tolist(), dtype=pl.String),
            ]
        )  # a branch that became one level is its own total: it is listed once
        return PublishedTable(path="-"), frame.unique(file.attributes, keep="first", maintain_order=True)

    for place, file in enumerate(tables.files):
        for name in stands.keys() & set(file.attributes):
            if not truth.is_free(place):
                column = file.columns[file.attributes.index(name)]
                stands[name] |= {one: tables.levels[name].members[one] for one in column.unique().to_list()}
    return _coarser(truth, table, stands)


def _coarser(
    truth: Truth,
    make: Callable[[int], tuple[PublishedTable, pl.DataFrame | list[str]]],
    stands: Mapping[str, Mapping[str, tuple[int, ...]]] | None = None,
) -> Coarser:
    """Return all tables: those that stay as they are, and those that are made coarser."""
    tables, spec = truth.tables, truth.spec
    paths = _paths(truth)
    found, frames = [], []
    for place, (asked, file) in enumerate(zip(spec.published, tables.files, strict=True)):
        one, content = make(place) if truth.is_free(place) else (asked, file.counts.to_list())
        if isinstance(content, list):
            columns = [column.alias(name) for name, column in zip(file.attributes, file.columns, strict=True)]
            content = pl.DataFrame([*columns, pl.Series(file.count, content, dtype=pl.String)])
        keys = {"path": paths[place], "attributes": file.attributes, "count": file.count}
        found.append(one.model_copy(update=keys))
        frames.append(content)
    for name, levels in (stands or {}).items():
        inner = {
            level: tuple(tables.levels[name].leaves[leaf] for leaf in leaves)
            for level, leaves in levels.items()
            if len(leaves) > 1 and level.casefold() not in TOTALS
        }
        first = next(place for place, file in enumerate(tables.files) if name in file.attributes)
        if inner:
            found[first] = found[first].model_copy(update={"merged": {**found[first].merged, name: inner}})
    nested = {
        name: spec.folder / path
        for name, path in spec.population.hierarchies.items()
        if not (stands or {}).get(name)
    }
    population: dict[str, Any] = {"attributes": list(truth.asked.attributes), "narrow": truth.narrow}
    if spec.population.group is not None:
        population["group"] = spec.population.group.model_dump(mode="json")
    if nested:
        population["hierarchies"] = {name: path.name for name, path in nested.items()}
    if within := {**_within(truth), **spec.population.within}:
        population["within"] = within
    return Coarser(tuple(found), tuple(frames), population, nested)


def _within(truth: Truth) -> dict[str, str]:
    """Return which attributes lie in which, as the true tables say."""
    found: dict[str, str] = {}
    for axis in truth.tables.axes:
        order = sorted(axis.attributes, key=lambda name: len(truth.tables.levels[name].leaves))
        found |= {inner: outer for outer, inner in pairwise(order)}
    return found


def _paths(truth: Truth) -> list[str]:
    """Return a name for each table: that of its file, with its attributes where several come from one."""
    spec, files = truth.spec, truth.tables.files
    stems = [Path(table.path).stem for table in spec.published]
    found: list[str] = []
    for stem, file in zip(stems, files, strict=True):
        name = stem if stems.count(stem) == 1 else "-".join((stem, *file.attributes))
        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
        while f"{plain}.csv" in found:
            plain += "_"
        found.append(f"{plain}.csv")
    return found
