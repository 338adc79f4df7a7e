"""The weights of least variance at a budget, and of least budget at variances: two convex programs.

A form has a weight k_s >= 0 for each space s. A sum that is asked for has the variance sum_s E_is g_s(k),
with g convex and homogeneous of degree -1 (1 / k_s where there is no geography), and one record that moves
in some way u loses sum_s A_us k_s of rho [theory, 13; holdfast, mechanisms/weights/spaces.py]. Over P = {k >=
floors, A k <= 1},

    least variance    min of sum_i w_i E_i g(k)
    least budget      min of max_i E_i g(k) / v_i:  at k times that number, all E_i g are v_i at most.

Both are the second, with one row or many. An interior point method finds weights, and a bound proves them.

*The bound.* For l >= 0 that sum to 1 let f(k) = sum_i l_i E_i g(k) at the weights found, h = -f' >= 0. As f
is convex and f(k / s) = s f(k), every k' in P has f(k') >= 2 s f(k) - s^2 h.k' for all s > 0. If y >= 0 has
A'y >= h, then h.k' <= y.(1 - A floors) + h.floors = G, and s = f(k) / G gives f(k') >= f(k)^2 / G. Nothing
but l, y and the weights need be believed, however they were found.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from holdfast.lattice.arrays import BoolArray, FloatArray
from holdfast.system.errors import GuaranteeError

GAP = 1e-8
"""The relative gap at which the method ends."""
CLAIMED = 1e-6
"""The relative gap that is claimed."""
MOST_STEPS = 100
NEARER = 0.1
"""The part of mu that is left after a step."""
BINDS = 1e-5
"""The price, of 1 in all, from which a row binds."""


class Variances(Protocol):
    """The variances g of spaces as a function of all weights."""

    def at(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return g and its derivatives, one row a space."""
        ...

    def curvature(self, weights: FloatArray, of: FloatArray) -> FloatArray:
        """Return the second derivatives of the sum of g by ``of``."""
        ...


@dataclass(frozen=True, eq=False)
class WeightProgram:
    """Weights that may be: what moves lose, one row each and 1 at most, the least of each, and variances."""

    variances: Variances
    moves: FloatArray
    floors: FloatArray
    start: FloatArray
    """Weights with room on all sides."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Weights, their value, a lower bound of all values, and what holds the value up."""

    weights: FloatArray
    value: float
    bound: float
    prices: FloatArray
    """How much of the value each row holds up; they sum to 1. A budget falls by price times 1 % where the
    variance of the row may rise by 1 %."""
    losses: FloatArray
    """y: how much each move does."""

    @property
    def gap(self) -> float:
        """How far the value is from the bound, relative to it."""
        return self.value / self.bound - 1

    @property
    def binds(self) -> BoolArray:
        """The rows that hold the value up."""
        return np.asarray(self.prices > BINDS)


def least_variance(program: WeightProgram, sums: FloatArray, shares: FloatArray) -> Optimum:
    """Return the weights of the least sum of variances by ``shares``; ``sums`` has a row E_i for each."""
    return _minimised(program, (shares @ sums)[None])


def least_budget(program: WeightProgram, sums: FloatArray, most: FloatArray) -> Optimum:
    """Return the weights of the least budget at which every row of ``sums`` has its variance at ``most``.

    The value is the budget, in units of that which makes a row of ``program.moves`` 1, and the weights are
    those at this budget.
    """
    found = _minimised(program, sums / most[:, None])
    return Optimum(found.weights * found.value, found.value, found.bound, found.prices, found.losses)


def bound_of(
    program: WeightProgram, rows: FloatArray, weights: FloatArray, prices: FloatArray, losses: FloatArray
) -> float:
    """Return the lower bound that prices and losses prove at some weights; 0 where they prove nothing."""
    if (prices < 0).any() or (losses < 0).any() or not prices.sum() > 0:
        return 0.0
    variances, slopes = program.variances.at(weights)
    aim = prices @ rows / prices.sum()
    value, falls = float(aim @ variances), -(aim @ slopes)
    covered = losses @ program.moves
    if ((covered <= 0) & (falls > 0)).any():
        return 0.0
    needed = float(np.divide(falls, covered, out=np.zeros_like(falls), where=falls > 0).max(initial=0.0))
    room = 1 - program.moves @ program.floors
    least = needed * float(losses @ room) + float(falls @ program.floors)
    return value * (value / least) if least > 0 else 0.0


def _minimised(program: WeightProgram, rows: FloatArray) -> Optimum:
    """Minimise the largest of ``rows`` times g over the program.

    Minimise t over k, t and s >= 0 with E_i g(k) + s_i = t, by steps of Newton's method towards

        D'l + A'y = z,   sum l = 1,   s_i l_i = (1 - A k)_j y_j = (k - floors)_s z_s = mu,

    D having the derivatives of the rows and mu falling. Weights stay within; what l and y prove is checked at
    every step.
    """
    A, k = program.moves, program.start
    scale = float((rows @ program.variances.at(k)[0]).max())
    rows = rows / scale
    top = 2.0  # the largest row is 1 at the start
    slack = top - rows @ program.variances.at(k)[0], 1 - A @ k, k - program.floors
    mu = 1 / float((1 / slack[0]).sum())
    duals = tuple(mu / each for each in slack)
    count, nearer, best = sum(map(len, slack)), NEARER, _found(program, rows, k, duals[0], duals[1])
    for _ in range(MOST_STEPS):
        if best.gap <= GAP:
            break
        mu = nearer * sum(float(s @ d) for s, d in zip(slack, duals, strict=True)) / count
        g, slopes = program.variances.at(k)
        D, off = rows @ slopes, rows @ g + slack[0] - top
        a, b, c = (d / s for s, d in zip(slack, duals, strict=True))
        H = program.variances.curvature(k, duals[0] @ rows) + (D.T * a) @ D + (A.T * b) @ A + np.diag(c)
        across, pull = -(a @ D), mu / slack[0] + a * off
        whole = np.block([[H, across[:, None]], [across[None], a.sum().reshape(1, 1)]])
        right = np.append(mu / slack[2] - pull @ D - (mu / slack[1]) @ A, pull.sum() - 1)
        size = 1 / np.sqrt(np.diagonal(whole))  # weights differ by orders of magnitude
        step = size * np.linalg.solve(whole * size[:, None] * size, right * size)
        dk, dt = step[:-1], float(step[-1])
        moved = dt - off - D @ dk, -(A @ dk), dk
        turned = tuple((mu - d * (s + m)) / s for s, d, m in zip(slack, duals, moved, strict=True))
        sides = zip((*slack, *duals, k / 2), (*moved, *turned, dk), strict=True)
        length = min(1.0, *(_longest(values, steps) for values, steps in sides))
        nearer = NEARER if length > 0.9 else 0.4
        top += length * dt
        slack, duals = (
            tuple(each + length * step for each, step in zip(*pair, strict=True))
            for pair in ((slack, moved), (duals, turned))
        )
        k = program.floors + slack[2]
        best = min(best, _found(program, rows, k, duals[0], duals[1]), key=lambda each: each.gap)
    if not best.gap <= CLAIMED:
        raise GuaranteeError("the weights of least error were not found to a millionth.")
    return Optimum(best.weights, best.value * scale, best.bound * scale, best.prices, best.losses * scale)


def _longest(values: FloatArray, steps: FloatArray) -> float:
    """Return most of the longest step that leaves values positive."""
    falls = steps < 0
    return 0.99 * float((-values[falls] / steps[falls]).min(initial=np.inf))


def _found(
    program: WeightProgram, rows: FloatArray, k: FloatArray, prices: FloatArray, losses: FloatArray
) -> Optimum:
    """Return weights, scaled to use the budget whole, with their bound."""
    spent = float((program.moves @ k).max())
    k = k / spent  # more than before, so that floors are kept
    value = float((rows @ program.variances.at(k)[0]).max())
    shares = prices / prices.sum()
    return Optimum(k, value, max(bound_of(program, rows, k, shares, losses), 1e-300), shares, losses)
