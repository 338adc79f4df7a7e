"""Use: cells of a release are clicked, and it answers with an interval, a posterior, and what not to say."""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.certificate.read import read_certificate
from holdfast.data.schema import Schema
from holdfast.inference.labels import selected
from holdfast.inference.posterior.infer import infer
from holdfast.inference.posterior.results import Posterior
from holdfast.inference.released_intervals import Estimator
from holdfast.studio import answers, elsewhere
from holdfast.studio.answers import DRAWS, KINDS, MODEL, MOST_ROWS, Kind, Question, Where, name_of, told
from holdfast.studio.desk import Desk
from holdfast.studio.pages import Scene, View, Visit, action, page
from holdfast.studio.views.check import stamp_of
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.system.text import read_json

READ, POSTERIOR = "use", "posterior"
"""The names of the jobs."""
LEVELS = {"0.5": Fraction(1, 2), "0.9": Fraction(9, 10), "0.95": Fraction(19, 20), "0.99": Fraction(99, 100)}
MOST_BUTTONS, MOST_LEVELS, MOST_CELLS = 1_200, 300, 20_000
"""Entries of a grid that are clicked; levels that a list offers; cells of a posterior that is waited for."""
WAIT = 1.5


def shown(visit: Visit, heard: str = "") -> Scene:
    """Return the view: a release is chosen, read, and asked."""
    desk = visit.desk
    name = desk.release
    values: dict[str, Any] = {
        "releases": desk.place.releases,
        "name": name,
        "table": visit.one("table"),
        "running": None,
        "problem": "",
        "grid": None,
        "answer": None,
        "ways": {},
    }
    if name is None:
        return Scene("use.html.j2", values, heard)
    table, folder = visit.one("table") or None, desk.place.inside(name)
    key = (READ, table, *stamp_of(desk, name))
    job = desk.once(READ, key, "checking the release", lambda _: Estimator.of(folder, table))
    if not job.over:
        return Scene("use.html.j2", values | {"running": job}, heard)
    if not isinstance(job.result, Estimator):
        return Scene("use.html.j2", values | {"problem": job.problem, "tables": _tables(desk, name)}, heard)
    found = _asked(visit, job.result, key)
    return Scene("use.html.j2", values | {"tables": _tables(desk, name)} | found, heard or found["heard"])


def _tables(desk: Desk, name: str) -> Sequence[str]:
    """Return the names of several tables; none of one."""
    try:
        parts = read_certificate(desk.place.inside(name)).parts
    except HoldfastError:
        return ()
    return tuple(str(part.name) for part in parts) if len(parts) > 1 else ()


def _asked(visit: Visit, estimator: Estimator, key: tuple[Any, ...]) -> dict[str, Any]:
    """Return the grid of the released counts, what is asked of it, and the answer."""
    schema = estimator.released.table.schema
    down, across = _axes(visit, estimator)
    rest = [name for name in schema.names if name not in (down, across)]
    within = {
        name: (level,)
        for place, name in enumerate(schema.names)
        if name in rest and (level := visit.one(f"in_{place}")) in schema.attribute(name).levels
    }
    question = _question(visit, estimator, within, (down, across))
    grid_key = (key, down, across, tuple(sorted(within.items())))
    sums = visit.desk.kept(("grid", grid_key), lambda: _sums(estimator, down, across, within))
    return {
        "grid": _grid(schema, sums, (down, across), within, question),
        "attributes": [
            (place, one.name, one.levels[:MOST_LEVELS], within.get(one.name, ("",))[0], one.name in rest)
            for place, one in enumerate(schema.attributes)
        ],
        "kinds": KINDS,
        "levels": LEVELS,
        "level": next(text for text, one in LEVELS.items() if one == question.level),
        "question": question,
        "first": json.dumps(question.first),
        "second": "" if question.second is None else json.dumps(question.second),
        "names": (name_of(question.first), name_of(question.second or {})),
        **_answered(visit.desk, estimator, question, key),
        "ways": elsewhere.intervals(str(visit.desk.release), answers.calls(question, estimator), key[1])
        if question.whole
        else {},
    }


def _axes(visit: Visit, estimator: Estimator) -> tuple[str, str]:
    """Return the attributes of the rows and the columns, "" where there is one alone.

    Unless others are chosen these are the first that tell anything: of places those of the highest level.
    """
    schema = estimator.released.table.schema
    sizes = {one.name: len(one.levels) for one in schema.attributes}
    places = [name for name in estimator.geography if sizes.get(name, 0) > 1]
    later = {name for name in estimator.geography if name not in places[:1]}
    order = sorted(sizes, key=lambda name: (sizes[name] > MOST_BUTTONS // 2, name in later, sizes[name] < 2))
    down, across = visit.one("down"), visit.one("across")
    down = down if down in sizes else order[0]
    others = [name for name in order if name != down]
    return down, across if across in others else next(iter(others), "")


def _question(visit: Visit, estimator: Estimator, within: Where, axes: tuple[str, str]) -> Question:
    """Return what is asked: what was before, with what was clicked now."""
    kind: Kind = next((kind for kind in KINDS if kind == visit.one("kind")), "count")
    level, by = LEVELS.get(visit.one("level"), Fraction(9, 10)), visit.one("by")
    first, second = (_selection(visit.one(name), estimator) for name in ("first", "second"))
    if visit.one("pick"):
        picked = dict(within)
        for name, given in zip(axes, ("down_level", "across_level"), strict=True):
            if text := visit.one(given):
                picked |= selected({name: [text]}, estimator.attributes, "the table")
        if kind == "count" or first is None or second is not None:
            first, second = picked, None
        else:
            second = picked
    if kind == "count":
        second = None
    names = {*(first or {}), *(second or {})}
    if by not in estimator.attributes or by in names:
        by = ""
    return Question(kind, first or {}, second, level, by)


def _selection(text: str, estimator: Estimator) -> Where | None:
    """Return a selection as the form holds it; None of none."""
    if not text:
        return None
    try:
        value = read_json(text)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(each, list) and each for each in value.values()):
        raise SpecError("this selection cannot be read: click on the table again.")
    levels = {name: [str(level) for level in each] for name, each in value.items()}
    return selected(levels, estimator.attributes, "the form")


def _sums(estimator: Estimator, down: str, across: str, within: Where) -> tuple[Any, Any]:
    """Return the released counts of the grid, and which of its entries there are."""
    table = estimator.released.table
    schema = table.schema
    keep = np.ones(schema.size, dtype=np.bool_)
    for name, levels in within.items():
        keep &= schema.codes(name) == schema.attribute(name).code(levels[0])
    rows = len(schema.attribute(down).levels)
    columns = len(schema.attribute(across).levels) if across else 1
    place = schema.codes(down) * columns + (schema.codes(across) if across else 0)
    sums, there = np.zeros(rows * columns, dtype=np.int64), np.zeros(rows * columns, dtype=np.bool_)
    np.add.at(sums, place[keep], table.counts[keep])
    there[place[keep & schema.possible]] = True
    return sums.reshape(rows, columns), there.reshape(rows, columns)


def _grid(
    schema: Schema, sums: tuple[Any, Any], axes: tuple[str, str], within: Where, question: Question
) -> Mapping[str, Any] | None:
    """Return the grid to click on; None where it is too large."""
    counts, there = sums
    if counts.size > MOST_BUTTONS:
        return None
    down, across = axes
    heads = schema.attribute(across).levels if across else ("",)

    def mark(**levels: str) -> str:
        """Return A or B, where an entry is what is asked about."""
        where = {**within, **{name: (level,) for name, level in levels.items()}}
        same = [one is not None and dict(one) == where for one in (question.first, question.second)]
        return "A" if same[0] and (question.first or within == {}) else "B" if same[1] else ""

    rows = [
        {
            "name": level,
            "sum": int(counts[i].sum()),
            "mark": mark(**{down: level}),
            "cells": [
                {
                    "name": other,
                    "count": int(counts[i, j]),
                    "there": bool(there[i, j]),
                    "mark": mark(**{down: level, across: other}) if across else "",
                }
                for j, other in enumerate(heads)
            ],
        }
        for i, level in enumerate(schema.attribute(down).levels)
    ]
    return {
        "down": down,
        "across": across,
        "heads": [(name, int(counts[:, j].sum()), mark(**{across: name})) for j, name in enumerate(heads)]
        if across
        else [],
        "rows": rows,
        "total": int(counts.sum()),
        "mark": mark(),
    }


def _answered(desk: Desk, estimator: Estimator, question: Question, key: tuple[Any, ...]) -> dict[str, Any]:
    """Return the answer; that it is worked out, or that a second selection is needed."""
    values: dict[str, Any] = {"answer": None, "waiting": False, "trouble": "", "heard": ""}
    if not question.whole:
        return values
    try:
        report = desk.soon(("answer", key, repr(question)), lambda: question.asked_of(estimator), WAIT)
    except HoldfastError as error:
        return values | {"trouble": str(error)}
    if report is None:
        return values | {"waiting": True}
    if question.by:
        rows = report.rows[:MOST_ROWS]
        drawn = answers.ranges([(row.estimate, row.low, row.high) for row in rows])
        each_level = [
            (row.cell[0], one, *told(row.estimate, row.low, row.high), row.kept_exactly)
            for row, one in zip(rows, drawn, strict=True)
        ]
        avoid = answers.avoid_of_margin(report)
        more = len(report.rows) - len(rows)
        return values | {"answer": {"rows": each_level, "avoid": avoid, "more": more, "by": question.by}}
    row = report.rows[0]
    plain = answers.naive(question, estimator.released.table)
    posterior, state = _posterior(desk, estimator, question, key)
    lines = [("The interval", float(row.estimate), float(row.low), float(row.high))]
    if posterior is not None:
        lines.append(("The posterior", posterior.mean, posterior.low, posterior.high))
    lines.append(("The naive answer", plain, plain, plain))
    placed = answers.ranges([(middle, low, high) for _, middle, low, high in lines])
    each = [
        (name, one, *told(middle, low, high, row.high - row.low))
        for (name, middle, low, high), one in zip(lines, placed, strict=True)
    ]
    avoid = answers.avoid(question, report)
    answer = {"lines": each, "avoid": avoid, "exact": row.kept_exactly, **state}
    return values | {"answer": answer, "heard": avoid}


def _posterior(
    desk: Desk, estimator: Estimator, question: Question, key: tuple[Any, ...]
) -> tuple[answers.Belief | None, Mapping[str, Any]]:
    """Return what the posterior of the table says, if it was drawn, and how far it is."""
    state: dict[str, Any] = {"drawing": None, "problem": "", "offered": False}
    if estimator.released.table.schema.size > MOST_CELLS:
        return None, state | {
            "problem": "the table is too large to wait for its posterior here: infer draws it."
        }
    job = desk.jobs.get(POSTERIOR)
    if job is None or job.of != key or job.ended:
        return None, state | {"offered": True}
    if not job.over:
        return None, state | {"drawing": job}
    if not isinstance(job.result, Posterior):
        return None, state | {"problem": job.problem}
    return answers.belief(question, job.result), state


def chosen(visit: Visit) -> Scene:
    """Turn to another release of the folder."""
    visit.desk.place.inside(visit.one("release"))
    stamp_of(visit.desk, visit.one("release"))
    visit.desk.release = visit.one("release")
    return shown(Visit(visit.desk, {}, visit.path), f"The release is {visit.desk.release}.")


def drawn(visit: Visit) -> Scene:
    """Begin to draw from the posterior of the table."""
    desk, name, table = visit.desk, visit.desk.release, visit.one("table") or None
    if name is None:
        raise SpecError("there is no release: choose one first.")
    folder, key = desk.place.inside(name), (READ, table, *stamp_of(desk, name))
    if (job := desk.jobs.get(POSTERIOR)) is not None and job.ended:
        del desk.jobs[POSTERIOR]
    desk.once(
        POSTERIOR, key, "drawing from the posterior", lambda _: infer(folder, MODEL, draws=DRAWS, table=table)
    )
    return shown(visit)


def ended(visit: Visit) -> Scene:
    """End what is under way."""
    for name in (READ, POSTERIOR):
        visit.desk.end(name)
    return shown(visit, "It was ended.")


def again(visit: Visit) -> Scene:
    """Read the release once more."""
    visit.desk.jobs.pop(READ, None)
    return shown(visit)


VIEW = View(
    "use",
    "Use",
    (
        page("/use", shown),
        action("/use/ask", shown),
        action("/use/release", chosen),
        action("/use/posterior", drawn),
        action("/use/end", ended),
        action("/use/again", again),
    ),
    spec=False,
)
