"""Laws on the points of a grid, by boxes: bounds of a density choose them, and enclosures decide.

A grid has sizes n_1 x ... x n_d. Its points fall into boxes, on each of which the log density is at most a
number that is known; whole numbers above count times exp(bound) choose a box, all of its points are alike,
and a point is accepted with what its density is below the bound. So a draw is exact however rough the
bounds are, and what they cost is time. Boxes that weigh much are halved, along the side that lowers their
bounds most, until the bounds together are close to the density, or boxes too many.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Protocol

import flint
import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.decisions import Real, ball_of, real, toss_coins
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.uniform import uniform_below
from holdfast.sampling.rejection import first_accepted, pilot_share

MOST_BOXES = 40_000
"""A limit of patience: boxes are halved before a draw, until they are `CLOSE` or so many."""
CLOSE = 4.0
"""How much the bounds together may be above the density, about."""
ENOUGH = 20.0
"""So many boxes for each proposal of a draw, and more of them would take longer than the draw."""
AT_ONCE = 2000
TIES = 0.05
"""How much a side that is longer counts beside the mass that halving it leaves."""
TRIALS = 256
"""Points that tell how close the bounds are."""
SCALE = 2.0**60
FUNCTIONS = 2.0**-47
MOST_AT_ONCE = 1 << 14


class GridDensity(Protocol):
    """A density on the points of a grid, up to a constant."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many points the grid has along each side."""

    def log_density(self, points: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the log density of each row, and how far off it may be."""

    def ball(self, point: IntArray) -> flint.arb:
        """Return a ball around the log density of one point, at the working precision."""

    def upper(self, first: IntArray, last: IntArray) -> FloatArray:
        """Return what the log density in each box is at most; boxes are told by their corners, one a row."""


@dataclass(frozen=True, eq=False)
class BoxedLaw:
    """The law of a density on a grid; draws are indices, one point a row."""

    density: GridDensity = field(repr=False)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        return first_accepted(
            lambda count: self._attempt(count, entropy),
            size,
            chance=self.acceptance,
            most=MOST_AT_ONCE,
        )

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return the log density of each row, minus infinity out of the grid."""
        sizes = np.array(self.density.sizes)
        inside = ((points >= 0) & (points < sizes)).all(axis=1)
        found = np.full(points.shape[0], -inf)
        if inside.any():
            found[inside] = self.density.log_density(points[inside])[0]
        return found

    @cached_property
    def acceptance(self) -> float:
        """The share of proposals that is kept, from a seeded pilot; 0 where it kept none."""
        return pilot_share(self._attempt)

    @cached_property
    def _boxes(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The corners of the boxes, and the bounds on them."""
        sizes = np.array(self.density.sizes, dtype=np.int64)
        first, last = np.zeros((1, sizes.size), dtype=np.int64), (sizes - 1)[None, :]
        bounds = self.density.upper(first, last)
        trial = np.random.default_rng(0)
        while first.shape[0] < MOST_BOXES:
            masses = bounds + _log_counts(first, last)
            shares = np.exp(masses - masses.max())
            shares /= shares.sum()
            tried = trial.choice(first.shape[0], TRIALS, p=shares)
            kept = float(self._kept(first[tried], last[tried], bounds[tried], trial).mean())
            if kept >= min(1 / CLOSE, ENOUGH / first.shape[0]):
                break
            # what a box is above its density is what halving it may save
            waste = shares * (1 - np.mean([self._kept(first, last, bounds, trial) for _ in range(3)], axis=0))
            waste[(first == last).all(axis=1)] = 0.0
            some = np.argsort(-waste)[: max(1, min(AT_ONCE, int((waste > waste.max() / 20).sum())))]
            some = some[waste[some] > 0]
            if not some.size:
                break
            halves = self._halved(first[some], last[some])
            rest = np.setdiff1d(np.arange(first.shape[0]), some)
            first, last, bounds = (
                np.concatenate([one[rest], other])
                for one, other in zip((first, last, bounds), halves, strict=True)
            )
        return first, last, bounds

    def _kept(
        self, first: IntArray, last: IntArray, bounds: FloatArray, trial: np.random.Generator
    ) -> FloatArray:
        """Return what a point of each box, taken by chance to choose boxes by, is accepted with."""
        points = trial.integers(first, last, endpoint=True)
        return np.asarray(np.exp(np.minimum(self.density.log_density(points)[0] - bounds, 0.0)))

    def _halved(self, first: IntArray, last: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the halves of boxes, along the side that leaves the least mass: of equals the longest."""
        best = np.full(first.shape[0], inf)
        found: list[tuple[IntArray, IntArray, FloatArray]] = []
        chosen = np.zeros(first.shape[0], dtype=np.int64)
        for side in range(first.shape[1]):
            middle = (first[:, side] + last[:, side]) // 2
            low_last, high_first = last.copy(), first.copy()
            low_last[:, side], high_first[:, side] = middle, np.minimum(middle + 1, last[:, side])
            corners = np.concatenate([first, high_first]), np.concatenate([low_last, last])
            bounds = self.density.upper(*corners)
            mass = np.logaddexp(*np.split(bounds + _log_counts(*corners), 2))
            width = last[:, side] - first[:, side] + 1
            mass = np.where(width > 1, mass - TIES * np.log(width), inf)
            chosen = np.where(mass < best, side, chosen)
            best = np.minimum(best, mass)
            found.append((*corners, bounds))
        both = np.concatenate([chosen, chosen])
        rows = np.arange(both.size)
        first_, last_ = (np.stack([each[k] for each in found])[both, rows] for k in (0, 1))
        return first_, last_, np.stack([each[2] for each in found])[both, rows]

    @cached_property
    def _numbers(self) -> tuple[IntArray, FloatArray]:
        """Sums of the whole numbers of the boxes, and the log of number over count, where a density is 1."""
        first, last, bounds = self._boxes
        logs = bounds + _log_counts(first, last)
        numbers = np.floor(np.exp(logs - logs.max()) * (SCALE / np.exp(logs - logs.max()).sum())) + 1
        return np.cumsum(numbers.astype(np.int64)), np.log(numbers) - _log_counts(first, last)

    @cached_property
    def _bound(self) -> float:
        """Above log density minus log (number / count) in every box."""
        bounds = self._boxes[2]
        highest = float((bounds - self._numbers[1]).max())
        return highest + FUNCTIONS * (200 + abs(highest) + float(np.abs(bounds).max()))

    def _attempt(self, size: int, entropy: Entropy) -> IntArray:
        first, last, _ = self._boxes
        sums, logs = self._numbers
        place = np.searchsorted(
            sums, uniform_below(np.full(size, int(sums[-1]), dtype=np.int64), entropy), side="right"
        )
        widths = last[place] - first[place] + 1
        points = first[place] + uniform_below(widths.ravel(), entropy).reshape(widths.shape)
        density, off = self.density.log_density(points)
        chances = density - logs[place] - self._bound

        def exact(i: int) -> Real:
            return real(lambda: self._chance(points[i], int(place[i])))

        margin = off + FUNCTIONS * (200 + np.abs(density) + abs(self._bound))
        kept: IntArray = points[toss_coins(chances, margin, exact, entropy)]
        return kept

    def _chance(self, point: IntArray, box: int) -> flint.arb:
        """Return a ball around what a point, proposed by a box, is accepted with."""
        first, last, _ = self._boxes
        sums = self._numbers[0]
        number = int(sums[box]) - (int(sums[box - 1]) if box else 0)
        count = 1
        for low, high in zip(first[box].tolist(), last[box].tolist(), strict=True):
            count *= high - low + 1
        share = (flint.arb(number) / count).log()
        return (self.density.ball(point) - share - ball_of(self._bound)).exp()


def _log_counts(first: IntArray, last: IntArray) -> FloatArray:
    return np.asarray(np.log((last - first + 1).astype(np.float64)).sum(axis=1))
