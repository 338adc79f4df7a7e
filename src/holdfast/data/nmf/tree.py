"""The geography of a set of measurements: levels by the lengths of their codes, nodes by their beginnings.

A node lies in the one whose code its own begins with; where the first level has one node, everything lies in
that, whatever its code is. Nodes of an upper level that are not listed, as nothing was measured there, are
those that codes below begin with.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from holdfast.data.geography import Spine
from holdfast.data.schema import Attributes
from holdfast.system.errors import DataError
from holdfast.system.text import closest
from holdfast.system.ways import option

if TYPE_CHECKING:
    from holdfast.lattice.arrays import IntArray

KNOWN = (
    *("US", "Nation", "Region", "Division", "State", "County", "Prim"),
    *("Tract_Subset_Group", "Tract_Subset", "Tract", "Block_Group", "Block"),
)
"""Levels of the 2020 products, root first: their order where lengths of codes do not tell it."""
ROOT = "all"


def by_length(codes: Iterable[str]) -> Mapping[str, list[str]]:
    """Return codes of several levels that nothing else tells apart, by the length of each."""
    found: dict[int, list[str]] = {}
    for code in codes:
        found.setdefault(len(code), []).append(code)
    return {f"level {length}": each for length, each in sorted(found.items())}


def spine_of(levels: Mapping[str, Iterable[str]], within: Sequence[str] = ()) -> Spine:
    """Return the tree of the codes of each level, those in some nodes alone where these are named."""
    named = {name: list(dict.fromkeys(codes)) for name, codes in levels.items()}
    ordered = _ordered(named)
    if within:
        ordered = _inside(ordered, within)
    names = list(ordered)
    if len(ordered[names[0]]) > 1:
        root = ROOT if ROOT not in ordered else f"{ROOT} of it"
        ordered, names = {root: [ROOT], **ordered}, [root, *names]
    for place in reversed(range(1, len(names))):
        ordered[names[place - 1]] = _with_missing(ordered, names[place - 1], names[place])
    return _tree(ordered)


def _ordered(levels: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return levels from the root down: those of one node that no other code begins with come first."""
    lowest = max(levels.values(), key=lambda codes: (len(codes), max(map(len, codes))))

    def key(name: str) -> tuple[int, int, int, int]:
        codes = levels[name]
        known = next((at for at, each in enumerate(KNOWN) if each.lower() == name.lower()), -1)
        several = len(codes) > 1
        begins = several or all(code.startswith(codes[0]) for code in lowest)
        return (several, begins, max(map(len, codes)) if begins else 0, known)

    found = sorted(levels, key=key)
    for above, below in pairwise(found):
        if key(above) == key(below):
            raise DataError(
                f"the levels {above} and {below} have codes of one length, and nothing says which lies in"
                " which: let the codes of the lower one begin with those of the upper one."
            )
    return {name: levels[name] for name in found}


def _inside(levels: Mapping[str, list[str]], within: Sequence[str]) -> dict[str, list[str]]:
    """Return the levels from that of some nodes down, and what lies in these."""
    names = list(levels)
    place = next((at for at, name in enumerate(names) if within[0] in levels[name]), None)
    if place is None:
        known = [code for name in names for code in levels[name]][:100_000]
        raise DataError(
            f"{option('within')} names {within[0]!r}, which is no node: {closest(within[0], known)}"
        )
    for code in within:
        if code not in levels[names[place]]:
            raise DataError(
                f"{option('within')} names {code!r}, which is no node of the level {names[place]} as"
                f" {within[0]!r} is: name nodes of one level."
            )
    start = tuple(within)
    return {
        name: [code for code in levels[name] if (code in start if at == place else code.startswith(start))]
        for at, name in enumerate(names)
        if at >= place
    }


def _with_missing(levels: Mapping[str, list[str]], above: str, below: str) -> list[str]:
    """Return the codes of a level with those that the level below it begins with."""
    listed = levels[above]
    if len(listed) == 1:
        return listed
    known, lengths = set(listed), {len(code) for code in listed}
    if len(lengths) > 1:
        return listed
    length = lengths.pop()
    more = {code[:length] for code in levels[below] if len(code) >= length} - known
    return [*listed, *sorted(more)]


def _tree(levels: Mapping[str, list[str]]) -> Spine:
    names = list(levels)
    first = levels[names[0]]
    ordered = {names[0]: tuple(first)}
    parents: list[IntArray] = []
    for above, below in pairwise(names):
        places = {code: at for at, code in enumerate(ordered[above])}
        lengths = sorted({len(code) for code in places}, reverse=True)
        parent = []
        for code in levels[below]:
            found = next((places[code[:n]] for n in lengths if code[:n] in places), None)
            if len(places) == 1:
                found = 0
            if found is None:
                raise DataError(
                    f"{code!r} of the level {below} begins with no code of the level {above}: write codes in"
                    " full, each beginning with that of the node it lies in."
                )
            parent.append(found)
        order = sorted(range(len(parent)), key=lambda at: (parent[at], levels[below][at]))
        ordered[below] = tuple(levels[below][at] for at in order)
        up = np.array([parent[at] for at in order], dtype=np.int64)
        empty = np.setdiff1d(np.arange(len(places)), up)
        if empty.size:
            code = ordered[above][int(empty[0])]
            raise DataError(
                f"{code!r} of the level {above} has nothing in it at the level {below}, so that what was"
                f" measured of it cannot be tied to that: add the files that lack, or name a part that is"
                f" whole, {option('within', 'CODE')}."
            )
        parents.append(up)
    return Spine(Attributes.of(ordered), tuple(parents))
