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

CELLS_PER_SECOND = 5e6
"""Integers drawn in a second, roughly: for telling times beforehand."""
MOST_WORK = 60 * CELLS_PER_SECOND
"""Integers that may be drawn for one draw, expected: about a minute."""


MOST_SYSTEM = 60_000
"""Entries of a crossing system that is worth a plan: larger ones would be refused after a long search."""


class Sampler(Protocol):
    """Draws vectors for one kind of component."""

    def draw(self, entropy: Entropy, size: int) -> Integers:
        """Return ``size`` draws, one a row."""
        ...


@dataclass(frozen=True, eq=False)
class Block:
    """Components that share one sampler: ``cells`` has one row a component.

    ``effort`` is how many integers are drawn for each cell of an accepted draw.
    """

    cells: Integers
    sampler: Sampler
    name: str
    why: str
    acceptance: float = 1.0
    effort: float = 1.0

    @property
    def work(self) -> float:
        """Integers drawn for one draw of the whole block, expected."""
        return self.cells.size * self.effort

    @property
    def method(self) -> str:
        """What is done, in words."""
        copies, width = self.cells.shape
        block = "one block" if copies == 1 else f"{copies:,} blocks"
        size = "one cell" if width == 1 else f"{width:,} cells"
        chance = "" if self.acceptance == 1 else f" (acceptance {self.acceptance:.2g})"
        return f"{block} of {size}: {self.name}{chance}"


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
    plain = bool(np.all(matrix.data == 1))
    for component in components(matrix):
        if component.rows.size == 1 and plain:
            key = b"total %d" % component.cells.size  # many alike: no need to look inside
        else:
            dense = matrix[component.rows][:, component.cells].toarray()
            key = repr(dense.shape).encode() + dense.tobytes()
            systems[key] = dense
        groups.setdefault(key, []).append(component.cells)
    for key, cells in groups.items():
        block = _block(systems.get(key), np.stack(cells), epsilon)
        if block is not None:
            yield block


def _block(system: Integers | None, cells: Integers, epsilon: Fraction) -> Block | None:
    width = cells.shape[1]
    if system is None:
        if width == 1:
            return None
        return Block(cells, OneTotal(width, epsilon), "one total, by compositions", "one sum ties the cells")
    if system.shape[0] == 0:
        return Block(cells, _Independent(width, epsilon), "independent cells", "no invariant touches them")
    if system.shape[0] == width:
        return None  # the invariants fix every cell of this component
    if system.size > MOST_SYSTEM:
        raise SamplingError(
            f"the invariants tie {width:,} cells together by {system.shape[0]:,} crossing counts, more than"
            " any exact sampler here can draw: keep fewer margins or coarser attributes."
        )
    order = best_order(system, epsilon) if offset_total.fits(width, epsilon) else None
    if order is not None:
        cascade = Cascade(width, order, epsilon)
        why = "the invariants cross, and each can be met in turn"
        name = "crossing invariants, one after the other"
        return Block(cells, cascade, name, why, cascade.acceptance, cascade.work / width)
    best = max((Rejection(split, epsilon) for split in splits(system)), key=lambda r: r.acceptance)
    why = "the invariants have weights or the noise is very wide, so they are solved for"
    name = "crossing invariants, by rejection"
    return Block(cells, best, name, why, best.acceptance, best.work / width)


class _Independent:
    def __init__(self, width: int, epsilon: Fraction) -> None:
        self._width, self._cell = width, DoubleGeometric(epsilon)

    def draw(self, entropy: Entropy, size: int) -> Integers:
        return self._cell.draw(entropy, size * self._width).reshape(size, self._width)
