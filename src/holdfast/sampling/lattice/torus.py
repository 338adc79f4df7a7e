"""The l1 Laplace law on {z : A z = 0}, by way of the torus: for many crossing invariants at once.

Notation: A is k x d, and every cell is in a basis of cells with determinant 1 or -1; N the grid of angles;
x = A' theta, one angle a cell.

**Walks.** A double geometric variable is where a lazy walk stands after a geometric number of steps: with
k_e of law (1 - s) s^k, s = 1 / cosh^2(epsilon / 2), and z_e + k_e binomial of 2 k_e fair coins,
P(z_e) is proportional to exp(-epsilon |z_e|). Its characteristic function is
phi(x) = (1 - s) / (1 - s cos^2(pi x / N)) = 1 / (1 + sin^2(pi x / N) / sinh^2(epsilon / 2)).

**Angles.** 1(A z = 0 mod N) is the mean of exp(2 pi i theta' A z / N) over the grid theta in Z_N^k. So the
law of (theta, k) with weight prod_e (s cos^2(pi x_e / N))^{k_e}, all terms positive, has the k-marginal
prod s^{k_e} P(A z = 0 mod N | k), which is that of the walks given A z = 0. Hence

1. theta is drawn with weight prod phi(x_e). For bases T of cells, chosen with probability w_T, and
   p_e = P(e in T), the weighted means of arithmetic and geometry give

       prod_e phi_e  <=  sum_T w_T prod_{e in T} phi_e^{1/p_e}  <=  sum_T w_T prod_{e in T} G_e P_e(x_e):

   draw T, draw its angles from P_e (angle.py), solve for the others, accept with the ratio. The share
   accepted depends on the p_e alone: the bases are chosen greedily to use all cells equally often.
2. Given theta, the k_e are independent geometric variables with ratio s cos^2(pi x_e / N).
3. Given k, z has weight prod C(2 k_e, k_e + z_e) on A z = 0: drawn by rejection from a lattice Gaussian
   (klein.py) with variances tau_e = (2 k_e + 1) / 4, for

       C(2k, k + z) / C(2k, k)  <=  exp(-2 z^2 / (2k + 1)),

   as log((m + y) / (m - y)) >= 2 y / m with m = k + 1/2, y = j - 1/2, summed over j = 1..|z|. (Where k = 0
   any tau will do.) Cells with large tau are solved for, those with small tau are drawn first.

If the k_e of some row of A sum to N or more, A z = 0 mod N does not give A z = 0. A step more has a chance
of at most s < exp(-epsilon^2 / 5) for epsilon <= 1, so with N = 2^46 and epsilon >= 10^-4 that has a
probability below 2^-1000; it raises.

Floats decide where they are clear, enclosures elsewhere; the steps of angle.py let most proposals be rejected
by a few lookups.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log, log1p, pi, sinh

import flint
import numpy as np
import scipy

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.lattice.kernel import Elimination, solve_in_order
from holdfast.sampling.decisions import (
    LazyUniform,
    Real,
    ball_of,
    blur,
    compare,
    decide_coins,
    least,
    real,
    toss_coins,
    uniforms,
)
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.angle import GRID, Angle, log_phi, whole_shares
from holdfast.sampling.lattice.klein import Factor, chance_ball, factor, log_chance, propose
from holdfast.sampling.rejection import first_accepted, until_accepted
from holdfast.system.errors import SamplingError

SMALLEST, LARGEST = Fraction(1, 10**4), Fraction(20)
"""The rates that a grid of angles serves."""
MOST_BASES = 64
MOST_ORDERS, MOST_SUM = 40, 64
"""Bases that share the angles, orders of cells tried for each, and the largest sum of coefficients of a cell:
the first two are limits of patience, before any draw."""
NO_BASIS = "no angles of some cells determine all others, in integers."
SHARES = 1 << 30
"""What the shares of all bases add up to."""
BATCH = 1 << 12
"""Angles proposed at once."""
SLICE = 512
"""Angles compared at once: they stay in the cache."""
STACK_ENTRIES = 1 << 21
"""Entries of the quadratic forms of all tables drawn at once."""
MOST_TIMES = 16
"""How often a table is tried at once."""
PILOT_ANGLES = 1 << 14
"""Angles of a pilot: an acceptance of one in a hundred is then known to a tenth of itself, or better."""
STILL = 1 / 64
"""The variance proposed for a cell whose walk has no steps."""
RARE = 1e-4
"""Angles accepted less often are not drawn for a pilot."""
PHI_ERROR, STEP_ERROR = 2.0**-46, 2.0**-44
"""What a logarithm of phi, and a number of steps, may be off by."""
LEAST_UNIFORM = 2.0**-60
"""Below it the logarithm of a uniform number is too blurred to decide."""
COST_ANGLE, COST_CELL = 0.2, 15.0
"""What an angle and a cell of an accepted draw cost, in integers at `CELLS_PER_SECOND`.

At epsilon 1/4 they tell 268, 770 and 2,070 integers for one draw of 4 x 4, 6 x 6 and 8 x 8 cells; CPU times
said 250, 890 and 3,600 (tables as "l1, n x n" of `benchmarks/lattice.py`, drawn by angles).
"""


@dataclass(frozen=True, eq=False)
class AngleBasis:
    """Cells whose angles determine all others: x = x_T E."""

    cells: IntArray
    expand: FloatArray


class Torus:
    """Exact draws of the l1 Laplace law on the kernel of an integer matrix of full rank."""

    floats = True

    def __init__(self, system: IntArray, epsilon: Fraction) -> None:
        if not SMALLEST <= epsilon <= LARGEST:
            raise SamplingError("the noise is too wide or too narrow for a grid of angles.")
        self._system, self._epsilon = system, epsilon
        self._cells = system.shape[1]
        self._bases, uses = balanced_bases(system)
        count = len(self._bases)
        powers = [Fraction(count, int(u)) for u in uses]
        kinds = {power: Angle(epsilon, power) for power in set(powers)}
        self._angles = [kinds[power] for power in powers]
        self._kinds = list(kinds.values())
        self._kind = np.array([self._kinds.index(angle) for angle in self._angles])
        self._member = np.zeros((self._cells, count))
        for t, basis in enumerate(self._bases):
            self._member[basis.cells, t] = 1.0
        # a basis is drawn with weight prod G_e over its cells
        log_g = np.array([angle.log_g for angle in self._angles])
        self._log_mass = log_g @ self._member
        self._shares = whole_shares(np.exp(self._log_mass - self._log_mass.max()), SHARES)
        # the proposal's density is exact: sum_T share_T prod P_e; it is scaled by the largest w G / share
        self._log_shares = np.log(self._shares / SHARES)
        self._log_scale = float((self._log_mass - log(count) - self._log_shares).max()) + 2.0**-30
        self._log_s = -log1p(sinh(float(epsilon) / 2) ** 2)
        self.angle_acceptance = self._predict_angles()
        self.acceptance = self.angle_acceptance * self._predict_cells()
        self.work = self._cells * (
            COST_ANGLE / self.angle_acceptance + COST_CELL * self.angle_acceptance / self.acceptance
        )

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        draws = np.empty((size, self._cells), dtype=np.int64)
        stack = max(16, STACK_ENTRIES // (self._cells - self._system.shape[0]) ** 2)
        for begin in range(0, size, stack):
            block = draws[begin : begin + stack]
            x = self._draw_angles(entropy, block.shape[0])
            block[:] = Walks(self._system, self._draw_steps(x, entropy)).draw(entropy)[0]
        return draws

    def _draw_angles(self, entropy: Entropy, size: int) -> FloatArray:
        return first_accepted(
            lambda n: self._attempt(entropy, n), size, chance=self.angle_acceptance, most=BATCH
        )

    def _propose(self, entropy: Entropy, size: int) -> FloatArray:
        """Propose angles, in the order of their bases as drawn: the first accepted ones then have the law."""
        words = (entropy.words(size) & np.uint64(SHARES - 1)).astype(np.int64)
        of = np.searchsorted(np.cumsum(self._shares), words, side="right")
        counts = np.bincount(of, minlength=len(self._bases))
        needed = self._member.T @ (self._kind[:, None] == np.arange(len(self._kinds)))  # bases x kinds
        sizes = (counts @ needed).astype(np.int64)
        drawn = [angle.sample(entropy, int(n)) for angle, n in zip(self._kinds, sizes, strict=True)]
        whole = np.empty((size, self._cells))
        for t in np.flatnonzero(counts):
            basis = self._bases[t]
            x = np.empty((counts[t], basis.cells.size))
            for kind in range(len(self._kinds)):
                alike = np.flatnonzero(self._kind[basis.cells] == kind)
                x[:, alike] = drawn[kind][: counts[t] * alike.size].reshape(counts[t], alike.size)
                drawn[kind] = drawn[kind][counts[t] * alike.size :]
            whole[of == t] = x @ basis.expand
        whole = whole[~np.isnan(whole.sum(axis=1))]
        whole -= GRID * np.floor(whole / GRID + 0.5)
        angles: FloatArray = whole
        return angles

    def _log_bound(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log of the proposal's density, scaled, and an upper bound on log prod phi."""
        density, upper = np.empty(x.shape[0]), np.empty(x.shape[0])
        for begin in range(0, x.shape[0], SLICE):
            part = slice(begin, begin + SLICE)
            log_p, above = np.empty(x[part].shape), np.zeros(x[part].shape[0])
            for kind, angle in enumerate(self._kinds):
                mine = slice(None) if len(self._kinds) == 1 else np.flatnonzero(self._kind == kind)
                steps = angle.steps(x[part, mine])
                log_p[:, mine] = angle.log_p[steps]
                above += angle.log_phi[steps].sum(axis=1)
            exponents = log_p @ self._member + self._log_shares
            highest = exponents.max(axis=1)
            density[part] = highest + np.log(np.exp(exponents - highest[:, None]).sum(axis=1))
            upper[part] = above
        return density + self._log_scale, upper

    def _attempt(self, entropy: Entropy, size: int) -> FloatArray:
        x = self._propose(entropy, size)
        density, upper = self._log_bound(x)
        words = entropy.words(x.shape[0])
        uniform = uniforms(words)
        low, unsure = compare(uniform, np.exp(np.minimum(upper - density + 2.0**-20, 1.0)), blur(uniform))
        some = np.flatnonzero(low | unsure)
        x, density = x[some], density[some]
        log_a = log_phi(x, float(self._epsilon)).sum(axis=1) - density
        margin = PHI_ERROR * (self._cells + np.abs(density)) * (1 + self._cells / 64)
        return x[decide_coins(words[some], log_a, margin, lambda i: self._chance(x[i]), entropy)]

    def _chance(self, x: FloatArray) -> Real:
        """Return the acceptance of angles, to any precision."""
        points = [int(v) for v in x]
        shares = [Fraction(int(s), SHARES) for s in self._shares]
        density = sum(
            share * _product([self._angles[e].probability(points[e]) for e in basis.cells])
            for share, basis in zip(shares, self._bases, strict=True)
        )

        def ball() -> flint.arb:
            half = ball_of(self._epsilon) / 2
            wide = half.sinh() ** 2
            value = flint.arb(1)
            for v in points:
                value /= 1 + (flint.arb.pi() * v / int(GRID)).sin() ** 2 / wide
            return value / (ball_of(Fraction(density)) * ball_of(self._log_scale).exp())

        return real(ball)

    def _draw_steps(self, x: FloatArray, entropy: Entropy) -> IntArray:
        """Draw the number of steps of each walk: geometric with ratio s cos^2(pi x / N)."""
        words = entropy.words(x.size).reshape(x.shape)
        uniform = uniforms(words)
        log_ratio = self._log_s + _log_square_cosine(x)
        places = np.log(uniform) / log_ratio  # k is the largest integer below it
        margin = (places + 1) * STEP_ERROR - 2 * blur(uniform) / (uniform * log_ratio)
        unsure = compare(places, np.rint(places), margin)[1] | (uniform < LEAST_UNIFORM)
        steps: IntArray = np.maximum(np.ceil(places) - 1, 0).astype(np.int64)
        for i, e in np.argwhere(unsure):
            u = LazyUniform(int(words[i, e]), 64, entropy)
            steps[i, e] = self._steps_exactly(int(x[i, e]), int(steps[i, e]), u)
        if np.any(np.abs(self._system) @ steps.T.astype(np.float64) >= GRID):
            raise ArithmeticError("walks are longer than the grid of angles")
        return steps

    def _steps_exactly(self, x: int, guess: int, uniform: LazyUniform) -> int:
        def at_most(k: int) -> bool:  # U >= ratio^{k+1}
            def ball() -> flint.arb:
                cosine = (flint.arb.pi() * x / int(GRID)).cos() / (ball_of(self._epsilon) / 2).cosh()
                return (cosine * cosine) ** (k + 1)

            return k >= 0 and not uniform.is_below(real(ball))

        return 0 if 2 * abs(x) == GRID else least(at_most, guess)

    def _predict_angles(self) -> float:
        x = self._propose(SeededEntropy(0), PILOT_ANGLES)
        log_a = log_phi(x, float(self._epsilon)).sum(axis=1) - self._log_bound(x)[0]
        return max(float(np.exp(log_a).sum()) / PILOT_ANGLES, 1e-300)

    def _predict_cells(self) -> float:
        """Estimate the share of lattice Gaussians that is kept, by a seeded pilot."""
        if self.angle_acceptance < RARE:
            return 0.3
        entropy = SeededEntropy(1)
        x = self._draw_angles(entropy, 16)
        _, tries = Walks(self._system, self._draw_steps(x, entropy)).draw(entropy)
        return 16 / tries


class Walks:
    """Draws of z with weight prod C(2 k_e, k_e + z_e) on A z = 0, one for each row of k."""

    def __init__(self, system: IntArray, k: IntArray) -> None:
        self._k = k
        self._tau = np.where(k > 0, (2 * k + 1) / 4, STILL)
        solved = solve_in_order(system, np.argsort(-self._tau, axis=1, kind="stable"))
        if solved is None:  # some pivot is not 1 or -1: solve for the same cells in every table
            solved = solve_in_order(system, np.repeat(solvable_order(system)[None], k.shape[0], axis=0))
        if solved is None:
            raise SamplingError(NO_BASIS)
        self._closing, self._free = solved.closing, solved.free[:, ::-1]
        self._matrix = solved.coefficients[:, :, ::-1].astype(np.float64)

    @cached_property
    def _factor(self) -> Factor:
        """Factor Q scaled by the free cells' tau: its eigenvalues are then at least 1."""
        free = np.sqrt(np.take_along_axis(self._tau, self._free, axis=1))
        closing = np.sqrt(np.take_along_axis(self._tau, self._closing, axis=1))
        scaled = self._matrix * free[:, None, :] / closing[:, :, None]
        forms = np.swapaxes(scaled, 1, 2) @ scaled
        forms[:, np.arange(forms.shape[1]), np.arange(forms.shape[1])] += 1.0
        unit = factor(forms, 1.0, self._k.shape[1])
        return Factor(unit.lower * (free[:, :, None] / free[:, None, :]), unit.widths * free)

    def draw(self, entropy: Entropy) -> tuple[IntArray, int]:
        """Return one draw a row, and how many proposals they took."""
        draws = np.empty(self._k.shape, dtype=np.int64)
        tries = until_accepted(lambda rows: self._attempt(rows, entropy), draws, times=MOST_TIMES)
        return draws, tries

    def _attempt(self, rows: IntArray, entropy: Entropy) -> tuple[IntArray, BoolArray]:
        factors = self._factor.take(rows)
        proposal = propose(factors.lower, factors.widths, entropy, rows.size)
        z = np.zeros((rows.size, self._k.shape[1]), dtype=np.int64)
        np.put_along_axis(z, self._free[rows], proposal.coordinates, axis=1)
        closing = -np.einsum("bkm,bm->bk", self._matrix[rows], proposal.coordinates.astype(np.float64))
        np.put_along_axis(z, self._closing[rows], closing.astype(np.int64), axis=1)
        k = self._k[rows]
        possible = np.flatnonzero((np.abs(z) <= k).all(axis=1))
        exponent, error = _log_binomials(k[possible], z[possible])
        some = proposal.take(possible)
        chance, margin = log_chance(some, exponent)

        def exact(i: int) -> Real:
            row = possible[i]
            return real(lambda: chance_ball(proposal, int(row), _binomials_ball(k[row], z[row])))

        kept = np.zeros(rows.size, dtype=np.bool_)
        kept[possible[toss_coins(chance, margin + error, exact, entropy)]] = True
        return z, kept


def _log_square_cosine(x: FloatArray) -> FloatArray:
    """Return log cos^2(pi x / N), right relatively; where the cosine is 0 it is that of the next angle."""
    outer = np.abs(x) > GRID / 4
    sine = np.sin(np.where(outer, np.maximum(GRID / 2 - np.abs(x), 1.0), x) * (pi / GRID))
    square = sine * sine
    return np.where(outer, np.log(np.where(outer, square, 1.0)), np.log1p(-np.where(outer, 0.0, square)))


def _log_binomials(k: IntArray, z: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the sum over cells of -log(C(2k, k + z) / C(2k, k)), and a bound on its error."""
    log_gamma = scipy.special.gammaln
    n, m = k.astype(np.float64), np.abs(z).astype(np.float64)
    large = (n >= 1000) & (n - m > 100)
    small = np.where(
        large,
        0.0,
        log_gamma(n + m + 1) + log_gamma(n - m + 1) - 2 * log_gamma(n + 1),
    )
    big, part = np.where(large, n, 1e3), np.where(large, m, 0.0)
    up, down = big + part, big - part

    def stirling(v: FloatArray) -> FloatArray:
        return 1 / (12 * v) - 1 / (360 * v**3) + 1 / (1260 * v**5)

    series = (up + 0.5) * np.log1p(part / big) + (down + 0.5) * np.log1p(-part / big)
    series += stirling(up) + stirling(down) - 2 * stirling(big)
    total = np.where(large, series, small).sum(axis=1)
    scale = np.where(large, part, np.where(m > 0, log_gamma(n + m + 1), 0.0)).sum(axis=1)
    return total, 2.0**-46 * (scale + k.shape[1])


def _binomials_ball(k: IntArray, z: IntArray) -> flint.arb:
    total = flint.arb(0)
    for n, m in zip(k.tolist(), np.abs(z).tolist(), strict=True):
        if m:
            total += (
                flint.arb(n + m + 1).lgamma() + flint.arb(n - m + 1).lgamma() - 2 * flint.arb(n + 1).lgamma()
            )
    return total


def balanced_bases(system: IntArray) -> tuple[list[AngleBasis], IntArray]:
    """Choose bases that use all cells about equally often; return them and how often each cell is used."""
    rows, cells = system.shape
    uses = np.zeros(cells, dtype=np.int64)
    bases: list[AngleBasis] = []
    while len(bases) < MOST_BASES:
        solved = _solve_somehow(system, np.lexsort((np.arange(cells) * 7919 % cells, uses)))
        bases.append(_basis(solved, rows, cells))
        uses[bases[-1].cells] += 1
        if uses.min() >= 2 and uses.min() == uses.max():
            break
        if uses.min() >= 3 and len(bases) >= MOST_BASES // 2:
            break
    if uses.min() == 0:
        raise SamplingError(NO_BASIS)
    return bases, uses


def solvable_order(system: IntArray) -> IntArray:
    """Return an order of the cells in which elimination needs pivots 1 and -1 only."""
    solved = _solve_somehow(system, np.arange(system.shape[1]))
    return np.concatenate([solved.closing[0], solved.free[0]])


def _solve_somehow(system: IntArray, order: IntArray) -> Elimination:
    """Eliminate in an order, or where that takes other pivots than 1 and -1 in one that begins like it."""
    generator = np.random.default_rng(0)  # public, and of no effect on the law
    for attempt in range(MOST_ORDERS):
        solved = solve_in_order(system, order[None])
        if solved is not None:
            return solved
        kept = order.size >> (1 + attempt // 4)
        order = np.concatenate([order[:kept], generator.permutation(order[kept:])])
    raise SamplingError(NO_BASIS)


def _basis(solved: Elimination, rows: int, cells: int) -> AngleBasis:
    expand = np.zeros((rows, cells))
    expand[np.arange(rows), solved.closing[0]] = 1.0
    expand[:, solved.free[0]] = solved.coefficients[0]
    if np.abs(expand).sum(axis=0).max() > MOST_SUM:
        raise SamplingError(NO_BASIS)
    return AngleBasis(solved.closing[0], expand)


def _product(factors: list[Fraction]) -> Fraction:
    value = Fraction(1)
    for part in factors:
        value *= part
    return value
