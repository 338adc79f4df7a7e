"""The l2 Laplace law on a lattice, by a mixture of Gaussian laws of one variance each.

Target: exp(-epsilon r), r = ||z||_2, on {z : A z = 0}. With v^2 = epsilon r and variances (j / epsilon)^2,

    exp(-j^2 / 2 - r^2 epsilon^2 / (2 j^2))  =  exp(-epsilon r - (j - v^2 / j)^2 / 2),    j = 1, 2, ...,

so exp(-epsilon r) <= E(z) = 1(z = 0) + e^kappa sum_j exp(-j^2 / 2 - r^2 epsilon^2 / (2 j^2)) with
kappa = 25/32: some j has (j - v^2 / j)^2 / 2 <= kappa, namely j = 1 for v < 1, else the j nearest to v, as
|j - v| <= 1/2 and (j + v) / j <= 5/2. A draw takes j with a known probability pi_j, z from the proposal of
the lattice Gaussian law with standard deviation j / epsilon (z = 0 for j = 0), and keeps it with probability

    (exp(-epsilon r) / E(z))  (e^{kappa - j^2/2} prod rho_s(0) / (pi_j C))  a  <=  1,

a being the acceptance of that proposal (klein.py) and C the largest of the second factors.

About four draws in ten are kept, in any dimension. Beyond a last j the weights fall faster than 2^-j, since
rho_{a s}(0) <= a rho_s(0) for a >= 1; there pi_j halves from one j to the next.
"""

from fractions import Fraction
from math import ceil, log, log1p, sqrt
from typing import NamedTuple, Protocol

import flint
import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.forms import Form
from holdfast.lattice.product import AxisMargins
from holdfast.sampling.decisions import Real, ball_of, real, toss_coins
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.grid import any_grid
from holdfast.sampling.lattice.kernel_gaussian import COST, is_total
from holdfast.sampling.lattice.klein import SLACK as KLEIN_SLACK
from holdfast.sampling.lattice.klein import Proposal, chance_ball, check_width, log_chance
from holdfast.sampling.lattice.sum_shape import Halving, crossing
from holdfast.sampling.lattice.weighted import weighted_shape
from holdfast.sampling.numbers.gaussian import draw_near, log_sum, sum_ball
from holdfast.sampling.rejection import first_accepted, pilot_size, rows_at_once
from holdfast.system.errors import SamplingError

KAPPA = 25 / 32
SHARES = 1 << 62
SLACK = 2.0**-30
AROUND = 9
"""Terms of E to either side of v: what is left out is below e^-100 of the sum."""
PILOT = 512
"""Proposals that tell an acceptance: one in four to a tenth of itself, or better."""


class GaussianProposals(Protocol):
    """Proposals for the Gaussian laws of all variances on one lattice."""

    @property
    def shapes(self) -> FloatArray:
        """The widths of the coordinates at variance 1."""

    def propose(self, sigma: FloatArray, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return one vector for each standard deviation, and the proposal it came from."""


class ShapedCells(NamedTuple):
    """Components that share a lattice: their cells, one component a row, and proposals for one of them."""

    cells: IntArray
    shape: GaussianProposals


class RadialSampler:
    """Exact draws of exp(-epsilon ||z||_2) on the product of some lattices.

    With a ``form`` F, of which one lattice is drawn, the norm is the root of z'Fz.
    """

    floats = True

    def __init__(
        self,
        cells: int,
        groups: list[tuple[csr_array, IntArray]],
        epsilon: Fraction,
        margins: AxisMargins | None = None,
        form: Form | None = None,
    ) -> None:
        self._cells, self._epsilon, self._form = cells, epsilon, form
        sigma = sqrt(max(cells, 1)) / float(epsilon)  # about the one that is drawn most often
        self._groups = [
            ShapedCells(where, _shape_of(system, sigma, margins, form))
            for system, where in groups
            if system.shape[0] < system.shape[1]
        ]
        if not self._groups:
            raise SamplingError("the invariants fix every cell: there is no noise to draw.")
        self._settle()
        self.acceptance = self._predict()
        self.work = COST * cells / self.acceptance

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        most = rows_at_once(self._cells)
        return first_accepted(lambda n: self._attempt(entropy, n), size, chance=self.acceptance, most=most)

    def _settle(self) -> None:
        """Choose the probabilities of j: in proportion to the weights up to a last one, then halving."""
        widths, counts = self._widths()
        n = int(counts.sum())
        last = 8 + ceil(sqrt(n))
        while (2 * last + 1) / 2 - n * log1p(1 / last) < log(2):
            last += 1
        check_width((last + 1) / float(self._epsilon) * float(widths.max()))
        j = np.arange(1, last + 2)
        sums = np.array([float(counts @ log_sum(widths * (i / float(self._epsilon)))) for i in j])
        self._log_weights = np.concatenate([[0.0], KAPPA - j * j / 2 + sums])
        share = np.exp(self._log_weights - self._log_weights.max())
        share[-1] *= 2  # all beyond the last, together
        whole = np.maximum(np.ceil(share / share.sum() * SHARES), 1.0)
        shares = [int(w) for w in whole]
        shares[int(np.argmax(whole))] += SHARES - sum(shares)
        self._ends = np.cumsum(np.array(shares, dtype=np.int64))
        chances = np.array([s / SHARES for s in shares])
        chances[-1] /= 2
        self._shares, self._last, self._log_pi = shares, last, np.log(chances)
        self._log_c = float((self._log_weights - self._log_pi).max()) + SLACK

    def _widths(self) -> tuple[FloatArray, FloatArray]:
        """Return the distinct widths of all coordinates at variance 1, and how many have each."""
        shapes = np.concatenate([group.shape.shapes for group in self._groups])
        copies = np.concatenate(
            [np.full(group.shape.shapes.size, group.cells.shape[0]) for group in self._groups]
        )
        widths, place = np.unique(shapes, return_inverse=True)
        return widths, np.bincount(place, weights=copies.astype(np.float64)).astype(np.float64)

    def _draw_j(self, entropy: Entropy, size: int) -> IntArray:
        words = (entropy.words(size) & np.uint64(SHARES - 1)).astype(np.int64)
        j = np.searchsorted(self._ends, words, side="right")
        for i in np.flatnonzero(j > self._last):
            while entropy.words(1)[0] & np.uint64(1):
                j[i] += 1
        return j

    def _attempt(self, entropy: Entropy, size: int) -> IntArray:
        j = self._draw_j(entropy, size)
        z, proposal, squares = self._propose(j, entropy)
        chance, margin = self._log_chance(j, proposal, squares)

        def exact(i: int) -> Real:
            square = (
                Fraction(sum(int(v) ** 2 for v in z[i])) if self._form is None else self._form.exact(z[i])
            )
            return real(lambda: self._chance(int(j[i]), proposal, i, square))

        return z[toss_coins(chance, margin, exact, entropy)]

    def _propose(self, j: IntArray, entropy: Entropy) -> tuple[IntArray, Proposal, FloatArray]:
        """Return vectors, the proposals they came from, and their squared norms.

        For j = 0 the vector is drawn like the others, at j = 1, and set to zero: what it was drawn from is
        not used.
        """
        z = np.zeros((j.size, self._cells), dtype=np.int64)
        sigma = np.maximum(j, 1) / float(self._epsilon)
        parts: list[Proposal] = []
        for cells, shape in self._groups:
            drawn, proposal = shape.propose(np.repeat(sigma, cells.shape[0]), entropy)
            z[:, cells.ravel()] = drawn.reshape(j.size, cells.size)
            parts.append(proposal)
        z[j == 0] = 0
        squares = (z.astype(np.float64) ** 2).sum(axis=1) if self._form is None else self._form.squares(z)
        return z, Proposal.joined(parts, j.size), squares

    def _log_chance(
        self, j: IntArray, proposal: Proposal, squares: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        rate = float(self._epsilon)
        exponent = squares * rate * rate / (2.0 * np.maximum(j, 1) ** 2)
        chance, margin = log_chance(proposal, np.where(j > 0, exponent, proposal.squares))
        chance[j == 0] = -KLEIN_SLACK
        chance += self._log_share(np.sqrt(squares) * rate) - self._log_c
        chance += np.where(
            j <= self._last, (self._log_weights - self._log_pi)[np.minimum(j, self._last)], 0.0
        )
        far = np.flatnonzero(j > self._last)
        for i in far:  # never in practice: the weights beyond the last are below 2^-40 of the whole
            log_pi = self._log_pi[-1] - (int(j[i]) - self._last - 1) * log(2)
            chance[i] += self._log_weight(int(j[i])) - log_pi
        # a weight is a sum of one logarithm a coordinate
        return chance, margin + 2.0**-44 * (1 + proposal.centres.shape[1]) + 2.0**-46 * np.abs(self._log_c)

    def _log_weight(self, j: int) -> float:
        widths, counts = self._widths()
        return KAPPA - j * j / 2 + float(counts @ log_sum(widths * (j / float(self._epsilon))))

    def _log_share(self, square: FloatArray) -> FloatArray:
        """Return log(exp(-epsilon r) / E(z)) for v^2 = epsilon r."""
        v = np.sqrt(square)
        total = np.where(square == 0, 1.0, 0.0)
        first = np.maximum(np.rint(v) - AROUND, 1.0)
        for step in range(2 * AROUND + 1):
            j = first + step
            total += np.exp(KAPPA - (j - square / j) ** 2 / 2)
        return -np.log(total)

    def _chance(self, j: int, proposal: Proposal, draw: int, square: Fraction | int) -> flint.arb:
        """Return a ball around the probability with which a draw is kept."""
        rate = ball_of(self._epsilon)
        kappa = ball_of(KAPPA)
        v2 = rate * ball_of(square).sqrt()
        total = flint.arb(1 if square == 0 else 0)
        top = int(float(v2.upper()) ** 0.5) + 2 + int(sqrt(2 * flint.ctx.prec))
        for i in range(1, top):
            total += (kappa - (i - v2 / i) ** 2 / 2).exp()
        # beyond top, (i - v^2/i) grows by more than 1 a step: a geometric series with ratio 1/2
        total += flint.arb(0, (2 * (kappa - (top - v2 / top) ** 2 / 2).exp()).upper())
        value = 1 / total
        if j:
            exponent = rate * rate * ball_of(square) / (2 * j * j)
            value *= chance_ball(proposal, draw, exponent) * (kappa - flint.arb(j) ** 2 / 2).exp()
            for width in proposal.widths[draw].tolist():
                value *= sum_ball(width)
        else:
            value *= (-ball_of(KLEIN_SLACK)).exp()
        beyond = j - self._last - 1
        share = Fraction(self._shares[min(j, self._last + 1)], SHARES)
        pi = share if beyond < 0 else share / 2 ** (beyond + 1)
        return value / (ball_of(pi) * ball_of(self._log_c).exp())

    def _predict(self) -> float:
        """Estimate the acceptance by a seeded pilot."""
        entropy = SeededEntropy(0)
        size = pilot_size(PILOT, self._cells)
        j = self._draw_j(entropy, size)
        _, proposal, squares = self._propose(j, entropy)
        return max(float(np.exp(self._log_chance(j, proposal, squares)[0]).mean()), 1e-300)


def _shape_of(
    system: csr_array, sigma: float, margins: AxisMargins | None, form: Form | None
) -> GaussianProposals:
    """Return proposals for the kernel of a full-rank integer matrix, good ones at a standard deviation."""
    rows, cells = system.shape
    if form is not None:
        return weighted_shape(system, form, sigma)
    if not rows:
        return FreeShape(cells)
    if is_total(system):
        return Halving(cells)
    return any_grid(system, sigma, margins) or crossing(system)


class FreeShape:
    """Proposals for cells that no invariant touches."""

    def __init__(self, cells: int) -> None:
        self.shapes: FloatArray = np.ones(cells)

    def propose(self, sigma: FloatArray, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return one vector for each standard deviation, and the proposal it came from."""
        widths = np.repeat(sigma, self.shapes.size)
        drawn = draw_near(np.zeros(widths.size), widths, entropy).reshape(sigma.size, -1)
        return drawn, Proposal.of(drawn, np.zeros(drawn.shape), widths.reshape(drawn.shape))
