"""Exact numbers: a picture of the table in which margins, totals, selections and levels are clicked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import monotonic
from typing import Any

import numpy as np

from holdfast.data.table import Table
from holdfast.public import Public
from holdfast.spec.constraints import Invariant
from holdfast.spec.files import FilesSpec
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec
from holdfast.studio.edits import with_block, without_block
from holdfast.studio.figures import (
    EXPOSED,
    FREE,
    NEARLY,
    NEVER,
    Figures,
    Revealed,
    figures,
    promise,
    share_painted,
)
from holdfast.studio.figures import revealed as revealed_of
from holdfast.studio.pages import Scene, View, Visit, action, page
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.system.text import counted, in_quotes

MOST_BUTTONS = 1_200
"""Cells of a table that can be clicked one by one."""
MOST_SQUARES = 40_000
"""Entries of a painted picture."""
MOST_PAIRS, MOST_LISTED, MOST_LEVELS = 15, 30, 300
"""Pairs of attributes that have a picture; cells that are named; levels that a list offers."""
PAINTS = {FREE: "free", NEARLY: "nearly", EXPOSED: "exposed", NEVER: "never"}
WAIT_FOR_LESS = 20.0


@dataclass(frozen=True)
class Choice:
    """An invariant of the spec: its place, and what it says in one sentence."""

    number: int
    name: str
    sentence: str
    values: int


@dataclass(frozen=True)
class Square:
    """An entry of a picture, and how it is painted."""

    name: str
    paint: str
    words: str
    vals: Mapping[str, Any]
    pressed: bool
    count: int | None = None


def shown(visit: Visit, said: str = "") -> Scene:
    """Return the view of the invariants as they are."""
    asked = visit.desk.asked
    if asked.spec is None:
        return Scene("exact.html.j2", {"kind": "none", "problem": asked.problem}, said)
    if not isinstance(asked.spec, Spec):
        return _of_several(visit, asked.spec, said)
    if asked.spec.of_records:
        return Scene("exact.html.j2", {"kind": "records", "problem": ""}, said)
    values = _of_table(visit, asked.spec, counts=visit.one("counts") == "yes")
    return Scene("exact.html.j2", {"kind": "table", "problem": "", "no_unit": asked.no_unit, **values}, said)


def _of_table(visit: Visit, spec: Spec, *, counts: bool) -> dict[str, Any]:
    desk = visit.desk
    public, found = desk.public(spec), figures(desk, spec)
    seen = revealed_of(desk, spec)
    choices = choices_of(spec, public)
    two = len(public.schema.names) == 2 and public.schema.size <= MOST_BUTTONS and not public.schema.nestings
    table = desk.reading(spec).table
    return {
        "figures": found,
        "promise": promise(desk, spec),
        "privacy": spec.privacy,
        "revealed": seen,
        "choices": choices,
        "sentence": sentence(found, seen),
        "grid": _grid(public, seen, spec, table if counts else None) if two else None,
        "singles": [
            _margin(public, spec, (name,)) for name in public.schema.names if name not in public.geography
        ],
        "pairs": () if two else _pairs(public, spec, seen),
        "places": [_level(public, spec, name) for name in public.geography],
        "total": _pressed(spec, lambda one: one.total and one.level is None),
        "attributes": [(one.name, one.levels[:MOST_LEVELS]) for one in public.schema.attributes],
        "listed": _listed(public, seen, counts=counts),
        "more": max(0, (0 if seen is None else seen.exposed + seen.nearly) - MOST_LISTED),
        "counts": counts,
        "unlikely": spec.mechanism.name,
    }


def _of_several(visit: Visit, spec: TablesSpec | FilesSpec, said: str) -> Scene:
    """Return what is told of several tables; their invariants are edited in the text."""
    rows = []
    for name, one in zip(spec.names, spec.specs, strict=True):
        public, found = visit.desk.public(one), figures(visit.desk, one)
        seen = revealed_of(visit.desk, one)
        rows.append((name, found, seen, choices_of(one, public)))
    across = [one.name for one in spec.across] if isinstance(spec, FilesSpec) else None
    return Scene("exact.html.j2", {"kind": "several", "problem": "", "rows": rows, "across": across}, said)


def choices_of(spec: Spec, public: Public) -> Sequence[Choice]:
    """Return the invariants of a spec, with a sentence each."""
    number = {id(one): place for place, one in enumerate(spec.invariants)}
    whom = public.whom.counted
    return [
        Choice(number[id(one)], held.block.name, _sentence(one, whom), len(held.values))
        for one, held in zip(spec.invariants, public.invariants, strict=True)
    ]


def _sentence(one: Invariant, whom: str) -> str:
    """Say what an invariant publishes."""
    among = ", ".join(f"{name} {_levels(levels)}" for name, levels in (one.where or {}).items())
    within = f" among those with {among}" if among else ""
    if one.attributes:
        by = " and ".join(one.attributes)
        return f"The number of {whom} for each {by}{within} is published as it is."
    if one.weights is not None:
        return f"The weighted sums of {one.weights.file} are published as they are."
    if one.total:
        return f"The number of all {whom} is published as it is."
    return f"The number of {whom} with {among} is published as it is."


def _levels(levels: object) -> str:
    if isinstance(levels, Sequence) and not isinstance(levels, str):
        return " or ".join(map(str, levels))
    return str(levels)


def sentence(found: Figures, seen: Revealed | None) -> str:
    """Say in one sentence what the choices come to."""
    if found.nothing_left:
        return "The exact numbers leave one possible table: nothing is left to protect."
    left = counted(found.dimension, "number")
    verb = "is" if found.dimension == 1 else "are"
    head = f"{left} {verb} left open"
    if found.apart is None:
        return f"{head}; how much one {found.whom.one}'s change moves is still looked for."
    head = f"{head}, and one {found.whom.one}'s change moves {found.whom.amount(found.apart)}"
    if seen is None:
        return f"{head}; what the exact numbers reveal is still looked for."
    if not seen.exposed:
        return f"{head}; no cell is revealed."
    return f"{head}; {counted(seen.exposed, 'cell')} can be worked out from the exact numbers alone."


def _pressed(spec: Spec, wanted: Any) -> int | None:
    """Return the place of an invariant of a kind; None where there is none."""
    return next((place for place, one in enumerate(spec.invariants) if wanted(one)), None)


def _margin_place(spec: Spec, names: Sequence[str]) -> int | None:
    return _pressed(
        spec,
        lambda one: (
            one.margin is not None and set(one.margin) == set(names) and not one.where and not one.level
        ),
    )


def _margin(public: Public, spec: Spec, names: tuple[str, ...]) -> dict[str, Any]:
    entries = public.schema.grid.over(names).size
    return {"names": names, "pressed": _margin_place(spec, names) is not None, "entries": entries}


def _level(public: Public, spec: Spec, level: str) -> dict[str, Any]:
    pressed = _pressed(spec, lambda one: one.total and one.level == level) is not None
    return {"name": level, "pressed": pressed, "entries": len(public.schema.attribute(level).levels)}


def _where_place(spec: Spec, where: Mapping[str, str]) -> int | None:
    asked = {name: {level} for name, level in where.items()}

    def same(one: Invariant) -> bool:
        if one.where is None or one.margin is not None or one.level is not None:
            return False
        return {name: set(_each(levels)) for name, levels in one.where.items()} == asked

    return _pressed(spec, same)


def _each(levels: object) -> Sequence[str]:
    given = levels if isinstance(levels, Sequence) and not isinstance(levels, str) else [levels]
    return [str(one) for one in given]


def _grid(public: Public, seen: Revealed | None, spec: Spec, table: Table | None) -> dict[str, Any]:
    """Return a table of two attributes, each cell, row and column of which can be clicked."""
    down, across = public.schema.attributes
    shape = (len(down.levels), len(across.levels))
    paint = np.full(shape, FREE) if seen is None else seen.paint.reshape(shape)
    counts = None if table is None else table.counts.reshape(shape)

    def square(where: Mapping[str, str], paint: int, count: int | None) -> Square:
        label = ", ".join(where.values())
        return Square(
            label, PAINTS[paint], _words(paint), where, _where_place(spec, where) is not None, count
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


def _words(paint: int) -> str:
    return {FREE: "open", NEARLY: "one of two counts", EXPOSED: "revealed", NEVER: "cannot occur"}[paint]


def _pairs(public: Public, spec: Spec, seen: Revealed | None) -> Sequence[dict[str, Any]]:
    """Return the margins of two attributes, each with a small picture."""
    own = [name for name in public.schema.names if name not in public.geography[:-1]]
    found = []
    for names in list(combinations(own, 2))[:MOST_PAIRS]:
        one = _margin(public, spec, names)
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
        "paths": paths,
        "exposed": int((grid == EXPOSED).sum()),
        "nearly": int((grid == NEARLY).sum()),
    }


def _listed(public: Public, seen: Revealed | None, *, counts: bool) -> Sequence[tuple[str, str, str]]:
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


# what is clicked


def _edited(visit: Visit, edit: Any) -> Scene:
    """Edit the invariants; an edit that no table keeps is taken back, and said."""
    desk = visit.desk
    spec = desk.asked.table
    desk.edit(lambda text: edit(text, spec))
    after = desk.asked
    try:
        if after.spec is None:
            raise SpecError(after.problem)
        scene = shown(visit)
    except HoldfastError:
        desk.undo()
        raise
    return Scene(scene.template, scene.values, scene.values.get("sentence", ""))


def _toggled(visit: Visit, place: int | None, values: Mapping[str, object]) -> Scene:
    def edit(text: str, spec: Spec) -> str:
        del spec
        if place is None:
            return with_block(text, "invariants", values, "published exactly")
        return without_block(text, "invariants", place)

    return _edited(visit, edit)


def margin(visit: Visit) -> Scene:
    """Keep a margin, or no longer."""
    names = visit.all("names")
    spec = visit.desk.asked.table
    return _toggled(visit, _margin_place(spec, names), {"margin": list(names)})


def total(visit: Visit) -> Scene:
    """Keep the number of all, or no longer."""
    spec = visit.desk.asked.table
    return _toggled(visit, _pressed(spec, lambda one: one.total and one.level is None), {"total": True})


def level(visit: Visit) -> Scene:
    """Keep the totals of a level of the geography, or no longer."""
    spec, name = visit.desk.asked.table, visit.one("level")
    if name not in spec.data.regions:
        raise SpecError(f"{in_quotes(name)} is no level of the geography: choose another.")
    place = _pressed(spec, lambda one: one.total and one.level == name)
    return _toggled(visit, place, {"total": True, "level": name})


def where(visit: Visit) -> Scene:
    """Keep the count of a selection, or no longer."""
    spec = visit.desk.asked.table
    names = visit.desk.public(spec).schema.names
    chosen = {name: [one for one in visit.all(f"in_{place}") if one] for place, name in enumerate(names)}
    asked = {name: levels[0] if len(levels) == 1 else levels for name, levels in chosen.items() if levels}
    if not asked:
        raise SpecError("nothing is selected: choose a level of an attribute.")
    one = {name: levels for name, levels in asked.items() if isinstance(levels, str)}
    place = _where_place(spec, one) if len(one) == len(asked) else None
    return _toggled(visit, place, {"where": asked})


def drop(visit: Visit) -> Scene:
    """Keep one of the invariants no longer."""
    number = visit.one("number")
    count = len(visit.desk.asked.table.invariants)
    if not (number.isdecimal() and int(number) < count):
        raise SpecError("this exact number is not in the spec any more: look at the list again.")
    return _edited(visit, lambda text, _: without_block(text, "invariants", int(number)))


def without(visit: Visit) -> Scene:
    """Tell what dropping each of the invariants would change, and which cells it would free."""
    desk, spec = visit.desk, visit.desk.asked.table
    public, end = desk.public(spec), monotonic() + WAIT_FOR_LESS

    def rest() -> float:
        return max(0.0, end - monotonic())

    now, seen = figures(desk, spec, rest()), revealed_of(desk, spec, rest())
    rows = []
    for one in choices_of(spec, public):
        others = tuple(other for place, other in enumerate(spec.invariants) if place != one.number)
        less = spec.model_copy(update={"invariants": others})
        found, other = figures(desk, less, rest()), revealed_of(desk, less, rest())
        freed = None
        if seen is not None and other is not None:
            freed = np.flatnonzero((seen.paint == EXPOSED) & (other.paint != EXPOSED))
        rows.append(
            {
                "choice": one,
                "figures": found,
                "freed": None if freed is None else len(freed),
                "cells": [] if freed is None else [public.schema.in_words(int(cell)) for cell in freed[:5]],
            }
        )
    return Scene("exact_without.html.j2", {"rows": rows, "now": now}, here="/exact")


VIEW = View(
    "exact",
    "Exact numbers",
    (
        page("/exact", shown),
        action("/exact/counts", shown),
        action("/exact/margin", margin),
        action("/exact/total", total),
        action("/exact/level", level),
        action("/exact/where", where),
        action("/exact/drop", drop),
        action("/exact/without", without),
    ),
)
