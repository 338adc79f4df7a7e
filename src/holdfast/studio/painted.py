"""The picture of a table whose exact numbers are clicked: a grid, or margins with small grids, painted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from holdfast.data.table import Table
from holdfast.public import Public
from holdfast.spec.constraints import Invariant
from holdfast.spec.model import Spec
from holdfast.studio.figures import EXPOSED, FREE, NEARLY, NEVER, Revealed, share_painted

MOST_SQUARES = 40_000
"""Entries of a painted picture."""
MOST_PAIRS, MOST_LISTED = 15, 30
"""Pairs of attributes that have a picture; cells that are named."""
MOST_LINES = 60
"""Columns, and rows, of a picture that has lines between them."""
PAINTS = {FREE: "free", NEARLY: "nearly", EXPOSED: "exposed", NEVER: "never"}


@dataclass(frozen=True)
class Square:
    """An entry of a picture, and how it is painted."""

    name: str
    paint: str
    words: str
    vals: Mapping[str, Any]
    pressed: bool
    count: int | None = None


def place_of_margin(spec: Spec, names: Sequence[str]) -> int | None:
    """Return the place of the invariant that keeps a margin; None where there is none."""
    return _place(
        spec,
        lambda one: (
            one.margin is not None and set(one.margin) == set(names) and not one.where and not one.level
        ),
    )


def place_of_total(spec: Spec, level: str | None = None) -> int | None:
    """Return the place of the invariant that keeps the total, of each place of a level if one is named."""
    return _place(spec, lambda one: one.total and one.level == level)


def place_of_selection(spec: Spec, where: Mapping[str, object]) -> int | None:
    """Return the place of the invariant that keeps the count of a selection."""
    asked = {name: set(_each(levels)) for name, levels in where.items()}

    def same(one: Invariant) -> bool:
        if one.where is None or one.margin is not None or one.level is not None:
            return False
        return {name: set(_each(levels)) for name, levels in one.where.items()} == asked

    return _place(spec, same)


def _place(spec: Spec, wanted: Callable[[Invariant], object]) -> int | None:
    return next((place for place, one in enumerate(spec.invariants) if wanted(one)), None)


def margin(public: Public, spec: Spec, names: tuple[str, ...]) -> dict[str, Any]:
    """Return a margin that can be clicked."""
    entries = public.schema.grid.over(names).size
    return {"names": names, "pressed": place_of_margin(spec, names) is not None, "entries": entries}


def level(public: Public, spec: Spec, name: str) -> dict[str, Any]:
    """Return a level of the geography that can be clicked."""
    entries = len(public.schema.attribute(name).levels)
    return {"name": name, "pressed": place_of_total(spec, name) is not None, "entries": entries}


def _each(levels: object) -> Sequence[str]:
    given = levels if isinstance(levels, Sequence) and not isinstance(levels, str) else [levels]
    return [str(one) for one in given]


def grid(public: Public, seen: Revealed | None, spec: Spec, table: Table | None) -> dict[str, Any]:
    """Return a table of two attributes, each cell, row and column of which can be clicked."""
    down, across = public.schema.attributes
    shape = (len(down.levels), len(across.levels))
    paint = np.full(shape, FREE) if seen is None else seen.paint.reshape(shape)
    counts = None if table is None else table.counts.reshape(shape)

    def square(where: Mapping[str, str], paint: int, count: int | None) -> Square:
        label = ", ".join(where.values())
        return Square(
            label, PAINTS[paint], _words(paint), where, place_of_selection(spec, where) is not None, count
        )

    rows = [
        (
            square({down.name: level}, FREE, None if counts is None else int(counts[i].sum())),
            [
                square(
                    {down.name: level, across.name: other},
                    int(paint[i, j]),
                    None if counts is None else int(counts[i, j]),
                )
                for j, other in enumerate(across.levels)
            ],
        )
        for i, level in enumerate(down.levels)
    ]
    heads = [
        square({across.name: other}, FREE, None if counts is None else int(counts[:, j].sum()))
        for j, other in enumerate(across.levels)
    ]
    total = None if counts is None else int(counts.sum())
    return {"down": down.name, "across": across.name, "rows": rows, "heads": heads, "total": total}


def _lines(across: int, down: int) -> str:
    """Return the path of the lines of a grid, where they can be told apart."""
    lines = "".join(f"M{x} 0v{down}" for x in range(across + 1)) if across <= MOST_LINES else ""
    return lines + ("".join(f"M0 {y}h{across}" for y in range(down + 1)) if down <= MOST_LINES else "")


def strip(public: Public, seen: Revealed | None, spec: Spec, table: Table | None) -> Sequence[Square]:
    """Return a table of one attribute, each cell of which can be clicked."""
    (only,) = public.schema.attributes
    paint = np.full(len(only.levels), FREE) if seen is None else seen.paint
    every = place_of_margin(spec, (only.name,)) is not None
    found = []
    for place, level in enumerate(only.levels):
        where = {only.name: level}
        own = place_of_selection(spec, where) is not None
        kept = every and not own and paint[place] == EXPOSED
        words = "exact, as one of all" if kept else _words(int(paint[place]))
        count = None if table is None else int(table.counts[place])
        found.append(Square(level, "kept" if kept else PAINTS[int(paint[place])], words, where, own, count))
    return found


def _words(paint: int) -> str:
    return {FREE: "open", NEARLY: "one of two counts", EXPOSED: "revealed", NEVER: "cannot occur"}[paint]


def pairs(public: Public, spec: Spec, seen: Revealed | None) -> Sequence[dict[str, Any]]:
    """Return the margins of two attributes, each with a small picture."""
    own = [name for name in public.schema.names if name not in public.geography[:-1]]
    found = []
    for names in list(combinations(own, 2))[:MOST_PAIRS]:
        one = margin(public, spec, names)
        shape = tuple(len(public.schema.attribute(name).levels) for name in names)
        if seen is not None and one["entries"] == shape[0] * shape[1] <= MOST_SQUARES:
            one |= _picture(share_painted(public, seen, names), shape)
        found.append(one)
    return found


def _picture(paint: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the paths of a painted grid: what is open is the paper, and needs none."""
    grid = paint.reshape(shape)
    if shape[0] > shape[1]:
        grid = grid.T
    paths = {}
    for value in (NEARLY, EXPOSED):
        at = np.argwhere(grid == value)
        paths[PAINTS[value]] = "".join(f"M{x} {y}h1v1h-1z" for y, x in at.tolist())
    return {
        "size": (grid.shape[1], grid.shape[0]),
        "lines": _lines(grid.shape[1], grid.shape[0]),
        "paths": paths,
        "exposed": int((grid == EXPOSED).sum()),
        "nearly": int((grid == NEARLY).sum()),
    }


def listed(public: Public, seen: Revealed | None, *, counts: bool) -> Sequence[tuple[str, str, str]]:
    """Return the cells that are revealed, then those that nearly are."""
    if seen is None:
        return ()
    order = [*np.flatnonzero(seen.paint == EXPOSED), *np.flatnonzero(seen.paint == NEARLY)][:MOST_LISTED]
    return [
        (
            public.schema.in_words(int(cell)),
            _words(int(seen.paint[cell])),
            (
                str(seen.low[cell])
                if seen.low[cell] == seen.high[cell]
                else f"{seen.low[cell]} or {seen.high[cell]}"
            )
            if counts
            else "",
        )
        for cell in order
    ]
