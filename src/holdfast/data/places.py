"""Tables of several files on one geography: the same places in the same order for all of them.

A table may have no row for some places, where it counts nothing. One of the tables has all places that any
has, and the others are brought to its places. A place that this table does not have, or that lies elsewhere,
is refused: codes do not match.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from holdfast.data.geography import Regions
from holdfast.data.read import ReadTable
from holdfast.data.schema import Attributes, Schema
from holdfast.data.selection import schema_of
from holdfast.data.table import Table
from holdfast.spec.model import Spec
from holdfast.system.errors import DataError
from holdfast.system.text import in_quotes


def on_one_geography(specs: Mapping[str, Spec], readings: Mapping[str, ReadTable]) -> dict[str, ReadTable]:
    """Return all tables over the places of the one that has most; raises DataError on other codes."""
    levels = next(iter(specs.values())).data.regions
    trees = {name: Regions.of(one.table.schema, levels) for name, one in readings.items()}
    widest = max(trees, key=lambda name: trees[name].sizes[-1])
    return {
        name: one
        if name == widest or _alike(trees[name], trees[widest])
        else _on(one, specs[name], trees[name], (widest, trees[widest], readings[widest].table.schema))
        for name, one in readings.items()
    }


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
        more = f" (and {len(missing) - 1:,} more)" if len(missing) > 1 else ""
        raise DataError(
            f"{reading.source.name} has the {leaf} {in_quotes(missing[0])}{more}, which the table"
            f" {other!r} does not have: tables that are estimated together have the same places, so"
            f" list it in"
            " both, with a count of 0 where nothing is counted, or correct it."
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
    counts = np.zeros((tree.sizes[-1], own.width), dtype=np.int64)
    counts[at] = reading.table.counts.reshape(len(codes), own.width)
    moved = Table(schema_of(spec, attributes, nestings), counts.ravel())
    return replace(reading, table=moved)
