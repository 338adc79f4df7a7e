"""Choosing how to draw the l1 Laplace law on a lattice, component by component.

The lattice {z : A z = 0} is a product over the connected components of A, and so is the law. Components
with the same matrix share one sampler and are drawn together. Every method here is exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from holdfast.errors import SamplingError
from holdfast.lattice.components import components
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact import offset_total
from holdfast.sampling.exact.cascade import Cascade
from holdfast.sampling.exact.exponential import DoubleGeometric
from holdfast.sampling.exact.inversion import Integers
from holdfast.sampling.exact.one_total import OneTotal
from holdfast.sampling.exact.order import best_order
from holdfast.sampling.exact.rejection import Rejection
from holdfast.sampling.exact.split import splits

MOST_WORK = 2e8
"""Integers that may be proposed for one draw, expected: about a minute."""


class Sampler(Protocol):
    """Draws vectors for one kind of component."""

    def draw(self, entropy: Entropy, size: int) -> Integers:
        """Return ``size`` draws, one a row."""
        ...


@dataclass(frozen=True, eq=False)
class Block:
    """Components that share one sampler: ``cells`` has one row a component."""

    cells: Integers
    sampler: Sampler
    method: str
    effort: float

    @property
    def work(self) -> float:
        """Integers proposed for one draw of the whole block, expected: ``effort`` for each cell."""
        return self.cells.size * self.effort


@dataclass(frozen=True, eq=False)
class Plan:
    """How a whole vector is drawn."""

    cells: int
    blocks: tuple[Block, ...]

    @property
    def work(self) -> float:
        """Integers proposed for one draw, expected."""
        return sum(block.work for block in self.blocks)

    @property
    def methods(self) -> tuple[str, ...]:
        """What is done, one sentence a kind of component."""
        return tuple(block.method for block in self.blocks)

    def draw(self, entropy: Entropy, size: int) -> Integers:
        """Return ``size`` independent draws, one a row."""
        draws = np.zeros((size, self.cells), dtype=np.int64)
        for block in self.blocks:
            copies, width = block.cells.shape
            drawn = block.sampler.draw(entropy, size * copies)
            draws[:, block.cells.ravel()] = drawn.reshape(size, copies * width)
        return draws


def plan_l1(matrix: csr_array, epsilon: Fraction) -> Plan:
    """Plan exact draws of q(z) prop. to exp(-epsilon ||z||_1) on the kernel of a full-rank matrix.

    Raises SamplingError where no exact draw would end in reasonable time.
    """
    plan = Plan(matrix.shape[1], tuple(_blocks(matrix, epsilon)))
    if plan.work > MOST_WORK:
        worst = max(plan.blocks, key=lambda block: block.work)
        raise SamplingError(
            f"the invariants tie {worst.cells.shape[1]} cells together in a way that no exact sampler"
            f" draws in reasonable time (about {worst.work:.0e} numbers for one draw): keep fewer margins or"
            " coarser attributes."
        )
    return plan


def _blocks(matrix: csr_array, epsilon: Fraction) -> Iterator[Block]:
    groups: dict[bytes, list[Integers]] = {}
    systems: dict[bytes, Integers] = {}
    for component in components(matrix):
        system = matrix[component.rows][:, component.cells]
        if component.rows.size == 1 and np.all(system.data == 1):
            key = b"total %d" % component.cells.size  # many alike: no need to look inside
        else:
            dense = system.toarray()
            key = repr(dense.shape).encode() + dense.tobytes()
            systems[key] = dense
        groups.setdefault(key, []).append(component.cells)
    for key, cells in groups.items():
        block = _block(systems.get(key), np.stack(cells), epsilon)
        if block is not None:
            yield block


def _block(system: Integers | None, cells: Integers, epsilon: Fraction) -> Block | None:
    copies, width = cells.shape
    if system is None:
        if width == 1:
            return None
        return Block(cells, OneTotal(width, epsilon), _say(copies, width, "one total, by compositions"), 1)
    if system.shape[0] == 0:
        return Block(cells, _Independent(width, epsilon), _say(copies, width, "no invariant, independent"), 1)
    if system.shape[0] == width:
        return None  # the invariants fix every cell of this component
    sampler, how = _crossing(system, epsilon)
    how = f"crossing invariants, {how} (acceptance {sampler.acceptance:.2g})"
    return Block(cells, sampler, _say(copies, width, how), sampler.work / width)


def _crossing(system: Integers, epsilon: Fraction) -> tuple[Cascade | Rejection, str]:
    """Choose a sampler for invariants that share cells."""
    order = best_order(system, epsilon) if offset_total.fits(epsilon) else None
    if order is not None:
        return Cascade(system.shape[1], order, epsilon), "one after the other"
    return max(
        (Rejection(split, epsilon) for split in splits(system)), key=lambda r: r.acceptance
    ), "by rejection"


def _say(copies: int, width: int, how: str) -> str:
    block = "one block" if copies == 1 else f"{copies:,} blocks"
    return f"{block} of {width:,} cells: {how}"


class _Independent:
    def __init__(self, width: int, epsilon: Fraction) -> None:
        self._width, self._cell = width, DoubleGeometric(epsilon)

    def draw(self, entropy: Entropy, size: int) -> Integers:
        return self._cell.draw(entropy, size * self._width).reshape(size, self._width)
