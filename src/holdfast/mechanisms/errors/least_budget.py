"""The least budget at which counts are as accurate as was asked for.

Every law of noise here gets narrower as the budget grows, and all else of a mechanism stays. So each target
has a least budget of its own: it is bracketed, halved in logarithms until both ends agree in `CLOSE`, and
rounded up, where it is tried once more. The largest of all is the budget, and its target binds. Where laws
are simulated the draws have one seed, and the same words serve at every budget; the least is then the least
at which they show that the target holds, with a confidence that is told [holdfast,
mechanisms/errors/simulated.py].
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import exp, log
from typing import Any

from holdfast.data.selection import chosen_levels
from holdfast.mechanisms.catalogue import AnyMechanism, at_target, target_of
from holdfast.mechanisms.errors.accuracy import MOST_DRAWS
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.simulated import CONFIDENCE, SimulatedTest, each_alone, shown_within
from holdfast.public import Public
from holdfast.spec.accuracy import AccuracyTarget
from holdfast.spec.privacy import LEAST, MOST, Privacy
from holdfast.system.errors import GuaranteeError, SamplingError, SpecError
from holdfast.system.text import closest, plain_number, rational
from holdfast.system.ways import setting

CLOSE, DIGITS = 1e-5, 5
"""How near to the least a budget is, and its digits."""
STEP = 4.0
"""By which a bracket grows."""
FEWEST = 20_000
"""Simulated numbers that a least budget is looked for with: fewer do not tell it, and take long at each."""
Spending = Callable[[Fraction], Privacy]
"""The target that a table has at a budget: the whole of it, or its part of that of several tables."""
UP = Fraction(1001, 1000)
"""What a budget is raised by where rounding in a simulation has it miss its target."""


@dataclass(frozen=True)
class Goal:
    """Counts, how far each may be off, and with which probability it is no farther off."""

    of: Counts
    within: Fraction
    level: Fraction

    @property
    def words(self) -> str:
        """What is asked for."""
        return f"{self.of.words} within {plain_number(float(self.within))}, {float(self.level):.6g} likely"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {**self.of.to_dict(), "within": str(self.within), "level": str(self.level)}


@dataclass(frozen=True)
class AccuracyBudget:
    """A budget that follows from goals: the largest of what each needs."""

    name: str
    value: Fraction
    goals: tuple[Goal, ...]
    needs: tuple[Fraction, ...]
    draws: tuple[int | None, ...]
    """How many draws show that each holds, None where formulas tell it."""
    one_less: tuple[Fraction | None, ...] = ()
    """What each would need to be within one less, where that can be."""

    @property
    def binds(self) -> int:
        """The place of the goal that needs most."""
        return max(range(len(self.needs)), key=lambda place: self.needs[place])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        rest = self.one_less or (None,) * len(self.goals)
        return {
            self.name: str(self.value),
            "binds": list(self.goals[self.binds].of.names),
            "binding_target": self.binds + 1,
            "targets": [
                {
                    **goal.to_dict(),
                    "needs": str(need),
                    "one_less": None if less is None else str(less),
                    "draws": draws,
                    "confidence": None if draws is None else str(CONFIDENCE),
                }
                for goal, need, less, draws in zip(self.goals, self.needs, rest, self.draws, strict=True)
            ],
        }

    def words(self) -> list[str]:
        """Return it in sentences."""
        binding = self.goals[self.binds].words
        head = f"Budget: {self.name} {rational(self.value)}, the least for {binding}, which binds."
        return [head, *self.rows()]

    def rows(self) -> list[str]:
        """Return what each target needs, in a sentence."""
        found = []
        for goal, need, less, draws in zip(self.goals, self.needs, self.one_less, self.draws, strict=True):
            said = f"{goal.words}: needs {self.name} {rational(need)}"
            more = f"; one less, {rational(less)}" if less is not None else ""
            shown = "" if draws is None else f"; simulated, {shown_by(draws, goal.level)}"
            found.append(f"    {said}{more}{shown}.")
        return found


def shown_by(draws: int, level: Fraction) -> str:
    """Say what a target rests on that draws show to hold."""
    together = "" if each_alone(draws, level) else ", of all counts together,"
    return f"shown by {draws:,} draws{together} with a confidence of {100 * float(CONFIDENCE):g} %"


def goals_of(targets: Sequence[AccuracyTarget], public: Public) -> tuple[Goal, ...]:
    """Return what a spec asks for; raises SpecError where it does not fit the table, or is kept exactly."""
    return tuple(_goal(target, public, number) for number, target in enumerate(targets, 1))


def _goal(target: AccuracyTarget, public: Public, number: int) -> Goal:
    known = public.schema.names
    for name in target.marginal or ():
        if name not in known:
            raise SpecError(
                f"{setting('accuracy', number, 'marginal')} names {name!r}, which is no attribute of the"
                f" table: {closest(name, known)}"
            )
    if target.place is not None and target.place not in public.geography:
        way = closest(target.place, public.geography) if public.geography else "write a probability, or none."
        raise SpecError(
            f"{setting('accuracy', number, 'level')} is {target.place!r}, which is no level of the geography:"
            f" {way}"
        )
    names = known if target.cells else (*(target.marginal or ()), *filter(None, [target.place]))
    place = setting("accuracy", number, "where")
    where = dict(chosen_levels(public.schema, target.where, place=place)) if target.where else {}
    counts = Counts.of(names, where, public)
    if counts.fixed(public):
        raise SpecError(
            f"{setting('accuracy', number)} asks for {counts.words}, which the invariants keep exactly: leave"
            " it out."
        )
    return Goal(counts, target.most, target.chance)


def least_budget(
    mechanism: AnyMechanism, public: Public, at: Spending, goals: Sequence[Goal], *, priced: bool = False
) -> AccuracyBudget:
    """Return the least budget for all goals; ``mechanism`` is calibrated to any budget.

    Raises SpecError where no budget meets one of them.
    """
    found = tuple(_need(mechanism, public, at, goal, n) for n, goal in enumerate(goals, 1))
    needs, draws = tuple(one.budget for one in found), tuple(one.draws for one in found)
    less = tuple(_one_less(mechanism, public, at, goal, n) for n, goal in enumerate(goals, 1) if priced)
    return AccuracyBudget(at(Fraction(1)).budget, max(needs), tuple(goals), needs, draws, less)


def _one_less(
    mechanism: AnyMechanism, public: Public, at: Spending, goal: Goal, number: int
) -> Fraction | None:
    """Return what it takes to be within one less; None where that cannot be."""
    if goal.within <= 1:
        return None
    try:
        return _need(mechanism, public, at, replace(goal, within=goal.within - 1), number).budget
    except SpecError:
        return None


@dataclass(frozen=True)
class _Need:
    """What a goal takes, and how many draws show that it is enough, where no formula tells it."""

    budget: Fraction
    draws: int | None


def _need(mechanism: AnyMechanism, public: Public, at: Spending, goal: Goal, number: int) -> _Need:
    """Return the least budget for one goal."""
    drawn: int | None = None

    def holds(budget: Fraction) -> bool:
        nonlocal drawn
        own = at_target(mechanism, public, target_of(at(budget)))
        if own is None:
            raise _untold(mechanism)
        (told,) = own.errors(public, [goal.of])
        if told is None:
            shown = _shown(own, public, goal, number)
            drawn = shown.draws
            return shown.holds
        if told.unknown:
            raise SpecError(
                f"{setting('accuracy', number)} asks for {goal.of.words}, which nothing measures at any"
                f" budget: add it to {setting('mechanism.queries')}."
            )
        return told.within(goal.level) <= goal.within

    try:
        return _Need(_least(holds), drawn)
    except (OverflowError, SamplingError, GuaranteeError) as error:
        raise _out_of_reach(goal, number) from error


def _shown(mechanism: AnyMechanism, public: Public, goal: Goal, number: int) -> SimulatedTest:
    """Return what draws show of a goal; raises SpecError where they are too few to show it of any noise."""
    if mechanism.noise is None:
        raise _untold(mechanism)
    shown = shown_within(mechanism.noise, public, goal.of, goal.within, goal.level)
    if shown is None:
        raise _untold(mechanism)
    few = shown.draws < MOST_DRAWS
    if few and (not shown.able or shown.draws * public.universe.cells < FEWEST):
        raise SpecError(
            f"how far counts of {mechanism.name} are off takes too long to be simulated at one budget"
            f" after another: leave out {setting('accuracy')}, and give a budget in {setting('privacy')}."
        )
    if not shown.able:
        raise SpecError(
            f"{setting('accuracy', number)} asks for {goal.words}, which has to be simulated, and is more"
            f" than {shown.draws:,} draws can show: ask for a smaller probability, or give a budget in"
            f" {setting('privacy')}."
        )
    return shown


def _untold(mechanism: AnyMechanism) -> SpecError:
    return SpecError(
        f"how far counts of {mechanism.name} are off is not told here at any budget:"
        f" leave out {setting('accuracy')}, and give a budget in {setting('privacy')}."
    )


def _out_of_reach(goal: Goal, number: int) -> SpecError:
    return SpecError(
        f"{setting('accuracy', number)} asks for {goal.words}, which no budget meets that noise can be drawn"
        " for: allow more, or keep these counts as an invariant."
    )


def _least(holds: Callable[[Fraction], bool]) -> Fraction:
    """Return a budget that holds and is the least but for rounding; raises OverflowError without one."""
    good = bad = 1.0
    if holds(Fraction(1)):
        while holds(_up(bad / STEP)):
            bad /= STEP
            if bad < float(LEAST):
                raise OverflowError
        good, bad = bad, bad / STEP
    else:
        while not holds(_up(good * STEP)):
            good *= STEP
            if good * STEP > float(MOST):
                raise OverflowError
        good, bad = good * STEP, good
    while good / bad > 1 + CLOSE:
        middle = exp((log(good) + log(bad)) / 2)
        good, bad = (middle, bad) if holds(Fraction(middle)) else (good, middle)
    found = _up(good)
    while not holds(found):
        found = _up(float(found * UP))
    return found


def _up(value: float) -> Fraction:
    """Return a decimal of few digits that is no less."""
    return Fraction(Context(prec=DIGITS, rounding=ROUND_CEILING).create_decimal(Decimal(value)))
