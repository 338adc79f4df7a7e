"""Data: a file is chosen, looked at, and described; what is confidential is shown when it is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from holdfast.data.read import ReadTable
from holdfast.releases.first_spec import NAME, Wishes, propose
from holdfast.spec.example import write_example
from holdfast.spec.model import Spec
from holdfast.studio.desk import AnySpec, SpecState, units_of
from holdfast.studio.edits import with_value
from holdfast.studio.pages import Scene, View, Visit, action, answered, page, refused
from holdfast.studio.uploads import received
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.system.files import special
from holdfast.system.text import counted

MOST_LEVELS = 12
"""Levels of an attribute that are shown at once."""
MOST_CELLS = 400
"""Cells of a table that are shown, where its counts are asked for."""
CHOOSE = "choose who is protected"


@dataclass(frozen=True)
class LevelsOf:
    """An attribute of the cells, its levels, and what it lies in."""

    name: str
    levels: tuple[str, ...]
    within: str | None
    inferred: bool

    @property
    def first(self) -> tuple[str, ...]:
        """The levels that are shown at once."""
        return self.levels[:MOST_LEVELS]

    @property
    def rest(self) -> tuple[str, ...]:
        """The others."""
        return self.levels[MOST_LEVELS:]


def shown(visit: Visit, said: str = "", *, counts: bool = False) -> Scene:
    """Return the view of the data as they are."""
    desk = visit.desk
    asked = desk.asked
    values: dict[str, Any] = {
        "files": desk.place.data,
        "specs": desk.place.specs,
        "folder": desk.place.folder,
        "tables": {},
        "problem": "",
        "units": protected_of(asked),
        "counts": counts,
    }
    if asked.spec is not None:
        try:
            values["tables"] = _tables(visit, asked.spec, counts=counts)
        except HoldfastError as error:
            values["problem"] = str(error)
        values["of_records"] = isinstance(asked.spec, Spec) and asked.spec.of_records
    return Scene("data.html.j2", values, said)


def protected_of(asked: SpecState) -> Sequence[Mapping[str, Any]]:
    """Return who is protected, as the spec says, by table where each is of a file; nothing is filled in."""
    given = asked.values.get("privacy")
    most = given.get("records_per_unit", "") if isinstance(given, dict) else ""
    return [{"table": name, "unit": unit, "records": most} for name, unit in units_of(asked.values)]


def _tables(visit: Visit, spec: AnySpec, *, counts: bool) -> dict[str, Any]:
    """Return what is told of each table of a spec."""
    if not isinstance(spec, Spec):
        named = dict(zip(spec.names, spec.specs, strict=True))
    elif spec.of_records:
        return {}
    else:
        named = {"": spec}
    return {name: _described(visit, one, counts=counts) for name, one in named.items()}


def _described(visit: Visit, spec: Spec, *, counts: bool) -> dict[str, Any]:
    reading = visit.desk.reading(spec)
    schema = reading.table.schema
    columns = [
        LevelsOf(each.name, each.levels, schema.within.get(each.name), each.name in reading.inferred)
        for each in schema.attributes
    ]
    return {
        "columns": columns,
        "count": spec.data.count,
        "file": spec.data.path or "a database",
        "cells": schema.size,
        "zeros": len(schema.impossible),
        "places": spec.data.regions,
        "doubts": reading.warnings,
        "confidential": _confidential(reading) if counts else None,
    }


def _confidential(reading: ReadTable) -> dict[str, Any]:
    """Return what only the curator may see."""
    table, schema = reading.table, reading.table.schema
    possible = schema.possible
    return {
        "total": table.total,
        "empty": int(((table.counts == 0) & possible).sum()),
        "small": int(((table.counts > 0) & (table.counts < 5)).sum()),
        "largest": int(table.counts.max()),
        "rows": [
            (schema.cell(cell), int(table.counts[cell])) for cell in range(min(schema.size, MOST_CELLS))
        ],
        "more": max(0, schema.size - MOST_CELLS),
        "names": schema.names,
    }


def counts_shown(visit: Visit) -> Scene:
    """Show the confidential counts, until the page is left."""
    return shown(visit, "The confidential counts are shown.", counts=visit.one("show") == "yes")


def chosen(visit: Visit) -> Scene:
    """Look at a file of the folder, and write a first spec for it."""
    return _proposed(visit, visit.one("file"))


def _proposed(visit: Visit, name: str) -> Scene:
    desk = visit.desk
    if not name:
        raise SpecError("no file is chosen: choose one.")
    path = desk.place.inside(name)
    try:
        kind = special(path)
    except OSError:
        kind = "nothing"
    if kind is not None:
        raise SpecError(f"{name} is {kind}: choose a file.")
    keep = tuple(one.strip() for one in visit.one("keep").split(",") if one.strip())
    folder = name.rpartition("/")[0]
    spec = desk.place.free(f"{folder}/{NAME}" if folder else NAME)
    found = propose(path, Wishes(keep), folder=desk.place.inside(spec).parent)
    desk.place.write(spec, with_value(found.text, "privacy", "unit", ""))
    desk.take(spec)
    cells = ", ".join(found.cells) or "a geography"
    return shown(visit, f"A first spec is written: cells by {cells}. Next, {CHOOSE}.")


def opened(visit: Visit) -> Scene:
    """Turn to another spec of the folder."""
    visit.desk.take(visit.one("spec"))
    return shown(visit, f"The spec is {visit.desk.spec_name}.")


def demo(visit: Visit) -> Scene:
    """Write the example of `init` into the folder, and open it."""
    desk = visit.desk
    spec, *_ = write_example(desk.place.folder)
    desk.place.write(
        spec.name, with_value(spec.read_text(encoding="utf-8"), "privacy", "unit", ""), replace=True
    )
    desk.take(spec.name)
    return shown(visit, f"The example is written to the folder. Next, {CHOOSE}.")


def protected(visit: Visit) -> Scene:
    """Say who is protected, and how many records one of them may have."""
    unit, records = visit.one("unit").strip(), visit.one("records").strip()
    if not unit:
        raise SpecError(f"nobody is named: {CHOOSE}, by a noun such as person, household or hospital stay.")
    if records and not (records.isascii() and records.isdecimal() and len(records) < 10):
        raise SpecError("the most records that one of them may have is a whole number, such as 1 or 5.")
    most = int(records or 1)

    before, table = visit.desk.asked, visit.one("table")
    named = [name for name, _ in units_of(before.values)]
    if table not in named:
        raise SpecError("this table is not in the spec any more: look at the list again.")
    section, number = ("tables.privacy", named.index(table)) if table else ("privacy", 0)

    def change(text: str) -> str:
        text = with_value(text, section, "unit", unit, number=number)
        return with_value(text, "privacy", "records_per_unit", most if most != 1 else None)

    visit.desk.edit(change)
    after = visit.desk.asked
    if after.problem and not before.problem:
        visit.desk.undo()
        raise SpecError(after.problem)
    who = "the person behind one record" if unit == "record" else f"one {unit}"
    return shown(visit, f"Protected is {who}, with {counted(most, 'record')} at most.")


async def uploaded(request: Request) -> Response:
    """Write a file of the browser into the folder, and look at it."""
    desk = request.app.state.desk
    visit = Visit(desk, {}, request.url.path)
    try:
        names, fields = await received(request, desk.place)
    except HoldfastError as error:
        return answered(refused(error), visit, request)
    visit = Visit(desk, {**fields, "file": list(names[:1])}, request.url.path)
    return await run_in_threadpool(answered, chosen, visit, request)


VIEW = View(
    "data",
    "Data",
    (
        page("/data", shown),
        action("/data/choose", chosen),
        action("/data/open", opened),
        action("/data/demo", demo),
        action("/data/unit", protected),
        action("/data/counts", counts_shown),
        Route("/data/upload", uploaded, methods=["POST"]),
    ),
)
