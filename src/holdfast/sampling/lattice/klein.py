"""Gaussian laws on a lattice, coordinate by coordinate [klein2000], with what is missing rejected.

q(z) is proportional to exp(-sum_e z_e^2 / (2 tau_e)) on the lattice of all z = B c, c integer. With
Q = B' diag(1/tau) B = U' diag(1/s^2) U, U lower triangular with ones on its diagonal,

    sum_e z_e^2 / tau_e  =  c' Q c  =  sum_i (c_i - m_i)^2 / s_i^2,   m_i = -sum_{j<i} U_ij c_j,

so c_1, c_2, ... are drawn in turn, each from the discrete Gaussian law at m_i with width s_i (`draw_near`).
Their joint probability is prod exp(-(c_i - m_i)^2 / (2 s_i^2)) / rho_{s_i}(m_i), and accepting with
probability

    a = exp(-sum z_e^2 / (2 tau_e) + sum (c_i - m_i)^2 / (2 s_i^2) - SLACK) prod rho_{s_i}(m_i) / rho_{s_i}(0)

is exact. U, s and every m_i are computed in floats, and *taken as what they are*: the probability of a
proposal is exact however they were rounded, and only a <= 1 asks for more. Widths are stretched a little, so
that the second sum falls short of the first: by more than what the rounding of Q and of its factors can add
[higham2002, Theorem 10.3]. SLACK covers the rounding of m_i; [theory, 6] has the bound. An a above 1 is never
taken for 1: it raises.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import flint
import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.decisions import ball_of
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.gaussian import SUM_ERROR, draw_near, log_sum_ratio, sum_ratio_ball
from holdfast.system.errors import SamplingError

TINY, MOST_STRETCH = 2.0**-40, 2.0**-8
SLACK = 2.0**-20
WIDEST, FARTHEST = 2.0**49, 1 << 53
"""The width of a coordinate, and the integers that are floats."""


@dataclass(frozen=True, eq=False)
class Factor:
    """U and s, for one quadratic form or for a stack of them; ``lower`` has zeros on its diagonal."""

    lower: FloatArray
    widths: FloatArray

    def take(self, some: IntArray) -> "Factor":
        """Return some forms of a stack."""
        return Factor(self.lower[some], self.widths[some])


@dataclass(frozen=True, eq=False)
class Proposal:
    """Coordinates c, the centres m and widths s they were drawn at, one draw a row, and two sums.

    ``squares`` is sum (c - m)^2 / (2 s^2), ``log_ratio`` sum log(rho_s(m) / rho_s(0)).
    """

    coordinates: IntArray
    centres: FloatArray
    widths: FloatArray
    squares: FloatArray
    log_ratio: FloatArray

    @classmethod
    def of(cls, coordinates: IntArray, centres: FloatArray, widths: FloatArray) -> "Proposal":
        """Add up what the acceptance needs."""
        if np.abs(coordinates).max(initial=0) >= FARTHEST:
            raise ArithmeticError("a coordinate of a lattice Gaussian law is beyond the integers of floats")
        squares = (((coordinates - centres) / widths) ** 2).sum(axis=1) / 2
        ratio = log_sum_ratio(centres.ravel(), widths.ravel()).reshape(centres.shape).sum(axis=1)
        return cls(coordinates, centres, widths, squares, ratio)

    @classmethod
    def joined(cls, parts: Sequence["Proposal"], size: int) -> "Proposal":
        """Put independent proposals, some of several components a draw, side by side into ``size`` rows."""
        return cls(
            np.concatenate([part.coordinates.reshape(size, -1) for part in parts], axis=1),
            np.concatenate([part.centres.reshape(size, -1) for part in parts], axis=1),
            np.concatenate([part.widths.reshape(size, -1) for part in parts], axis=1),
            np.stack([part.squares.reshape(size, -1).sum(axis=1) for part in parts]).sum(axis=0),
            np.stack([part.log_ratio.reshape(size, -1).sum(axis=1) for part in parts]).sum(axis=0),
        )

    def take(self, some: IntArray) -> "Proposal":
        """Return some draws."""
        return Proposal(
            self.coordinates[some],
            self.centres[some],
            self.widths[some],
            self.squares[some],
            self.log_ratio[some],
        )


def check_width(width: float) -> None:
    """Raise SamplingError where coordinates would be too wide for floats to hold them."""
    if not width <= WIDEST:
        raise SamplingError(
            f"noise with a standard deviation of {width:.1e} in some sum of cells cannot be drawn in 64-bit"
            " integers: ask for less noise."
        )


def factor(forms: FloatArray, least: float, cells: int) -> Factor:
    """Factor positive definite forms Q, one or a stack; ``least`` is at most their least eigenvalues.

    The entries of Q are sums over ``cells`` cells, right to a few roundings a term.
    """
    size = forms.shape[-1]
    try:
        # Q with its order turned round is L L'; turned back, L is U' with its columns scaled
        root = np.linalg.cholesky(forms[..., ::-1, ::-1])[..., ::-1, ::-1]
    except np.linalg.LinAlgError:
        raise SamplingError(TOO_CLOSE) from None
    residual = 2.0**-50 * cells * (cells + 1) * np.linalg.norm(forms, axis=(-2, -1))
    stretch = np.maximum(4 * residual / least, TINY)
    if not np.all(stretch <= MOST_STRETCH):
        raise SamplingError(TOO_CLOSE)
    scale = np.diagonal(root, axis1=-2, axis2=-1)
    lower = np.swapaxes(root / scale[..., None, :], -1, -2).copy()
    lower[..., np.arange(size), np.arange(size)] = 0.0
    return Factor(lower, (1 + stretch[..., None]) / scale)


def log_acceptance(shapes: FloatArray, sigma: float) -> float:
    """Return about the log of the share of proposals that is kept: -2 exp(-2 pi^2 s^2) a coordinate."""
    return float(-2 * np.exp(-2 * (np.pi * sigma * shapes) ** 2).sum())


TOO_CLOSE = "the invariants tie the cells too closely for floating point: keep fewer or coarser ones."


def propose(lower: FloatArray, widths: FloatArray, entropy: Entropy, size: int) -> Proposal:
    """Draw coordinates in turn; ``lower`` and ``widths`` are of one form or one a draw."""
    count = widths.shape[-1]
    coordinates = np.zeros((size, count), dtype=np.int64)
    known, centres = np.zeros((size, count)), np.zeros((size, count))
    widths = np.broadcast_to(widths, (size, count))
    for i in range(count):
        if lower.ndim == 2:
            centre = -(known[:, :i] @ lower[i, :i])
        else:
            centre = -np.einsum("bi,bi->b", known[:, :i], lower[:, i, :i])
        coordinates[:, i] = known[:, i] = draw_near(centre, widths[:, i], entropy)
        centres[:, i] = centre
    return Proposal.of(coordinates, centres, widths)


def log_chance(proposal: Proposal, exponent: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log a and a bound on its error; ``exponent`` is sum z_e^2 / (2 tau_e), right to 2^-48."""
    chance = proposal.squares - exponent - SLACK + proposal.log_ratio
    if not np.all(chance <= -SLACK / 2):
        raise ArithmeticError("a proposal of a lattice Gaussian law falls short of it")
    margin = proposal.centres.shape[1] * (SUM_ERROR + 2.0**-50 * (exponent + proposal.squares))
    return chance, margin + 2.0**-44


def chance_ball(proposal: Proposal, draw: int, exponent: flint.arb) -> flint.arb:
    """Return a ball around a for one draw, at the working precision; ``exponent`` is a ball, too."""
    total = -exponent - ball_of(SLACK)
    product = flint.arb(1)
    rows = (proposal.coordinates, proposal.centres, proposal.widths)
    for c, m, s in zip(*(row[draw].tolist() for row in rows), strict=True):
        total += (flint.arb(c) - ball_of(m)) ** 2 / (2 * ball_of(s) ** 2)
        product *= sum_ratio_ball(m, s)
    return total.exp() * product
