"""Data augmentation: the table given the numbers of the prior, and these given the table, in turn.

Rates and proportions are integrated out of both steps and drawn at the end, given what was kept. Chains start
from tables as far from the release as the noise is wide, and run side by side.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from holdfast.inference.posterior.draws import Draws, require_memory
from holdfast.inference.posterior.model import CountModel, PriorNumbers
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.progress import steps

BLOCKS = 100
"""Parts in which draws are made, so that it is seen how far they are."""

StateT = TypeVar("StateT")


class Mover(Protocol[StateT]):
    """What moves the table of a chain."""

    side_by_side: ClassVar[bool]
    """Whether chains may run at the same time: compiled loops may, a law that asks a solver must not."""

    def start(self, table: IntArray) -> StateT:
        """Return the state of a chain that starts at a table."""
        ...

    def sweep(self, table: StateT, numbers: PriorNumbers, times: int, generator: np.random.Generator) -> None:
        """Leave the posterior of the table, given the numbers of the prior, as it is; in place."""
        ...

    def counts(self, table: StateT) -> IntArray:
        """Return the table."""
        ...


class Startable(Protocol):
    """A posterior that chains can start from."""

    @property
    def model(self) -> CountModel:
        """How counts come about."""
        ...

    @property
    def mover(self) -> Mover[Any]:
        """What moves tables."""
        ...

    def start(self, generator: np.random.Generator) -> IntArray:
        """Return what a chain starts from, as its mover takes it."""
        ...


@dataclass(eq=False)
class Chain:
    """One chain, as it stands."""

    model: CountModel
    mover: Mover[Any]
    table: Any
    numbers: PriorNumbers
    generator: np.random.Generator

    def run(self, sweeps: int, thin: int, tables: IntArray | None, numbers: FloatArray | None) -> None:
        """Go on for some sweeps, and keep the state after each, if it is wanted."""
        for at in range(sweeps):
            self.mover.sweep(self.table, self.numbers, thin, self.generator)
            counts = self.mover.counts(self.table)
            if not self.model.settled:
                sums = np.ascontiguousarray(self.model.sums(counts))
                self.model.settle(self.numbers, sums, self.generator)
            if tables is not None and numbers is not None:
                tables[at], numbers[at] = counts, self.numbers


def gibbs(
    problem: Startable,
    *,
    draws: int,
    chains: int = 4,
    warmup: int = 500,
    thin: int = 1,
    seed: int | None = None,
) -> Draws:
    """Return draws of all chains together, after as many sweeps of warm-up in each.

    Chains run as many at once as there are processors; parameters are drawn of what was kept.
    """
    model, mover = problem.model, problem.mover
    each = draws // chains
    require_memory(model, draws)
    roots = np.random.SeedSequence(seed).spawn(chains)
    running = []
    for root in roots:
        generator = np.random.default_rng(root)
        table = mover.start(problem.start(generator))
        running.append(Chain(model, mover, table, model.draw_numbers(generator, 1)[0], generator))
    tables = np.empty((chains, each, model.cells), dtype=np.int64)
    numbers = np.empty((chains, each, *model.medians().shape))
    block = max(1, (warmup + each) // BLOCKS)
    parts = [(begin, min(begin + block, warmup), True) for begin in range(0, warmup, block)]
    parts += [(begin, min(begin + block, each), False) for begin in range(0, each, block)]
    workers = min(chains, os.cpu_count() or 1) if mover.side_by_side else 1
    with ThreadPoolExecutor(workers) as pool:
        for begin, end, warming in steps(parts, "drawing from the posterior"):

            def advance(at: int, begin: int = begin, end: int = end, warming: bool = warming) -> None:
                part = slice(begin, end)
                kept = (None, None) if warming else (tables[at, part], numbers[at, part])
                running[at].run(end - begin, thin, *kept)

            list(pool.map(advance, range(chains)))
    return Draws.of(model, tables, numbers, running[0].generator, sampler="gibbs")
