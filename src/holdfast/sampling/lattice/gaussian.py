"""The generalized discrete Gaussian law on a lattice [integer-subspace-dp, Definition 13].

q(z) is proportional to exp(-||z||_2^2 / (2 sigma^2)) on {z : A z = 0}, drawn exactly by the plan of its
components.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from math import sqrt

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.forms import Form
from holdfast.lattice.margins import MarginStrategy
from holdfast.lattice.product import AxisMargins
from holdfast.lattice.spread import SpreadColumns, expanded
from holdfast.lattice.tables import PartCells
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.by_levels import TreeGaussian
from holdfast.sampling.lattice.cell_sums import GaussianSums
from holdfast.sampling.lattice.grid import any_grid
from holdfast.sampling.lattice.kernel_gaussian import KernelGaussian, is_total
from holdfast.sampling.lattice.plan import (
    Block,
    Cells,
    Independent,
    Plan,
    Planned,
    RejectionSampler,
    feasible,
    halved_total,
    plan_components,
)
from holdfast.sampling.lattice.sum_shape import crossing
from holdfast.sampling.lattice.weighted import FormGaussian
from holdfast.sampling.numbers.gaussian import DiscreteGaussian, log_sum
from holdfast.system.errors import SamplingError

WIDEST = Fraction(1 << 40) ** 2
WIDER = (2, 4, 16, 64)
"""Factors of the variance that are tried where noise is too narrow to be drawn."""
OTHERWISE = "or keep fewer margins or coarser attributes"
LARGE = 1 << 16
"""Cells of a part of a table from which on it is cheaper to make what draws it anew than to hold it."""
_sums = lru_cache(maxsize=8)(GaussianSums)


class NarrowNoiseError(SamplingError):
    """Noise cannot be drawn that could be at ``factor`` times its variance."""

    def __init__(self, fact: str, factor: int, otherwise: str) -> None:
        super().__init__(
            f"{fact}, as the noise is narrow: ask for a rho {factor} times smaller (or a smaller epsilon"
            f" beside delta), {otherwise}."
        )
        self.factor = factor


class LatticeGaussianLaw(Planned):
    """q(z) proportional to exp(-||z||^2 / (2 sigma_squared)) on the kernel of a full-rank integer matrix.

    With a ``form`` F it is exp(-z'Fz / (2 sigma_squared)) [holdfast, lattice/forms.py]. ``otherwise`` says
    what to do where it cannot be drawn, in the words of who asks for it.
    """

    def __init__(
        self,
        matrix: csr_array | SpreadColumns,
        sigma_squared: Fraction,
        margins: AxisMargins | None = None,
        form: Form | None = None,
        *,
        otherwise: str = OTHERWISE,
    ) -> None:
        if not 1 / WIDEST <= sigma_squared <= WIDEST:
            raise SamplingError(
                f"Gaussian noise of variance {float(sigma_squared):.1e} cannot be drawn in 64-bit integers:"
                " ask for a standard deviation between 2^-40 and 2^40."
            )
        self._given, self.sigma_squared = matrix, sigma_squared
        self._margins, self.form, self._otherwise = margins, form, otherwise

    @property
    def matrix(self) -> csr_array:
        """The rows of the invariants, every entry of them."""
        return expanded(self._given)

    @cached_property
    def plan(self) -> Plan:
        """How draws are made.

        Raises SamplingError where none would end in reasonable time, with the width of noise that could be
        drawn: narrow noise under crossing invariants is far from the Gaussian that proposes it.
        """
        try:
            return self._planned(1)
        except SamplingError as error:
            factor = next((factor for factor in WIDER if self._succeeds(factor)), None)
            if factor is None:
                raise
            raise NarrowNoiseError(str(error).partition(":")[0], factor, self._otherwise) from None

    def _planned(self, factor: int) -> Plan:
        """Plan draws at a multiple of the variance."""
        variance = factor * self.sigma_squared
        if self.form is not None:
            return _weighted(self._given, self.form, variance)
        return plan_components(
            self._given, partial(_component, sigma_squared=variance, margins=self._margins)
        )

    def _succeeds(self, factor: int) -> bool:
        try:
            self._planned(factor)
        except SamplingError:
            return False
        return True

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return -||z||^2 / (2 sigma^2) for each row, minus infinity off the lattice."""
        on_lattice = ~(self.matrix @ points.T).any(axis=0)
        squares = (
            (points.astype(np.float64) ** 2).sum(axis=1) if self.form is None else self.form.squares(points)
        )
        return np.where(on_lattice, -squares / float(2 * self.sigma_squared), -np.inf)


def _weighted(matrix: csr_array | SpreadColumns, form: Form, sigma_squared: Fraction) -> Plan:
    """Plan draws of what a form ties together: all cells, or parts that no whole margin adds up across."""
    cells, margins = int(matrix.shape[1]), form.margins
    if margins is None or len(margins.trees) > 1:
        law = FormGaussian(expanded(matrix), form, sigma_squared)
        every = np.arange(cells)[None]
        return feasible(Plan(cells, (Block.by_rejection(every, law, "weighted-by-coordinates"),)))
    blocks = []
    for own, part in margins.apart():
        tree: RejectionSampler = TreeGaussian(part, sigma_squared)
        if own.shape[1] > LARGE:
            tree = RemadeTree(tree.acceptance, tree.work, margins, own, sigma_squared)
        blocks.append(Block.by_rejection(own, tree, "weighted-by-halving-axes"))
    return feasible(Plan(cells, tuple(blocks)))


@dataclass(eq=False)
class RemadeTree:
    """A part of a table of so many cells that what draws it is made for each draw, and not held."""

    acceptance: float
    work: float
    margins: MarginStrategy
    cells: PartCells
    sigma_squared: Fraction

    floats = True

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        return TreeGaussian(self.margins.within(self.cells), self.sigma_squared).sample(entropy, size)


def _component(
    system: csr_array, cells: Cells, sigma_squared: Fraction, margins: AxisMargins | None
) -> Block:
    """Choose how components with one matrix are drawn."""
    width = system.shape[1]
    if system.shape[0] == 0:
        constant = width * float(log_sum(np.array([sqrt(sigma_squared)]))[0])
        independent = Independent(width, DiscreteGaussian(sigma_squared))
        return Block(cells, independent, "independent", log_constant=constant)
    if is_total(system):
        return halved_total(cells, _sums(sigma_squared))
    grid = any_grid(system, sqrt(sigma_squared), margins)
    law = KernelGaussian(grid or crossing(system), sigma_squared, _sums(sigma_squared))
    return Block.by_rejection(
        cells, law, "crossing-cell-by-cell" if grid is None else "crossing-by-halving-axes"
    )
