"""Tables of several files on one geography: the same places in the same order for all of them.

A table may have no row for some places, where it counts nothing. One of the tables has all places that any
has, and the others are brought to its places, with a warning that tells how many they left out. Refused as
codes that do not match are

* a place that this table does not have, or that lies elsewhere in it;
* a place of this table in a node of the level above that no other table has: who left out the one place left
  out all around it, which a misspelt code looks like as well. Where that level is the root, all have it.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from holdfast.data.geography import Regions
from holdfast.data.read import ReadTable
from holdfast.data.schema import Attribute, Attributes, Schema
from holdfast.data.selection import schema_of
from holdfast.data.table import Table
from holdfast.lattice.arrays import IntArray
from holdfast.spec.model import Spec
from holdfast.system.errors import DataError
from holdfast.system.paged import paged
from holdfast.system.text import in_quotes

SHOWN = 3
"""Places that a warning names."""


def on_one_geography(specs: Mapping[str, Spec], readings: Mapping[str, ReadTable]) -> dict[str, ReadTable]:
    """Return all tables over the places of the one that has most; raises DataError on other codes."""
    levels = next(iter(specs.values())).data.regions
    trees = {name: Regions.of(one.table.schema, levels) for name, one in readings.items()}
    widest = max(trees, key=lambda name: trees[name].sizes[-1])
    found = {
        name: one
        if name == widest or _alike(trees[name], trees[widest])
        else _on(one, specs[name], trees[name], (widest, trees[widest], readings[widest].table.schema))
        for name, one in readings.items()
    }
    _require_neighbours(readings[widest].source.name, widest, trees)
    return found


def _require_neighbours(source: str, widest: str, trees: Mapping[str, Regions]) -> None:
    """Raise where the widest table alone has a node of the level above the leaves."""
    wide = trees[widest]
    if len(wide.levels) == 1 or len(trees) == 1:
        return
    *_, above, leaf = wide.levels
    others = {code for name, one in trees.items() if name != widest for code in one.spine.codes(above)}
    lone = [node for node, code in enumerate(wide.spine.codes(above)) if code not in others]
    if lone:
        node = wide.spine.codes(above)[lone[0]]
        place = wide.spine.codes(leaf)[int(np.searchsorted(wide.spine.parent[-1], lone[0]))]
        raise DataError(
            f"{source} has the {leaf} {in_quotes(place)}, and no other table has a place in its {above}"
            f" {in_quotes(node)}{_more(len(lone))}: correct the code, or where nothing else is counted there"
            f" list one {leaf} of the {above} in another table, with a count of 0."
        )


def _more(number: int) -> str:
    return f" (and {number - 1:,} more)" if number > 1 else ""


def _alike(one: Regions, other: Regions) -> bool:
    """Whether two trees have the same nodes in the same order."""
    mine, theirs = one.spine, other.spine
    return (
        one.places == other.places
        and all(np.array_equal(a, b) for a, b in zip(mine.parent, theirs.parent, strict=True))
        and all(np.array_equal(a.of, b.of) for a, b in zip(one.areas, other.areas, strict=True))
    )


def _on(reading: ReadTable, spec: Spec, own: Regions, onto: tuple[str, Regions, Schema]) -> ReadTable:
    """Return a table over the places of another one."""
    other, tree, schema = onto
    leaf = own.levels[-1]
    places = {code: place for place, code in enumerate(tree.spine.codes(leaf))}
    codes = own.spine.codes(leaf)
    missing = [code for code in codes if code not in places]
    if missing:
        raise DataError(
            f"{reading.source.name} has the {leaf} {in_quotes(missing[0])}{_more(len(missing))}, which the"
            f" table {other!r} does not have: one table has the places of all, so correct the code, or list"
            " it there, with a count of 0 where nothing is counted."
        )
    at = np.array([places[code] for code in codes], dtype=np.int64)
    for level in own.levels[:-1]:
        mine, theirs = own.spine.ancestors(level), tree.spine.ancestors(level)[at]
        names, known = own.spine.codes(level), tree.spine.codes(level)
        for place, (one, two) in enumerate(zip(mine.tolist(), theirs.tolist(), strict=True)):
            if names[one] != known[two]:
                raise DataError(
                    f"{reading.source.name} has the {leaf} {in_quotes(codes[place])} in the {level}"
                    f" {in_quotes(names[one])}, and the table {other!r} has it in {in_quotes(known[two])}:"
                    " correct one of them."
                )
    old = reading.table.schema
    attributes = Attributes(
        tuple(schema.attribute(each.name) if each.name in own.places else each for each in old.attributes)
    )
    nestings = (
        *(one for one in schema.nestings if one.attribute in own.levels),
        *(one for one in old.nestings if one.attribute not in own.levels),
    )
    counts = paged((tree.sizes[-1], own.width), np.int64)
    counts[at] = reading.table.counts.reshape(len(codes), own.width)
    counts.setflags(write=False)
    moved = Table(schema_of(spec, attributes, nestings), counts.ravel())
    return replace(
        reading,
        table=moved,
        rows={each.name: _moved(reading, each) for each in attributes},
        warnings=(*reading.warnings, _left_out(reading, (other, tree), at)),
    )


def _moved(reading: ReadTable, onto: Attribute) -> IntArray:
    """Return on how many rows of a file each level of an attribute stands; on none where it left it out."""
    own = reading.table.schema.attribute(onto.name).levels
    stand_on = dict(zip(own, reading.rows[onto.name].tolist(), strict=True))
    return np.array([stand_on.get(level, 0) for level in onto.levels], dtype=np.int64)


def _left_out(reading: ReadTable, onto: tuple[str, Regions], at: IntArray) -> str:
    """Return a warning of the places that a table does not have."""
    other, tree = onto
    leaf = tree.levels[-1]
    without = np.setdiff1d(np.arange(tree.sizes[-1]), at)
    codes = tree.spine.codes(leaf)
    first = ", ".join(in_quotes(codes[place]) for place in without[:SHOWN].tolist())
    more = ", ..." if without.size > SHOWN else ""
    return (
        f"{reading.source.name} leaves out {without.size:,} of the {tree.sizes[-1]:,} places of the table"
        f" {other!r}, {leaf} {first}{more}: nothing is counted there, unless a code is misspelt."
    )
