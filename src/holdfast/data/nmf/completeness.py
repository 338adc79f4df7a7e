"""What lacks among the files of a set of measurements, as far as its codes and names of levels tell it.

A node that no row names is known by the codes below it alone. One such level may be, as where nothing was
measured of a node; a code all of whose levels but the first are known by nothing else is a damaged one. What
lacks without a trace cannot be told: a leaf that no row names is no leaf.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from holdfast.data.geography import Spine
from holdfast.data.nmf.opened import MeasuredSums
from holdfast.data.nmf.queries import HistogramQuery
from holdfast.lattice.arrays import BoolArray
from holdfast.system.errors import DataError
from holdfast.system.text import counted

USUAL = ("US", "State", "County", "Tract", "Block")
"""Levels that every set of the 2020 products has; lands of tribes and others divide some of them further."""
NAMED = 3
"""Codes that are named, at most."""


def complete(
    spine: Spine,
    levels: Mapping[str, Sequence[str]],
    known: Sequence[str],
    queries: Sequence[HistogramQuery],
    measured: Sequence[MeasuredSums],
) -> list[str]:
    """Return what lacks, in sentences; raises DataError where that leaves nothing to rest on.

    Args:
        spine: the geography that the codes make.
        levels: the codes that stand in files, by level.
        known: the levels of which something is known exactly.
        queries: what was measured.
        measured: where it was.

    """
    unlisted = [~np.isin(np.array(each.levels), levels.get(each.name, ())) for each in spine.levels]
    _require_traced(spine, unlisted)
    return [
        *_levels(spine, levels, known),
        *_nodes(spine, levels, unlisted),
        *_leaves(spine, queries, measured),
    ]


def _require_traced(spine: Spine, unlisted: Sequence[BoolArray]) -> None:
    """Raise where a node is listed, and two levels or more above it are known by its code alone."""
    names, above = spine.levels.names, np.zeros(1, dtype=np.int64)
    for place in range(1, len(names)):
        above = above[spine.parent[place - 1]]
        damaged = np.flatnonzero((above >= 2) & ~unlisted[place])
        if damaged.size:
            first = int(damaged[0])
            lacking = " and no ".join(names[place - int(above[first]) : place])
            raise DataError(
                f"{spine.codes(names[place])[first]!r} of the level {names[place]} lies in no {lacking} that"
                " a file names: correct the code, or add the files that lack."
            )
        above = np.where(unlisted[place] & (above >= 0), above + 1, -1)
        if above.size == 1:  # everything lies in the only node of a level, whatever its code is
            above = np.zeros(1, dtype=np.int64)


def _levels(spine: Spine, levels: Mapping[str, Sequence[str]], known: Sequence[str]) -> Iterator[str]:
    """Yield which usual levels are not there, and which are known exactly without being measured."""
    there = [place for place, name in enumerate(USUAL) if any(_is(each, name) for each in levels)]
    made = spine.levels.names[0] not in levels  # a root above several nodes
    if len(there) > 1:
        for name in USUAL[max(0, there[0] - made) :]:
            if not any(_is(each, name) for each in levels):
                yield (
                    f"no file is of the level {name}: estimates go without what was measured there; if there"
                    " is any, add it."
                )
    for name in known:
        if name and name not in levels:
            yield (
                f"what is known exactly of the level {name} was left out, as nothing was measured there: tell"
                " its totals by a file of invariants."
            )


def _is(level: str, usual: str) -> bool:
    return level.lower() == usual.lower() or (usual == "Tract" and level.lower().startswith("tract_"))


def _nodes(spine: Spine, levels: Mapping[str, Sequence[str]], unlisted: Sequence[BoolArray]) -> Iterator[str]:
    for level, some in zip(spine.levels, unlisted, strict=True):
        if level.name in levels and some.any():
            codes = [level.levels[at] for at in np.flatnonzero(some).tolist()]
            yield (
                f"no file names {_some(codes)} of the level {level.name}, which codes below begin with: if"
                " such a code is damaged, correct it."
            )


def _leaves(
    spine: Spine, queries: Sequence[HistogramQuery], measured: Sequence[MeasuredSums]
) -> Iterator[str]:
    """Yield which leaves lack a query; raises DataError where nothing was measured of one."""
    lowest = spine.levels.each[-1]
    here = [each for each in measured if each.level == len(spine.parent)]
    lacks = np.ones((len(here), len(lowest.levels)), dtype=np.bool_)
    for line, each in zip(lacks, here, strict=True):
        line[each.nodes] = False
    bare = np.flatnonzero(lacks.all(axis=0))
    if bare.size:
        raise DataError(
            f"nothing was measured of {lowest.levels[int(bare[0])]!r} of the level {lowest.name}: add the row"
            " that lacks, or take the node out of the constraints."
        )
    for line, each in zip(lacks, here, strict=True):
        if line.any():
            codes = [lowest.levels[at] for at in np.flatnonzero(line).tolist()]
            yield (
                f"{queries[each.query].name} was not measured of {_some(codes)} of the level {lowest.name}:"
                " what rests on it alone is refused; if a row lacks, add it."
            )


def _some(codes: Sequence[str]) -> str:
    named = ", ".join(map(repr, codes[:NAMED]))
    return named if len(codes) <= NAMED else f"{named} and {counted(len(codes) - NAMED, 'more node')}"
