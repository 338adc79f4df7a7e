"""Mechanisms side by side at the guarantee of a spec, beside what offices do today; swaps beside noise."""

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import Any

from holdfast.comparison.compare import compare
from holdfast.comparison.habits import Habit, habits, invented
from holdfast.comparison.swap_report import FOR_WHOM, NOTE, SwapComparison, SwapRow
from holdfast.comparison.tables import Comparison, MechanismRow
from holdfast.public import Public
from holdfast.spec.model import Spec
from holdfast.studio.desk import Desk
from holdfast.studio.figures import Revealed, revealed
from holdfast.studio.place_rows import place_tables

COMPARE = "compare"
"""The name of the job."""
DRAWS = 200
MOST_MARGINS = 6
Key = tuple[Any, ...]


def begin(desk: Desk, key: Key, spec: Callable[[], Spec]) -> None:
    """Begin to compare the mechanisms that fit a spec, unless that is done or under way."""
    job = desk.jobs.get(COMPARE)
    if job is not None and (job.ended or job.problem):
        del desk.jobs[COMPARE]
    desk.once(COMPARE, key, "comparing", lambda _: compare(spec(), draws=DRAWS))


def of_table(desk: Desk, key: Key, spec: Spec, public: Public) -> Mapping[str, Any] | None:
    """Return the candidates and the habits of offices, if they were compared for this spec."""
    found = _found(desk, key)
    if not isinstance(found, Comparison):
        return _trouble(found)
    told = desk.kept(("habits", desk.public_key(spec)), lambda: habits(public, invented(public)))
    names, seen = list(told[0].margins)[:MOST_MARGINS], revealed(desk, spec)
    rows = [_row_of(row, names, row.name == found.choice, seen) for row in found.rows]
    rows += [_row_of_habit(habit, names) for habit in told]
    return {
        "problem": "",
        "names": [" by ".join(name) or "total" for name in names],
        "rows": rows,
        "why": found.why,
        "cells": public.universe.cells,
    }


def of_records(desk: Desk, key: Key) -> Mapping[str, Any] | None:
    """Return a swap beside noise on the tabulation that the spec names, if they were compared."""
    found = _found(desk, key)
    if not isinstance(found, SwapComparison):
        return _trouble(found)
    return {
        "problem": "",
        "of": found.attributes,
        "names": found.kept[:MOST_MARGINS],
        "rows": [_row_of_swap(row, found.kept[:MOST_MARGINS]) for row in found.rows],
        "labels": [row.label for row in found.usable],
        "blocks": list(found.building_blocks.items()),
        "standards": found.standards,
        "why": NOTE,
        "whom": found.whom.counted,
        "whose": FOR_WHOM,
        "places": place_tables(found.places),
    }


def _found(desk: Desk, key: Key) -> object:
    """Return what a comparison found, or its problem; None where there is none for this spec."""
    job = desk.jobs.get(COMPARE)
    if job is None or not job.over or job.of != key:
        return None
    return job.problem or job.result


def _trouble(found: object) -> Mapping[str, Any] | None:
    return {"problem": found} if isinstance(found, str) else None


def _row_of(
    row: MechanismRow, names: Sequence[tuple[str, ...]], chosen: bool, seen: Revealed | None
) -> Mapping[str, Any]:
    sizes = {} if row.deviation is None else row.deviation.margins
    each = [sizes.get(" x ".join(name) or "total") for name in names]
    keeps = row.contender is not None and row.contender.mechanism.traits.keeps_invariants
    return {
        "name": row.name,
        "chosen": chosen,
        "cell": nan if row.deviation is None else row.deviation.cell.value,
        "margins": [nan if size is None else 0.0 if size.exact else size.value for size in each],
        "guarantee": row.contender is not None and not row.lacks,
        "note": row.note or row.lacks,
        "revealed": seen.exposed if keeps and seen is not None else None,
        "habit": False,
    }


def _row_of_habit(habit: Habit, names: Sequence[tuple[str, ...]]) -> Mapping[str, Any]:
    return {
        "name": habit.name,
        "chosen": False,
        "cell": habit.cell,
        "margins": [habit.margins.get(name, nan) for name in names],
        "guarantee": False,
        "note": habit.words,
        "revealed": habit.revealed,
        "habit": True,
    }


def _row_of_swap(row: SwapRow, names: Sequence[str]) -> Mapping[str, Any]:
    sizes = {} if row.errors is None else row.errors.margins
    each = [sizes.get(name) for name in names]
    return {
        "name": row.label,
        "cell": nan if row.errors is None else row.errors.cell.value,
        "margins": [nan if size is None else 0.0 if size.exact else size.value for size in each],
        "note": row.note,
    }
