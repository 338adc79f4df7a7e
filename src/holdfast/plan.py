"""How a release would be drawn, why, how long that takes and how much memory, without drawing it.

The law of the noise is public, so a few seeded draws of it are timed; nothing of the table enters them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from time import process_time
from typing import Any, overload

from holdfast.certificate.certify import guarantee_section
from holdfast.certificate.model import VerdictSection
from holdfast.certificate.told import foretold
from holdfast.certificate.verdict import verdict, verdict_of_files
from holdfast.joint.prepare import prepare_tables, tables_of
from holdfast.machine import peak_memory
from holdfast.mechanisms.accuracy import BATCH, MOST_DRAWS, repeats
from holdfast.mechanisms.catalogue import AnyMechanism, target_of
from holdfast.mechanisms.mechanism import NoiseLaw
from holdfast.mechanisms.topdown.mechanism import TopDown, TopDownRecord
from holdfast.release import Prepared, prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.plan import CELLS_PER_SECOND, Block
from holdfast.spec.load import read_spec
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec
from holdfast.swapping.plan import RecordsPlan, plan_records

TIMED = 5 * CELLS_PER_SECOND
"""Integers of a draw that is still timed: longer ones are told from the number of integers."""
SMALL, TOGETHER = CELLS_PER_SECOND / 50, 8
"""Integers of draws of which several at once cost less each, and how many are timed then."""
PAGE, PER_CELL = 0.6, 1.2e-6
"""Seconds that the certificate and its page take, and the table for each cell."""
LISTED = 1700
"""Bytes that the interval of one cell takes, with its levels."""
ESTIMATED = 900
"""Bytes that a cell of a top-down release takes."""
HELD = 9
"""Copies of a batch of draws that are held at once, 8 bytes a number, by a release or by intervals of it."""


@dataclass(frozen=True)
class Costs:
    """CPU seconds of the parts of a release on this machine, and the memory of all of it."""

    plan: float
    draw: float
    certificate: float
    memory: int
    listed: int
    """The memory of intervals for every cell, which are listed one by one."""

    @property
    def release(self) -> float:
        """CPU seconds of a whole release."""
        return self.plan + self.draw + self.certificate


@dataclass(frozen=True, eq=False)
class PlanReport:
    """A mechanism before its draw; work and costs are None where only the confidential table could tell."""

    mechanism: AnyMechanism
    verdict: VerdictSection
    costs: Costs | None
    warnings: tuple[str, ...] = ()
    """What is to be told of it: how little it would protect, and doubts about the data."""

    @property
    def steps(self) -> tuple[Block, ...]:
        """The parts that are drawn one by one."""
        return () if self.mechanism.noise is None else self.mechanism.noise.steps

    @property
    def measured(self) -> dict[str, Any]:
        """What is measured of each level, of a mechanism that does."""
        record = self.mechanism.record()
        if not isinstance(record, TopDownRecord):
            return {}
        return {"measurements": [each.model_dump(mode="json") for each in record.measurements]}

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
        mechanism, costs = self.mechanism, self.costs
        return {
            "mechanism": mechanism.name,
            **mechanism.record().parameters(),
            "kind": mechanism.traits.kind,
            "methods": list(mechanism.methods),
            "steps": [
                {
                    "blocks": int(block.cells.shape[0]),
                    "cells": int(block.cells.shape[1]),
                    "method": block.name,
                    "why": block.why,
                    "acceptance": block.acceptance,
                    "work": block.work,
                }
                for block in self.steps
            ],
            "thinning": 1.0 if mechanism.noise is None else mechanism.noise.acceptance,
            **self.measured,
            "work": self.work,
            "seconds": self.seconds,
            "verdict": self.verdict.model_dump(mode="json"),
            "costs": None
            if costs is None
            else {
                "plan_seconds": costs.plan,
                "draw_seconds": costs.draw,
                "certificate_seconds": costs.certificate,
                "release_seconds": costs.release,
                "memory_bytes": costs.memory,
                "intervals_memory_bytes": costs.listed,
            },
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, eq=False)
class PlanReports:
    """The plans of several tables by name, and the part of the budget that each gets."""

    tables: Mapping[str, PlanReport]
    parts: Mapping[str, Mapping[str, Fraction]]
    verdict: VerdictSection
    """What all tables together come to."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is to be told of all tables together, and of each that is not told of all."""
        each = (said for report in self.tables.values() for said in report.warnings)
        return tuple(dict.fromkeys((*foretold(self.verdict), *each)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        parts = {name: {key: str(value) for key, value in part.items()} for name, part in self.parts.items()}
        tables = {name: {"part": parts[name], **report.to_dict()} for name, report in self.tables.items()}
        verdict = self.verdict.model_dump(mode="json")
        return {"tables": tables, "verdict": verdict, "warnings": list(self.warnings)}


@overload
def plan_release(spec: Spec, data: Any = None) -> PlanReport | RecordsPlan: ...
@overload
def plan_release(spec: TablesSpec, data: Any = None) -> PlanReports: ...
@overload
def plan_release(spec: str | Path, data: Any = None) -> Any: ...
def plan_release(
    spec: Spec | TablesSpec | str | Path, data: Any = None
) -> PlanReport | PlanReports | RecordsPlan:
    """Return how the release of a spec would be drawn, of one table, of several, or of records."""
    several, begun = tables_of(spec), process_time()
    if several is None:
        one = spec if isinstance(spec, Spec) else read_spec(spec)  # type: ignore[arg-type]
        if one.of_records:
            return plan_records(one, data)
        prepared = prepare(one, data)
        return _report(prepared, process_time() - begun)
    prepared_tables = prepare_tables(several, data)
    tables = prepared_tables.tables
    each = (process_time() - begun) / len(tables)
    asked = {name: target_of(one.spec.privacy).intensity for name, one in tables.items()}
    return PlanReports(
        {name: _report(one, each) for name, one in tables.items()},
        {name: {} if part is None else part.parameters() for name, part in asked.items()},
        verdict_of_files(prepared_tables.guarantee),
    )


def _report(prepared: Prepared, spent: float) -> PlanReport:
    """Return the plan of a table, with what has been spent on it."""
    begun = process_time()
    mechanism, noise = prepared.mechanism, prepared.mechanism.noise
    if noise is not None:
        noise.methods  # noqa: B018 - the plan of the draw belongs to the time of planning
    planned, cells = spent + process_time() - begun, prepared.public.possible.size
    said = verdict(guarantee_section(prepared.guarantee), mechanism, None, cells)
    costs = None if noise is None else costs_of(noise, cells, planned)
    if isinstance(mechanism, TopDown):
        costs = _of_estimates(prepared, planned)
    return PlanReport(mechanism, said, costs, (*foretold(said), *prepared.warnings))


def _of_estimates(prepared: Prepared, planned: float) -> Costs:
    """Time the estimation of the stand-in whose bias is told, and return what a release would cost."""
    begun = process_time()
    simulated = sum(each.number for each in prepared.biases if each.count == "cell")
    spent, cells = process_time() - begun, prepared.public.possible.size
    draw = spent * cells / max(simulated, 1)
    memory = peak_memory() + ESTIMATED * cells
    return Costs(planned, draw, PAGE + spent + cells * PER_CELL, memory, memory)


def costs_of(noise: NoiseLaw, cells: int, planned: float) -> Costs:
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
    return Costs(planned, one, certificate, peak_memory() + held, peak_memory() + held + LISTED * cells)
