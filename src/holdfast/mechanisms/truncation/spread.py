"""How much more is lost where a law is cut off: the spread of normalisers, part by part.

The double geometric law around a table x, conditioned on a set R of possible releases, is

    P_x(y) = exp(-epsilon ||y - x||_1) / C(x) on R,   C(x) = sum over y in R of exp(-epsilon ||y - x||_1),

so between two tables v = ||x - x'||_1 apart the loss at y is

    epsilon (||y - x'||_1 - ||y - x||_1) + log C(x') - log C(x)  <=  epsilon v + log C(x') - log C(x),

with equality at y = x where x is in R. For R = {y >= 0 : A y = t} both R and C are products over the
connected components of A, so the losses of components add up, and so does v. Each class below bounds the
loss of one component for every v, whatever the confidential table is:

* ``ListedTables`` lists all tables and releases of a small component. C(x) is a polynomial in exp(-epsilon)
  with whole coefficients: exact up to enclosures [johansson2017].
* ``LineBounds`` is for every component. Split R into lines {y_0 + k u} along u = x' - x and let g(k) be the
  weight exp(-epsilon ||y_0 + k u - x||_1) of the k-th point of one, k = 0, 1, ..., K within R. Around x' the
  same points weigh g(-1), ..., g(K - 1), so C(x') / C(x) is at most the largest ratio of a line,
  1 + (g(-1) - g(K)) / (g(0) + ... + g(K)). A step changes log g by at most epsilon v, so
  (1 - q) (g(0) + ... + g(K)) >= g(0) - q g(K), q = exp(-epsilon v). The step from -1 to 0 leaves the
  negative numbers in some cell i, whose distance from x_i >= 0 then grows by u_i - 2 at most, not by u_i: it
  lowers log g by at most epsilon (v - 2). Together

      C(x') / C(x) <= 1 + exp(epsilon (v - 2)) - exp(-2 epsilon)  <  exp(epsilon v),

  which is less than [congenial-dp, Theorem 2.1] pays with gamma = 1. The log of the bound is convex in v and
  0 at v = 0, so shorter pieces cost less. Where A is totally unimodular, u is a sum of pieces of its signs:
  in the cone of the kernel's vectors with these signs, one of least support within that of u has, by Cramer's
  rule, entries -1, 0, 1, at most rank + 1 of them not 0; taken from u, it leaves a vector of the kernel whose
  entries went towards 0. So the pieces lead from x to x' through non-negative tables. Where the invariants
  fix the sum of each kind of cell, the pieces are single records that go from one cell to another, v = 2.
* ``Free`` is for cells in no invariant. C(x) of one cell is (1 + a - a^(x + 1)) / (1 - a), a = exp(-epsilon):
  it grows in x, and one more record multiplies it by 1 + a - a^2 at most.
* ``Twice`` is the bound of [congenial-dp, Theorem 2.1] for any conditions on the release.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

import flint
import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions import enclose, exp_of_minus

SCALE = 40
"""Losses are whole multiples of 2^-SCALE, rounded up."""
PRECISION = 192
NONE = -1
"""Stands for: no two tables are so far apart."""


BoundBasis = Literal[
    "same",
    "summed",
    "lines",
    "record by record",
    "as much again",
    "same, factor 2 dropped",
    "factor 2",
    "every two tables",
]
"""What a bound of the cost of the normaliser rests on."""
_HOW: dict[BoundBasis, str] = {
    "same": "the normaliser is the same for all tables",
    "summed": "the normaliser was summed for every table of the universe",
    "lines": "the normaliser was bounded along lines between two tables",
    "record by record": "the normaliser was bounded for one record at a time",
    "as much again": "the normaliser was taken to cost as much as the noise",
    "same, factor 2 dropped": "the normaliser is the same for all tables, so the factor 2 that would pay for"
    " it is dropped",
    "factor 2": "the normaliser was taken to cost as much as the loss, a factor 2",
    "every two tables": "loss and normaliser were worked out for every two tables of the universe",
}


def bases_in_words(how: Iterable[BoundBasis]) -> str:
    """Return what bounds rest on, in words."""
    return "; ".join(sorted(_HOW[one] for one in how))


class ComponentLoss(Protocol):
    """Bounds of the loss of one component between its tables."""

    @property
    def exact(self) -> bool:
        """Whether the bounds are attained, up to rounding."""
        ...

    @property
    def how(self) -> BoundBasis:
        """What the bounds rest on."""
        ...

    def at(self, epsilon: Fraction, reach: int) -> list[int]:
        """Return the bound for v = 0, ..., reach in units of 2^-SCALE, NONE where no tables are v apart."""
        ...

    def per_unit(self, epsilon: Fraction) -> Fraction:
        """Return a bound of loss / v over all pairs of tables."""
        ...


class ListedTables:
    """All tables of a component and all its releases, in rows.

    ``balanced`` leaves out pairs of tables with different sums; without it some may be counted that other
    components do not allow.
    """

    how: BoundBasis = "summed"

    def __init__(self, tables: IntArray, releases: IntArray, *, balanced: bool) -> None:
        self.exact = balanced
        own = tables.shape == releases.shape
        to_release = _distances(tables, releases)
        width = int(to_release.max(initial=0)) + 1
        counts = np.zeros((tables.shape[0], width), dtype=np.int64)
        rows = np.arange(tables.shape[0])
        for column in to_release.T:
            counts[rows, column] += 1
        self._counts, kind = np.unique(counts, axis=0, return_inverse=True)
        kind = kind.ravel()
        apart = to_release if own else _distances(tables, tables)
        gain = apart if own else _gains(to_release)
        allowed = (apart > 0) & (releases.shape[0] > 1)  # a release that never varies says nothing
        if balanced:
            sums = tables.sum(axis=1)
            allowed &= sums[:, None] == sums[None, :]
        # every (kind of x, kind of x', distance, gain) once: x is a row, x' a column
        first, second = np.nonzero(allowed)
        seen = np.column_stack([kind[first], kind[second], apart[first, second], gain[first, second]]).astype(
            np.int64
        )
        self._pairs = _distinct_rows(seen)

    def at(self, epsilon: Fraction, reach: int) -> list[int]:
        """Return the largest loss at each distance."""
        losses = [0] + [NONE] * reach
        for v, loss in zip(self._pairs[:, 2].tolist(), self._losses(epsilon).tolist(), strict=True):
            if v <= reach:
                losses[v] = max(losses[v], loss)
        return losses

    def per_unit(self, epsilon: Fraction) -> Fraction:
        """Return the largest loss over distance."""
        if not self._pairs.size:
            return Fraction(0)
        losses, apart = self._losses(epsilon), self._pairs[:, 2]
        furthest = np.zeros(int(apart.max()) + 1, dtype=np.int64)
        np.maximum.at(furthest, apart, losses)
        return max(Fraction(int(furthest[v]), int(v) << SCALE) for v in np.unique(apart))

    def _losses(self, epsilon: Fraction) -> IntArray:
        """Return the loss of each kind of pair, rounded up."""
        low, high = self._log_normalisers(epsilon)
        least, most = int(self._pairs[:, 3].min(initial=0)), int(self._pairs[:, 3].max(initial=0))
        gains = np.array([_up(epsilon * gain) for gain in range(least, most + 1)], dtype=np.int64)
        first, second, _, gain = self._pairs.T
        grown = np.where(first == second, 0, high[second] - low[first])
        losses: IntArray = np.maximum(gains[gain - least] + grown, 0)
        return losses

    def _log_normalisers(self, epsilon: Fraction) -> tuple[IntArray, IntArray]:
        with flint.ctx.workprec(PRECISION):
            powers = [[exp_of_minus(epsilon * k)] for k in range(self._counts.shape[1])]
            sums = flint.arb_mat(self._counts.tolist()) * flint.arb_mat(powers)
            ends = [enclose(sums[i, 0].log(), SCALE) for i in range(self._counts.shape[0])]
        return np.array([e[0] for e in ends], dtype=np.int64), np.array([e[1] for e in ends], dtype=np.int64)


@dataclass(frozen=True)
class LineBounds:
    """Any component, releases non-negative.

    ``step`` is 1 where tables may be an odd distance apart, else 2. ``longest`` is the longest piece that a
    difference of tables is made of; None where that is not known.
    """

    step: int = 2
    longest: int | None = None

    exact = False
    how: BoundBasis = "lines"

    def at(self, epsilon: Fraction, reach: int) -> list[int]:
        """Return epsilon v and the log of the bound for each piece; long pieces cost most."""
        longest = reach if self.longest is None else min(self.longest, reach)
        grown = [0] + [_grown(epsilon, v) for v in range(1, longest + 1)]
        pieces = [divmod(v, max(longest, 1)) for v in range(reach + 1)]
        return [
            NONE if v % self.step else _up(epsilon * v) + whole * grown[longest] + grown[rest]
            for v, (whole, rest) in enumerate(pieces)
        ]

    def per_unit(self, epsilon: Fraction) -> Fraction:
        """Return the bound of the longest piece over its length, or 2 epsilon, its limit."""
        if self.longest is None:
            return 2 * epsilon
        return epsilon + Fraction(_grown(epsilon, self.longest), self.longest << SCALE)


@dataclass(frozen=True)
class Free:
    """Cells in no invariant; ``step`` is 2 where what some gain others lose, else 1."""

    step: int = 2

    exact = False
    how: BoundBasis = "record by record"

    def at(self, epsilon: Fraction, reach: int) -> list[int]:
        """Return epsilon v and log(1 + a - a^2) for each record that a cell gains."""
        grown = _grown(epsilon, 1)
        return [
            NONE if v % self.step else _up(epsilon * v) + v // self.step * grown for v in range(reach + 1)
        ]

    def per_unit(self, epsilon: Fraction) -> Fraction:
        """Return the same for one step."""
        return epsilon + Fraction(_grown(epsilon, 1), self.step << SCALE)


@dataclass(frozen=True)
class Twice:
    """Any set of releases; ``step`` is 1 where tables may be an odd distance apart."""

    step: int = 2
    exact = False
    how: BoundBasis = "as much again"

    def at(self, epsilon: Fraction, reach: int) -> list[int]:
        """Return 2 epsilon v [congenial-dp, Theorem 2.1]."""
        return [NONE if v % self.step else _up(2 * epsilon * v) for v in range(reach + 1)]

    def per_unit(self, epsilon: Fraction) -> Fraction:
        """Return 2 epsilon."""
        return 2 * epsilon


def _grown(epsilon: Fraction, v: int) -> int:
    """Return log(1 + exp(epsilon (v - 2)) - exp(-2 epsilon)), rounded up."""
    with flint.ctx.workprec(PRECISION):
        return enclose((1 + exp_of_minus(epsilon * (2 - v)) - exp_of_minus(2 * epsilon)).log(), SCALE)[1]


def _up(value: Fraction) -> int:
    """Return a number in units of 2^-SCALE, rounded up."""
    return -((-value.numerator << SCALE) // value.denominator)


def _distances(tables: IntArray, others: IntArray) -> IntArray:
    """Return ||x - y||_1 for every table x (a row) and every other y (a column)."""
    apart = np.zeros((tables.shape[0], others.shape[0]), dtype=np.int64)
    for cell, other in zip(tables.T, others.T, strict=True):
        apart += np.abs(cell[:, None] - other[None, :])
    return apart


def _gains(to_release: IntArray) -> IntArray:
    """Return the largest ||y - x'||_1 - ||y - x||_1 over all releases y, x a row and x' a column."""
    return np.stack([(to_release - row).max(axis=1) for row in to_release])


def _distinct_rows(rows: IntArray) -> IntArray:
    """Return each row once: by one number a row, which sorts faster than four."""
    if not rows.size:
        return rows
    least = rows.min(axis=0)
    sizes = rows.max(axis=0) - least + 1
    code = np.ravel_multi_index(tuple((rows - least).T), tuple(sizes))
    distinct: IntArray = np.column_stack(np.unravel_index(np.unique(code), tuple(sizes))) + least
    return distinct
