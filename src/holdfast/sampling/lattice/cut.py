"""Noise that moves no cell by more than a bound: a law on a lattice, cut off.

P(z) is proportional to q(z) on the z with |z_i| <= D in every cell. Where q is a product over the components
of the invariants, so is P, as the box is one: each component is drawn until it is inside, by itself. A
million cells with a total for each county never have to be lucky together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.plan import Block, Plan, Planned, Sampler, feasible
from holdfast.sampling.rejection import first_accepted, rows_at_once


class CutLaw(Planned):
    """A law of noise cut off at ``bound``; ``shares`` are what is known of the share of each block's draws.

    They are lower bounds of the probability that one component of a block is inside.
    """

    def __init__(self, whole: Planned, bound: int, shares: Sequence[float]) -> None:
        self.whole, self.bound, self._shares = whole, bound, tuple(shares)

    @cached_property
    def plan(self) -> Plan:
        """The plan of the whole law, each component drawn until it is inside."""
        plan = self.whole.plan
        blocks = zip(plan.blocks, self._shares, strict=True)
        return feasible(Plan(plan.cells, tuple(_inside(block, self.bound, share) for block, share in blocks)))

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return the log weight of each row, minus infinity beyond the bound."""
        inside = np.abs(points).max(axis=1, initial=0) <= self.bound
        logs: FloatArray = self.whole.log_prob(points)  # type: ignore[attr-defined]  # every planned law has it
        return np.where(inside, logs, -np.inf)


def _inside(block: Block, bound: int, share: float) -> Block:
    """Return a block whose components are drawn until they are inside."""
    sizes = parts_of(block)
    sampler = Inside(block.sampler, sizes, bound, share)
    return replace(
        block,
        sampler=sampler,
        acceptance=block.acceptance * share,
        effort=block.effort / share,
        log_constant=None,
    )


def parts_of(block: Block) -> IntArray:
    """Return how many cells each component in a row of a block has."""
    if block.sizes is not None:
        return block.sizes
    width = block.shape[1]
    return np.ones(width, dtype=np.int64) if block.method == "independent" else np.array([width])


@dataclass(frozen=True, eq=False)
class Inside:
    """Draws of a sampler whose rows are components of such ``sizes``, each until it is within a bound."""

    sampler: Sampler
    sizes: IntArray
    bound: int
    share: float

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases."""
        return self.sampler.floats

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` draws, one a row."""
        width, cells = self.sizes.size, int(self.sizes.sum())
        if width == 1:

            def attempt(number: int) -> IntArray:
                drawn = self.sampler.sample(entropy, number)
                return np.asarray(drawn[np.abs(drawn).max(axis=1, initial=0) <= self.bound])

            return first_accepted(attempt, size, chance=self.share, most=rows_at_once(cells))
        draws = self.sampler.sample(entropy, size)
        starts = np.cumsum(self.sizes) - self.sizes
        waiting = np.arange(size)
        out = self._outside(draws, starts)
        while out.size and (some := out.any(axis=1)).any():
            # whole rows again, of which only the components that are waited for are taken
            waiting, out = waiting[some], out[some]
            again = self.sampler.sample(entropy, waiting.size)
            taken = np.repeat(out, self.sizes, axis=1)
            draws[waiting] = np.where(taken, again, draws[waiting])
            out &= self._outside(again, starts)
        return draws

    def _outside(self, draws: IntArray, starts: IntArray) -> BoolArray:
        """Return which components of each row have a cell beyond the bound."""
        far = np.abs(draws) > self.bound
        found: BoolArray = np.logical_or.reduceat(far, starts, axis=1)
        return found
