"""The Gaussian law with one variance on the kernel of an integer matrix, exactly.

One total is drawn by halving, margins that cross by halving every axis (grid.py), anything else coordinate by
coordinate (klein.py): on the cells that elimination leaves free, or on a reduced basis where that takes more
than integers.
"""

from fractions import Fraction
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.elimination import solve_in_order
from holdfast.lattice.kernel import reduced_basis
from holdfast.lattice.product import Margins
from holdfast.sampling.decisions.accept import first_accepted, pilot_size, rows_at_once
from holdfast.sampling.decisions.coin import toss_coins
from holdfast.sampling.decisions.enclosure import Real, ball_of, real
from holdfast.sampling.decisions.floats import Floats
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.grid import Grid, grid_of, whole_grid
from holdfast.sampling.lattice.halving import Halving
from holdfast.sampling.lattice.klein import Proposal, chance_ball, check_width, factor, log_chance, propose

PILOT = 256
MOST_CELLS, MOST_ENTRIES = 1500, 1 << 21
"""Cells that invariants may tie together where their quadratic form is dense, and entries of its matrix."""
COST = 4.0
"""What one coordinate costs, in integers drawn for one."""


class Shape(Protocol):
    """Proposals for the Gaussian laws of all variances on one lattice."""

    @property
    def shapes(self) -> Floats:
        """The widths of the coordinates at variance 1."""
        ...

    def propose(self, sigma: Floats, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return one vector for each standard deviation, and the proposal it came from."""
        ...


class Crossing:
    """Proposals on the kernel of any full-rank integer matrix."""

    def __init__(self, system: IntArray) -> None:
        cells = system.shape[1]
        solved = solve_in_order(system, np.arange(cells)[None])
        if solved is None:
            self._basis = reduced_basis(system).T
        else:
            free = solved.free[0]
            self._basis = np.zeros((cells, free.size), dtype=np.int64)
            self._basis[free, np.arange(free.size)] = 1
            self._basis[solved.closing[0]] = -solved.coefficients[0]
        form = (self._basis.T @ self._basis).astype(np.float64)
        least = 1.0 if solved is not None else 0.5 * float(np.linalg.eigvalsh(form)[0])
        self._factor = factor(form, least, cells)

    @property
    def shapes(self) -> Floats:
        """The widths of the coordinates at variance 1."""
        return self._factor.widths

    def propose(self, sigma: Floats, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return one vector for each standard deviation, and the proposal it came from."""
        widths = sigma[:, None] * self._factor.widths
        proposal = propose(self._factor.lower, widths, entropy, sigma.size)
        return proposal.coordinates @ self._basis.T, proposal


def shape_of(system: csr_array, sigma: float, margins: Margins | None = None) -> Shape:
    """Return the proposals for the kernel of a full-rank integer matrix, good ones at a standard deviation.

    Raises SamplingError where no structure is seen and there are too many cells for dense algebra.
    """
    rows, cells = system.shape
    if is_total(system):
        return Halving(cells)
    if (grid := grid_of(system, sigma) or whole_grid(system, sigma, margins)) is not None:
        return grid
    if cells > MOST_CELLS or rows * cells > MOST_ENTRIES:
        raise SamplingError(
            f"the invariants tie {cells:,} cells together in other ways than whole margins do, and Gaussian"
            f" or l2 noise can then be drawn for {MOST_CELLS:,} cells at most: keep whole margins, fewer"
            " invariants or coarser attributes."
        )
    return Crossing(system.toarray())


def is_total(system: csr_array) -> bool:
    """Whether there is one row, and it adds up all cells."""
    return bool(system.shape[0] == 1 and system.nnz == system.shape[1] and np.all(system.data == 1))


class KernelGaussian:
    """Exact draws of exp(-||z||^2 / (2 sigma^2)) on the kernel of a full-rank integer matrix."""

    floats = True

    def __init__(self, system: csr_array, sigma_squared: Fraction, margins: Margins | None = None) -> None:
        self._sigma, self._sigma_squared = float(sigma_squared) ** 0.5, sigma_squared
        self._shape, self._cells = shape_of(system, self._sigma, margins), system.shape[1]
        check_width(self._sigma * float(self._shape.shapes.max(initial=0.0)))
        self.acceptance = self._predict()
        self.work = COST * self._cells / self.acceptance

    @property
    def halves(self) -> bool:
        """Whether sums over boxes are drawn, and not cell by cell."""
        return isinstance(self._shape, Grid)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        most = rows_at_once(self._cells)
        return first_accepted(lambda n: self._attempt(entropy, n), size, chance=self.acceptance, most=most)

    def _attempt(self, entropy: Entropy, size: int) -> IntArray:
        z, proposal, exponent = self._propose(entropy, size)
        chance, margin = log_chance(proposal, exponent)

        def exact(i: int) -> Real:
            square = sum(int(v) ** 2 for v in z[i])
            return real(lambda: chance_ball(proposal, i, ball_of(square / (2 * self._sigma_squared))))

        return z[toss_coins(chance, margin, exact, entropy)]

    def _propose(self, entropy: Entropy, size: int) -> tuple[IntArray, Proposal, Floats]:
        z, proposal = self._shape.propose(np.full(size, self._sigma), entropy)
        squares = (z.astype(np.float64) ** 2).sum(axis=1)
        return z, proposal, squares / float(2 * self._sigma_squared)

    def _predict(self) -> float:
        """Estimate the acceptance by a seeded pilot."""
        size = pilot_size(PILOT, self._cells)
        _, proposal, exponent = self._propose(SeededEntropy(0), size)
        return max(float(np.exp(log_chance(proposal, exponent)[0]).mean()), 1e-300)
