"""What a test loses when it sees a projected release: the power of the best tests, with and without.

n people say 1 with probability theta, independently; S of them do. H_0: theta <= theta_0 is tested against
theta_1 > theta_0, at a level, from noise on counts and from public facts. Two designs:

* ``bounds``: low <= S <= high is public, Y = S + noise is released, and Y* is Y moved into the bounds.
* ``total``: n is public, both S and n - S are released with noise of their own, Y = (Y_1, Y_2), and Y* is the
  nearest pair of counts with the sum n, not negative: (Y_1 + n - Y_2) / 2 rounded to even, within 0..n.

The noise is double geometric, P(z) proportional to exp(-rate |z|), or discrete Gaussian, exp(-rate z^2 / 2).
Laws of Y and Y* are summed over S, so the most powerful tests of Neyman and Pearson and their powers are
exact up to float rounding and tails of TAIL. Y* is a function of Y and of what is public, so its best test is
one from Y: it is never more powerful.

[partially-private-data, Theorem 15] says more: that it is strictly less powerful as soon as Y* can differ
from Y. That is not so. Beyond the bounds of S double geometric noise tells nothing more: P(Y = y | S = s) is
exp(rate s) times a function of y for y >= high, so the likelihood ratio is the same for all of them, and
moving Y into the bounds loses nothing at all. Power is lost with other noise, where the boundary of the best
test lies among values that are moved to one; and in the second design, as the middle of two values with
double geometric noise is less than both [theory, 7].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite, log, sqrt
from typing import Any, Literal

import numpy as np
from scipy.stats import binom

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.errors import SpecError
from holdfast.system.notebook import NotebookReport, Picture

ProjectionDesign = Literal["bounds", "total"]
ProjectionNoise = Literal["geometric", "gaussian"]
Places = IntArray
TAIL = 1e-12
"""Mass of noise beyond which all values are taken for one."""
MOST_VALUES = 4_000_000
"""Values of Y that are listed."""


@dataclass(frozen=True)
class Powers:
    """The power of the best test at one alternative: exact, and the share of simulated rejections."""

    theta: float
    released: float
    projected: float
    simulated_released: float | None = None
    simulated_projected: float | None = None
    standard_error: float | None = None

    @property
    def lost(self) -> float:
        """The power that projection costs."""
        return self.released - self.projected


@dataclass(frozen=True)
class PowerReport(NotebookReport):
    """Powers against alternatives; ``moved`` is how likely the projection changes a release under H_0."""

    design: ProjectionDesign
    n: int
    null: float
    level: float
    noise: ProjectionNoise
    rate: float
    moved: float
    powers: tuple[Powers, ...]

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        return Picture(
            "power that the projection loses", [(f"{one.theta:g}", one.lost) for one in self.powers]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {**vars(self), "powers": [{**vars(one), "lost": one.lost} for one in self.powers]}


def projected_power(
    n: int,
    rate: float,
    null: float,
    alternatives: Sequence[float],
    *,
    level: float = 0.05,
    design: ProjectionDesign = "bounds",
    noise: ProjectionNoise = "geometric",
    bounds: tuple[int, int] | None = None,
    draws: int = 0,
    seed: int = 0,
) -> PowerReport:
    """Compare the best tests from a release and from its projection.

    Args:
        n: how many people.
        rate: how fast the masses of the noise fall.
        null: theta_0.
        alternatives: larger values of theta.
        level: how often a true hypothesis may be rejected.
        design: what is public and released.
        noise: its kind.
        bounds: the public bounds of the count, 0 and n unless given.
        draws: simulated releases for each alternative; none, if 0.
        seed: of the simulation.

    """
    low, high = bounds or (0, n)
    _check(n, rate, null, alternatives, level)
    if not 0 <= low < high <= n or (bounds is not None and design == "total"):
        raise SpecError(
            f"the count lies between {low} and {high}: give bounds between 0 and n, the lower one first, and"
            " only for the design 'bounds'."
        )
    world = ProjectedValues(n, rate, design, noise, (low, high))
    base = world.law(null)
    rng = np.random.default_rng(seed)
    powers = [_powers(world, base, world.law(theta), theta, level, draws, rng) for theta in alternatives]
    return PowerReport(design, n, null, level, noise, rate, float(base[world.moved].sum()), tuple(powers))


class ProjectedValues:
    """All values of Y, and where the projection puts each."""

    def __init__(
        self, n: int, rate: float, design: ProjectionDesign, noise: ProjectionNoise, bounds: tuple[int, int]
    ) -> None:
        self.n, self.design, (low, high) = n, design, bounds
        self.counts = np.arange(low, high + 1)
        reach = ceil(-log(TAIL) / rate if noise == "geometric" else sqrt(-2 * log(TAIL) / rate)) + 1
        self.first, self.width = low - reach, high - low + 2 * reach + 1
        if self.width ** (1 if design == "bounds" else 2) > MOST_VALUES:
            raise SpecError(
                f"{n:,} people with noise of rate {rate:g} have too many releases to be listed: take fewer"
                " people, or less noise."
            )
        values = np.arange(self.first, self.first + self.width)
        self.steps = np.arange(-reach, reach + 1)
        size = np.abs(self.steps) if noise == "geometric" else self.steps**2 / 2
        self.chances = np.exp(-rate * size) / np.exp(-rate * size).sum()
        if design == "bounds":
            projected = np.clip(values, low, high)
            self.moved = projected != values
        else:
            one, other = values[:, None], values[None, :]
            twice = one + n - other
            half = np.clip(np.rint(twice / 2).astype(np.int64), 0, n)
            projected = half.ravel()
            self.moved = ((half != one) | (n - half != other)).ravel()
        self.place = projected - projected.min()

    def shares(self, theta: float) -> FloatArray:
        """Return the law of S, given what is public."""
        mass = binom.pmf(self.counts, self.n, theta)
        if not mass.sum() > 0:
            raise SpecError(f"theta = {theta:g} gives the public bounds of the count no chance: give others.")
        return np.asarray(mass / mass.sum())

    def law(self, theta: float) -> FloatArray:
        """Return the law of Y, flat."""
        shares = self.shares(theta)
        if self.design == "bounds":
            return np.asarray(np.convolve(shares, self.chances))
        noise = np.zeros((self.counts.size, self.width))
        for place in range(self.counts.size):
            noise[place, place : place + self.steps.size] = self.chances
        return np.asarray(((noise * shares[:, None]).T @ noise[::-1]).ravel())  # n - S falls as S rises

    def draw(self, theta: float, size: int, rng: np.random.Generator) -> Places:
        """Return simulated releases, by the place of their value."""
        count = rng.choice(self.counts, size=size, p=self.shares(theta))
        first = self._seen(count + self._noise(size, rng))
        if self.design == "bounds":
            return first
        return np.asarray(first * self.width + self._seen(self.n - count + self._noise(size, rng)))

    def _noise(self, size: int, rng: np.random.Generator) -> Places:
        return np.asarray(rng.choice(self.steps, size=size, p=self.chances))

    def _seen(self, values: Places) -> Places:
        return np.asarray(np.clip(values - self.first, 0, self.width - 1))


def _powers(
    world: ProjectedValues,
    base: FloatArray,
    other: FloatArray,
    theta: float,
    level: float,
    draws: int,
    rng: np.random.Generator,
) -> Powers:
    """Return the powers of both tests, and the share of rejections in draws that both tests see."""
    full = best_test(base, other, level)
    null, alternative = (np.bincount(world.place, weights=law).astype(np.float64) for law in (base, other))
    short = best_test(null, alternative, level)
    exact = float(full @ other), float(short @ alternative)
    if not draws:
        return Powers(theta, *exact)
    seen = world.draw(theta, draws, rng)
    chances = full[seen], short[world.place[seen]]
    uniform = rng.random(draws)
    rejected = [chance > uniform for chance in chances]
    error = max(float(np.std(one)) for one in rejected) / draws**0.5
    return Powers(theta, *exact, float(rejected[0].mean()), float(rejected[1].mean()), error)


def best_test(base: FloatArray, other: FloatArray, level: float) -> FloatArray:
    """Return the chances of rejection of the most powerful test of one law against another, at a level."""
    ratio = np.divide(other, base, out=np.full_like(other, np.inf), where=base > 0)
    order = np.argsort(-ratio, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(base[order])[:-1]])
    mass = base[order]
    chance = np.ones_like(base)
    np.divide(np.clip(level - before, 0, None), mass, out=chance, where=mass > 0)
    test = np.empty_like(base)
    test[order] = np.clip(chance, 0, 1)
    return test


def _check(n: int, rate: float, null: float, alternatives: Sequence[float], level: float) -> None:
    if n < 1 or not (rate > 0 and isfinite(rate)):
        raise SpecError(f"n = {n} people with noise of rate {rate:g}: give positive numbers.")
    if not 0 < level < 1:
        raise SpecError(f"the level {level:g} is no probability: give one such as 0.05.")
    if not alternatives or not all(0 < null < theta < 1 for theta in alternatives):
        raise SpecError(
            "the hypothesis and larger alternatives are probabilities between 0 and 1: correct them."
        )
