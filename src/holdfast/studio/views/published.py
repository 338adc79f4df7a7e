"""Audits of published tables: determined cells are painted, and remedies tried at once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from holdfast.publication.report import PublicationReport, audited
from holdfast.publication.spec import PublicationSpec, PublishedTable, read_publication_spec, rule_of
from holdfast.publication.tables import PublishedTables, read_publication
from holdfast.studio import elsewhere
from holdfast.studio.desk import Desk
from holdfast.studio.jobs import Job
from holdfast.studio.pages import Handler, Scene, Visit, action, answered, page, refused
from holdfast.studio.uploads import received
from holdfast.system.errors import HoldfastError, SpecError

AUDIT = "publication"
"""The name of the job."""
RULES = (
    "exact",
    "rounded:5",
    "rounded:3:random",
    "rounded:10",
    "drb",
    "suppressed:5",
    "suppressed:10",
    "coarsened",
)
MOST_ENTRIES, MOST_LISTED = 1_200, 40
FREE, NEARLY, DETERMINED = 0, 1, 2


def published(visit: Visit, heard: str = "") -> Scene:
    """Return the view: files with their rules, and what they say together."""
    desk = visit.desk
    files = [name for name in desk.place.data if Path(name).suffix.lower() in (".csv", ".parquet")]
    chosen = set(visit.all("use"))
    rows = [
        {
            "name": name,
            "used": name in chosen,
            "rule": visit.one(f"rule:{name}", "exact"),
            "symbol": visit.one(f"symbol:{name}", "*"),
        }
        for name in files
    ]
    values: dict[str, Any] = {
        "rows": rows,
        "specs": desk.place.specs,
        "spec": visit.one("spec"),
        "rules": RULES,
        "running": None,
        "problem": "",
        "found": None,
        "off_tables": _off(visit, "table"),
        "off_numbers": _off(visit, "number"),
        "ways": {},
        "tab": "published",
    }
    if not chosen and not values["spec"]:
        return _scene(values, heard)
    spec = _spec(desk, values["spec"], rows)
    off = values["off_tables"], values["off_numbers"]
    key = (spec.model_dump_json(), off, *_stamps(spec))
    job = desk.once(AUDIT, key, "looking for what follows", lambda job: _audited(spec, off, job))
    if not job.over:
        return _scene(values | {"running": job}, heard)
    if not isinstance(job.result, tuple):
        return _scene(values | {"problem": job.problem}, heard)
    report, whole, places = job.result
    values["found"] = found = _told(report, places)
    values["left_out"] = _left_out(whole, off)
    values["ways"] = _ways(values["spec"], [row for row in rows if row["used"]])
    return _scene(values, heard or f"{found['determined']:,} of {found['cells']:,} cells are determined.")


def _scene(values: Mapping[str, Any], heard: str) -> Scene:
    return Scene("audits_published.html.j2", values, heard, here="/audits")


def _spec(desk: Desk, name: str, rows: Sequence[Mapping[str, Any]]) -> PublicationSpec:
    """Return the tables that are audited: those of a spec, or files of the folder with a rule each."""
    if name:
        return read_publication_spec(desk.place.inside(name))
    tables = []
    for row in rows:
        if row["used"]:
            desk.place.inside(row["name"])
            keys = rule_of(row["rule"].strip()) | ({"symbol": row["symbol"]} if row["symbol"].strip() else {})
            tables.append(PublishedTable(path=row["name"], **keys))
    return PublicationSpec(published=tuple(tables), folder=desk.place.folder)


def _off(visit: Visit, kind: str) -> tuple[int, ...]:
    """Return the places of what is left out, with what is left out now, and without what is back."""
    found: dict[str, set[int]] = {}
    for way in ("off", "drop", "back"):
        texts = visit.all(f"{way}_{kind}")
        if not all(text.isascii() and text.isdecimal() and len(text) < 12 for text in texts):
            raise SpecError("what is left out cannot be read: begin again.")
        found[way] = {int(text) for text in texts}
    return tuple(sorted((found["off"] | found["drop"]) - found["back"]))


def _stamps(spec: PublicationSpec) -> list[tuple[str, int, int]]:
    found = []
    for table in spec.published:
        try:
            stat = (spec.folder / table.path).stat()
        except OSError:
            continue  # it is told of where it is read
        found.append((table.path, stat.st_mtime_ns, stat.st_size))
    return found


Audited = tuple[PublicationReport, PublishedTables, Any]


def _audited(spec: PublicationSpec, off: tuple[tuple[int, ...], tuple[int, ...]], job: Job) -> Audited:
    """Return the report without what is left out, all there was, and the places of what was kept."""
    whole = read_publication(spec)
    job.look()
    tables, numbers = off
    kept = ~np.isin(whole.table, tables)
    kept[[number for number in numbers if number < kept.size]] = False
    places = np.flatnonzero(kept)
    if not places.size:
        raise SpecError("nothing is published any more: leave out less.")
    return audited(whole if places.size == kept.size else whole.some(places)), whole, places


def _told(report: PublicationReport, places: Any) -> dict[str, Any]:
    """Return what a report says, for a page."""
    determined, near = report.determined, report.near
    left = report.tables_left
    end = "more than can be told" if left.largest is None else _size(left.largest)
    return {
        "attributes": report.asked.attributes,
        "cells": report.asked.count,
        "determined": int(determined.size),
        "worked_out": int(report.worked_out.size),
        "near": int(near.size),
        "narrow": report.narrow,
        "listed": [report.cell(place) for place in report.ordered[:MOST_LISTED].tolist()],
        "nearly": [report.cell(place) for place in near[:MOST_LISTED].tolist()],
        "left": _size(left.least) if left.exact else f"{_size(left.least)} to {end}",
        "contradictions": [
            ([number.words for number in one.numbers[:MOST_LISTED]], one.smallest)
            for one in report.contradictions
        ],
        "groups": [one.words for one in report.groups[:MOST_LISTED]],
        "more_groups": max(0, len(report.groups) - MOST_LISTED),
        "differences": [
            (report.cited(one.larger).words, report.cited(one.smaller).words, one.least, one.largest)
            for one in report.differences[:MOST_LISTED]
        ],
        "remedies": [
            {
                "words": one.words,
                "findings": one.findings,
                "base": one.base,
                "table": one.table if one.number is None else None,
                "number": None if one.number is None else int(places[one.number]),
            }
            for one in report.undone[:MOST_LISTED]
        ],
        "bounds": int((~report.known.exact).sum()),
        "grid": None if report.contradictions else _grid(report),
    }


def _size(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"{float(number):.3g}"


def _grid(report: PublicationReport) -> Mapping[str, Any] | None:
    """Return the cells as a painted table; of more than two attributes the strongest paint of each sum."""
    asked = report.asked
    names = asked.attributes[:2]
    down = asked.leaves[names[0]]
    across = asked.leaves[names[1]] if len(names) > 1 else ("",)
    if len(down) * len(across) > MOST_ENTRIES:
        return None
    width = report.known.width
    paint = np.where(width == 0, DETERMINED, np.where((width > 0) & (width < report.narrow), NEARLY, FREE))
    place = asked.codes[names[0]] * len(across) + (asked.codes[names[1]] if len(names) > 1 else 0)
    worst, count = np.full(len(down) * len(across), -1), np.zeros(len(down) * len(across), dtype=np.int64)
    np.maximum.at(worst, place, paint)
    np.add.at(count, place, paint == DETERMINED)
    cell = np.zeros(worst.size, dtype=np.int64)
    cell[place] = np.arange(place.size)
    single = len(asked.attributes) <= 2
    words = {-1: "never", FREE: "free", NEARLY: "nearly", DETERMINED: "exposed"}

    def entry(at: int) -> tuple[str, str]:
        if worst[at] < 0:
            return "never", "none"
        if single:
            ends = report.cell(int(cell[at]))
            high = "more" if ends["largest"] is None else f"{ends['largest']:,}"
            text = high if ends["least"] == ends["largest"] else f"{ends['least']:,}\u2013{high}"
            return words[int(worst[at])], text
        return words[int(worst[at])], f"{int(count[at])} of them" if count[at] else "\u00b7"

    rows = [(level, [entry(i * len(across) + j) for j in range(len(across))]) for i, level in enumerate(down)]
    return {"down": names[0], "across": names[1] if len(names) > 1 else "", "heads": across, "rows": rows}


def _left_out(
    whole: PublishedTables, off: tuple[tuple[int, ...], tuple[int, ...]]
) -> list[tuple[str, int, str]]:
    """Return what is left out: the field that says so, its value, and its words."""
    found = [("back_table", place, whole.files[place].name) for place in off[0] if place < len(whole.files)]
    for number in off[1]:
        if number < whole.table.size:
            file = whole.files[whole.table[number]].name
            levels = ", ".join(whole.named(number).values()) if whole.row[number] >= 0 else "not listed"
            found.append(("back_number", number, f"{file}: {levels}"))
    return found


def _ways(spec: str, used: Sequence[Mapping[str, Any]]) -> elsewhere.Ways:
    """Return the command, where one can say the same."""
    if spec:
        return elsewhere.audit(["publication", spec], "publication", spec)
    if len({(row["rule"], row["symbol"]) for row in used}) > 1:
        return {}
    names, rule = [row["name"] for row in used], str(used[0]["rule"])
    words = ["publication", *names, "--rule", rule]
    keys = rule_of(rule)
    if keys["rule"] == "suppressed":
        keys["symbol"] = used[0]["symbol"]
        words += ["--symbol", used[0]["symbol"]]
    return elsewhere.audit(words, "publication", names, rule=keys)


async def tables_dropped(request: Request) -> Response:
    """Take published tables from the browser."""
    return await dropped(request, published, "use")


async def dropped(request: Request, handler: Handler, name: str) -> Response:
    """Take files from the browser, and show them in a view, by a field of its form."""
    desk: Desk = request.app.state.desk
    visit = Visit(desk, {}, request.url.path)
    try:
        names, fields = await received(request, desk.place)
        if not names:
            raise SpecError("no file came with this: choose one.")
    except HoldfastError as error:
        return answered(refused(error), visit, request)
    kept = list(fields.get(name, ())) if name == "use" else []
    visit = Visit(desk, {**fields, name: [*kept, *names]}, request.url.path)
    return await run_in_threadpool(answered, handler, visit, request)


def ended(visit: Visit) -> Scene:
    """End the audit."""
    visit.desk.end(AUDIT)
    return published(Visit(visit.desk, {}, visit.path), "It was ended.")


ROUTES: Sequence[BaseRoute] = (
    page("/audits/published", published),
    action("/audits/published", published),
    action("/audits/published/end", ended),
    Route("/audits/published/upload", tables_dropped, methods=["POST"]),
)
