"""How a release would be drawn, why, and how long that takes, without drawing it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.release import prepare
from holdfast.sampling.lattice.plan import CELLS_PER_SECOND, Block
from holdfast.spec.model import Spec


@dataclass(frozen=True, eq=False)
class PlanReport:
    """A mechanism before its draw; work and time are None where only the confidential table could tell."""

    mechanism: AnyMechanism

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
        """The time of one draw, roughly."""
        return None if self.work is None else self.work / CELLS_PER_SECOND

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        mechanism = self.mechanism
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
            "work": self.work,
            "seconds": self.seconds,
        }


def plan_release(spec: Spec | str | Path, data: Any = None) -> PlanReport:
    """Return how the release of a spec would be drawn."""
    return PlanReport(prepare(spec, data).mechanism)
