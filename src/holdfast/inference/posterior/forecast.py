"""What draws of a posterior will take: some sweeps are made and timed, numbers to be kept are counted."""

import os
from dataclasses import asdict, dataclass
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np

from holdfast.inference.posterior.draws import BYTES, require_memory
from holdfast.inference.posterior.gibbs import Chain, Startable
from holdfast.inference.posterior.model_spec import SamplerChoice

FORMAT = "holdfast-forecast/1"
LONG_ENOUGH, MOST_SWEEPS = 0.25, 256
"""Seconds of sweeps, and sweeps, that tell how long one takes."""


@dataclass(frozen=True)
class Forecast:
    """What draws will take on this machine, before any is kept."""

    sampler: str
    draws: int
    chains: int
    sweeps: int
    """Sweeps over the table in each chain, those of warm-up among them."""
    cells: int
    parameters: int
    """Rates or proportions."""
    seconds: float | None
    """About so long until all is drawn; None for samplers whose luck decides."""
    memory: int
    """About so many bytes, with what is told of the draws."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"format": FORMAT, **asdict(self)}


def forecast(problem: Startable, asked: SamplerChoice, *, by_sweeps: bool) -> Forecast:
    """Return what the draws of a problem will take; raises SamplingError where they do not fit."""
    model = problem.model
    require_memory(model, asked.draws)
    sweeps = asked.warmup + asked.draws // asked.chains
    memory = asked.draws * (model.cells + model.groups) * BYTES
    seconds = None
    if by_sweeps:
        workers = min(asked.chains, os.cpu_count() or 1) if problem.mover.side_by_side else 1
        seconds = _of_sweep(problem, asked.thin) * sweeps * ceil(asked.chains / workers)
    name, chains = ("gibbs", asked.chains) if by_sweeps else (asked.name, 1)
    sweeps = sweeps if by_sweeps else 0
    return Forecast(name, asked.draws, chains, sweeps, model.cells, model.groups, seconds, memory)


def _of_sweep(problem: Startable, thin: int) -> float:
    """Return how long a sweep takes, after a first one for what is made once."""
    generator = np.random.default_rng(0)
    table = problem.mover.start(problem.start(generator))
    chain = Chain(problem.model, problem.mover, table, problem.model.draw_numbers(generator, 1)[0], generator)
    tables = np.empty((1, problem.model.cells), dtype=np.int64)
    numbers = np.empty((1, *problem.model.medians().shape))
    chain.run(1, thin, tables, numbers)
    done, begin = 0, perf_counter()
    while done < MOST_SWEEPS and perf_counter() - begin < LONG_ENOUGH:
        chain.run(1, thin, tables, numbers)
        done += 1
    return (perf_counter() - begin) / done
