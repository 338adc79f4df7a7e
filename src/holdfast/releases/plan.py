"""How a release would be drawn, why, how long that takes and how much memory, without drawing it.

The law of the noise is public, so a few seeded draws of it are timed; nothing of the table enters them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from time import process_time
from typing import Any

from holdfast.certificate.head import UnchangedSection, VerdictSection
from holdfast.certificate.model import Certificate
from holdfast.certificate.protection import planned_warnings
from holdfast.certificate.verdict import verdict
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.drawing import METHODS
from holdfast.mechanisms.errors.accuracy import BATCH, MOST_DRAWS, repeats
from holdfast.mechanisms.errors.least_budget import AccuracyBudget
from holdfast.mechanisms.mechanism import Mechanism, NoiseLaw
from holdfast.releases.expected import BudgetErrors, Expected
from holdfast.releases.shared_budget import SharedBudget
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.plan import CELLS_PER_SECOND, Block
from holdfast.system.machine import peak_memory
from holdfast.system.notebook import NotebookReport, Picture

TIMED = 5 * CELLS_PER_SECOND
"""Integers of a draw that is still timed: longer ones are told from the number of integers."""
SMALL, TOGETHER = CELLS_PER_SECOND / 50, 8
"""Integers of draws of which several at once cost less each, and how many are timed then."""
PAGE, PER_CELL = 0.6, 1.2e-6
"""Seconds that the certificate and its page take, and the table for each cell."""
LISTED = 1700
"""Bytes that the interval of one cell takes, with its levels."""
ESTIMATED = 900
"""Bytes that a cell takes that is estimated from measurements."""
HELD = 9
"""Copies of a batch of draws that are held at once, 8 bytes a number, by a release or by intervals of it."""


@dataclass(frozen=True)
class ReleaseCosts:
    """CPU seconds of the parts of a release on this machine, and the memory of all of it."""

    plan: float
    draw: float
    certificate: float
    memory: int
    listed: int | None = None
    """The memory of intervals for every cell, which are listed one by one; None where there are none."""

    @property
    def release(self) -> float:
        """CPU seconds of a whole release."""
        return self.plan + self.draw + self.certificate

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        listed = {} if self.listed is None else {"intervals_memory_bytes": self.listed}
        return {
            "plan_seconds": self.plan,
            "draw_seconds": self.draw,
            "certificate_seconds": self.certificate,
            "release_seconds": self.release,
            "memory_bytes": self.memory,
            **listed,
        }


@dataclass(frozen=True, eq=False)
class PartPlan:
    """A mechanism before its draw; work and costs are None where only the confidential table could tell."""

    mechanism: Mechanism[Any, Any]
    verdict: VerdictSection
    costs: ReleaseCosts | None
    warnings: tuple[str, ...] = ()
    """What is to be told of it: how little it would protect, and doubts about the data."""
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What else is told of such a mechanism: its parameters, what it measures, what it swaps."""
    certificate: Certificate | None = field(default=None, repr=False)
    """What the certificate would say, where that takes no simulation."""
    expected: Expected | None = None
    """How far counts are expected to be off; None where nothing public tells."""
    what_if: tuple[BudgetErrors, ...] = ()
    """The same at other budgets that were asked for."""
    budget: AccuracyBudget | None = None
    """What the budget follows from, where that is how accurate the release has to be."""

    @property
    def steps(self) -> tuple[Block, ...]:
        """The parts that are drawn one by one."""
        return () if self.mechanism.noise is None else self.mechanism.noise.steps

    @property
    def work(self) -> float | None:
        """Integers proposed for one draw, expected."""
        return None if self.mechanism.noise is None else self.mechanism.noise.work

    @property
    def seconds(self) -> float | None:
        """The time of one draw."""
        return None if self.costs is None else self.costs.draw

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        mechanism = self.mechanism
        return {
            "mechanism": mechanism.name,
            **self.details,
            "kind": mechanism.traits.kind,
            "methods": [method.words for method in mechanism.methods],
            "steps": [
                {
                    "blocks": block.shape[0],
                    "cells": block.shape[1],
                    "method": METHODS[block.method].words,
                    "why": METHODS[block.method].why,
                    "acceptance": block.acceptance,
                    "work": block.work,
                }
                for block in self.steps
            ],
            "thinning": 1.0 if mechanism.noise is None else mechanism.noise.acceptance,
            "work": self.work,
            "seconds": self.seconds,
            "tight": mechanism.guarantee.tight.to_dict(),
            "verdict": self.verdict.model_dump(mode="json"),
            "costs": None if self.costs is None else self.costs.to_dict(),
            "expected_error": None if self.expected is None else [each.to_dict() for each in self.expected],
            **({} if self.budget is None else {"budget": self.budget.to_dict()}),
            **({"what_if": [each.to_dict() for each in self.what_if]} if self.what_if else {}),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, eq=False)
class PlanReport(NotebookReport):
    """The plans of all parts of a release by name; of several tables, the share of the budget of each."""

    parts: Mapping[str, PartPlan]
    verdict: VerdictSection
    """What all parts together come to."""
    shares: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict)
    budget: SharedBudget | None = None
    """What the budget of several tables follows from, where some of them have to be so accurate."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be told of all parts together, and of each that is not told of all."""
        each = (said for part in self.parts.values() for said in part.warnings)
        return tuple(dict.fromkeys((*planned_warnings(self.verdict), *each)))

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        errors = [
            (one.of.words if len(self.parts) == 1 else f"{name}: {one.of.words}", one.mean_absolute)
            for name, part in self.parts.items()
            for one in part.expected or ()
        ]
        return Picture("expected error, mean absolute", errors)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name: those of the one part, or of each of several tables."""
        if not self.shares:
            (only,) = self.parts.values()
            return only.to_dict()
        tables = {
            name: {"part": {key: str(value) for key, value in share.items()}, **self.parts[name].to_dict()}
            for name, share in self.shares.items()
        }
        verdict = self.verdict.model_dump(mode="json")
        budget = {} if self.budget is None else {"budget": self.budget.to_dict()}
        return {"tables": tables, **budget, "verdict": verdict, "warnings": list(self.warnings)}


def costs_of_release(
    mechanism: AnyMechanism, cells: int, spent: float, simulated: Callable[[], int]
) -> ReleaseCosts | None:
    """Return what a release of a table would cost, on which so many seconds were spent.

    ``simulated`` estimates the stand-in whose bias is told, and returns how many cells that were. What else a
    plan tells is worked out later: its memory is not that of a release.
    """
    begun = process_time()
    noise = mechanism.noise
    if noise is not None:
        noise.steps  # noqa: B018 - the plan of the draw belongs to the time of planning
    planned = spent + process_time() - begun
    if mechanism.estimated:
        return _of_estimates(simulated, cells, planned)
    return None if noise is None else costs_of(noise, cells, planned)


def plan_of(
    mechanism: AnyMechanism,
    costs: ReleaseCosts | None,
    *,
    stays: UnchangedSection | None,
    warnings: tuple[str, ...],
    expected: Expected | None,
    what_if: tuple[BudgetErrors, ...],
    budget: AccuracyBudget | None,
) -> PartPlan:
    """Return the plan of a table; ``stays`` is how likely the noise leaves things as they are."""
    said = verdict(mechanism.guarantee, stays, mechanism.releases)
    details = {**mechanism.record().parameters(), **mechanism.plan_details}
    told = (*planned_warnings(said), *warnings)
    return PartPlan(mechanism, said, costs, told, details, expected=expected, what_if=what_if, budget=budget)


def _of_estimates(simulated: Callable[[], int], cells: int, planned: float) -> ReleaseCosts:
    """Time the estimation of a stand-in, and return what a release would cost."""
    begun = process_time()
    number = simulated()
    spent = process_time() - begun
    memory = peak_memory() + ESTIMATED * cells
    return ReleaseCosts(
        planned, spent * cells / max(number, 1), PAGE + spent + cells * PER_CELL, memory, memory
    )


def costs_of(noise: NoiseLaw, cells: int, planned: float) -> ReleaseCosts:
    """Time a few draws of a law, and return what a release would cost."""
    draws = repeats(noise.work, MOST_DRAWS) or 0
    if noise.work > TIMED:
        one = each = noise.work / CELLS_PER_SECOND
    else:
        begun = process_time()
        noise.sample(SeededEntropy(0), 1)
        one = each = process_time() - begun
        if noise.work < SMALL:
            begun = process_time()
            noise.sample(SeededEntropy(0), TOGETHER)
            each = (process_time() - begun) / TOGETHER
    certificate = PAGE + draws * each + cells * PER_CELL
    held = HELD * 8 * min(BATCH, draws * cells) + 150 * cells
    return ReleaseCosts(
        planned, one, certificate, peak_memory() + held, peak_memory() + held + LISTED * cells
    )
