"""Accuracy: what tables are to tell leads to a budget, and a budget to what tables tell.

All errors follow from the law of the noise, and what is flipped through is made of invented counts: nothing
is drawn of the data. What takes longer than a page may is looked for beside it, kept, and shown when it is
there.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from holdfast.spec.files import FilesSpec
from holdfast.spec.model import Spec
from holdfast.spec.values import parse_rational
from holdfast.studio import compared, swapped
from holdfast.studio.compared import COMPARE
from holdfast.studio.desk import Desk
from holdfast.studio.edits import set_aside, with_value
from holdfast.studio.entries import with_entry, with_entry_value, without_entry
from holdfast.studio.expected import Settled, choices, key_of, settled, stops
from holdfast.studio.looked import Looked, looked_at, turned_to
from holdfast.studio.measured import measured
from holdfast.studio.pages import Scene, View, Visit, action, page
from holdfast.studio.possible import flips
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.system.text import plain_number, rational

REACHES = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000)
"""How far off counts may be, as the sliders of targets have it."""


def shown(visit: Visit, said: str = "") -> Scene:
    """Return the view of the errors as they are expected."""
    asked = visit.desk.asked
    values: dict[str, Any] = {"problem": asked.problem, "kind": asked.kind, "no_unit": asked.no_unit}
    if asked.spec is None:
        return Scene("accuracy.html.j2", values, said)
    values |= {"comparing": visit.desk.running(COMPARE), "trouble": "", "waiting": False}
    if isinstance(asked.spec, Spec) and asked.spec.of_records:
        return Scene("accuracy.html.j2", values | _of_records(visit.desk, asked.spec), said)
    return Scene("accuracy.html.j2", values | _of_table(visit, looked_at(visit)), said)


def _of_records(desk: Desk, spec: Spec) -> dict[str, Any]:
    try:
        told = swapped.told(desk, spec)
    except HoldfastError as error:
        return {"told": None, "trouble": str(error), "compared": None}
    found = compared.of_records(desk, swapped.key_of(desk, spec))
    return {"told": told, "waiting": told is None, "compared": found}


def _of_table(visit: Visit, one: Looked) -> dict[str, Any]:
    desk, spec = visit.desk, one.spec
    own = choices(desk, one)
    values: dict[str, Any] = {
        "tables": () if one.whole is None else one.whole.names,
        "table": one.name,
        "share": None,
        "takes_budget": not isinstance(one.whole, FilesSpec),
        "budget_name": spec.privacy.budget,
        "choices": [(place, counts.words) for place, counts in enumerate(own)],
        "targets": [_target(each) for each in _said(desk, one).get("accuracy", [])],
        "reaches": REACHES,
        "found": None,
        "stops": None,
        "flips": None,
        "measured": None,
        "compared": compared.of_table(desk, key_of(desk, one), spec, desk.public(spec)),
        "own": 0,
    }
    try:
        found = settled(desk, one)
        values["waiting"] = found is None
        if found is not None:
            values["share"] = rational(found.share) if one.whole is not None and found.share != 1 else None
            values["found"] = _budget_words(found, one.name)
            values["measured"] = measured(found.prepared.mechanism)
            values["flips"] = flips(visit, found, own)
            values["stops"] = made = stops(desk, found)
            values["waiting"] = made is None
            values["own"] = next((place for place, stop in enumerate(made or ()) if stop.own), 0)
    except HoldfastError as error:
        values["trouble"] = str(error)
    return values


def _said(desk: Desk, one: Looked) -> Mapping[str, Any]:
    """Return the values of the spec in which those of a table stand."""
    values = desk.asked.values
    found: Mapping[str, Any] = values if one.place is None else values["tables"][one.place]
    return found


def _budget_words(found: Settled, table: str) -> Mapping[str, Any] | None:
    """Return the budget that follows, what each target of a table needs, and what binds elsewhere."""
    own, shared = found.prepared.budget, found.shared
    whole = own or shared
    if whole is None:
        return None
    elsewhere = shared is not None and shared.table != table
    rows = (
        []
        if own is None
        else [
            (goal.words, rational(need), place == own.binds and not elsewhere)
            for place, (goal, need) in enumerate(zip(own.goals, own.needs, strict=True))
        ]
    )
    binds = None
    if shared is not None and elsewhere:
        whole, other = shared, shared.tables[shared.table]
        binds = (other.goals[other.binds].words, shared.table)
    return {"name": whole.name, "value": rational(whole.value), "rows": rows, "elsewhere": binds}


def _target(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a target of the spec: of what, within what, in how many cases, and where its slider stands."""
    level = values.get("level", values.get("probability", 0.95))
    names = [level] if isinstance(level, str) else []
    chance = values.get("probability", 0.95) if isinstance(level, str) else level
    of = " by ".join([*names, *values.get("marginal", ())]) or ("cells" if values.get("cells") else "total")
    within = parse_rational(str(values.get("within")))
    reaches = sorted({*map(Fraction, REACHES), within})
    words = f"{of} within {_number(within)} in {100 * float(chance):g} of 100 cases"
    return {
        "words": words,
        "within": _number(within),
        "reaches": [_number(one) for one in reaches],
        "own": reaches.index(within),
    }


# what is edited


def _edited(visit: Visit, change: Callable[[str], str], said: str) -> Scene:
    desk = visit.desk
    desk.edit(change)
    if desk.asked.spec is None:
        problem = desk.asked.problem
        desk.undo()
        raise SpecError(problem)
    return shown(visit, said)


def targeted(visit: Visit) -> Scene:
    """Ask that counts are told within a number, in so many of a hundred cases."""
    desk, of, one = visit.desk, visit.one("of"), _of_one_budget(visit)
    spec = one.spec
    every = choices(desk, one)
    if not (of.isdecimal() and int(of) < len(every)):
        raise SpecError("these counts are not among those that noise moves: choose others.")
    within, level = _asked_for(visit, "within"), _asked_for(visit, "level")
    if level >= 100:
        raise SpecError("ask for a number above 0, in more than 0 and less than 100 of 100 cases.")
    counts, public = every[int(of)], desk.public(spec)
    values: dict[str, object] = (
        {"cells": True} if counts.names == public.schema.names else {"marginal": list(counts.names)}
    )
    values |= {"within": _number(within), "level": float(level / 100)}

    def change(text: str) -> str:
        return with_entry(set_aside(text, "privacy", spec.privacy.budget), "accuracy", values, one.place)

    return _edited(visit, change, "The budget now follows from what is asked.")


def _asked_for(visit: Visit, name: str) -> Fraction:
    try:
        value = parse_rational(visit.one(name).strip())
    except ValueError as error:
        raise SpecError(f"a number of the target {error}.") from None
    if value <= 0:
        raise SpecError("ask for a number above 0, in more than 0 and less than 100 of 100 cases.")
    return value


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def aimed(visit: Visit) -> Scene:
    """Ask a target for another number: the budget follows."""
    one, number, within = looked_at(visit), visit.one("number"), _asked_for(visit, "within")
    _require_target(one.spec, number)
    return _edited(
        visit,
        lambda text: with_entry_value(text, "accuracy", int(number), "within", _number(within), one.place),
        f"It is to be within {_number(within)}.",
    )


def _require_target(spec: Spec, number: str) -> None:
    if not (number.isascii() and number.isdecimal() and int(number) < len(spec.accuracy)):
        raise SpecError("this target is not in the spec any more: look at the list again.")


def dropped(visit: Visit) -> Scene:
    """Take a target out; with the last one the budget that followed becomes the budget."""
    one, number = _of_one_budget(visit), visit.one("number")
    spec, every = one.spec, (one.spec,) if one.whole is None else one.whole.specs
    _require_target(spec, number)
    last = sum(len(each.accuracy) for each in every) == 1
    name, value = spec.privacy.budget, _least(visit.desk, one) if last else None

    def change(text: str) -> str:
        text = without_entry(text, "accuracy", int(number), one.place)
        return text if value is None else with_value(text, "privacy", name, str(value))

    now = "" if value is None else f"; the budget is {name} {rational(value)}"
    return _edited(visit, change, f"The target is out{now}.")


def _of_one_budget(visit: Visit) -> Looked:
    """Return the table that is looked at; SpecError where its budget is not that of the spec."""
    one = looked_at(visit)
    if isinstance(one.whole, FilesSpec):
        raise SpecError("each of these tables has a budget of its own: change it in the text of the spec.")
    return one


def _least(desk: Desk, one: Looked) -> Fraction:
    """Return the budget that followed from the targets; 1 where none did."""
    try:
        found = settled(desk, one)
    except HoldfastError:
        return Fraction(1)
    if found is None:
        raise SpecError("the budget of this target is still worked out: drop it in a moment.")
    return found.budget or Fraction(1)


def spent(visit: Visit) -> Scene:
    """Take a budget; targets, from which another would follow, go out."""
    one = _of_one_budget(visit)
    spec, several = one.spec, None if one.whole is None else one.whole.specs
    try:
        value = parse_rational(visit.one("budget").strip())
    except ValueError as error:
        raise SpecError(f"the budget {error}.") from None

    def change(text: str) -> str:
        for place, each in enumerate(several or (spec,)):
            for _ in each.accuracy:
                text = without_entry(text, "accuracy", 0, None if several is None else place)
        return with_value(text, "privacy", spec.privacy.budget, str(value))

    said = f"The budget is {spec.privacy.budget} {plain_number(float(value))}."
    return _edited(visit, change, said)


# side by side


def begun(visit: Visit) -> Scene:
    """Begin to compare the mechanisms that fit the spec, or the table that is looked at."""
    desk = visit.desk
    spec = desk.asked.spec
    if isinstance(spec, Spec) and spec.of_records:
        compared.begin(desk, swapped.key_of(desk, spec), lambda: spec)
    else:
        one = looked_at(visit)
        compared.begin(desk, key_of(desk, one), lambda: _alone(desk, one))
    return shown(visit, "Mechanisms are compared.")


def _alone(desk: Desk, one: Looked) -> Spec:
    """Return the spec of a table with the part of the budget that it has."""
    if one.whole is None:
        return one.spec
    found = settled(desk, one)
    if found is None:
        raise SpecError("what this table gets of the budget is still worked out: compare again in a moment.")
    return found.prepared.spec


def ended(visit: Visit) -> Scene:
    """End the comparison."""
    visit.desk.end(COMPARE)
    return shown(visit, "It was ended.")


def turned(visit: Visit) -> Scene:
    """Look at another one of several tables."""
    return shown(visit, turned_to(visit))


VIEW = View(
    "accuracy",
    "Accuracy",
    (
        page("/accuracy", shown),
        action("/accuracy/look", shown),
        action("/accuracy/target", targeted),
        action("/accuracy/drop", dropped),
        action("/accuracy/budget", spent),
        action("/accuracy/aim", aimed),
        action("/accuracy/table", turned),
        action("/accuracy/compare", begun),
        action("/accuracy/end", ended),
    ),
)
