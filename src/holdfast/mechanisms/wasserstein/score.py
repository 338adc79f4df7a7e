"""Scores: gradients of a loss by record, how far one record moves them, and the weights that follow.

An estimate minimises a sum over records of a convex loss; at theta its gradient is

    G(theta) = sum over kinds u of x_u g_u(theta),

x_u records being of kind u: of the same response and predictors. In the largest coordinate one record that
changes within a set of kinds moves G by at most the largest range of a coordinate of g_u in such a set,

    s(theta) = max over sets, max over j of (max g_uj - min g_uj).

Where the invariants fix how many records each pattern of cells has, tables that agree differ by moves
within patterns, and the sets are these; else all kinds are one set [theory, 7]. Records that a selection
leaves out are of one kind, with g = 0.

* mean, and linear regression: g = f (f theta - r), f the features with a 1 in front, r the response;
* logistic regression: g = f (1 / (1 + exp(-f theta)) - r), r 0 or 1;
* the quantile of level q: its loss has a kink at r, where the gradient is anything from -q to 1 - q. Of all
  gradients of the table the one nearest to 0 counts, so that theta is the quantile where that is 0. Its ends
  are those of g from 1 {r < theta} - q to 1 {r <= theta} - q, and s is the larger of their two ranges.

Features are centred at the middle of their levels and scaled to [-1, 1], so that the coordinates are alike.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import ClassVar

import flint
import numpy as np
from scipy.special import expit

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.decisions import ball_of

ROUNDING = 2.0**-52
"""Covers a sum of two terms, and a 64th of a function that is right to 2^-47."""
SLACK = 1e-9
"""Added to bounds of boxes: more than floats are off, relatively."""
AT_ONCE = 1 << 22
NEWTON, RIDGE = 12, 1e-6
SMALL = Fraction(1, 1 << 20)
"""Where records hardly move a score, they are taken to move it by this part of what it is at most."""

ScoreRows = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, eq=False)
class ParameterGrid:
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

    def floats(self, index: IntArray | FloatArray) -> FloatArray:
        """Return the points of indices, one a row; also between points of the grid."""
        low = np.array([float(value) for value in self.low])
        width = np.array([float(high - low) for low, high in zip(self.low, self.high, strict=True)])
        return np.asarray(low + width * (index / self.steps))


@dataclass(frozen=True, eq=False)
class Score(ABC):
    """Kinds of records, the sets that one record stays in, and what a record adds to the gradient.

    ``features`` and ``response`` have an entry for each kind; features that are all 0 are of records that
    are left out.
    """

    features: ScoreRows = field(repr=False)
    response: tuple[Fraction, ...] = field(repr=False)
    sets: tuple[IntArray, ...] = field(repr=False)
    grid: ParameterGrid

    @property
    @abstractmethod
    def reach(self) -> Fraction:
        """What no residual on the grid is above in size: residuals are what features are multiplied by."""

    @abstractmethod
    def balls(self, value: Fraction, kind: int) -> tuple[flint.arb, flint.arb]:
        """Return balls around the least and the largest residual of a kind, f theta being ``value``."""

    @abstractmethod
    def at(self, index: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the same in floats, for each point (a row) and kind (a column); one array if they agree."""

    @abstractmethod
    def corners(self, first: IntArray, last: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest residual of each kind in each box: they grow with f theta."""

    def around(
        self, counts: FloatArray, first: IntArray, last: IntArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return G in the middle of each box, and how far it is from there at most; None if it may jump."""
        del counts, first, last
        return None

    @property
    def moves(self) -> bool:
        """Whether a record moves the score at all."""
        return any(members.size > 1 for members in self.sets)

    @cached_property
    def f(self) -> FloatArray:
        """The features in floats, one kind a row."""
        return np.array([[float(value) for value in row] for row in self.features])

    @cached_property
    def r(self) -> FloatArray:
        """The responses in floats."""
        return np.array([float(value) for value in self.response])

    def log_weight(self, counts: IntArray, index: IntArray, kappa: Fraction, least: Fraction) -> flint.arb:
        """Return a ball around -kappa ||G|| / s at a point of the grid; s is ``least`` at least."""
        point = self.grid.point(index)
        ends = [
            self.balls(sum((f * theta for f, theta in zip(row, point, strict=True)), Fraction(0)), kind)
            for kind, row in enumerate(self.features)
        ]
        size, spread = flint.arb(0), ball_of(least)
        for column in zip(*self.features, strict=True):
            g = [
                (ball_of(f) * low, ball_of(f) * high) if f >= 0 else (ball_of(f) * high, ball_of(f) * low)
                for f, (low, high) in zip(column, ends, strict=True)
            ]
            for side, sign in ((0, 1), (1, -1)):
                terms = (sign * int(x) * each[side] for x, each in zip(counts, g, strict=True) if x)
                size = size.max(sum(terms, flint.arb(0)))
                for members in self.sets:
                    spread = spread.max(_range([g[int(kind)][side] for kind in members]))
        return -ball_of(kappa) * size / spread


def _range(values: list[flint.arb]) -> flint.arb:
    high = low = values[0]
    for value in values[1:]:
        high, low = high.max(value), low.min(value)
    return high - low


class SmoothScore(Score):
    """A score whose residuals are a smooth function of f theta, minus the response."""

    curvature: ClassVar[float]
    """A bound of the second derivative of that function."""

    @abstractmethod
    def fitted(self, values: FloatArray) -> FloatArray:
        """Return the function."""

    @abstractmethod
    def slope(self, values: FloatArray) -> FloatArray:
        """Return its derivative."""

    def residuals(self, values: FloatArray) -> FloatArray:
        """Return the function of f theta, minus the response."""
        return np.asarray(self.fitted(values) - self.r)

    def at(self, index: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the residuals, twice."""
        found = self.residuals(self.grid.floats(index) @ self.f.T)
        return found, found

    def corners(self, first: IntArray, last: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the residuals at the ends of what f theta can be."""
        values, reach = self._values(first, last)
        return self.residuals(values - reach), self.residuals(values + reach)

    def around(self, counts: FloatArray, first: IntArray, last: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return G, and the slopes there times the box, with what they change at most on the way."""
        values, reach = self._values(first, last)
        half = (self.grid.floats(last) - self.grid.floats(first)) / 2
        weighted = counts * self.slope(values)
        away = self.curvature * (counts * reach * reach) @ np.abs(self.f)
        for j, column in enumerate(self.f.T):
            away[:, j] += (np.abs((weighted * column) @ self.f) * half).sum(axis=1)
        return (counts * self.residuals(values)) @ self.f, np.asarray(away)

    def _values(self, first: IntArray, last: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return f theta in the middle of each box, and how far it is from there."""
        low, high = self.grid.floats(first), self.grid.floats(last)
        return (low + high) / 2 @ self.f.T, (high - low) / 2 @ np.abs(self.f).T


class LinearScore(SmoothScore):
    """Mean, or linear regression."""

    curvature = 0.0

    @cached_property
    def reach(self) -> Fraction:
        """How large f theta and r are together."""
        sides = [max(abs(low), abs(high)) for low, high in zip(self.grid.low, self.grid.high, strict=True)]
        return max(
            abs(r) + sum((abs(f) * side for f, side in zip(row, sides, strict=True)), Fraction(0))
            for row, r in zip(self.features, self.response, strict=True)
        )

    def balls(self, value: Fraction, kind: int) -> tuple[flint.arb, flint.arb]:
        """Return f theta - r."""
        found = ball_of(value - self.response[kind])
        return found, found

    def fitted(self, values: FloatArray) -> FloatArray:
        """Return f theta."""
        return values

    def slope(self, values: FloatArray) -> FloatArray:
        """Return 1."""
        return np.ones_like(values)


class LogisticScore(SmoothScore):
    """Logistic regression."""

    curvature = 0.097  # 1 / (6 sqrt(3)) = 0.0962...

    @property
    def reach(self) -> Fraction:
        """A chance, less 0 or 1."""
        return Fraction(1)

    def balls(self, value: Fraction, kind: int) -> tuple[flint.arb, flint.arb]:
        """Return 1 / (1 + exp(-f theta)) - r."""
        found = 1 / (1 + ball_of(-value).exp()) - ball_of(self.response[kind])
        return found, found

    def fitted(self, values: FloatArray) -> FloatArray:
        """Return 1 / (1 + exp(-f theta))."""
        return np.asarray(expit(values))

    def slope(self, values: FloatArray) -> FloatArray:
        """Return p (1 - p)."""
        p = expit(values)
        return np.asarray(p * (1 - p))


@dataclass(frozen=True, eq=False)
class QuantileScore(Score):
    """The quantile of a level; its only feature is a 1."""

    level: Fraction = Fraction(1, 2)

    @property
    def reach(self) -> Fraction:
        """0 or 1, less the level."""
        return Fraction(1)

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray]:
        """The first points of the grid that are above the response of each kind, and not below it."""
        low, high, steps = self.grid.low[0], self.grid.high[0], self.grid.steps
        places = [(r - low) * steps / (high - low) for r in self.response]
        above = np.array([floor(place) + 1 for place in places], dtype=np.int64)
        return above, np.array([ceil(place) for place in places], dtype=np.int64)

    def balls(self, value: Fraction, kind: int) -> tuple[flint.arb, flint.arb]:
        """Return 1 {r < theta} - level and 1 {r <= theta} - level."""
        r = self.response[kind]
        return ball_of(int(r < value) - self.level), ball_of(int(r <= value) - self.level)

    def at(self, index: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the same at each point."""
        return self.corners(index, index)

    def corners(self, first: IntArray, last: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the least residual at the first point, and the largest at the last."""
        above, reached = self._places
        level = float(self.level)
        return (first >= above).astype(np.float64) - level, (last >= reached).astype(np.float64) - level


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

    def log_density(self, points: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the log weight of each point, and how far off it may be."""
        found, off = np.empty(points.shape[0]), np.empty(points.shape[0])
        for part in self._parts(points.shape[0]):
            least, most = self.score.at(points[part])
            size, spread = np.zeros(least.shape[0]), np.zeros(least.shape[0])
            for low, high in self._columns(least, most):
                under, over = low @ self._x, high @ self._x
                size = np.maximum(size, np.maximum(under, -over))
                for g in (low,) if high is low else (low, high):
                    for members in self.score.sets:
                        spread = np.maximum(spread, np.ptp(g[:, members], axis=1))
            found[part], off[part] = self._log(size, spread)
        return found, off

    def upper(self, first: IntArray, last: IntArray) -> FloatArray:
        """Return what the log weight is at most in each box.

        G is no nearer to 0 than the residuals at the corners say, and than how far it can be from what it
        is in the middle; s is at most what the corners say.
        """
        found = np.empty(first.shape[0])
        for part in self._parts(first.shape[0]):
            found[part] = self._upper(first[part], last[part])
        return found

    def _upper(self, first: IntArray, last: IntArray) -> FloatArray:
        score, x = self.score, self._x
        least, most = score.corners(first, last)
        around = score.around(x, first, last)
        size, spread = np.zeros(first.shape[0]), np.zeros(first.shape[0])
        for j, (low, high) in enumerate(self._columns(least, most)):
            under, over = low @ x, high @ x
            if around is not None:
                middle, away = around[0][:, j], around[1][:, j]
                under, over = np.maximum(under, middle - away), np.minimum(over, middle + away)
            size = np.maximum(size, np.maximum(under, -over))
            for members in score.sets:
                spread = np.maximum(spread, high[:, members].max(axis=1) - low[:, members].min(axis=1))
        if (likely := self._likely) is not None:
            size = np.maximum(size, self._outwards(first, last, least, most, likely))
        logs, off = self._log(size, spread)
        return np.asarray(np.minimum(logs * (1 - SLACK) + 2 * off, 0.0))

    @cached_property
    def _x(self) -> FloatArray:
        return self.counts.astype(np.float64)

    def _parts(self, size: int) -> Iterator[slice]:
        rows = max(1, AT_ONCE // max(1, self.counts.size))
        return (slice(begin, begin + rows) for begin in range(0, size, rows))

    def _columns(self, least: FloatArray, most: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Return the least and the largest of each coordinate of g, for residuals between two ends."""
        for column in self.score.f.T:
            if most is least:
                g = least * column
                yield g, g
            else:
                up = column >= 0
                yield np.where(up, least, most) * column, np.where(up, most, least) * column

    def _log(self, size: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return -kappa size / s, and how far off: a sum over n records by n reach, s by reach, roundings."""
        score = self.score
        s = np.maximum(spread, float(self.least))
        logs = -float(self.kappa) * np.maximum(size, 0.0) / s
        farthest = max(
            float(max(abs(a), abs(b))) for a, b in zip(score.grid.low, score.grid.high, strict=True)
        )
        reach = 1 + float(np.abs(score.r).max()) + farthest * score.f.shape[1]
        lost = float(self.kappa) * (float(self._x.sum()) + 1) + np.abs(logs)
        return logs, ROUNDING * (64 + self.counts.size) * (1 + reach / s * lost)

    @cached_property
    def _likely(self) -> FloatArray | None:
        """A point where G is near 0, by steps of Newton; None where there is one coordinate alone."""
        score = self.score
        if len(score.grid.low) == 1 or not isinstance(score, SmoothScore):
            return None
        low, high = (np.array([float(v) for v in ends]) for ends in (score.grid.low, score.grid.high))
        theta = (low + high) / 2
        for _ in range(NEWTON):
            values = score.f @ theta
            gradient = score.f.T @ (self._x * score.residuals(values))
            slopes = (score.f.T * (self._x * score.slope(values))) @ score.f + RIDGE * np.eye(theta.size)
            theta = np.clip(theta - np.linalg.solve(slopes, gradient), low, high)
        return np.asarray(theta)

    def _outwards(
        self, first: IntArray, last: IntArray, least: FloatArray, most: FloatArray, likely: FloatArray
    ) -> FloatArray:
        """Return what the largest coordinate of G is at least, by its slope in the direction of each box.

        For sum |u_j| = 1 it is at least u G, the sum of x (f u) times residuals, which the corners bound.
        """
        score = self.score
        u = (score.grid.floats(first) + score.grid.floats(last)) / 2 - likely
        u /= np.maximum(np.abs(u).sum(axis=1, keepdims=True), 1e-300)
        along = u @ score.f.T
        return np.asarray(np.minimum(along * least, along * most) @ self._x)
