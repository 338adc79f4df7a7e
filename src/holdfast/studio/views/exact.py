"""Exact numbers: a picture of the table in which margins, totals, selections and levels are clicked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from holdfast.public import Public
from holdfast.spec.constraints import Invariant
from holdfast.spec.files import FilesSpec
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec
from holdfast.studio import painted, swapped
from holdfast.studio.desk import Desk
from holdfast.studio.entries import with_entry, without_entry
from holdfast.studio.figures import Figures, Revealed, figures, promise, together
from holdfast.studio.figures import revealed as revealed_of
from holdfast.studio.freed import Choice, freed
from holdfast.studio.looked import Looked, looked_at, turned_to
from holdfast.studio.pages import Scene, View, Visit, action, page
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.system.text import counted, in_quotes

MOST_BUTTONS, MOST_LEVELS = 1_200, 300
"""Cells of a table that can be clicked one by one; levels that a list offers."""


def shown(visit: Visit, said: str = "") -> Scene:
    """Return the view of the invariants as they are."""
    asked = visit.desk.asked
    if asked.spec is None:
        return Scene("exact.html.j2", {"kind": asked.kind, "problem": asked.problem}, said)
    if isinstance(asked.spec, Spec) and asked.spec.of_records:
        return Scene("exact.html.j2", {"kind": "records", **_of_records(visit.desk, asked.spec)}, said)
    one = looked_at(visit)
    values = _of_table(visit.desk, one, counts=visit.one("counts") == "yes")
    if one.whole is not None:
        values |= _beside(visit.desk, one.whole) | {"table": one.name}
    return Scene(
        "exact.html.j2", {"kind": asked.kind, "problem": "", "no_unit": asked.no_unit, **values}, said
    )


def _of_records(desk: Desk, spec: Spec) -> dict[str, Any]:
    """Return what every swap of the records keeps."""
    try:
        return {"told": swapped.told(desk, spec), "trouble": ""}
    except HoldfastError as error:
        return {"told": None, "trouble": str(error)}


def _of_table(desk: Desk, one: Looked, *, counts: bool) -> dict[str, Any]:
    spec = one.spec
    public, found = desk.public(spec), figures(desk, spec)
    seen = revealed_of(desk, spec)
    joint = together(desk, one.whole) if isinstance(one.whole, TablesSpec) else None
    schema = public.schema
    two = len(schema.names) == 2 and schema.size <= MOST_BUTTONS and not schema.nestings
    lone = len(schema.names) == 1 and schema.size <= MOST_BUTTONS
    table = desk.reading(spec).table if counts else None
    return {
        "figures": found,
        "promise": promise(spec, found) if joint is None else joint.promise,
        "together": joint,
        "revealed": seen,
        "choices": choices_of(spec, public),
        "sentence": sentence(found, seen),
        "grid": painted.grid(public, seen, spec, table) if two else None,
        "strip": painted.strip(public, seen, spec, table) if lone else None,
        "singles": [
            painted.margin(public, spec, (name,)) for name in schema.names if name not in public.geography
        ],
        "pairs": () if two else painted.pairs(public, spec, seen),
        "places": [painted.level(public, spec, name) for name in public.geography],
        "total": painted.place_of_total(spec),
        "attributes": [(each.name, each.levels[:MOST_LEVELS]) for each in schema.attributes],
        "listed": painted.listed(public, seen, counts=counts),
        "more": max(0, (0 if seen is None else seen.exposed + seen.nearly) - painted.MOST_LISTED),
        "counts": counts,
    }


def _beside(desk: Desk, spec: TablesSpec | FilesSpec) -> dict[str, Any]:
    """Return what is told of all tables, beside the one that is looked at."""
    rows = [
        (name, figures(desk, one), revealed_of(desk, one), choices_of(one, desk.public(one)))
        for name, one in zip(spec.names, spec.specs, strict=True)
    ]
    across = [one.name for one in spec.across] if isinstance(spec, FilesSpec) else None
    return {"rows": rows, "across": across}


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
    most = "at most " if found.searching else ""
    head = f"{head}, and one {found.whom.one}'s change moves {most}{found.whom.amount(found.apart)}"
    if found.searching:
        return f"{head}: whether fewer are enough is still looked for."
    if seen is None:
        return f"{head}; what the exact numbers reveal is still looked for."
    if not seen.exposed:
        return f"{head}; no cell is revealed."
    return f"{head}; {counted(seen.exposed, 'cell')} can be worked out from the exact numbers alone."


# what is clicked


def _edited(visit: Visit, edit: Callable[[str], str], name: str) -> Scene:
    """Edit the invariants; an edit that no table keeps is taken back, and said."""
    desk = visit.desk
    desk.edit(edit)
    desk.table = name
    after = desk.asked
    try:
        if after.spec is None:
            raise SpecError(after.problem)
        scene = shown(visit)
    except HoldfastError:
        desk.undo()
        raise
    return Scene(scene.template, scene.values, scene.values.get("sentence", ""))


def _toggled(visit: Visit, one: Looked, place: int | None, values: Mapping[str, object]) -> Scene:
    if place is None:
        return _edited(visit, lambda text: with_entry(text, "invariants", values, one.place), one.name)
    return _edited(visit, lambda text: without_entry(text, "invariants", place, one.place), one.name)


def margin(visit: Visit) -> Scene:
    """Keep a margin, or no longer."""
    one, names = looked_at(visit), visit.all("names")
    return _toggled(visit, one, painted.place_of_margin(one.spec, names), {"margin": list(names)})


def total(visit: Visit) -> Scene:
    """Keep the number of all, or no longer."""
    one = looked_at(visit)
    return _toggled(visit, one, painted.place_of_total(one.spec), {"total": True})


def level(visit: Visit) -> Scene:
    """Keep the totals of a level of the geography, or no longer."""
    one, name = looked_at(visit), visit.one("level")
    if name not in one.spec.data.regions:
        raise SpecError(f"{in_quotes(name)} is no level of the geography: choose another.")
    return _toggled(visit, one, painted.place_of_total(one.spec, name), {"total": True, "level": name})


def where(visit: Visit) -> Scene:
    """Keep the count of a selection, or no longer."""
    one = looked_at(visit)
    names = visit.desk.public(one.spec).schema.names
    chosen = {name: [each for each in visit.all(f"in_{place}") if each] for place, name in enumerate(names)}
    asked = {name: levels[0] if len(levels) == 1 else levels for name, levels in chosen.items() if levels}
    if not asked:
        raise SpecError("nothing is selected: choose a level of an attribute.")
    return _toggled(visit, one, painted.place_of_selection(one.spec, asked), {"where": asked})


def drop(visit: Visit) -> Scene:
    """Keep one of the invariants no longer."""
    one, number = looked_at(visit), visit.one("number")
    if not (number.isdecimal() and int(number) < len(one.spec.invariants)):
        raise SpecError("this exact number is not in the spec any more: look at the list again.")
    return _edited(visit, lambda text: without_entry(text, "invariants", int(number), one.place), one.name)


def turned(visit: Visit) -> Scene:
    """Look at another one of several tables."""
    return shown(visit, turned_to(visit))


def without(visit: Visit) -> Scene:
    """Tell what dropping each of the invariants would change, and which cells it would free."""
    desk, spec = visit.desk, looked_at(visit).spec
    found = freed(desk, spec, choices_of(spec, desk.public(spec)))
    return Scene("exact_without.html.j2", found, here="/exact")


VIEW = View(
    "exact",
    "Exact numbers",
    (
        page("/exact", shown),
        action("/exact/look", shown),
        action("/exact/table", turned),
        action("/exact/counts", shown),
        action("/exact/margin", margin),
        action("/exact/total", total),
        action("/exact/level", level),
        action("/exact/where", where),
        action("/exact/drop", drop),
        action("/exact/without", without),
    ),
)
