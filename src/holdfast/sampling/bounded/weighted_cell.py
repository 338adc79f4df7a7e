"""One count under a prior and a loss: its weight, and a table of whole numbers to propose it from.

The weight of a count k, relative to that of the centre x, is

    w(k) = g(k) / g(x) exp(-linear |k - x| - square (k - x)^2 + tilt (k - x)),   low <= k <= high,

with g(k) = Gamma(k + a) / Gamma(k + 1), the factor of one cell in a Dirichlet-multinomial law; a = 1 is no
prior. The tilt changes nothing where the sum of counts is fixed; it brings the sum of independent ones
near.

Counts come in bins. A bin is proposed with probability n / N by whole numbers n, which are known exactly,
and a count of it, all b alike, is accepted with probability w(k) b N / (n exp(bound)). Floats choose the
numbers; ``bound`` is above log(w(k) b N / n) everywhere, their error included. That rests on two facts:

* For a >= 1 log w is concave, as (k + a) / (k + 1) falls in k. For a < 1 log g is convex and falls, and the
  rest of log w is concave. A concave function is in a bin at most what its ends and its slopes there say.
* Beyond the last bin w falls outwards, as its slope is at most 0 at the edge; for a < 1, on the left, g is
  there at most what it is at the lower bound. Such a tail is one more bin. Its counts are alike, or come in
  blocks of a length in which w at least halves, each block half as likely as the one before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, lgamma, log, log1p
from typing import NamedTuple

import flint
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.sampling.decisions import ball_of
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.uniform import uniform_below
from holdfast.system.errors import SamplingError

DEPTH = 44.0
"""Bins end where weights are below exp(-DEPTH) of the largest, 2^-63."""
BINS = 1 << 13
"""Bins of a table, about: so many that a weight hardly changes in one."""
SCALE = 2.0**60
"""The sum of a table's numbers, about."""
FUNCTIONS = 2.0**-47
"""Covers a logarithm, or one of the gamma function, right to 2^-48, and a few roundings."""
STEEP = 2.0**-20
"""A slope of log w at which blocks are short enough."""
FARTHEST = 1 << 60
TINY = 1e-300


@dataclass(frozen=True)
class WeightedCell:
    """The weight of one count; ``a`` is its pseudo-count, 1 for none, and ``tilt`` a float taken as it is.

    ``low`` and ``high`` bound the count; None is no bound. A prior is for counts that are not negative.
    """

    x: int
    a: Fraction = Fraction(1)
    linear: Fraction = Fraction(0)
    square: Fraction = Fraction(0)
    low: int | None = None
    high: int | None = None
    tilt: float = 0.0

    def __post_init__(self) -> None:
        if self.a <= 0 or self.linear < 0 or self.square < 0:
            raise ValueError("a pseudo-count is positive, and rates are not negative")
        if self.a != 1 and (self.low is None or self.low < 0 or self.x < 0):
            raise ValueError("a prior is for counts that are not negative")

    @cached_property
    def _rates(self) -> tuple[float, float, float]:
        """The pseudo-count, and the rates of |k - x| and of its square, as floats."""
        return float(self.a), float(self.linear), float(self.square)

    @cached_property
    def flat(self) -> bool:
        """Whether there is no prior."""
        return self.a == 1

    @cached_property
    def _at_centre(self) -> float:
        """The log of g(x), about."""
        a = self._rates[0]
        return lgamma(self.x + a) - lgamma(self.x + 1)

    def ball(self, k: int) -> flint.arb:
        """Return a ball around log w(k), at the working precision."""
        apart = k - self.x
        loss = ball_of(self.linear * abs(apart) + self.square * apart**2)
        return self._prior_ball(k) - loss + ball_of(self.tilt) * apart

    def _prior_ball(self, k: int) -> flint.arb:
        if self.flat:
            return flint.arb(0)
        a = ball_of(self.a)
        here, there = (a + k).lgamma() - flint.arb(k + 1).lgamma(), (a + self.x).lgamma()
        return here - (there - flint.arb(self.x + 1).lgamma())

    def log_weights(self, counts: IntArray) -> FloatArray:
        """Return log w of each count, to within `off`; minus infinity out of bounds."""
        return np.where(self.within(counts), self.loss(counts) + self.prior(counts), -inf)

    def within(self, counts: IntArray) -> BoolArray:
        """Tell which counts are within the bounds."""
        inside = np.ones(counts.shape, dtype=np.bool_)
        if self.low is not None:
            inside &= counts >= self.low
        if self.high is not None:
            inside &= counts <= self.high
        return inside

    def loss(self, counts: IntArray) -> FloatArray:
        """Return the part of log w without the prior."""
        _, linear, square = self._rates
        apart = (counts - self.x).astype(np.float64)
        values: FloatArray = self.tilt * apart
        if linear:
            values -= linear * np.abs(apart)
        if square:
            values -= square * (apart * apart)
        return values

    def prior(self, counts: IntArray) -> FloatArray:
        """Return log g(k) / g(x)."""
        if self.flat:
            return np.zeros(counts.shape)
        k = np.maximum(counts, 0).astype(np.float64)
        return np.asarray(gammaln(k + self._rates[0]) - gammaln(k + 1) - self._at_centre)

    def off(self, first: int, last: int) -> float:
        """Return how far the logs of the counts from first to last may be off."""
        a, linear, square = self._rates
        apart = float(max(abs(first - self.x), abs(last - self.x)))
        size = 1 + (linear + abs(self.tilt)) * apart + square * apart * apart
        if not self.flat:  # the log of the gamma function is below 3 between 1/8 and 4, and grows from there
            least = 3 + abs(log(a))
            ends = [float(max(k, 0)) for k in (last, self.x)]
            size += 2 * sum(least + abs(lgamma(k + a)) + abs(lgamma(k + 1)) for k in ends)
        return FUNCTIONS * size

    def up(self, counts: IntArray) -> FloatArray:
        """Return log w(k + 1) / w(k), rounded up; where a < 1, without the prior, which only lowers it."""
        a, linear, square = self._rates
        prior = np.log1p((a - 1) / (counts + 1.0)) if a > 1 else np.zeros(counts.shape)
        side = np.where(counts >= self.x, -linear, linear)
        return _rounded_up(prior, side, -square * (2.0 * (counts - self.x) + 1), self.tilt)

    def down(self, counts: IntArray) -> FloatArray:
        """Return log w(k - 1) / w(k), rounded up; where a < 1, without the prior."""
        a, linear, square = self._rates
        prior = -np.log1p((a - 1) / np.maximum(counts, 1)) if a > 1 else np.zeros(counts.shape)
        side = np.where(counts <= self.x, -linear, linear)
        return _rounded_up(prior, side, square * (2.0 * (counts - self.x) - 1), -self.tilt)

    def slope(self, k: int, step: int) -> float:
        """Return `up` (step 1) or `down` (step -1) of one count."""
        a, linear, square = self._rates
        prior = 0.0
        if a > 1:
            prior = log1p((a - 1) / (k + 1)) if step > 0 else -log1p((a - 1) / max(k, 1))
        apart = (k - self.x) * step
        side = -linear if apart >= 0 else linear
        curve, tilt = -square * (2 * apart + 1), self.tilt * step
        return prior + side + curve + tilt + FUNCTIONS * (abs(prior) + linear + abs(curve) + abs(tilt))

    def rough(self, k: int, prior_at: int | None = None) -> float:
        """Return log w(k), nearly, the prior taken at another count if one is given: to choose bins by."""
        a, linear, square = self._rates
        apart = float(k - self.x)
        value = self.tilt * apart - linear * abs(apart) - square * apart * apart
        if not self.flat:
            at = k if prior_at is None else prior_at
            value += lgamma(at + a) - lgamma(at + 1) - self._at_centre
        return value


def _rounded_up(prior: FloatArray, side: FloatArray, curve: NDArray[np.floating], tilt: float) -> FloatArray:
    size = np.abs(prior) + np.abs(side) + np.abs(curve) + abs(tilt)
    return np.asarray(prior + side + curve + tilt + FUNCTIONS * size)


class Child(NamedTuple):
    """A count that stays ``below`` another one by so much at least, proposed once that one is known."""

    table: "CellTable"
    below: int

    def log_shares(self, counts: IntArray) -> FloatArray:
        """Return the log of the part of the child's table that is within reach of each count."""
        with np.errstate(divide="ignore"):
            return np.log(self.table.up_to(counts - self.below) / self.table.total)

    def log_share(self, k: int) -> flint.arb:
        """Return a ball around the same for one count."""
        return (flint.arb(int(self.table.up_to(np.array([k - self.below]))[0])) / self.table.total).log()


class CellTable:
    """Whole numbers by which a count is proposed, and what it is then accepted with.

    With ``children`` the weight is w(k) times the parts of their tables that are within reach of k, at most 1
    and growing in k. The table of a child is ``whole``: its bins are single counts, from its lower bound on.
    """

    def __init__(self, cell: WeightedCell, children: Sequence[Child] = (), *, whole: bool = False) -> None:
        self.cell, self.children = cell, tuple(children)
        if whole and cell.low is None:
            raise ValueError("the table of a child begins at its lower bound")
        depth = DEPTH
        while True:
            first, last = _window(cell, depth)
            self.first = cell.low if whole and cell.low is not None else first
            self.width = 1 if whole else -(-(last - self.first + 1) // BINS)
            self.bins = -(-(last - self.first + 1) // self.width)
            plain, logs = self._bins()
            if plain - logs.max() <= depth - DEPTH + 1 or depth > 64 * DEPTH:
                break
            depth = DEPTH + plain - float(logs.max()) if logs.max() > -inf else 2 * depth
        if logs.max() == -inf:
            raise SamplingError("no count is above what has to stay below it: correct one of the bounds.")
        self._tails = _tails(cell, self.first, self.last)
        self._choose(logs)

    @property
    def last(self) -> int:
        """The last count of the last bin; it may be above the upper bound."""
        return self.first + self.bins * self.width - 1

    def _bins(self) -> tuple[float, FloatArray]:
        """Return a bound of log w in all bins, and of each times its width, with the children's parts."""
        left = self.first + self.width * np.arange(self.bins, dtype=np.int64)
        right = left + self.width - 1
        cell = self.cell
        if self.width == 1:
            logs = cell.loss(left) + cell.prior(left)
        elif cell.a < 1:
            logs = self._between(left, right, cell.loss) + cell.prior(left)
        else:
            logs = self._between(left, right, lambda counts: cell.loss(counts) + cell.prior(counts))
        logs += log(self.width) + cell.off(self.first, self.last)
        highest = float(logs.max())
        for child in self.children:
            logs = logs + child.log_shares(right) + 64 * FUNCTIONS
        return highest, logs

    def _between(
        self, left: IntArray, right: IntArray, concave: Callable[[IntArray], FloatArray]
    ) -> FloatArray:
        """Return a bound of a concave function in each bin, the slopes being those of the cell."""
        ends = np.maximum(concave(left), concave(right))
        steps = np.maximum(np.minimum(self.cell.up(left), self.cell.down(right)), 0.0)
        return np.asarray(ends + steps * self.width)

    def _choose(self, logs: FloatArray) -> None:
        """Choose the numbers, and find the bound."""
        logs = np.append(logs, [tail.log_mass for tail in self._tails])
        some = logs > -inf
        masses = np.exp(logs - logs.max())
        self.share = float(masses[:-2].sum() / masses.sum())
        numbers = np.where(some, np.floor(masses * (SCALE / masses.sum())) + 1, 0).astype(np.int64)
        self._sums = np.cumsum(numbers)
        self.total = int(self._sums[-1])
        self._log_numbers = np.full(logs.size, -inf)
        self._log_numbers[some] = np.log(numbers[some]) - log(self.total)
        slack = FUNCTIONS * (200 + float(np.abs(logs[some]).max()))
        self.bound = float((logs[some] - self._log_numbers[some]).max()) + slack
        self._bin_logs = logs[:-2]

    @cached_property
    def shares(self) -> FloatArray:
        """How often each bin is proposed, tails left out, about."""
        masses = np.exp(self._bin_logs - self._bin_logs.max())
        return np.asarray(masses / masses.sum())

    @property
    def places(self) -> FloatArray:
        """The middle of each bin."""
        return np.asarray(self.first + (self.width - 1) / 2 + self.width * np.arange(self.bins))

    def moments(self, shares: FloatArray) -> tuple[float, float]:
        """Return the mean and the variance of the bins, with shares of them."""
        places = self.places
        mean = float((shares * places).sum())
        return mean, float((shares * (places - mean) ** 2).sum()) + (self.width**2 - 1) / 12

    def kept(self, child: Child) -> float:
        """Return about how often a child would be within reach if it did not have to."""
        right = self.first + self.width * np.arange(1, self.bins + 1, dtype=np.int64) - 1
        shares = child.log_shares(right)
        plain = self._bin_logs[shares > -inf] - shares[shares > -inf]
        return float(np.exp(self._bin_logs - plain.max()).sum() / np.exp(plain - plain.max()).sum())

    def below(self, parent: "CellTable", parents: FloatArray, by: int) -> tuple[FloatArray, FloatArray]:
        """Return the shares of bins below a parent, and the mean below each bin of it; for a child.

        ``parents`` are the shares of the parent's bins.
        """
        right = parent.first + parent.width * np.arange(1, parent.bins + 1, dtype=np.int64) - 1
        place = np.clip(right - by - self.first, -1, self.bins - 1)
        sums = self._sums[: self.bins].astype(np.float64)
        numbers = np.diff(sums, prepend=0.0)
        reached = np.where(place < 0, np.inf, sums[place])
        each = np.bincount(place[place >= 0], (parents / reached)[place >= 0], minlength=self.bins)
        shares = numbers * np.cumsum(each[::-1])[::-1]
        means = np.where(place < 0, 0.0, np.cumsum(numbers * self.places)[place] / reached)
        return shares / max(float(shares.sum()), TINY), means

    @cached_property
    def cap(self) -> float:
        """A bound of the log weight, with the children's parts."""
        edges = (tail.log_edge for tail in self._tails if tail.log_mass > -inf)
        highest = max(float(self._bin_logs.max()) - log(self.width), *edges, -inf)
        return highest + FUNCTIONS * (100 + abs(highest))

    def log_weights(self, counts: IntArray) -> FloatArray:
        """Return the log weight of each count, with the children's parts."""
        logs = self.cell.log_weights(counts)
        for child in self.children:
            logs = logs + child.log_shares(counts)
        return logs

    def log_weight(self, k: int) -> flint.arb:
        """Return a ball around the same for one count."""
        return sum((child.log_share(k) for child in self.children), self.cell.ball(k))

    def up_to(self, most: IntArray) -> IntArray:
        """Return the sum of the numbers of counts up to ``most``; beyond the bins, of all. For a child."""
        place = np.clip(most - self.first, -1, self.bins - 1)
        within = np.where(place < 0, 0, self._sums[place])
        return np.where(most > self.last, self.total, within)

    def draw(self, size: int, entropy: Entropy, most: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Return counts, and the log of what each is accepted with; with ``most``, none above it is."""
        limit = np.full(size, self.total, dtype=np.int64) if most is None else self.up_to(most)
        place = np.searchsorted(self._sums, uniform_below(np.maximum(limit, 1), entropy), side="right")
        counts: IntArray = self.first + self.width * place
        if self.width > 1:
            counts += uniform_below(np.full(size, self.width, dtype=np.int64), entropy)
        logs = log(self.width) - self._log_numbers[place] - self.bound
        for i in np.flatnonzero(place >= self.bins).tolist():
            tail = self._tails[int(place[i]) - self.bins]
            counts[i] = tail.draw(entropy)
            logs[i] += tail.log_spread(int(counts[i])) - log(self.width)
        logs += self.log_weights(counts)
        if most is not None:
            logs[(limit == 0) | (counts > most)] = -inf
        return counts, logs

    def off(self, counts: IntArray) -> float:
        """Return how far the logs of draws may be off."""
        ends = int(counts.min(initial=self.first)), int(counts.max(initial=self.last))
        return self.cell.off(*ends) + FUNCTIONS * (300 + abs(self.bound))

    def exact(self, k: int) -> flint.arb:
        """Return a ball around the log of the weight of a count over its probability."""
        value = self.log_weight(k)
        place = (k - self.first) // self.width
        side = None if 0 <= place < self.bins else int(place > 0)
        entry = place if side is None else self.bins + side
        number = int(self._sums[entry]) - (int(self._sums[entry - 1]) if entry else 0)
        value -= (flint.arb(number) / self.total).log()
        return value + (flint.arb(self.width).log() if side is None else self._tails[side].spread(k).log())


class _Tail:
    """The counts beyond the bins in one direction from their ``edge``: a number of them, or blocks."""

    def __init__(self, edge: int, step: int, number: int | None, slope: float, log_edge: float) -> None:
        length = ceil(log(2) / -slope) + 1 if slope < -STEEP else None
        if length is not None and (number is None or 2 * length < number):
            number = None  # what blocks have beyond a bound is not accepted
        self._edge, self._step, self._number, self._length = edge, step, number, length or 0
        size = 2 * self._length if number is None else number
        self.log_edge = log_edge
        self.log_mass = log_edge + log(size) if size else -inf
        """A bound of the log of what the tail weighs."""

    def draw(self, entropy: Entropy) -> int:
        """Return one count."""
        if self._number is not None:
            return self._edge + self._step * (1 + int(uniform_below(np.array([self._number]), entropy)[0]))
        blocks = 0
        while (word := int(entropy.words(1)[0])) == 0:
            blocks += 64
        blocks += (word & -word).bit_length() - 1
        within = int(uniform_below(np.array([self._length]), entropy)[0])
        return self._edge + self._step * (1 + blocks * self._length + within)

    def spread(self, k: int) -> flint.arb:
        """Return one over the chance of a count, given the tail; a whole number."""
        if self._number is not None:
            return flint.arb(self._number)
        block = (abs(k - self._edge) - 1) // self._length
        return flint.arb(self._length) * flint.arb(2) ** (block + 1)

    def log_spread(self, k: int) -> float:
        """Return the log of that, as a float."""
        return float(self.spread(k).log().mid())


def _tails(cell: WeightedCell, first: int, last: int) -> tuple[_Tail, _Tail]:
    left = None if cell.low is None else max(first - cell.low, 0)
    right = None if cell.high is None else max(cell.high - last, 0)
    ends = np.array([first, last])
    logs = cell.loss(ends) + cell.prior(
        ends if cell.a >= 1 or cell.low is None else np.array([cell.low, last])
    )
    low, high = (logs + cell.off(first, last)).tolist()
    return (
        _Tail(first, -1, left, -1.0 if left == 0 else cell.slope(first, -1), low),
        _Tail(last, 1, right, -1.0 if right == 0 else cell.slope(last, 1), high),
    )


def _window(cell: WeightedCell, depth: float) -> tuple[int, int]:
    """Return the first and the last count of the bins: what is beyond weighs little, and falls."""
    low, high = cell.low, cell.high
    begin = cell.x if low is None else max(cell.x, low)
    begin = begin if high is None else min(begin, high)
    start = begin if cell.a < 1 else _mode(cell, begin)
    floor = max(cell.rough(k) for k in (begin, start, begin if low is None else low)) - depth
    highest = low if cell.a < 1 else None  # where the prior of a left tail is largest

    def ends(k: int, step: int, end: int | None, prior_at: int | None) -> bool:
        return cell.slope(k, step) <= (-STEEP if end is None else 0.0) and cell.rough(k, prior_at) < floor

    return (
        _edge(start, -1, low, lambda k: ends(k, -1, low, highest)),
        _edge(start, 1, high, lambda k: ends(k, 1, high, None)),
    )


def _mode(cell: WeightedCell, begin: int) -> int:
    """Return where a log-concave weight is largest, about."""
    if cell.slope(begin, 1) > 0:
        return _edge(begin, 1, cell.high, lambda k: cell.slope(k, 1) <= 0)
    return _edge(begin, -1, cell.low, lambda k: k == cell.low or cell.slope(k - 1, 1) > 0)


def _edge(start: int, step: int, end: int | None, reached: Callable[[int], bool]) -> int:
    """Return about the nearest count on one side from which on something holds, or the end."""
    if start == end or reached(start):
        return start
    reach = 1
    while not reached(start + step * reach):
        reach *= 2
        if end is not None and reach >= abs(end - start):
            if not reached(end):
                return end
            reach = abs(end - start)
            break
        if reach > FARTHEST:
            raise SamplingError("a count without bounds spreads over too many values: ask for less noise.")
    near, far = reach // 2, reach
    while far - near > max(1, far // 8):
        middle = (near + far) // 2
        near, far = (near, middle) if reached(start + step * middle) else (middle, far)
    return start + step * far
