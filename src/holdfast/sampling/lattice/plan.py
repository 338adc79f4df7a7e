"""How laws on a lattice are drawn, component by component.

The lattice {z : A z = 0} is a product over the connected components of A, and so are the l1 Laplace and the
Gaussian law. Components with the same matrix share one sampler and are drawn together. Nested totals, at any
number of levels, fall apart into totals of disjoint cells: the innermost ones, and what they leave of those
around them. Each law chooses samplers for its components (laplace.py, gaussian.py). Every method is exact.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, Protocol

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import ThreadpoolController

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import components, patterns
from holdfast.lattice.spread import SpreadCells, SpreadColumns, expanded
from holdfast.lattice.tables import PartCells
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.by_halves import EFFORT, ByHalves
from holdfast.sampling.lattice.cell_sums import CellSums
from holdfast.system.errors import SamplingError
from holdfast.system.progress import steps

CELLS_PER_SECOND = 5e6
"""Integers drawn in a second, roughly: for telling times beforehand, and the unit of `COST` and `EFFORT`.

Free cells come several times as fast (`benchmarks/noise.py`: 2 to 4 x 10^7 on one core); cells of crossing
margins are what 5 x 10^6 stands for ("Gaussian, 4 x 4" of `benchmarks/lattice.py`).
"""
MOST_WORK = 60 * CELLS_PER_SECOND
"""Integers that may be drawn for one draw, expected: about a minute, a limit of patience."""
MOST_EACH = 10
"""Integers that may be drawn for one cell of a table that has more of them than can be drawn in a minute."""

Method = Literal[
    "independent",
    "free-of-anchors",
    "total-by-halving",
    "total-by-compositions",
    "total-half-last",
    "crossing-in-turn",
    "crossing-by-rejection",
    "crossing-by-angles",
    "crossing-by-halving-axes",
    "crossing-cell-by-cell",
    "all-by-widths",
    "weighted-by-halving-axes",
    "weighted-by-coordinates",
]
"""How a component is drawn, by name: mechanisms put it into words."""
Cells = IntArray | PartCells | SpreadCells
"""The cells of components, one row a component: listed, or read where they are needed."""
TOGETHER = 1 << 22
"""Numbers of components that are drawn together where draws are yielded part by part."""
LISTED = 8
"""Totals of different sizes that are told one by one."""


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class Sampler(Protocol):
    """Draws vectors for one kind of component."""

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases."""

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` draws, one a row."""


class RejectionSampler(Sampler, Protocol):
    """A sampler that proposes, and knows the share it keeps and the integers it draws for one draw."""

    acceptance: float
    work: float


def listed(cells: Cells) -> IntArray:
    """Return all cells of components, one row a component."""
    return cells if isinstance(cells, np.ndarray) else cells.all()


@dataclass(frozen=True, eq=False)
class Block:
    """Components that share one sampler: ``places`` has the cells of each, one row a component.

    ``effort`` is how many integers are drawn for each cell of an accepted draw; ``log_constant`` is the log
    of the sum of all weights of one component, where it is known. Components of many different ``sizes`` are
    one row, one after the other.
    """

    places: Cells
    sampler: Sampler
    method: Method
    acceptance: float = 1.0
    effort: float = 1.0
    log_constant: float | None = None
    sizes: IntArray | None = None

    @classmethod
    def by_rejection(
        cls,
        places: Cells,
        sampler: "RejectionSampler",
        method: Method,
        log_constant: float | None = None,
    ) -> "Block":
        """Return the components of a sampler that knows what it costs."""
        effort = sampler.work / places.shape[1]
        return cls(places, sampler, method, sampler.acceptance, effort, log_constant)

    @property
    def cells(self) -> IntArray:
        """The cells of each component, one row a component."""
        return listed(self.places)

    @property
    def shape(self) -> tuple[int, int]:
        """How many components there are, and how many cells each has, or all of many sizes."""
        copies, width = self.places.shape
        return copies, width

    def parts(self, entropy: Entropy) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield cells with one draw of their noise, no more at once than a component that is large."""
        copies, width = self.shape
        if isinstance(self.places, np.ndarray):
            yield self.places.ravel(), self.sampler.sample(entropy, copies).ravel()
            return
        if isinstance(self.sampler, ByHalves | Independent) and isinstance(self.places, SpreadCells):
            done = 0
            for drawn in self.sampler.parts(entropy, copies):
                for begin in range(0, drawn.size, TOGETHER):
                    some = drawn[begin : begin + TOGETHER]
                    yield self.places.part(done, done + some.size), some
                    done += some.size
            return
        each = max(1, TOGETHER // width)
        for begin in range(0, copies, each):
            end = min(begin + each, copies)
            drawn = self.sampler.sample(entropy, end - begin)
            yield self.places.part(begin * width, end * width), drawn.ravel()

    @property
    def work(self) -> float:
        """Integers drawn for one draw of the whole block, expected."""
        copies, width = self.shape
        return copies * width * self.effort

    @property
    def components(self) -> tuple[int, int, int]:
        """How many components it has, and the cells of the smallest and of the largest."""
        if self.sizes is not None:
            return self.sizes.size, int(self.sizes.min()), int(self.sizes.max())
        copies, width = self.shape
        return copies, width, width


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
    def log_constant(self) -> float | None:
        """The log of the sum of all weights, where a formula gives it."""
        parts = [(block.log_constant, block.shape[0]) for block in self.blocks]
        known = [constant * copies for constant, copies in parts if constant is not None]
        return sum(known) if len(known) == len(parts) else None

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases of some component."""
        return any(block.sampler.floats for block in self.blocks)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        # the matrices of a draw are small: several threads gain little, and on a busy computer they wait
        with _controller().limit(limits=1, user_api="blas"):
            if len(self.blocks) == 1 and np.array_equal(self.blocks[0].cells, np.arange(self.cells)[None]):
                return self.blocks[0].sampler.sample(entropy, size)  # nothing to put in place
            draws = np.zeros((size, self.cells), dtype=np.int64)
            for block in steps(self.blocks, "drawing the noise"):
                copies, width = block.shape
                drawn = block.sampler.sample(entropy, size * copies)
                draws[:, block.cells.ravel()] = drawn.reshape(size, copies * width)
        return draws

    def parts(self, entropy: Entropy) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield cells with the noise of one draw, part by part; what is not in any part has none."""
        with _controller().limit(limits=1, user_api="blas"):
            for block in steps(self.blocks, "drawing the noise"):
                yield from block.parts(entropy)


class Planned(ABC):
    """A law that is drawn by its plan."""

    @property
    @abstractmethod
    def plan(self) -> Plan:
        """How draws are made."""

    @property
    def log_constant(self) -> float | None:
        """What to subtract from ``log_prob`` for log probabilities, where a formula gives it."""
        return self.plan.log_constant

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases."""
        return self.plan.floats

    @property
    def work(self) -> float:
        """Integers proposed for one draw, expected."""
        return self.plan.work

    @property
    def steps(self) -> tuple[Block, ...]:
        """The parts that are drawn one by one."""
        return self.plan.blocks

    @property
    def acceptance(self) -> float:
        """The share of whole draws that is kept: all of them."""
        return 1.0

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent exact draws, one a row."""
        return self.plan.sample(entropy, size)

    def parts(self, entropy: Entropy) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield cells with the noise of one draw, part by part; other cells have none."""
        return self.plan.parts(entropy)


def plan_components(matrix: csr_array | SpreadColumns, block_of: Callable[[csr_array, Cells], Block]) -> Plan:
    """Plan a product law: ``block_of`` a matrix and the cells of its components says how they are drawn."""
    blocks = [
        block_of(system, cells)
        for system, cells in groups(matrix)
        if system.shape[0] < system.shape[1]  # else the invariants fix every cell
    ]
    return feasible(Plan(int(matrix.shape[1]), tuple(_totals_together(blocks))))


def _totals_together(blocks: list[Block]) -> list[Block]:
    """Put totals of many sizes into one block: they are drawn at once."""
    halved = [block for block in blocks if isinstance(block.sampler, ByHalves)]
    laws = {block.sampler.law for block in blocks if isinstance(block.sampler, ByHalves)}
    if len(halved) <= LISTED:
        return blocks
    copies, widths = np.array([block.shape for block in halved]).T
    sizes = np.repeat(widths, copies)
    together = replace(
        halved[0],
        places=_one_row([block.places for block in halved]),
        sampler=ByHalves(sizes, laws.pop()),
        log_constant=Plan(0, tuple(halved)).log_constant,
        sizes=sizes,
    )
    return [together, *(block for block in blocks if block not in halved)]


def _one_row(each: list[Cells]) -> Cells:
    """Return the cells of components of many sizes, as one row."""
    spread = [cells for cells in each if isinstance(cells, SpreadCells)]
    if len(spread) == len(each):
        return SpreadCells.joined(spread)
    return np.concatenate([listed(cells).ravel() for cells in each])[None]


def feasible(plan: Plan) -> Plan:
    """Return a plan whose draws end in reasonable time; raises SamplingError for another."""
    if plan.work > max(MOST_WORK, MOST_EACH * plan.cells):
        worst = max(plan.blocks, key=lambda block: block.work)
        raise SamplingError(
            f"the invariants tie {worst.shape[1]} cells together in a way that no exact sampler"
            f" draws in reasonable time (about {worst.work:.0e} numbers for one draw): keep fewer margins or"
            " coarser attributes."
        )
    return plan


def groups(given: csr_array | SpreadColumns) -> Iterator[tuple[csr_array, Cells]]:
    """Return each distinct system among the components, with the cells of its components, one a row.

    Where the rows of a component fix the sum of each set of cells with equal columns, as nested totals do,
    these sets are components of their own.
    """
    totals = _spread_totals(given) if isinstance(given, SpreadColumns) else None
    if totals is not None:
        yield from totals
        return
    matrix = expanded(given)
    cells_of: dict[bytes, list[IntArray]] = {}
    systems: dict[bytes, csr_array] = {}
    plain = bool(np.all(matrix.data == 1))
    for component in components(matrix):
        if component.rows.size == 1 and plain:
            key = b"total %d" % component.cells.size  # many alike: no need to look inside
            systems.setdefault(key, total(component.cells.size))
        else:
            whole = component.cells.size == matrix.shape[1]
            system = csr_array(matrix if whole else matrix[component.rows][:, component.cells])
            key = _content(system)
            systems[key] = system
        cells_of.setdefault(key, []).append(component.cells)
    apart: dict[int, list[IntArray]] = {}
    for key, found in cells_of.items():
        cells, sets = np.stack(found), _sets_apart(systems[key])
        if sets is None:
            yield systems[key], cells
        for own in sets or ():
            apart.setdefault(own.size, []).extend(cells[:, own])
    for size, parts in apart.items():
        yield total(size), np.stack(parts)


def _spread_totals(given: SpreadColumns) -> list[tuple[csr_array, Cells]] | None:
    """Return the totals that the components of distinct columns make; None where some are more than that."""
    rows, free = given.columns, np.zeros(0, dtype=np.int64)
    plain = bool(np.all(rows.data == 1))
    apart: dict[int, list[SpreadCells]] = {}
    for component in components(rows):
        columns = component.cells
        if not component.rows.size:
            free = columns
            continue
        sets: list[IntArray] | None = [np.arange(columns.size)]
        if component.rows.size > 1 or not plain:  # many alike: no need to look inside
            sets = _sets_apart(csr_array(rows[component.rows][:, columns]))
        if sets is None:
            return None
        for own in sets:
            cells = given.cells(columns[own])
            apart.setdefault(cells.size, []).append(cells)
    found: list[tuple[csr_array, Cells]] = [
        (total(size), SpreadCells.joined(parts, rows=len(parts))) for size, parts in apart.items()
    ]
    if free.size:
        cells = given.cells(free)
        found.append((csr_array((0, cells.size), dtype=np.int64), cells))
    return found


def total(cells: int) -> csr_array:
    """Return one row that adds up all cells."""
    return csr_array(np.ones((1, cells), dtype=np.int64))


def _sets_apart(system: csr_array) -> list[IntArray] | None:
    """Return the sets of cells with equal columns, where the rows of a system fix the sum of each."""
    if system.shape[0] < 2:
        return None
    seen = patterns(system)
    if seen.count != system.shape[0]:  # as many independent rows as sets
        return None
    order = np.argsort(seen.of_cell, kind="stable")
    return np.split(order, np.cumsum(seen.size)[:-1])


def _content(system: csr_array) -> bytes:
    """Return what makes a system equal to another."""
    system.sort_indices()
    parts = (system.indptr, system.indices, system.data)
    return repr(system.shape).encode() + b"".join(np.asarray(p, dtype=np.int64).tobytes() for p in parts)


def halved_total(cells: Cells, law: CellSums, constant: float | None = None) -> Block:
    """Return totals of one size, drawn by halving."""
    sampler = ByHalves(np.array([cells.shape[1]]), law)
    return Block(cells, sampler, "total-by-halving", effort=EFFORT, log_constant=constant)


class Independent:
    """Independent cells, ``width`` in a row."""

    def __init__(self, width: int, cell: Sampler) -> None:
        self._width, self._cell, self.floats = width, cell, cell.floats

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` draws, one a row."""
        return self._cell.sample(entropy, size * self._width).reshape(size, self._width)

    def parts(self, entropy: Entropy, size: int) -> Iterator[IntArray]:
        """Yield the cells of ``size`` draws, one draw's after the other's, some at a time."""
        for begin in range(0, size * self._width, TOGETHER):
            yield self._cell.sample(entropy, min(TOGETHER, size * self._width - begin))
