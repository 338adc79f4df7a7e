"""The generalized discrete Laplace laws on a lattice [integer-subspace-dp, Definition 9].

q(z) is proportional to exp(-epsilon ||z||) on {z : A z = 0}, for the l1 or the l2 norm. Both are drawn
exactly: l1 by the plan of its components, l2 by a mixture of lattice Gaussian laws (radial.py).
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from math import expm1, log, prod, sqrt, tanh
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.components import patterns
from holdfast.lattice.forms import Form
from holdfast.lattice.product import AxisMargins, product_features
from holdfast.lattice.spread import SpreadColumns, expanded
from holdfast.sampling.lattice.cascade import Cascade, RowStep, best_order
from holdfast.sampling.lattice.cell_sums import LaplaceSums
from holdfast.sampling.lattice.kernel_gaussian import is_total
from holdfast.sampling.lattice.laplace_total import OneTotal, fits, log_ways, tabulated
from holdfast.sampling.lattice.plan import (
    Block,
    Cells,
    Independent,
    Plan,
    Planned,
    feasible,
    groups,
    halved_total,
    listed,
    plan_components,
)
from holdfast.sampling.lattice.radial import RadialSampler
from holdfast.sampling.lattice.rejection import Rejection, splits
from holdfast.sampling.lattice.torus import Torus
from holdfast.sampling.numbers.exponential import DoubleGeometric, checked_rate
from holdfast.system.errors import SamplingError

LaplaceNorm = Literal["l1", "l2"]
MOST_SYSTEM, MOST_LEVELS = 60_000, 16
"""Entries of a crossing system that is worth a plan for the l1 norm, and levels of a feature that crosses a
larger one: larger ones would be refused after a long search."""
MOST_TERMS = 1 << 20
"""Terms of a normaliser: 8 MB."""
MANY = range(40, 200)
"""Cells under one total of which some are drawn freely.

At epsilon 1/4 and 40 to 200 cells it is 1.2 to 1.7 times as fast as compositions, in CPU time ("l1, 1 totals
of 102" of `benchmarks/lattice.py`). The gain does not end there, it is 1.3 to 1.5 at 20 and at 400 cells: the
ends are a choice, and compositions are kept beyond them, as they reject nothing.
"""
LARGE = 1024
"""Cells under one total from which on half of them at a time is fastest for the l1 norm, too.

It is 1.5 times as fast as compositions at 1,024 cells and 1.7 times at 2,048, in CPU time at epsilon 1/4;
"l1, 1 totals of 1,000" of `benchmarks/lattice.py` is next to it.
"""
OTHERWISE = "keep fewer margins or coarser attributes"
LIGHT = 300
"""Integers a draw for which no other method is looked for: 60 microseconds at `CELLS_PER_SECOND`.
Beyond that a torus is worth its plan, a trade-off between the time of one draw and that before the first."""
_sums = lru_cache(maxsize=8)(LaplaceSums)


class CrossingsError(SamplingError):
    """Crossing counts tie more cells together than noise of the l1 norm is drawn for."""

    def __init__(self, cells: int, rows: int, otherwise: str) -> None:
        super().__init__(
            f"the invariants tie {cells:,} cells together by {rows:,} crossing counts, and noise of the l1"
            f" norm is drawn exactly for tables of about {MOST_LEVELS} x {MOST_LEVELS} or 3 x 100 cells:"
            f" {otherwise}."
        )
        self.cells, self.rows = cells, rows


class LatticeLaplaceLaw(Planned):
    """q(z) proportional to exp(-epsilon ||z||) on the kernel of a full-rank integer matrix.

    With a ``form`` F the l2 norm is the root of z'Fz [holdfast, lattice/forms.py]. ``otherwise`` says what to
    do where it cannot be drawn, in the words of who asks for it.
    """

    def __init__(
        self,
        matrix: csr_array | SpreadColumns,
        epsilon: Fraction,
        norm: LaplaceNorm,
        margins: AxisMargins | None = None,
        form: Form | None = None,
        *,
        otherwise: str = OTHERWISE,
    ) -> None:
        self._given, self.epsilon, self.norm = matrix, checked_rate(epsilon), norm
        self._margins, self.form, self._otherwise = margins, form, otherwise

    @property
    def matrix(self) -> csr_array:
        """The rows of the invariants, every entry of them."""
        return expanded(self._given)

    @cached_property
    def plan(self) -> Plan:
        """How draws are made; raises SamplingError where no exact draw would end in reasonable time."""
        if self.norm == "l1":
            component = partial(_component, epsilon=self.epsilon, otherwise=self._otherwise)
            return plan_components(self._given, component)
        # the l2 law is no product: one radius ties all components, and they are drawn together
        cells = self.matrix.shape[1]
        every: Cells = np.arange(cells)[None]
        apart = [(self.matrix, every)] if self.form is not None else groups(self.matrix)
        parts = [(system, listed(own)) for system, own in apart]
        radial = RadialSampler(cells, parts, self.epsilon, self._margins, self.form)
        together = Block.by_rejection(every, radial, "all-by-widths")
        return feasible(Plan(cells, (together,)))

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return -epsilon ||z|| for each row, minus infinity off the lattice."""
        on_lattice = ~(self.matrix @ points.T).any(axis=0)
        if self.form is not None:
            norm = np.sqrt(self.form.squares(points))
        else:
            norm = np.abs(points).sum(axis=1) if self.norm == "l1" else np.sqrt((points * points).sum(axis=1))
        return np.where(on_lattice, -float(self.epsilon) * norm, -np.inf)


def _component(system: csr_array, cells: Cells, epsilon: Fraction, otherwise: str) -> Block:
    """Choose how components with one matrix are drawn under the l1 norm."""
    rows, width = system.shape
    if rows == 0:
        independent = Independent(width, DoubleGeometric(epsilon))
        constant = -width * log(tanh(float(epsilon) / 2))  # a cell weighs (1 + a) / (1 - a)
        return Block(cells, independent, "independent", log_constant=constant)
    if is_total(system):
        return _one_total(cells, epsilon)
    if rows * width > MOST_SYSTEM or _widest_crossing(system) > MOST_LEVELS:
        raise CrossingsError(width, rows, otherwise)
    return min(_crossing(system.toarray(), cells, epsilon), key=lambda block: block.work)


def require_few_crossings(margins: AxisMargins, otherwise: str = OTHERWISE) -> None:
    """Raise CrossingsError where l1 noise under these margins would be refused; nothing is worked out.

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
        raise CrossingsError(width, rows, otherwise)


def _widest_crossing(system: csr_array) -> int:
    """Return how many levels the second feature of a product has; 0 where it is no product."""
    features = product_features(patterns(system).columns, np.zeros(system.shape[0], dtype=np.int64))
    return sorted([0, 0, *(feature.count.size for feature in features or ())])[-2]


def log_total_weight(cells: int, epsilon: float) -> float | None:
    """Return log sum a^||z||_1 over vectors that sum to zero: (1 - a^2)^n sum_m [C(n + m - 1, m) a^m]^2.

    Independent double geometric cells sum to zero with probability (1 - a)^{2n} sum_m [C(n + m - 1, m) a^m]^2
    (`OneTotal`), and the weight of all vectors is ((1 + a) / (1 - a))^n. None where the sum is too long.
    """
    terms = int((cells + 40 * sqrt(cells) + 400) / min(epsilon, 1.0)) + 2
    if terms > MOST_TERMS:
        return None
    logs = 2 * (log_ways(cells, terms) - epsilon * np.arange(terms))
    highest = float(logs.max())
    return cells * log(-expm1(-2 * epsilon)) + highest + log(float(np.exp(logs - highest).sum()))


def _one_total(cells: Cells, epsilon: Fraction) -> Block:
    width = cells.shape[1]
    half, every = width // 2, np.arange(width)
    constant = log_total_weight(width, float(epsilon))
    if width >= LARGE or (width >= MANY.start and not tabulated(width, epsilon)):
        return halved_total(cells, _sums(epsilon), constant)
    if width not in MANY or not fits(half, epsilon):
        return Block(cells, OneTotal(width, epsilon), "total-by-compositions", log_constant=constant)
    rest = Cascade(width, ((RowStep(every[:half], every[half:]),),), epsilon)
    return Block.by_rejection(cells, rest, "total-half-last", constant)


def _crossing(system: IntArray, cells: Cells, epsilon: Fraction) -> Iterator[Block]:
    """Yield ways to draw a component, each only if those before it are not light."""
    width = system.shape[1]
    order = best_order(system, epsilon) if fits(width, epsilon) else None
    if order is not None:
        first = Block.by_rejection(cells, Cascade(width, order, epsilon), "crossing-in-turn")
    else:
        best = max((Rejection(split, epsilon) for split in splits(system)), key=lambda r: r.acceptance)
        first = Block.by_rejection(cells, best, "crossing-by-rejection")
    yield first
    if first.work < LIGHT * cells.shape[0]:
        return
    try:
        angles = Torus(system, epsilon)
    except SamplingError:  # too wide, or no basis in integers
        return
    yield Block.by_rejection(cells, angles, "crossing-by-angles")
