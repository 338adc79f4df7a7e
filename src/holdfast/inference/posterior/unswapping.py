"""Undoing a swap: the permutation of each stratum as a latent variable.

Released record i has its own held values and the swapped ones of another record of its stratum; so the true
file is the released one with its swapped values put back by some permutation t. The law of t is that of the
swap [theory, 8]: in a stratum of b records, with o = p/(1 - p), a permutation that moves k of them has a
probability proportional to o^k / d_k, d_k being the number of derangements of k things, d_1 = 0. Records are
drawn from the model on their own, so a file has probability p(x) / (number of files with the table x), and
the posterior of t is

    prod over strata o^k / d_k  x  prod_c e^(x_c level_c)  prod_g Gamma(shape_g + X_g) e^(-X_g slope_g),

x being the table of the file that t puts back. A step exchanges what two records of a stratum take:

    insert    a record that stays joins the cycle of one that moves, or two that stay exchange;
    remove    a record that moves leaves its cycle, and both do where it was a cycle of two;
    rewire    two records that move exchange what they take, unless one would stay.

Each is accepted with the ratio of the posteriors and of the chances to propose it and its reverse. With f
records that stay, an insertion is proposed with 1/(2 f k), or 1/(f (f - 1)) for two at once, and removed with
1/(k + 1), or 2/(k + 2). Exchanges reach every permutation. The counts of stratum by swapped values and
of stratum by held ones are those of the released file in every state, with exact equality.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lgamma, log
from typing import Any, ClassVar

import numpy as np

from holdfast.inference.posterior.model import CountModel, PriorNumbers
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.swapping.bounds import derangement_count
from holdfast.mechanisms.swapping.permute import permute
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.compiled import compiled

EXACT = 100
"""Derangements of more things are k!/e to all digits of a float."""


@dataclass(eq=False)
class Unswapped:
    """A permutation: whose values each record takes, and its inverse; those that move come first."""

    takes: IntArray
    gives: IntArray
    order: IntArray
    place: IntArray
    moved: IntArray
    counts: IntArray
    sums: IntArray


@dataclass(frozen=True, eq=False)
class Unswapping:
    """Records of strata side by side, and the cell of each pair of held and swapped values.

    Attributes:
        model: a model of the counts.
        starts: where each stratum begins, and where the last one ends.
        held: for each record, the part of the number of its cell that held values tell.
        swapped: the part that swapped values tell; the cell is the sum of both.
        cell: the cell of the model for each such sum.
        rate: p.

    """

    model: CountModel
    starts: IntArray
    held: IntArray
    swapped: IntArray
    cell: IntArray
    rate: Fraction

    side_by_side: ClassVar[bool] = True

    def draw(self, generator: np.random.Generator) -> IntArray:
        """Return a permutation from the law of the swap."""
        source = SeededEntropy(int(generator.integers(2**63)))
        return permute(np.diff(self.starts), self.rate, source).source

    def start(self, table: IntArray) -> Unswapped:
        """Return the state of a chain that starts at a permutation."""
        takes = table.copy()
        records = np.arange(takes.size)
        gives = np.empty_like(takes)
        gives[takes] = records
        order = np.lexsort((takes == records, self._stratum))
        place = np.empty_like(order)
        place[order] = records
        moved = np.add.reduceat((takes != records).astype(np.int64), self.starts[:-1])
        counts = np.bincount(self.cell[self.held + self.swapped[takes]], minlength=self.model.cells)
        return Unswapped(takes, gives, order, place, moved, counts, self.model.sums(counts).copy())

    def sweep(
        self, table: Unswapped, numbers: PriorNumbers, times: int, generator: np.random.Generator
    ) -> None:
        """Propose as many steps as there are records, some times; in place."""
        shape, slope = self.model.terms(numbers)
        _sweep(
            times * table.takes.size,
            (table.takes, table.gives, table.order, table.place, table.moved),
            (table.counts, table.sums),
            (self.starts, self._stratum, self.held, self.swapped, self.cell, self._log_weights),
            (self.model.group, self.model.level, shape, slope),
            generator,
        )

    def counts(self, table: Unswapped) -> IntArray:
        """Return the table of the file that is put back."""
        return table.counts

    @cached_property
    def _stratum(self) -> IntArray:
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    @cached_property
    def _log_weights(self) -> FloatArray:
        """The log of o^k / d_k for every k; minus infinity for 1."""
        largest = int(np.diff(self.starts).max(initial=0))
        odds = float(self.rate / (1 - self.rate))
        return np.array([k * log(odds) - log_derangements(k) for k in range(largest + 1)])


def log_derangements(k: int) -> float:
    """Return log d_k; infinity for 1, so that o^k / d_k becomes 0: no permutation moves one thing alone."""
    if k == 1:
        return float("inf")
    return log(derangement_count(k)) if k <= EXACT else lgamma(k + 1) - 1


@compiled
def _shift(cell: Any, by: Any, tables: Any, model: Any) -> Any:
    """Add a record to a cell, or take one away; returns what that adds to the log posterior."""
    counts, sums = tables
    group, level, shape, slope = model
    g = group[cell]
    counts[cell] += by
    if by > 0:
        found = level[cell] - slope[g] + np.log(shape[g] + sums[g])
        sums[g] += 1
        return found
    sums[g] -= 1
    return slope[g] - level[cell] - np.log(shape[g] + sums[g])


@compiled
def _exchange(one: Any, other: Any, takes: Any, tables: Any, records: Any, model: Any) -> Any:
    """Let two records exchange what they take; returns what that adds to the log posterior of the table."""
    _, _, held, swapped, cell, _ = records
    first, second = swapped[takes[one]], swapped[takes[other]]
    found = _shift(cell[held[one] + first], -1, tables, model)
    found += _shift(cell[held[other] + second], -1, tables, model)
    found += _shift(cell[held[one] + second], 1, tables, model)
    found += _shift(cell[held[other] + first], 1, tables, model)
    takes[one], takes[other] = takes[other], takes[one]
    return found


@compiled
def _trade(record: Any, at: Any, order: Any, place: Any) -> None:
    """Put a record at a place of the order, and the one that was there at its place."""
    was, there = place[record], order[at]
    order[at], order[was] = record, there
    place[record], place[there] = at, was


@compiled
def _proposal(k: Any, begin: Any, size: Any, takes: Any, gives: Any, order: Any, generator: Any) -> Any:
    """Return two records that shall exchange what they take, how many more then move, and the log chance.

    The chance is that of the reverse over that of the proposal; the first record is -1 where there is none.
    """
    stay, kind = size - k, np.int64(generator.random() * 6)
    if kind == 0 and k > 0 and stay > 0:  # one joins a cycle
        one = order[begin + k + np.int64(generator.random() * stay)]
        other = order[begin + np.int64(generator.random() * k)]
        return one, other, 1, np.log(2.0 * stay * k / (k + 1))
    if kind == 1 and stay > 1:  # two exchange
        first, second = _two(stay, generator)
        chance = np.log(2.0 * stay * (stay - 1) / (k + 2))
        return order[begin + k + first], order[begin + k + second], 2, chance
    if kind in (2, 3) and k > 0:  # one leaves its cycle
        one = order[begin + np.int64(generator.random() * k)]
        other = gives[one]
        if takes[one] == other:
            return one, other, -2, np.log(k / (2.0 * (stay + 2) * (stay + 1)))
        return one, other, -1, np.log(k / (2.0 * (stay + 1) * (k - 1)))
    if kind > 3 and k > 1:  # two that move
        first, second = _two(k, generator)
        one, other = order[begin + first], order[begin + second]
        if takes[one] != other and takes[other] != one:
            return one, other, 0, 0.0
    return -1, -1, 0, 0.0


@compiled
def _two(size: Any, generator: Any) -> Any:
    """Return two different numbers below a size."""
    first = np.int64(generator.random() * size)
    second = np.int64(generator.random() * (size - 1))
    return first, second + (second >= first)


@compiled
def _sweep(steps: Any, state: Any, tables: Any, records: Any, model: Any, generator: Any) -> None:
    """Propose steps one after the other."""
    takes, gives, order, place, moved = state
    starts, stratum, weights = records[0], records[1], records[5]
    for _ in range(steps):
        s = stratum[np.int64(generator.random() * takes.size)]
        begin, k = starts[s], moved[s]
        one, other, change, chance = _proposal(
            k, begin, starts[s + 1] - begin, takes, gives, order, generator
        )
        if one < 0:
            continue
        ratio = _exchange(one, other, takes, tables, records, model)
        ratio += weights[k + change] - weights[k] + chance
        if ratio < 0 and -generator.standard_exponential() > ratio:
            _exchange(one, other, takes, tables, records, model)
            continue
        gives[takes[one]], gives[takes[other]] = one, other
        if change > 0:
            _trade(one, begin + k, order, place)
            if change == 2:
                _trade(other, begin + k + 1, order, place)
        elif change < 0:
            _trade(one, begin + k - 1, order, place)
            if change == -2:
                _trade(other, begin + k - 2, order, place)
        moved[s] = k + change
