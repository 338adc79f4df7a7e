"""Accuracy: what tables are to tell leads to a budget, and a budget to what tables tell.

All errors follow from the law of the noise, and what is flipped through is made of invented counts: nothing
is drawn of the data. What takes longer than a page may is looked for beside it, kept, and shown when it is
there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, nan
from typing import Any

import numpy as np

from holdfast.certificate.pictures import Bar, bars
from holdfast.comparison.compare import compare
from holdfast.comparison.habits import Habit, habits, invented
from holdfast.comparison.tables import Comparison, MechanismRow
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.counts import usual as usual_counts
from holdfast.mechanisms.errors.least_budget import AccuracyBudget
from holdfast.public import Public
from holdfast.releases.expected import BudgetErrors, WhatIfBudgets, at_budgets
from holdfast.releases.table import PreparedTable, settle
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.model import Spec
from holdfast.spec.values import parse_rational
from holdfast.studio.desk import Desk
from holdfast.studio.edits import set_aside, with_block, with_value, without_block
from holdfast.studio.pages import Scene, View, Visit, action, page
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.system.text import plain_number, rational

FACTORS = tuple(Fraction(2) ** power for power in range(-4, 5))
"""Budgets that the slider has, as multiples of the spec's own."""
WAIT, COMPARE = 0.2, "compare"
MOST_ROWS = 40
"""Kinds of counts of which errors are told."""
RELEASES, MOST_ENTRIES = 20, 12
"""Possible releases to flip through, and the entries of each that are shown, the largest first."""
DRAWS = 200


@dataclass(frozen=True)
class Stop:
    """A budget of the slider, with a row for each kind of counts."""

    budget: Fraction
    own: bool
    rows: Sequence[tuple[str, bool, float, Bar | None]]

    @property
    def text(self) -> str:
        """The budget as a spec has it."""
        return str(self.budget)


def shown(visit: Visit, said: str = "") -> Scene:
    """Return the view of the errors as they are expected."""
    asked = visit.desk.asked
    values: dict[str, Any] = {"problem": asked.problem, "kind": "table", "no_unit": asked.no_unit}
    if not isinstance(asked.spec, Spec) or asked.spec.of_records:
        return Scene("accuracy.html.j2", values | {"kind": "none" if asked.spec is None else "other"}, said)
    desk, spec = visit.desk, asked.spec
    public = desk.public(spec)
    values |= {
        "spec": spec,
        "budget_name": spec.privacy.budget,
        "choices": [(place, counts.words) for place, counts in enumerate(_choices(desk, spec))],
        "targets": [_target_words(values) for values in asked.values.get("accuracy", [])],
        "prepared": None,
        "found": None,
        "stops": None,
        "trouble": "",
        "waiting": False,
        "flips": None,
        "compared": _compared(desk, spec, public),
        "comparing": desk.running(COMPARE),
    }
    try:
        prepared = _prepared(desk, spec)
        values["prepared"] = prepared
        values["waiting"] = prepared is None
        if prepared is not None:
            values["found"] = _budget_words(prepared.budget)
            stops = _stops(desk, spec, prepared)
            values["waiting"] = stops is None
            values["stops"] = stops
            values["flips"] = _flips(desk, spec, prepared, visit)
    except HoldfastError as error:
        values["trouble"] = str(error)
    values["own"] = next((place for place, stop in enumerate(values["stops"] or ()) if stop.own), 0)
    return Scene("accuracy.html.j2", values, said)


def _key(desk: Desk, spec: Spec) -> tuple[Any, ...]:
    return (desk.public_key(spec), repr((spec.privacy, spec.mechanism, spec.accuracy)))


def _prepared(desk: Desk, spec: Spec) -> PreparedTable | None:
    """Return the mechanism with its guarantee, settled on what is kept; None while it is worked out."""
    if spec.privacy.laws is not None:
        raise SpecError("with laws of the data errors are told by the plan of the command line.")
    key = ("settled", *_key(desk, spec))
    return desk.soon(key, lambda: settle(spec, desk.reading(spec), desk.public(spec), None), WAIT)


def _choices(desk: Desk, spec: Spec) -> Sequence[Counts]:
    """Return the counts that a target may name, those that are exact left out."""
    public = desk.public(spec)
    key = ("choices", desk.public_key(spec))
    every = desk.kept(key, lambda: [one for one in usual_counts(public) if not one.fixed(public)])
    return every[:MOST_ROWS]


def _stops(desk: Desk, spec: Spec, prepared: PreparedTable) -> Sequence[Stop] | None:
    """Return the errors at the budgets of the slider; None while they are worked out."""
    own = getattr(prepared.spec.privacy, spec.privacy.budget)
    if own is None:
        raise SpecError("the budget follows from the noise that the spec names, so there is none to move.")
    budgets = tuple(own * factor for factor in FACTORS)

    def work() -> tuple[BudgetErrors, ...]:
        asked = WhatIfBudgets(spec.privacy.budget, budgets)
        return at_budgets(prepared.mechanism, desk.public(spec), prepared.spec.privacy, asked)

    found = desk.soon(("stops", *_key(desk, spec)), work, WAIT)
    if found is None:
        return None
    sizes = [[0.0 if row.exact else row.within_95 for row in each.expected[:MOST_ROWS]] for each in found]
    middle = max((size for size in sizes[len(sizes) // 2] if isfinite(size)), default=1.0) or 1.0
    stops = []
    for each, size in zip(found, sizes, strict=True):
        drawn = bars([min(one, 2 * middle) if isfinite(one) else 0.0 for one in (*size, 2 * middle)])
        rows = [
            (row.of.words, row.exact, row.within_95, drawn[place])
            for place, row in enumerate(each.expected[:MOST_ROWS])
        ]
        stops.append(Stop(each.budget, each.budget == own, rows))
    return stops


def _budget_words(budget: AccuracyBudget | None) -> Mapping[str, Any] | None:
    if budget is None:
        return None
    rows = [
        (goal.words, rational(need), place == budget.binds)
        for place, (goal, need) in enumerate(zip(budget.goals, budget.needs, strict=True))
    ]
    return {"name": budget.name, "value": rational(budget.value), "rows": rows}


def _target_words(values: Mapping[str, Any]) -> str:
    """Return a target of the spec in words."""
    level = values.get("level", values.get("probability", 0.95))
    names = [level] if isinstance(level, str) else []
    chance = values.get("probability", 0.95) if isinstance(level, str) else level
    of = " by ".join([*names, *values.get("marginal", ())]) or ("cells" if values.get("cells") else "total")
    return f"{of} within {values.get('within')} in {100 * float(chance):g} of 100 cases"


# possible releases of invented counts


def _flips(desk: Desk, spec: Spec, prepared: PreparedTable, visit: Visit) -> Mapping[str, Any] | None:
    """Return possible releases of invented counts: entries of one kind of counts, the largest first."""
    noise, public = prepared.mechanism.noise, prepared.public
    choices = _choices(desk, spec)
    if noise is None or not choices:
        return None
    chosen = visit.one("of", "0")
    place = int(chosen) if chosen.isdecimal() and int(chosen) < len(choices) else 0
    counts, threshold = choices[place], visit.one("threshold").strip()
    limit = int(threshold) if threshold.isdecimal() and len(threshold) < 12 else None
    key = ("draws", *_key(desk, spec))
    drawn = desk.soon(key, lambda: np.asarray(noise.sample(SeededEntropy(0), RELEASES)), WAIT)
    if drawn is None:
        return {"waiting": True}
    truth = invented(public)
    rows = counts.rows(public)
    sums = np.asarray(rows @ truth).ravel()
    noisy = np.rint(np.asarray(rows @ (truth + drawn).T)).astype(np.int64)
    order = np.argsort(-sums, kind="stable")[:MOST_ENTRIES]
    labels = _labels(counts, public)
    return {
        "waiting": False,
        "place": place,
        "words": counts.words,
        "threshold": threshold if limit is not None else "",
        "limit": limit,
        "releases": [_flip(sums[order], noisy[order, one], limit) for one in range(drawn.shape[0])],
        "labels": [labels[entry] for entry in order],
        "truth": [int(sums[entry]) for entry in order],
        **_flipped(sums[order], noisy[order], limit),
    }


def _flip(truth: IntArray, noisy: IntArray, limit: int | None) -> Sequence[tuple[int, int, bool]]:
    """Return, for each entry, its released count, its rank, and whether it crosses the threshold."""
    ranks = np.empty(len(noisy), dtype=np.int64)
    ranks[np.argsort(-noisy, kind="stable")] = np.arange(1, len(noisy) + 1)
    crossed = np.zeros(len(noisy), bool) if limit is None else (truth >= limit) != (noisy >= limit)
    return [(int(a), int(b), bool(c)) for a, b, c in zip(noisy, ranks, crossed, strict=True)]


def _flipped(truth: IntArray, noisy: IntArray, limit: int | None) -> Mapping[str, Any]:
    """Count in how many releases the first changes, the order changes, or an entry crosses the threshold."""
    first = int((noisy.argmax(axis=0) != 0).sum())
    order = int((np.diff(noisy, axis=0) > 0).any(axis=0).sum())
    crossed = (
        None if limit is None else int(((truth >= limit)[:, None] != (noisy >= limit)).any(axis=0).sum())
    )
    return {"first": first, "order": order, "crossed": crossed}


def _labels(counts: Counts, public: Public) -> Sequence[str]:
    """Return the names of the sums, in the order of their rows."""
    if not counts.names:
        return ["total"]
    grid = public.schema.grid.over(counts.names)
    of_cell = public.schema.grid.rows(grid)[public.possible]
    named = {}
    for cell, entry in zip(public.possible.tolist(), of_cell.tolist(), strict=True):
        if entry not in named:
            levels = dict(zip(public.schema.names, public.schema.cell(cell), strict=True))
            named[entry] = ", ".join(levels[name] for name in counts.names)
    return [named[entry] for entry in sorted(named)]


# mechanisms side by side


def _compared(desk: Desk, spec: Spec, public: Public) -> Mapping[str, Any] | None:
    """Return the candidates and the habits of offices, if they were compared for this spec."""
    job = desk.jobs.get(COMPARE)
    if job is None or not job.over:
        return None
    if job.problem:
        return {"problem": job.problem}
    key, found = job.result
    if key != _key(desk, spec) or not isinstance(found, Comparison):
        return None
    told = desk.kept(("habits", desk.public_key(spec)), lambda: habits(public, invented(public)))
    names = list(told[0].margins)[:6]
    rows = [_row_of(row, names, row.name == found.choice) for row in found.rows]
    rows += [_row_of_habit(habit, names) for habit in told]
    return {
        "problem": "",
        "names": [" by ".join(name) or "total" for name in names],
        "rows": rows,
        "why": found.why,
        "cells": public.universe.cells,
    }


def _row_of(row: MechanismRow, names: Sequence[tuple[str, ...]], chosen: bool) -> Mapping[str, Any]:
    sizes = {} if row.deviation is None else row.deviation.margins
    each = [sizes.get(" x ".join(name) or "total") for name in names]
    return {
        "name": row.name,
        "chosen": chosen,
        "cell": nan if row.deviation is None else row.deviation.cell.value,
        "margins": [nan if size is None else 0.0 if size.exact else size.value for size in each],
        "guarantee": row.contender is not None and not row.lacks,
        "note": row.note or row.lacks,
        "revealed": None,
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


def compared(visit: Visit) -> Scene:
    """Begin to compare the mechanisms that fit the spec."""
    desk = visit.desk
    spec = desk.asked.table
    key = _key(desk, spec)
    desk.begin(COMPARE, "comparing", lambda _: (key, compare(spec, draws=DRAWS)))
    return shown(visit, "Mechanisms are compared.")


def ended(visit: Visit) -> Scene:
    """End the comparison."""
    visit.desk.end(COMPARE)
    return shown(visit, "It was ended.")


# what is edited


def _edited(visit: Visit, change: Any, said: str) -> Scene:
    desk = visit.desk
    desk.asked.table  # noqa: B018 - one table is edited here
    desk.edit(change)
    if desk.asked.spec is None:
        problem = desk.asked.problem
        desk.undo()
        raise SpecError(problem)
    return shown(visit, said)


def targeted(visit: Visit) -> Scene:
    """Ask that counts are told within a number, in so many of a hundred cases."""
    desk, of = visit.desk, visit.one("of")
    spec = desk.asked.table
    choices = _choices(desk, spec)
    if not (of.isdecimal() and int(of) < len(choices)):
        raise SpecError("these counts are not among those that noise moves: choose others.")
    try:
        within, level = (parse_rational(visit.one(name).strip()) for name in ("within", "level"))
    except ValueError as error:
        raise SpecError(f"a number of the target {error}.") from None
    if within <= 0 or not 0 < level < 100:
        raise SpecError("ask for a number above 0, in more than 0 and less than 100 of 100 cases.")
    counts, public = choices[int(of)], desk.public(spec)
    values: dict[str, object] = (
        {"cells": True} if counts.names == public.schema.names else {"marginal": list(counts.names)}
    )
    values |= {
        "within": int(within) if within.denominator == 1 else float(within),
        "level": float(level / 100),
    }

    def change(text: str) -> str:
        return with_block(set_aside(text, "privacy", spec.privacy.budget), "accuracy", values)

    return _edited(visit, change, "The budget now follows from what is asked.")


def dropped(visit: Visit) -> Scene:
    """Take a target out; with the last one the budget that followed becomes the budget."""
    desk, number = visit.desk, visit.one("number")
    spec = desk.asked.table
    if not (number.isdecimal() and int(number) < len(spec.accuracy)):
        raise SpecError("this target is not in the spec any more: look at the list again.")
    last = len(spec.accuracy) == 1
    prepared = _prepared(desk, spec) if last else None
    value = Fraction(1) if prepared is None or prepared.budget is None else prepared.budget.value

    def change(text: str) -> str:
        text = without_block(text, "accuracy", int(number))
        return with_value(text, "privacy", spec.privacy.budget, str(value)) if last else text

    return _edited(visit, change, "The target is out.")


def spent(visit: Visit) -> Scene:
    """Take a budget; targets, from which another would follow, go out."""
    spec = visit.desk.asked.table
    try:
        value = parse_rational(visit.one("budget").strip())
    except ValueError as error:
        raise SpecError(f"the budget {error}.") from None

    def change(text: str) -> str:
        for _ in spec.accuracy:
            text = without_block(text, "accuracy", 0)
        return with_value(text, "privacy", spec.privacy.budget, str(value))

    said = f"The budget is {spec.privacy.budget} {plain_number(float(value))}."
    return _edited(visit, change, said)


VIEW = View(
    "accuracy",
    "Accuracy",
    (
        page("/accuracy", shown),
        action("/accuracy/look", shown),
        action("/accuracy/target", targeted),
        action("/accuracy/drop", dropped),
        action("/accuracy/budget", spent),
        action("/accuracy/compare", compared),
        action("/accuracy/end", ended),
    ),
)
