"""The Gaussian law of a quadratic form on the kernel of an integer matrix, exactly.

q(z) is proportional to exp(-z'Fz / (2 sigma^2)), F a sum of squares of integer rows with rational strengths
[holdfast, lattice/forms.py]. Whole margins are proposed by halving axes (below), level by level of the tree
(tree_levels.py, by_levels.py), other forms coordinate by coordinate of a basis of the kernel; what is
proposed is kept with the probability of klein.py, z'Fz being worked out in integers and rationals where a
float does not decide.

**Whole margins**, each with a strength of its own, by halving every axis. z'Fz = sum_j c_j ||W_j z||^2 over
margins W_j, some margins of z being zero. All axes but one, the *tree*, are read by entries or not at all.
Read the others by halving, as in grid.py: a table is then the vectors Y_u over the tree, u = (u_1, ...,
u_q), and T(u) is the set of axes that are split in u. The residual spaces of these axes are spanned by the
u with one T, so F falls apart:

    z'Fz  =  sum_u (Y_u - M_u)' K_T (Y_u - M_u) / s_u^2,   T = T(u),
    K_T   =  sum over the levels l of the tree of k_l(T) B_l,

M_u being what the vectors before predict, s_u as in grid.py, B_l the sum of 1 1' over the nodes of level l,
and k_l(T) the sum of c_j times the number of cells outside of margin j over the j at level l with T among
their axes. So strengths change neither the order nor the predictions along these axes.

On the tree, B_l of different levels do not commute where nodes are unequal. Its own factors are used. With
v the variance that a node's sum would have by itself, and V the sum of its children's v,

    v = 1 / k_last at the leaves,   v = 1 / (k_l + 1 / V) above,

the sums S_c of a node's children given its own sum S are Gaussian with means S v_c / V and variances v less
v v' / V: halving the children as if each had the weight v_c (`HalvingStage`) gives the coordinates. Levels up
to the last at which a margin with T among its axes is kept are zero [theory, 13].
"""

from fractions import Fraction
from math import prod

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.forms import Form
from holdfast.lattice.kernel import reduced_basis, solve_in_order
from holdfast.lattice.margins import MarginStrategy
from holdfast.sampling.decisions import Real, ball_of, real, toss_coins
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.kernel_gaussian import COST, HOPELESS, PILOT, PILOT_SUMS
from holdfast.sampling.lattice.klein import (
    Proposal,
    chance_ball,
    check_width,
    factor,
    log_acceptance,
    log_chance,
    propose,
)
from holdfast.sampling.lattice.sum_shape import MOST_ENTRIES, SumShape
from holdfast.sampling.lattice.tree_levels import TreeLevels
from holdfast.sampling.lattice.tree_nodes import Given
from holdfast.sampling.rejection import first_accepted, rows_at_once
from holdfast.system.errors import SamplingError


class WeightedGrid(SumShape):
    """Proposals for integer tables over some axes, of which at most one has several levels: whole vectors.

    ``group`` says from how many entries on a node is halved; else each level has what costs least.
    """

    def __init__(self, margins: MarginStrategy, group: int | None = None, sigma: float = 1.0) -> None:
        self._tree = TreeLevels(margins, group, sigma)
        cells = prod(margins.shape)
        order = self._tree.in_place(np.arange(cells).reshape(1, *self._tree.shape))[0]
        super().__init__(np.ones(cells, dtype=np.int64), np.argsort(order))

    @property
    def sum_shapes(self) -> FloatArray:
        """The widths of the coordinates at variance 1."""
        return np.concatenate(
            [np.zeros(0), *(each for level in self._tree.levels for each in level.widths())]
        )

    def propose_sums(self, sigma: FloatArray, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return one table for each standard deviation, and the proposal it came from."""
        none = np.zeros((sigma.size, 0))
        found = [(none.astype(np.int64), none, none)]
        tables = self._tree.begin(sigma.size)
        for level in self._tree.levels:
            parts = [level.draw(piece, Given(tables), sigma, entropy) for piece in level.pieces]
            tables = np.concatenate([drawn for drawn, _ in parts], axis=-1)
            found += [one for _, some in parts for one in some]
        coordinates, centres, widths = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
        return tables.reshape(sigma.size, -1), Proposal.of(coordinates, centres, widths)


MOST_CELLS = 1500
"""Cells of a form that is dense."""


def weighted_shape(matrix: csr_array, form: Form, sigma: float) -> SumShape:
    """Return proposals for the laws of a form, good ones at a standard deviation.

    Raises SamplingError where the form is not one of whole margins, and has too many cells for dense algebra.
    """
    if form.margins is not None and len(form.margins.trees) <= 1:
        return WeightedGrid(form.margins, sigma=sigma)
    return dense_form(matrix, form)


def dense_form(matrix: csr_array, form: Form) -> "DenseForm":
    """Return proposals by dense algebra; raises SamplingError where a form has too many cells for it."""
    rows, cells = matrix.shape
    if cells > MOST_CELLS or rows * cells > MOST_ENTRIES:
        raise too_many_cells(cells)
    return DenseForm(matrix, form)


def too_many_cells(cells: int) -> SamplingError:
    """Return the error that a form has too many cells for dense algebra."""
    return SamplingError(
        "weighted queries other than whole margins, or with several geographies, are drawn for"
        f" {MOST_CELLS:,} cells at most, and this table has {cells:,}: ask for whole margins, or take coarser"
        " attributes."
    )


class DenseForm(SumShape):
    """Proposals for any form, positive on the kernel of a full-rank integer matrix of few cells."""

    def __init__(self, matrix: csr_array, form: Form) -> None:
        cells = form.cells
        super().__init__(np.ones(cells, dtype=np.int64), np.arange(cells))
        self._basis = kernel_basis(matrix.toarray())
        roots = np.sqrt(np.array([float(strength) for strength in form.strengths]))
        seen = (form.rows @ self._basis) * roots[:, None]
        dense = seen.T @ seen
        scale = 1 / np.sqrt(np.diagonal(dense))  # coordinates of like widths
        dense = dense * scale[:, None] * scale
        least = 0.5 * float(np.linalg.eigvalsh(dense)[0]) if cells > matrix.shape[0] else 1.0
        unit = factor(dense, max(least, 1e-300), max(cells, roots.size))
        self._lower: FloatArray = unit.lower * (scale[:, None] / scale)
        self._widths: FloatArray = unit.widths * scale

    @property
    def sum_shapes(self) -> FloatArray:
        """The widths of the coordinates at variance 1."""
        return self._widths

    def propose_sums(self, sigma: FloatArray, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return one vector for each standard deviation, and the proposal it came from."""
        proposal = propose(self._lower, sigma[:, None] * self._widths, entropy, sigma.size)
        return proposal.coordinates @ self._basis.T, proposal


def kernel_basis(matrix: IntArray) -> IntArray:
    """Return a basis of the integer kernel of a full-rank matrix as columns, free cells where that can be."""
    rows, cells = matrix.shape
    if not rows:
        return np.eye(cells, dtype=np.int64)
    solved = solve_in_order(matrix, np.arange(cells)[None])
    if solved is None:
        return reduced_basis(matrix).T
    free, closing = solved.free[0], solved.closing[0]
    basis = np.zeros((cells, free.size), dtype=np.int64)
    basis[free, np.arange(free.size)] = 1
    basis[closing] = -solved.coefficients[0]
    return basis


class FormGaussian:
    """Exact draws of exp(-z'Fz / (2 sigma^2)) on the kernel of a full-rank integer matrix of few cells."""

    floats = True

    def __init__(self, matrix: csr_array, form: Form, sigma_squared: Fraction) -> None:
        self._form, self._sigma_squared = form, sigma_squared
        self._sigma = float(sigma_squared) ** 0.5
        self._shape = dense_form(matrix, form)
        check_width(self._sigma * float(self._shape.sum_shapes.max(initial=0.0)))
        self.acceptance = self._predict()
        self.work = COST * form.cells / self.acceptance

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        most = rows_at_once(self._form.cells)
        return first_accepted(lambda n: self._attempt(entropy, n), size, chance=self.acceptance, most=most)

    def _attempt(self, entropy: Entropy, size: int) -> IntArray:
        cells, proposal, chance, margin = self._propose(entropy, size)

        def exact(i: int) -> Real:
            exponent = self._form.exact(cells[i]) / (2 * self._sigma_squared)
            return real(lambda: chance_ball(proposal, i, ball_of(exponent)))

        return cells[toss_coins(chance, margin, exact, entropy)]

    def _propose(self, entropy: Entropy, size: int) -> tuple[IntArray, Proposal, FloatArray, FloatArray]:
        """Return vectors, the proposals they came from, the log of the chance to keep them, and its error."""
        drawn, proposal = self._shape.propose_sums(np.full(size, self._sigma), entropy)
        cells = self._shape.in_place(drawn)
        squares, off = self._form.rounded(cells)
        twice = float(2 * self._sigma_squared)
        chance, margin = log_chance(proposal, squares / twice)
        return cells, proposal, chance, margin + off / twice

    def _predict(self) -> float:
        """Estimate the acceptance by a seeded pilot."""
        likely = log_acceptance(self._shape.sum_shapes, self._sigma)
        if likely < HOPELESS:
            return max(float(np.exp(likely)), 1e-300)
        size = max(1, min(PILOT, PILOT_SUMS // self._form.cells))
        chance = self._propose(SeededEntropy(0), size)[2]
        return max(float(np.exp(chance).mean()), 1e-300)
