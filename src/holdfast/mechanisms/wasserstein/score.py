"""Scores: gradients of a loss by record, how far one record moves them, and the weights that follow.

An estimate minimises a sum over records of a smooth loss; at theta its gradient is

    G(theta) = sum over kinds u of x_u g_u(theta),

x_u records being of kind u: of the same response and predictors. In the largest coordinate one record that
changes within a set of kinds moves G by at most the largest range of a coordinate of g_u in such a set,

    s(theta) = max over sets, max over j of (max g_uj - min g_uj).

Where the invariants fix how many records each pattern of cells has, tables that agree differ by moves
within patterns, and the sets are these; else all kinds are one set [theory, 7]. Kinds that a selection
leaves out have g = 0.

* mean, and linear regression: g = f (f theta - r), f the features with a 1 in front, r the response;
* logistic regression: g = f (1 / (1 + exp(-f theta)) - r), r 0 or 1;
* the quantile of level q: g = 1 {r <= theta} - q.

Features are centred at the middle of their levels and scaled to [-1, 1], so that the coordinates are alike.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import ClassVar

import flint
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.enclosure import ball_of
from holdfast.sampling.decisions.floats import Floats

FUNCTIONS = 2.0**-46
SLACK = 1e-9
"""Added to bounds of boxes: more than floats are off, relatively."""
AT_ONCE = 1 << 22
NEWTON, RIDGE = 12, 1e-6
SMALL = Fraction(1, 1 << 20)
"""Where records hardly move a score, they are taken to move it by this part of what they can."""

Rows = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, eq=False)
class Grid:
    """Points low + (high - low) i / steps of each coordinate, i = 0, ..., steps."""

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    steps: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many points there are along each coordinate."""
        return (self.steps + 1,) * len(self.low)

    def point(self, index: IntArray) -> tuple[Fraction, ...]:
        """Return the point of an index."""
        return tuple(
            low + (high - low) * int(i) / self.steps
            for low, high, i in zip(self.low, self.high, index, strict=True)
        )

    def floats(self, index: IntArray | Floats) -> Floats:
        """Return the points of indices, one a row; also between points of the grid."""
        low, width = (np.array([float(value) for value in values]) for values in (self.low, self._width))
        return np.asarray(low + width * (index / self.steps))

    @property
    def _width(self) -> tuple[Fraction, ...]:
        return tuple(high - low for low, high in zip(self.low, self.high, strict=True))


@dataclass(frozen=True, eq=False)
class Score(ABC):
    """Kinds of records, the sets that one record stays in, and what a record adds to the gradient.

    ``rows`` are the features and the response of each kind, and ``used`` says which kinds count.
    """

    features: Rows = field(repr=False)
    response: tuple[Fraction, ...] = field(repr=False)
    used: NDArray[np.bool_] = field(repr=False)
    sets: tuple[IntArray, ...] = field(repr=False)
    grid: Grid

    @abstractmethod
    def residual(self, value: Fraction, kind: int) -> flint.arb:
        """Return a ball around what the features of a kind are multiplied by, f theta being ``value``."""

    @abstractmethod
    def residuals(self, index: IntArray | Floats) -> Floats:
        """Return the same in floats, for each point (a row) and kind (a column)."""

    @abstractmethod
    def corners(self, first: IntArray, last: IntArray) -> tuple[Floats, Floats]:
        """Return the least and the largest residual of each kind in each box: they grow with f theta."""

    def away(self, counts: Floats, first: IntArray, last: IntArray) -> Floats | None:
        """Return how far G is at most from what it is in the middle of each box; None where it may jump."""
        del counts, first, last
        return None

    @cached_property
    def _f(self) -> Floats:
        return np.array([[float(value) for value in row] for row in self.features])

    @cached_property
    def _r(self) -> Floats:
        return np.array([float(value) for value in self.response])

    @cached_property
    def widest(self) -> Fraction:
        """A bound of s at the middle of the grid; 0 where no record moves the score."""
        middle = tuple((low + high) / 2 for low, high in zip(self.grid.low, self.grid.high, strict=True))
        with flint.ctx.workprec(128):
            return Fraction(float(self._largest_range(middle).upper())).limit_denominator(10**9)

    def terms(self, point: tuple[Fraction, ...]) -> list[list[flint.arb]]:
        """Return balls around g of each kind at a point, at the working precision."""
        found = []
        for kind, row in enumerate(self.features):
            if not self.used[kind]:
                found.append([flint.arb(0)] * len(row))
                continue
            value = sum((f * theta for f, theta in zip(row, point, strict=True)), Fraction(0))
            residual = self.residual(value, kind)
            found.append([ball_of(f) * residual for f in row])
        return found

    def _largest_range(self, point: tuple[Fraction, ...]) -> flint.arb:
        return _widest(self.terms(point), self.sets)

    def log_weight(self, counts: IntArray, index: IntArray, kappa: Fraction, least: Fraction) -> flint.arb:
        """Return a ball around -kappa ||G|| / s at a point of the grid; s is ``least`` at least."""
        terms = self.terms(self.grid.point(index))
        size = flint.arb(0)
        for j in range(len(terms[0])):
            total = sum((flint.arb(int(x)) * g[j] for x, g in zip(counts, terms, strict=True)), flint.arb(0))
            size = size.max(abs(total))
        return -ball_of(kappa) * size / _widest(terms, self.sets).max(ball_of(least))


def _widest(terms: list[list[flint.arb]], sets: tuple[IntArray, ...]) -> flint.arb:
    found = flint.arb(0)
    for members in sets:
        for j in range(len(terms[0])):
            values = [terms[int(kind)][j] for kind in members]
            high = low = values[0]
            for value in values[1:]:
                high, low = high.max(value), low.min(value)
            found = found.max(high - low)
    return found


class SmoothScore(Score):
    """A score whose residuals are a smooth function of f theta, minus the response."""

    curvature: ClassVar[float]
    """A bound of the second derivative of that function."""

    @abstractmethod
    def fitted(self, values: Floats) -> Floats:
        """Return the function."""

    @abstractmethod
    def slope(self, values: Floats) -> Floats:
        """Return its derivative."""

    def residuals(self, index: IntArray | Floats) -> Floats:
        """Return the function of f theta, minus the response."""
        return np.asarray(self.fitted(self.grid.floats(index) @ self._f.T) - self._r)

    def corners(self, first: IntArray, last: IntArray) -> tuple[Floats, Floats]:
        """Return the residuals at the ends of what f theta can be."""
        values, reach = self._values(first, last)
        return self.fitted(values - reach) - self._r, self.fitted(values + reach) - self._r

    def away(self, counts: Floats, first: IntArray, last: IntArray) -> Floats:
        """Return the slopes in the middle times the box, and what they change at most on the way."""
        values, reach = self._values(first, last)
        half = (self.grid.floats(last) - self.grid.floats(first)) / 2
        x = np.where(self.used, counts, 0.0)
        weighted = x * self.slope(values)
        bent = self.curvature * (x * reach * reach) @ np.abs(self._f)
        for j, column in enumerate(self._f.T):
            bent[:, j] += (np.abs((weighted * column) @ self._f) * half).sum(axis=1)
        return np.asarray(bent)

    def _values(self, first: IntArray, last: IntArray) -> tuple[Floats, Floats]:
        """Return f theta in the middle of each box, and how far it is from there."""
        low, high = self.grid.floats(first), self.grid.floats(last)
        return (low + high) / 2 @ self._f.T, (high - low) / 2 @ np.abs(self._f).T


class LinearScore(SmoothScore):
    """Mean, or linear regression."""

    curvature = 0.0

    def residual(self, value: Fraction, kind: int) -> flint.arb:
        """Return f theta - r."""
        return ball_of(value - self.response[kind])

    def fitted(self, values: Floats) -> Floats:
        """Return f theta."""
        return values

    def slope(self, values: Floats) -> Floats:
        """Return 1."""
        return np.ones_like(values)


class LogisticScore(SmoothScore):
    """Logistic regression."""

    curvature = 0.097  # 1 / (6 sqrt(3)) = 0.0962...

    def residual(self, value: Fraction, kind: int) -> flint.arb:
        """Return 1 / (1 + exp(-f theta)) - r."""
        return 1 / (1 + ball_of(-value).exp()) - ball_of(self.response[kind])

    def fitted(self, values: Floats) -> Floats:
        """Return 1 / (1 + exp(-f theta))."""
        return np.asarray(expit(values))

    def slope(self, values: Floats) -> Floats:
        """Return p (1 - p)."""
        p = expit(values)
        return np.asarray(p * (1 - p))


@dataclass(frozen=True, eq=False)
class QuantileScore(Score):
    """The quantile of a level; its only feature is a 1."""

    level: Fraction = Fraction(1, 2)

    @cached_property
    def _from(self) -> IntArray:
        """The first point of the grid that is not below the response of each kind."""
        low, high, steps = self.grid.low[0], self.grid.high[0], self.grid.steps
        return np.array([ceil((r - low) * steps / (high - low)) for r in self.response], dtype=np.int64)

    def residual(self, value: Fraction, kind: int) -> flint.arb:
        """Return 1 {r <= theta} - level."""
        return ball_of(int(self.response[kind] <= value) - self.level)

    def residuals(self, index: IntArray | Floats) -> Floats:
        """Return 1 {r <= theta} - level."""
        return np.asarray((index >= self._from).astype(np.float64) - float(self.level))

    def corners(self, first: IntArray, last: IntArray) -> tuple[Floats, Floats]:
        """Return the residuals at both ends."""
        return self.residuals(first), self.residuals(last)


@dataclass(frozen=True, eq=False)
class ScoreDensity:
    """The weights exp(-kappa ||G|| / s) of a table, told by its ``counts`` of kinds, on the grid."""

    score: Score
    counts: IntArray = field(repr=False)
    kappa: Fraction
    least: Fraction

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many points the grid has along each side."""
        return self.score.grid.sizes

    def ball(self, point: IntArray) -> flint.arb:
        """Return a ball around the log weight of one point."""
        return self.score.log_weight(self.counts, point, self.kappa, self.least)

    def log_density(self, points: IntArray) -> tuple[Floats, Floats]:
        """Return the log weight of each point, and how far off it may be."""
        score, rows = self.score, max(1, AT_ONCE // max(1, self.counts.size))
        found = np.empty(points.shape[0])
        for begin in range(0, points.shape[0], rows):
            terms = self._used(score.residuals(points[begin : begin + rows]))
            gradient = (terms * self.counts) @ score._f
            spread = np.zeros(terms.shape[0])
            for members in score.sets:
                for f in score._f[members].T:
                    g = terms[:, members] * f
                    spread = np.maximum(spread, g.max(axis=1) - g.min(axis=1))
            size = np.abs(gradient).max(axis=1)
            found[begin : begin + rows] = -float(self.kappa) * size / np.maximum(spread, float(self.least))
        return found, self._off(found)

    def _used(self, residuals: Floats) -> Floats:
        return np.where(self.score.used, residuals, 0.0)

    def _off(self, logs: Floats) -> Floats:
        """Return how far logs may be off: sums of n terms of size R by n R 2^-46, and s by R 2^-46."""
        score = self.score
        farthest = max(
            float(max(abs(a), abs(b))) for a, b in zip(score.grid.low, score.grid.high, strict=True)
        )
        reach = 1 + float(np.abs(score._r).max()) + farthest * score._f.shape[1]
        records = float(np.abs(self.counts).sum()) + 1
        share = reach / float(self.least)
        return np.asarray(FUNCTIONS * (1 + share * (float(self.kappa) * records + np.abs(logs))))

    def upper(self, first: IntArray, last: IntArray) -> Floats:
        """Return what the log weight is at most in each box.

        G is no nearer to 0 than the residuals at the corners say, and than how far it can be from what it
        is in the middle; s is at most what the corners say.
        """
        found = np.empty(first.shape[0])
        rows = max(1, AT_ONCE // max(1, self.counts.size * self.score._f.shape[1]))
        for begin in range(0, first.shape[0], rows):
            part = slice(begin, begin + rows)
            found[part] = self._upper(first[part], last[part])
        return found

    @cached_property
    def _likely(self) -> Floats | None:
        """A point where G is near 0, by steps of Newton; None where there is one coordinate alone."""
        score = self.score
        if len(score.grid.low) == 1 or not isinstance(score, SmoothScore):
            return None
        f, x = score._f, np.where(score.used, self.counts, 0).astype(np.float64)
        low, high = (np.array([float(v) for v in ends]) for ends in (score.grid.low, score.grid.high))
        theta = (low + high) / 2
        for _ in range(NEWTON):
            values = f @ theta
            gradient = f.T @ (x * (score.fitted(values) - score._r))
            slopes = (f.T * (x * score.slope(values))) @ f + RIDGE * np.eye(theta.size)
            theta = np.clip(theta - np.linalg.solve(slopes, gradient), low, high)
        return np.asarray(theta)

    def _outwards(
        self, first: IntArray, last: IntArray, least: Floats, most: Floats, likely: Floats
    ) -> Floats:
        """Return what the largest coordinate of G is at least, by its slope in the direction of each box.

        For sum |u_j| = 1 it is at least u G, the sum of x (f u) times residuals, which the corners bound.
        """
        score = self.score
        u = (score.grid.floats(first) + score.grid.floats(last)) / 2 - likely
        u /= np.maximum(np.abs(u).sum(axis=1, keepdims=True), 1e-300)
        along = u @ score._f.T
        found = np.minimum(along * least, along * most) @ self.counts.astype(np.float64)
        return np.asarray(found)

    def _upper(self, first: IntArray, last: IntArray) -> Floats:
        score, x = self.score, self.counts.astype(np.float64)
        least, most = map(self._used, score.corners(first, last))
        away = score.away(x, first, last)
        centre = None if away is None else self._used(score.residuals((first + last) / 2))
        size, spread = np.zeros(first.shape[0]), np.zeros(first.shape[0])
        for j, column in enumerate(score._f.T):
            bottom = np.where(column >= 0, least * column, most * column)
            top = np.where(column >= 0, most * column, least * column)
            under, over = bottom @ x, top @ x
            if away is not None and centre is not None:
                middle = (centre * column) @ x
                under, over = np.maximum(under, middle - away[:, j]), np.minimum(over, middle + away[:, j])
            size = np.maximum(size, np.maximum(under, -over))
            for members in score.sets:
                spread = np.maximum(spread, top[:, members].max(axis=1) - bottom[:, members].min(axis=1))
        if (likely := self._likely) is not None:
            size = np.maximum(size, self._outwards(first, last, least, most, likely))
        logs = -float(self.kappa) * np.maximum(size, 0.0) / np.maximum(spread, float(self.least))
        return np.asarray(np.minimum(logs * (1 - SLACK) + 2 * self._off(logs), 0.0))
