"""Choosing how to draw product laws on a lattice, component by component.

The lattice {z : A z = 0} is a product over the connected components of A, and so are the l1 Laplace and the
Gaussian law. Components with the same matrix share one sampler and are drawn together. Nested totals, at any
number of levels, fall apart into totals of disjoint cells: the innermost ones, and what they leave of those
around them. Every method here is exact.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import expm1, log, prod, sqrt, tanh
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln, logsumexp

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import components, patterns
from holdfast.lattice.product import Margins, product_features
from holdfast.progress import steps
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice import offset_total
from holdfast.sampling.lattice.by_halves import EFFORT, ByHalves
from holdfast.sampling.lattice.cascade import Cascade
from holdfast.sampling.lattice.cell_sums import CellSums
from holdfast.sampling.lattice.gaussian_sums import GaussianSums
from holdfast.sampling.lattice.grid import any_grid
from holdfast.sampling.lattice.kernel_gaussian import KernelGaussian, is_total
from holdfast.sampling.lattice.laplace_sums import LaplaceSums
from holdfast.sampling.lattice.one_total import OneTotal, tabulated
from holdfast.sampling.lattice.order import Step, best_order
from holdfast.sampling.lattice.radial import Radial
from holdfast.sampling.lattice.rejection import Rejection
from holdfast.sampling.lattice.split import splits
from holdfast.sampling.lattice.sum_shape import crossing
from holdfast.sampling.lattice.threads import one_thread
from holdfast.sampling.lattice.torus import Torus
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.sampling.numbers.gaussian import DiscreteGaussian
from holdfast.sampling.numbers.near import log_sum

CELLS_PER_SECOND = 5e6
"""Integers drawn in a second, roughly: for telling times beforehand."""
MOST_WORK = 60 * CELLS_PER_SECOND
"""Integers that may be drawn for one draw, expected: about a minute."""


MOST_SYSTEM, MOST_LEVELS = 60_000, 16
"""Entries of a crossing system that is worth a plan for the l1 norm, and levels of a feature that crosses a
larger one: larger ones would be refused after a long search."""


MOST_TERMS = 1 << 20
FREE = ("independent cells", "no invariant touches them")
MANY = range(40, 200)
"""Cells under one total of which some are drawn freely: it is faster."""
LARGE = 1024
"""Cells under one total from which on half of them at a time is fastest for the l1 norm, too."""
LISTED = 8
"""Totals of different sizes that are told one by one."""
WIDER = (2, 4, 16, 64)
"""Factors of the variance that are tried where noise is too narrow to be drawn."""
LIGHT = 300
"""Integers a draw for which no other method is looked for."""


class Sampler(Protocol):
    """Draws vectors for one kind of component."""

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases."""
        ...

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` draws, one a row."""
        ...


@dataclass(frozen=True, eq=False)
class Block:
    """Components that share one sampler: ``cells`` has one row a component.

    ``effort`` is how many integers are drawn for each cell of an accepted draw; ``log_constant`` is the log
    of the sum of all weights of one component, where it is known. Components of many different ``sizes`` are
    one row, one after the other.
    """

    cells: IntArray
    sampler: Sampler
    name: str
    why: str
    acceptance: float = 1.0
    effort: float = 1.0
    log_constant: float | None = None
    sizes: IntArray | None = None

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
        if self.sizes is not None:
            block = f"{self.sizes.size:,} blocks"
            size = f"{self.sizes.min():,} to {self.sizes.max():,} cells"
        chance = "" if self.acceptance > 0.995 else f" (acceptance {self.acceptance:.2g})"
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
    def log_constant(self) -> float | None:
        """The log of the sum of all weights, where a formula gives it."""
        parts = [(block.log_constant, block.cells.shape[0]) for block in self.blocks]
        known = [constant * copies for constant, copies in parts if constant is not None]
        return sum(known) if len(known) == len(parts) else None

    @property
    def methods(self) -> tuple[str, ...]:
        """What is done, one sentence a kind of component."""
        return tuple(block.method for block in self.blocks)

    @property
    def floats(self) -> bool:
        """Whether floats sort out the clear cases of some component."""
        return any(block.sampler.floats for block in self.blocks)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        with one_thread():
            if len(self.blocks) == 1 and np.array_equal(self.blocks[0].cells, np.arange(self.cells)[None]):
                return self.blocks[0].sampler.sample(entropy, size)  # nothing to put in place
            draws = np.zeros((size, self.cells), dtype=np.int64)
            for block in steps(self.blocks, "drawing the noise"):
                copies, width = block.cells.shape
                drawn = block.sampler.sample(entropy, size * copies)
                draws[:, block.cells.ravel()] = drawn.reshape(size, copies * width)
        return draws


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
    def methods(self) -> tuple[str, ...]:
        """What is done, in sentences."""
        return self.plan.methods

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


def plan_l1(matrix: csr_array, epsilon: Fraction) -> Plan:
    """Plan exact draws of q(z) prop. to exp(-epsilon ||z||_1) on the kernel of a full-rank matrix.

    Raises SamplingError where no exact draw would end in reasonable time.
    """
    return _plan(matrix, lambda system, cells: _laplace_block(system, cells, epsilon))


def plan_l2(matrix: csr_array, epsilon: Fraction, margins: Margins | None = None) -> Plan:
    """Plan exact draws of q(z) prop. to exp(-epsilon ||z||_2) on the kernel of a full-rank matrix.

    This is no product law: one radius ties all components, and they are drawn together.
    """
    cells = matrix.shape[1]
    radial = Radial(cells, list(groups(matrix)), epsilon, margins)
    name, why = "all cells together, by Gaussians of many widths", "one radius ties all cells in the l2 norm"
    block = Block(np.arange(cells)[None], radial, name, why, radial.acceptance, radial.work / cells)
    return _feasible(Plan(cells, (block,)))


def plan_gaussian(matrix: csr_array, sigma_squared: Fraction, margins: Margins | None = None) -> Plan:
    """Plan exact draws of q(z) prop. to exp(-||z||_2^2 / (2 sigma^2)) on the kernel of a full-rank matrix.

    Raises SamplingError where none would end in reasonable time, with the width of noise that could be drawn:
    narrow noise under crossing invariants is far from the Gaussian that proposes it.
    """

    def planned(variance: Fraction) -> Plan:
        return _plan(matrix, lambda system, cells: _gaussian_block(system, cells, variance, margins))

    try:
        return planned(sigma_squared)
    except SamplingError as error:
        factor = next((factor for factor in WIDER if _succeeds(planned, factor * sigma_squared)), None)
        if factor is None:
            raise
        raise SamplingError(
            f"{str(error).partition(':')[0]}, as the noise is narrow: ask for a rho {factor} times smaller"
            ' (or a smaller epsilon beside delta), take lattice-laplace with norm = "l2" and standard ='
            ' "pure", or keep fewer margins or coarser attributes.'
        ) from None


def _succeeds(planned: Callable[[Fraction], Plan], variance: Fraction) -> bool:
    try:
        planned(variance)
    except SamplingError:
        return False
    return True


def _plan(matrix: csr_array, block_of: Callable[[csr_array, IntArray], Block]) -> Plan:
    blocks = [
        block_of(system, cells)
        for system, cells in groups(matrix)
        if system.shape[0] < system.shape[1]  # else the invariants fix every cell
    ]
    return _feasible(Plan(matrix.shape[1], tuple(_totals_together(blocks))))


def _totals_together(blocks: list[Block]) -> list[Block]:
    """Put totals of many sizes into one block: they are drawn at once."""
    halved = [block for block in blocks if isinstance(block.sampler, ByHalves)]
    laws = {block.sampler.law for block in blocks if isinstance(block.sampler, ByHalves)}
    if len(halved) <= LISTED:
        return blocks
    copies, widths = np.array([block.cells.shape for block in halved]).T
    sizes = np.repeat(widths, copies)
    together = replace(
        halved[0],
        cells=np.concatenate([block.cells.ravel() for block in halved])[None],
        sampler=ByHalves(sizes, laws.pop()),
        log_constant=Plan(0, tuple(halved)).log_constant,
        sizes=sizes,
    )
    return [together, *(block for block in blocks if block not in halved)]


def _feasible(plan: Plan) -> Plan:
    """Return a plan whose draws end in reasonable time; raises SamplingError for another."""
    if plan.work > MOST_WORK:
        worst = max(plan.blocks, key=lambda block: block.work)
        raise SamplingError(
            f"the invariants tie {worst.cells.shape[1]} cells together in a way that no exact sampler"
            f" draws in reasonable time (about {worst.work:.0e} numbers for one draw): keep fewer margins or"
            " coarser attributes."
        )
    return plan


def groups(matrix: csr_array) -> Iterator[tuple[csr_array, IntArray]]:
    """Return each distinct system among the components, with the cells of its components, one a row.

    Where the rows of a component fix the sum of each set of cells with equal columns, as nested totals do,
    these sets are components of their own.
    """
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


def _laplace_block(system: csr_array, cells: IntArray, epsilon: Fraction) -> Block:
    rows, width = system.shape
    if rows == 0:
        independent = _Independent(width, DoubleGeometric(epsilon))
        constant = -width * log(tanh(float(epsilon) / 2))  # a cell weighs (1 + a) / (1 - a)
        return Block(cells, independent, *FREE, log_constant=constant)
    if is_total(system):
        return _total_block(cells, epsilon)
    if rows * width > MOST_SYSTEM or _widest_crossing(system) > MOST_LEVELS:
        raise _too_wide(width, rows)
    return min(_crossing_blocks(system.toarray(), cells, epsilon), key=lambda block: block.work)


def require_few_crossings(margins: Margins) -> None:
    """Raise SamplingError where l1 noise under these margins would be refused, before anything is worked out.

    Levels that all margins read are apart from each other; the other parts of the margins cross where they
    share nothing.
    """
    sets = [one for one in margins.sets if not any(one < other for other in margins.sets)]
    parts = [one - frozenset.intersection(*sets) for one in sets] if sets else []
    if len(parts) < 2 or sum(map(len, parts)) > len(frozenset().union(*parts)):
        return
    levels = sorted(prod(margins.shape[axis] for axis in part) for part in parts)
    rows, width = sum(levels) - len(levels) + 1, prod(levels)
    if levels[-2] > MOST_LEVELS or rows * width > MOST_SYSTEM:
        raise _too_wide(width, rows)


def _too_wide(width: int, rows: int) -> SamplingError:
    return SamplingError(
        f"the invariants tie {width:,} cells together by {rows:,} crossing counts, and noise of the l1"
        f" norm is drawn exactly for tables of about {MOST_LEVELS} x {MOST_LEVELS} or 3 x 100 cells: take"
        ' norm = "l2" or the mechanism lattice-gaussian, which draw whole margins of any size, or keep'
        " fewer margins or coarser attributes."
    )


def _widest_crossing(system: csr_array) -> int:
    """Return how many levels the second feature of a product has; 0 where it is no product."""
    features = product_features(patterns(system).columns, np.zeros(system.shape[0], dtype=np.int64))
    return sorted([0, 0, *(feature.count.size for feature in features or ())])[-2]


def _total_block(cells: IntArray, epsilon: Fraction) -> Block:
    width = cells.shape[1]
    half = width // 2
    constant = log_total_weight(width, float(epsilon))
    if width >= LARGE or (width >= MANY.start and not tabulated(width, epsilon)):
        return _by_halves(cells, _laplace_sums(epsilon), constant)
    if width not in MANY or not offset_total.fits(half, epsilon):
        name, why = "one total, by compositions", "one sum ties the cells"
        return Block(cells, OneTotal(width, epsilon), name, why, log_constant=constant)
    every = np.arange(width)
    rest = Cascade(width, ((Step(every[:half], every[half:]),),), epsilon)
    name, why = (
        "one total, half of the cells last",
        "one sum ties the cells, and free cells are drawn fastest",
    )
    return Block(cells, rest, name, why, rest.acceptance, rest.work / width, constant)


def _by_halves(cells: IntArray, law: CellSums, constant: float | None = None) -> Block:
    sampler = ByHalves(np.array([cells.shape[1]]), law)
    name, why = "one total, by halving", "half of the cells are free, given what they leave to the others"
    return Block(cells, sampler, name, why, effort=EFFORT, log_constant=constant)


_gaussian_sums, _laplace_sums = lru_cache(maxsize=8)(GaussianSums), lru_cache(maxsize=8)(LaplaceSums)


def log_total_weight(cells: int, epsilon: float) -> float | None:
    """Return log sum a^||z||_1 over vectors that sum to zero: (1 - a^2)^n sum_m [C(n + m - 1, m) a^m]^2.

    Independent double geometric cells sum to zero with probability (1 - a)^{2n} sum_m [C(n + m - 1, m) a^m]^2
    (one_total.py), and the weight of all vectors is ((1 + a) / (1 - a))^n. None where the sum is too long.
    """
    terms = int((cells + 40 * sqrt(cells) + 400) / min(epsilon, 1.0)) + 2
    if terms > MOST_TERMS:
        return None
    m = np.arange(terms)
    logs = 2 * (gammaln(cells + m) - gammaln(m + 1) - gammaln(cells) - epsilon * m)
    return cells * log(-expm1(-2 * epsilon)) + float(logsumexp(logs))


def _crossing_blocks(system: IntArray, cells: IntArray, epsilon: Fraction) -> Iterator[Block]:
    """Yield ways to draw a component, each only if those before it are not light."""
    width = system.shape[1]
    order = best_order(system, epsilon) if offset_total.fits(width, epsilon) else None
    if order is not None:
        cascade = Cascade(width, order, epsilon)
        why = "the invariants cross, and each can be met in turn"
        name = "crossing invariants, one after the other"
        first = Block(cells, cascade, name, why, cascade.acceptance, cascade.work / width)
    else:
        best = max((Rejection(split, epsilon) for split in splits(system)), key=lambda r: r.acceptance)
        why = "the invariants have weights or the noise is very wide, so they are solved for"
        name = "crossing invariants, by rejection"
        first = Block(cells, best, name, why, best.acceptance, best.work / width)
    yield first
    if first.work < LIGHT * cells.shape[0]:
        return
    try:
        angles = Torus(system, epsilon)
    except SamplingError:  # too wide, or no basis in integers
        return
    why = "the invariants cross, and all of them are met at once"
    name = "crossing invariants, by angles on a torus"
    yield Block(cells, angles, name, why, angles.acceptance, angles.work / width)


def _gaussian_block(
    system: csr_array, cells: IntArray, sigma_squared: Fraction, margins: Margins | None
) -> Block:
    rows, width = system.shape
    if rows == 0:
        independent = _Independent(width, DiscreteGaussian(sigma_squared))
        constant = width * float(log_sum(np.array([sqrt(sigma_squared)]))[0])
        return Block(cells, independent, *FREE, log_constant=constant)
    if is_total(system):
        return _by_halves(cells, _gaussian_sums(sigma_squared))
    grid = any_grid(system, sqrt(sigma_squared), margins)
    gaussian = KernelGaussian(grid or crossing(system), sigma_squared, _gaussian_sums(sigma_squared))
    name, why = "crossing invariants, cell by cell", "a Gaussian law given some cells is nearly Gaussian"
    if grid is not None:
        name, why = (
            "crossing margins, by halving every axis",
            "sums over boxes are nearly Gaussian given others",
        )
    return Block(cells, gaussian, name, why, gaussian.acceptance, gaussian.work / width)


class _Cell(Protocol):
    @property
    def floats(self) -> bool: ...

    def sample(self, entropy: Entropy, size: int) -> IntArray: ...


class _Independent:
    def __init__(self, width: int, cell: _Cell) -> None:
        self._width, self._cell, self.floats = width, cell, cell.floats

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        return self._cell.sample(entropy, size * self._width).reshape(size, self._width)
