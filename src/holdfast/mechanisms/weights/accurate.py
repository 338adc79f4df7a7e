"""The shape of noise that needs the least budget for the accuracy that is asked for.

A goal of c with a probability p leaves a count the largest variance v at which its law is within c so often.
Laws here are those of one scale: rho (or epsilon squared) is in proportion to max E_i g / v_i over the goals,
so the weights are those of the second program of optimum.py. The budget then follows from the shape as from
any other, exactly. In a geography with nodes of several sizes E_i g is the mean over the counts of a goal:
the bound is then below what the largest of them needs.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.lattice.arrays import FloatArray
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.errors.laws import ErrorLaw
from holdfast.mechanisms.errors.least_budget import Goal
from holdfast.mechanisms.weights.optimised import KEY, budget_gap, of_least_budget
from holdfast.mechanisms.weights.queries import ONE, WeightedQueryRecord, canonical
from holdfast.mechanisms.weights.strategy import Strategy
from holdfast.public import Public
from holdfast.system.errors import SpecError
from holdfast.system.ways import setting

HALVINGS = 60


def shaped(mechanism: AnyMechanism, public: Public, goals: Sequence[Goal]) -> AnyMechanism:
    """Return a mechanism with the weights of the least budget for some goals; its scale stays."""
    made: Any = mechanism
    queries, most = _limits(made.error_law, public, goals)
    found = of_least_budget(public, queries, most, made.premises)
    again: AnyMechanism = replace(made, strategy=Strategy.of_record(public, found, made.premises))
    return again


def gap_for(mechanism: AnyMechanism, public: Public, goals: Sequence[Goal]) -> float | None:
    """Return how far a mechanism's budget for some goals is above its bound; None where none is claimed.

    Raises SpecError where its weights are for other goals.
    """
    made: Any = mechanism
    strategy: Strategy | None = getattr(made, "strategy", None)
    if strategy is None or strategy.optimum is None or not strategy.optimum.least:
        return None
    queries, most = _limits(made.error_law, public, goals)
    if [query.marginal for query in queries] != [query.marginal for query in strategy.optimum.queries]:
        raise SpecError("the weights of a certificate are best for other counts than its targets.")
    return budget_gap(public, strategy.optimum, most, made.premises)


def _limits(
    law: Callable[[float], ErrorLaw], public: Public, goals: Sequence[Goal]
) -> tuple[tuple[WeightedQueryRecord, ...], FloatArray]:
    """Return the margins of goals, and the largest variance that each of their counts may have."""
    most: dict[tuple[str, ...], float] = {}
    for number, goal in enumerate(goals, 1):
        if goal.of.where:
            raise SpecError(
                f'{setting(KEY)} = "accuracy" shapes noise for whole margins and levels, and'
                f" {setting('accuracy', number)} asks for {goal.of.words}: leave out its where, or give"
                f" {setting('mechanism.queries')} with weights."
            )
        names = goal.of.names
        most[names] = min(most.get(names, np.inf), _largest(law, goal))
    asked = [WeightedQueryRecord(marginal=names, weight=ONE) for names in most]
    queries = canonical(asked, public.schema)
    return queries, np.array([most[query.marginal] for query in queries])


def _largest(law: Callable[[float], ErrorLaw], goal: Goal) -> float:
    """Return the largest variance at which a count is as accurate as a goal."""

    def holds(power: float) -> bool:
        return law(2.0**power).half_width(goal.level) <= goal.within

    low = high = 0.0
    step = 1.0
    while holds(high):
        low, high, step = high, high + step, 2 * step
    step = 1.0
    while not holds(low):
        low, high, step = low - step, low, 2 * step
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return float(2.0**low)
