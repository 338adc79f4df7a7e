"""Levels and axes of published tables: which attributes lie in each other, and the places of the cells.

Attributes that lie in each other, as a tract in its county, share an **axis**, whose places are those of the
finest; other attributes have axes of their own, and the cells are the product of the axes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from holdfast.lattice.arrays import IntArray
from holdfast.publication.files import PublishedFile, read_hierarchy
from holdfast.publication.levels import Known, Levels, levels_of
from holdfast.publication.spec import PublicationSpec
from holdfast.system.errors import SpecError
from holdfast.system.text import closest, in_quotes
from holdfast.system.ways import setting


@dataclass(frozen=True, eq=False)
class NestedAxis:
    """Attributes that lie in each other: for each of them the leaf at every place."""

    attributes: tuple[str, ...]
    size: int
    leaf: Mapping[str, IntArray]


def all_levels(spec: PublicationSpec, files: Sequence[PublishedFile]) -> dict[str, Levels]:
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


def nested_axes(
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
