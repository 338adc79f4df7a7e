"""Proposals for the Gaussian laws of all variances on one lattice: sums of cells first.

Cells with equal columns of A take part in the same invariants, and matter through their sum alone. The sums
are proposed coordinate by coordinate (klein.py): by halving every axis where whole margins cross (grid.py),
else in the coordinates that elimination leaves free, or of a reduced basis where that takes more than
integers. The cells of each sum follow, by halving (halving.py) or exactly (by_halves.py).
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy.sparse import csr_array

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import Patterns, patterns
from holdfast.lattice.elimination import solve_in_order
from holdfast.lattice.kernel import reduced_basis
from holdfast.sampling.decisions.floats import Floats
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.halving import Parts
from holdfast.sampling.lattice.klein import Factor, Proposal, factor, propose

MOST_KINDS, MOST_ENTRIES = 1500, 1 << 21
"""Different columns of invariants whose quadratic form is dense, and entries of their matrix."""


class SumShape(ABC):
    """Sums over ``sizes`` cells each; ``order`` is the cells of a vector, one sum's after another's."""

    def __init__(self, sizes: IntArray, order: IntArray) -> None:
        ends = np.cumsum(sizes)
        self.sizes, self._order = sizes, order
        self._begins, self._parts = ends - sizes, Parts(ends - sizes, ends)

    @property
    @abstractmethod
    def sum_shapes(self) -> Floats:
        """The widths of the coordinates of the sums at variance 1."""

    @abstractmethod
    def propose_sums(self, sigma: Floats, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return the sums for each standard deviation, and the proposal they came from."""

    @property
    def shapes(self) -> Floats:
        """The widths of all coordinates at variance 1."""
        return np.concatenate([self.sum_shapes, self._parts.shapes])

    def propose(self, sigma: Floats, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return one vector for each standard deviation, and the proposal it came from."""
        sums, proposal = self.propose_sums(sigma, entropy)
        cells = np.zeros((sigma.size, self._order.size), dtype=np.int64)
        cells[:, self._begins] = sums
        parts = Proposal.of(*self._parts.split(cells, sigma, entropy))
        return self.in_place(cells), Proposal.joined([proposal, parts], sigma.size)

    def in_place(self, drawn: IntArray) -> IntArray:
        """Return vectors in the order of their cells, from those with the cells of one sum after another."""
        cells = np.empty_like(drawn)
        cells[:, self._order] = drawn
        return cells


class Crossing(SumShape):
    """Proposals on the kernel of any full-rank integer matrix with few different columns."""

    def __init__(self, kinds: Patterns) -> None:
        super().__init__(kinds.size, np.argsort(kinds.of_cell, kind="stable"))
        columns, weights = kinds.columns.toarray(), np.sqrt(kinds.size)
        solved = solve_in_order(columns, np.arange(kinds.count)[None])
        if solved is None:
            self._basis = reduced_basis(columns).T
            form = self._basis.T @ (self._basis / kinds.size[:, None])
            self._factor = factor(form, 0.5 * float(np.linalg.eigvalsh(form)[0]), kinds.count)
            return
        free, closing = solved.free[0], solved.closing[0]
        self._basis = np.zeros((kinds.count, free.size), dtype=np.int64)
        self._basis[free, np.arange(free.size)] = 1
        self._basis[closing] = -solved.coefficients[0]
        # scaled by the widths of the free sums, the form has eigenvalues of 1 and more
        scaled = self._basis[closing] * weights[free] / weights[closing][:, None]
        unit = factor(scaled.T @ scaled + np.eye(free.size), 1.0, kinds.count)
        lower = unit.lower * (weights[free][:, None] / weights[free])
        self._factor = Factor(lower, unit.widths * weights[free])

    @property
    def sum_shapes(self) -> Floats:
        """The widths of the coordinates of the sums at variance 1."""
        return self._factor.widths

    def propose_sums(self, sigma: Floats, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return the sums for each standard deviation, and the proposal they came from."""
        widths = sigma[:, None] * self._factor.widths
        proposal = propose(self._factor.lower, widths, entropy, sigma.size)
        return proposal.coordinates @ self._basis.T, proposal


def crossing(system: csr_array) -> Crossing:
    """Return proposals on the kernel of a full-rank integer matrix.

    Raises SamplingError where it has too many different columns for dense algebra.
    """
    rows, cells = system.shape
    kinds = patterns(system)
    if kinds.count > MOST_KINDS or rows * kinds.count > MOST_ENTRIES:
        raise SamplingError(
            f"the invariants tie {cells:,} cells of {kinds.count:,} kinds together in other ways than whole"
            f" margins do, and Gaussian or l2 noise can then be drawn for {MOST_KINDS:,} kinds at most: keep"
            " whole margins, fewer invariants or coarser attributes."
        )
    return Crossing(kinds)
