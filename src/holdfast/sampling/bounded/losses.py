"""Losses as mixtures of products: exp(-kappa ||z||) at most a sum of terms that are products over the cells.

* The l1 norm, with a weight for each cell, and the square of the l2 norm: one term, and equality.
* The l2 norm. As a function of q = r^2, -kappa sqrt(q) is convex, and -E - s q with E = kappa^2 / (4 s) is
  its tangent at q = (2 E / kappa)^2. The tangents of two nodes E < E' meet (sqrt(E') - sqrt(E))^2 below it,
  and between its neighbours a convex function is above a line by no more than at one of the ends. So c_i =
  exp(-E_i + d_i), d_i being the larger of the two gaps, makes the largest term alone be above exp(-kappa r)
  there. The node with the largest s is raised by E, the gap at q = 0. Beyond the tangent point of the
  smallest s, from kappa r = 2 E + 2 sqrt(E) on, where its gap is 1, a node s = 0 with c = exp(-2 E - 2
  sqrt(E)) is enough.
* The largest entry. For a whole number m, exp(-kappa m) is at most the sum of c_i over r_i >= m, radii 0 =
  r_0 < r_1 < ... with c_i + c_(i + 1) + ... = exp(-kappa (r_(i - 1) + 1)).

Coefficients are floats that were rounded up, and are then taken as they are. What a sum is above its loss
is left to a last coin.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf, nextafter
from typing import NamedTuple

import flint
import numpy as np
from scipy.special import logsumexp

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.decisions import ball_of
from holdfast.system.errors import SamplingError

BITS = 128
COARSE = 16
"""The ratio of nodes that look for where the mass is."""
DEPTH = 30.0
"""Nodes with less than exp(-DEPTH) of the largest mass need not be close to each other."""
SPACING = 3.0
"""The square of how many sqrt(E) nodes are apart where the mass is."""
STEP = 1.0
"""How much the exponent of a box changes from one radius to the next there."""
LEAST = 0.25
"""Nodes with a smaller E are not needed: the last is raised by its E."""
SLACK = 1e-9
"""Added to logs of coefficients: more than their floats are off, relatively."""
NARROW = 40.0
"""At this s all but the centre weighs less than exp(-40)."""
MOST_NODES = 400
FUNCTIONS = 2.0**-47


class Term(NamedTuple):
    """One product: its log coefficient, a float taken as it is, and what it adds to each cell's weight."""

    log_coefficient: float
    linear: Fraction = Fraction(0)
    square: Fraction = Fraction(0)
    radius: int | None = None


TermMass = Callable[[Term], float]
"""The log of what the proposals of a term are scaled by; minus infinity where there are none."""


class MixedLoss(ABC):
    """A loss kappa ||z|| whose exponential is below a sum of products."""

    @abstractmethod
    def terms(self, masses: TermMass, widest: int | None) -> tuple[Term, ...]:
        """Return the terms, close to each other where their masses are.

        No entry of z is above ``widest``; None where there is no such bound.
        """

    def log_rest(self, points: IntArray, terms: Sequence[Term]) -> tuple[FloatArray, FloatArray]:
        """Return log exp(-loss) / sum of terms for each row z, and how far off that may be."""
        del terms
        return np.zeros(points.shape[0]), np.zeros(points.shape[0])

    def exact_rest(self, point: IntArray, terms: Sequence[Term]) -> flint.arb:
        """Return a ball around the same for one row."""
        del point, terms
        return flint.arb(0)

    @abstractmethod
    def values(self, points: IntArray) -> FloatArray:
        """Return the loss of each row z."""


@dataclass(frozen=True)
class SumLoss(MixedLoss):
    """kappa times the sum of weight |z|: it is in the weights of the cells."""

    kappa: Fraction
    weights: tuple[Fraction, ...] | None = None

    def terms(self, masses: TermMass, widest: int | None) -> tuple[Term, ...]:
        """Return one term."""
        del masses, widest
        return (Term(0.0, linear=self.kappa),)

    def values(self, points: IntArray) -> FloatArray:
        """Return the loss of each row z."""
        size = np.abs(points).astype(np.float64)
        weights = np.ones(size.shape[1]) if self.weights is None else np.array(list(map(float, self.weights)))
        return np.asarray(float(self.kappa) * (size @ weights))


@dataclass(frozen=True)
class SquareLoss(MixedLoss):
    """kappa times the squared l2 norm."""

    kappa: Fraction

    def terms(self, masses: TermMass, widest: int | None) -> tuple[Term, ...]:
        """Return one term."""
        del masses, widest
        return (Term(0.0, square=self.kappa),)

    def values(self, points: IntArray) -> FloatArray:
        """Return the loss of each row z."""
        return np.asarray(float(self.kappa) * _squares(points))


@dataclass(frozen=True)
class RootLoss(MixedLoss):
    """kappa times the l2 norm, by a mixture of squares."""

    kappa: Fraction

    def terms(self, masses: TermMass, widest: int | None) -> tuple[Term, ...]:
        """Look for the mass, and go from there to both sides in steps that grow as it falls."""
        _require_bounds(widest)
        seen: dict[Fraction, float] = {}

        def mass(s: Fraction) -> float:
            if s not in seen:
                seen[s] = masses(Term(0.0, square=s)) - self._exponent(s)
            return seen[s]

        best = self._peak(mass)
        nodes = {best}
        for sign in (1, -1):
            exponent, s = self._exponent(best), best
            while len(nodes) < MOST_NODES:
                fallen = max(mass(best) - mass(s), 0.0)
                exponent -= sign * (exponent * max(SPACING, fallen)) ** 0.5
                if exponent <= LEAST or (sign < 0 and self._ends(s, masses, mass(best))):
                    break
                s = _short(self.kappa**2 / (4 * Fraction(exponent)))
                nodes.add(s)
        return self._raised(sorted(nodes))

    def _raised(self, nodes: list[Fraction]) -> tuple[Term, ...]:
        """Return the terms of nodes s in order, smallest first, and a node at 0."""
        exponents = [self._exponent(s) for s in nodes]
        gaps = [(one**0.5 - other**0.5) ** 2 for one, other in pairwise(exponents)]
        raised = map(max, [1.0, *gaps], [*gaps, exponents[-1]])
        logs = [d - exponent for d, exponent in zip(raised, exponents, strict=True)]
        constant = -2 * exponents[0] - 2 * exponents[0] ** 0.5
        slack = [SLACK * (1 + exponent) for exponent in (exponents[0], *exponents)]
        return tuple(
            Term(log_coefficient + over, square=s)
            for log_coefficient, over, s in zip([constant, *logs], slack, [Fraction(0), *nodes], strict=True)
        )

    def _peak(self, mass: Callable[[Fraction], float]) -> Fraction:
        """Return about where the mass is largest."""
        best = Fraction(NARROW)
        while mass(following := _short(best / COARSE)) > mass(best):
            best = following
        ratio = float(COARSE)
        while self._exponent(best) ** 0.5 * (ratio - 1) > 1:  # a peak is wider than that
            ratio = ratio**0.5
            best = max((_short(best * Fraction(ratio)), best, _short(best / Fraction(ratio))), key=mass)
        return best

    def _ends(self, s: Fraction, masses: TermMass, highest: float) -> bool:
        """Whether a node at 0 may follow after s."""
        exponent = self._exponent(s)
        return bool(masses(Term(0.0)) - 2 * exponent - 2 * exponent**0.5 < highest - DEPTH)

    def _exponent(self, s: Fraction) -> float:
        """Return kappa^2 / (4 s)."""
        return float(self.kappa) ** 2 / (4 * float(s))

    def log_rest(self, points: IntArray, terms: Sequence[Term]) -> tuple[FloatArray, FloatArray]:
        """Return -kappa r - log sum of c_i exp(-s_i r^2), r^2 a whole number."""
        square = _squares(points)
        logs = np.array([term.log_coefficient for term in terms])
        rates = np.array([float(term.square) for term in terms])
        exponents = logs[None, :] - rates[None, :] * square[:, None]
        loss = float(self.kappa) * np.sqrt(square)
        total = np.asarray(logsumexp(exponents, axis=1))
        off = FUNCTIONS * (10 + 4 * loss + 4 * np.abs(total))
        # a term matters where its exponent is near the largest, and is off by a part of that
        return -loss - total, off

    def exact_rest(self, point: IntArray, terms: Sequence[Term]) -> flint.arb:
        """Return a ball around the same for one row."""
        square = sum(int(z) ** 2 for z in point)
        total = sum(
            (
                (ball_of(term.log_coefficient) - ball_of(term.square * square)).exp()
                for term in terms
                if term.log_coefficient > -inf
            ),
            flint.arb(0),
        )
        return -ball_of(self.kappa) * flint.arb(square).sqrt() - total.log()

    def values(self, points: IntArray) -> FloatArray:
        """Return the loss of each row z."""
        return float(self.kappa) * np.sqrt(_squares(points))


@dataclass(frozen=True)
class LargestLoss(MixedLoss):
    """kappa times the largest entry, by a mixture of boxes."""

    kappa: Fraction

    def terms(self, masses: TermMass, widest: int | None) -> tuple[Term, ...]:
        """Look for the mass at radii that double, and put finer ones there."""
        widest, kappa = _require_bounds(widest), float(self.kappa)
        seen: dict[int, float] = {}

        def mass(r: int) -> float:
            if r not in seen:
                seen[r] = -kappa * r + masses(Term(0.0, radius=r))
            return seen[r]

        coarse = [0]
        while coarse[-1] < widest:
            coarse.append(min(max(1, 2 * coarse[-1]), widest))
        best = max(coarse, key=mass)
        step = max(1, round(STEP / kappa))
        fine = {best}
        for sign in (1, -1):
            r = best
            while mass(r) > mass(best) - DEPTH and 0 < r + sign * step < widest and len(fine) < MOST_NODES:
                r += sign * step
                fine.add(r)
        radii = sorted({*coarse, *fine})
        with flint.ctx.workprec(BITS):
            above = [exp_of(-self.kappa * (r + 1)) for r in (-1, *radii[:-1])]
            ends = [*above[1:], flint.arb(0)]
            logs = [_log_up(one - other) for one, other in zip(above, ends, strict=True)]
        return tuple(Term(coefficient, radius=r) for r, coefficient in zip(radii, logs, strict=True))

    def log_rest(self, points: IntArray, terms: Sequence[Term]) -> tuple[FloatArray, FloatArray]:
        """Return -kappa m - log of the sum of c_i over r_i >= m."""
        largest = np.abs(points).max(axis=1, initial=0)
        radii = np.array([term.radius or 0 for term in terms])
        logs = np.array([term.log_coefficient for term in terms])
        sums = np.array([float(logsumexp(logs[i:])) for i in range(logs.size)])
        total = sums[np.searchsorted(radii, largest)]
        loss = float(self.kappa) * largest
        return -loss - total, FUNCTIONS * (10 + 4 * loss + 4 * np.abs(total))

    def exact_rest(self, point: IntArray, terms: Sequence[Term]) -> flint.arb:
        """Return a ball around the same for one row."""
        largest = max((abs(int(z)) for z in point), default=0)
        total = sum(
            (ball_of(term.log_coefficient).exp() for term in terms if (term.radius or 0) >= largest),
            flint.arb(0),
        )
        return -ball_of(self.kappa * largest) - total.log()

    def values(self, points: IntArray) -> FloatArray:
        """Return the loss of each row z."""
        return np.asarray(float(self.kappa) * np.abs(points).max(axis=1, initial=0))


def _require_bounds(widest: int | None) -> int:
    if widest is None:
        raise SamplingError(
            "a norm that ties all counts is drawn by a mixture where each of them has bounds."
        )
    return widest


def exp_of(exponent: Fraction) -> flint.arb:
    """Return a ball around exp(exponent), at the working precision."""
    return ball_of(exponent).exp()


def _squares(points: IntArray) -> FloatArray:
    """Return the squared l2 norm of each row, exact up to 2^53."""
    return np.asarray((points.astype(np.float64) ** 2).sum(axis=1))


def _log_up(value: flint.arb) -> float:
    """Return a float above the log of a ball."""
    upper = value.upper()
    if not upper > 0:
        return -inf
    return nextafter(nextafter(float(upper.log().mid()), inf), inf)


def _short(value: Fraction) -> Fraction:
    """Return the float next to a rational, as a rational: nodes are any numbers, and short ones are quick."""
    return Fraction(float(value))
