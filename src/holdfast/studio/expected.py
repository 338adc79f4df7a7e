"""How far counts are expected to be off at the budgets of a slider: by the law of the noise, never by counts.

One of several tables has its share of the budget that they divide, or a budget of its own where each is of a
file of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from holdfast.certificate.pictures import Bar, bars
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.counts import usual as usual_counts
from holdfast.releases.expected import BudgetErrors, WhatIfBudgets, at_budgets
from holdfast.releases.prepare import prepare
from holdfast.releases.several import Together
from holdfast.releases.shared_budget import SharedBudget
from holdfast.releases.table import PreparedTable, settle
from holdfast.studio.desk import Desk
from holdfast.studio.looked import Looked
from holdfast.system.errors import SpecError

FACTORS = tuple(Fraction(2) ** power for power in range(-4, 5))
"""Budgets that the slider has, as multiples of the spec's own."""
WAIT = 0.2
MOST_ROWS = 40
"""Kinds of counts of which errors are told."""


@dataclass(frozen=True)
class Settled:
    """A table with its mechanism and guarantee, and the share that it has of the budget of the spec."""

    prepared: PreparedTable
    share: Fraction
    budget: Fraction | None
    """That of the spec, all of it; None where the noise is what is named."""
    key: tuple[Any, ...]
    shared: SharedBudget | None = None
    """What the budget of several tables follows from, where it does."""


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


def key_of(desk: Desk, one: Looked) -> tuple[Any, ...]:
    """Return what the errors of a table depend on."""
    spec = one.spec
    others = () if one.whole is None else tuple(desk.public_key(each) for each in one.whole.specs)
    asked = (spec.privacy, spec.mechanism, spec.accuracy) if one.whole is None else (one.whole, one.name)
    return (desk.public_key(spec), repr(asked), others)


def settled(desk: Desk, one: Looked) -> Settled | None:
    """Return the mechanism with its guarantee, settled on what is kept; None while it is worked out."""
    spec, key = one.spec, key_of(desk, one)
    if spec.privacy.laws is not None:
        raise SpecError("with laws of the data errors are told by the plan of the command line.")
    name = spec.privacy.budget
    if one.whole is None:
        alone = desk.soon(
            ("settled", *key), lambda: settle(spec, desk.reading(spec), desk.public(spec), None), WAIT
        )
        if alone is None:
            return None
        return Settled(alone, Fraction(1), getattr(alone.spec.privacy, name), key)
    whole = one.whole
    found = desk.soon(("prepared", repr(whole), key[2]), lambda: prepare(whole), WAIT)
    if found is None:
        return None
    part, together = found.parts[one.name], found.together
    assert isinstance(part, PreparedTable) and together is not None  # noqa: S101, PT018 - for types
    if isinstance(together, Together):
        share, privacy = together.fractions[one.place or 0], together.spec.privacy
        return Settled(part, share, getattr(privacy, name), key, together.budget)
    return Settled(part, Fraction(1), getattr(part.spec.privacy, name), key)


def choices(desk: Desk, one: Looked) -> Sequence[Counts]:
    """Return the counts that a target may name, those that are exact left out."""
    public = desk.public(one.spec)
    every = desk.kept(
        ("choices", desk.public_key(one.spec)),
        lambda: [each for each in usual_counts(public) if not each.fixed(public)],
    )
    return every[:MOST_ROWS]


def stops(desk: Desk, found: Settled) -> Sequence[Stop] | None:
    """Return the errors at the budgets of the slider; None while they are worked out."""
    prepared, own = found.prepared, found.budget
    if own is None:
        raise SpecError("the budget follows from the noise that the spec names, so there is none to move.")
    budgets = tuple(own * factor for factor in FACTORS)

    def work() -> tuple[BudgetErrors, ...]:
        asked = WhatIfBudgets(prepared.spec.privacy.budget, budgets)
        return at_budgets(prepared.mechanism, prepared.public, prepared.spending, asked)

    told = desk.soon(("stops", *found.key), work, WAIT)
    if told is None:
        return None
    sizes = [[0.0 if row.exact else row.within_95 for row in each.expected[:MOST_ROWS]] for each in told]
    middle = max((size for size in sizes[len(sizes) // 2] if isfinite(size)), default=1.0) or 1.0
    made = []
    for each, size in zip(told, sizes, strict=True):
        drawn = bars([min(one, 2 * middle) if isfinite(one) else 0.0 for one in (*size, 2 * middle)])
        rows = [
            (row.of.words, row.exact, row.within_95, drawn[place])
            for place, row in enumerate(each.expected[:MOST_ROWS])
        ]
        made.append(Stop(each.budget, each.budget == own, rows))
    return made
