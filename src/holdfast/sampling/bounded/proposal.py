"""Counts with totals, proposed cell by cell: independent ones, and in each group one that makes up the total.

The target is a product of weights w_j(y_j) given what `Totals` says. All cells are drawn from their tables
but one pivot in each group, whose count follows from the total. A proposal is accepted with the product of
what its counts are accepted with, times w(pivot) / max w, if it keeps all else. The tilts of a group change
nothing, as the differences to the centre add up to 0 in it; they are chosen so that counts that are not tied
by totals have the totals on average, and the pivot is a cell that then varies much: one proposal in about
sqrt(cells) is accepted for each total.

A child is drawn once its parent is known, from the part of its table that is below; what is left out is
paid for in the table of its parent. So are the children of a pivot, if no total ties them; other orders that
touch a pivot are looked at in the end, as other inequalities are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import flint
import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.bounded.totals import FREE, Order, Totals
from holdfast.sampling.bounded.weighted_cell import CellTable, Child, WeightedCell
from holdfast.sampling.entropy import Entropy

LONGEST = 1 << 20
"""Counts between the bounds of a child, whose table has all of them."""
NEWTON, HALVED = 40, 12
"""Steps to a tilt, and how often one is halved."""
MOST_TIED = 500
"""Groups whose covariances are all looked at."""
LONGEST_STEP = 1.0
TINY = 1e-9
NEAR = 0.3
"""How far the mean of a sum may be from its total, in its standard deviations."""


@dataclass(frozen=True)
class CellWeights:
    """What the weights of all cells are made of, one a cell."""

    centre: tuple[int, ...] = field(repr=False)
    pseudo: tuple[Fraction, ...]
    linear: tuple[Fraction, ...]
    square: Fraction = Fraction(0)

    def cell(self, j: int, low: int | None, high: int | None, tilt: float) -> WeightedCell:
        """Return the weight of a cell within bounds."""
        return WeightedCell(self.centre[j], self.pseudo[j], self.linear[j], self.square, low, high, tilt)


@dataclass(frozen=True, eq=False)
class DrawOrder:
    """Which cells make up the totals, and who is drawn after whom."""

    totals: Totals
    pivots: tuple[int, ...]
    parent: dict[int, Order]
    rows: IntArray
    least: IntArray

    @classmethod
    def of(cls, totals: Totals, pivots: Sequence[int]) -> "DrawOrder":
        """Sort the orders into those that are kept while drawing and those that are looked at in the end."""
        parent: dict[int, Order] = {}
        rest: list[Order] = []
        for order in totals.orders:
            low, high = totals.low[order.child], totals.high[order.child]
            short = low is not None and high is not None and high - low < LONGEST
            above = _ancestors(order.parent, parent)
            taken = order.child in parent or order.child in pivots or order.child in above
            tied = above[-1] in pivots and any(
                totals.group[cell] != FREE for cell in _descendants(order.child, parent)
            )
            if not short or taken or tied:
                rest.append(order)
            else:
                parent[order.child] = order
        rows = np.zeros((len(rest), totals.cells), dtype=np.int64)
        for row, order in zip(rows, rest, strict=True):
            row[order.parent], row[order.child] = 1, -1
        least = np.array([order.by for order in rest], dtype=np.int64)
        return cls(
            totals,
            tuple(pivots),
            parent,
            np.concatenate([totals.rows, rows]),
            np.concatenate([totals.least, least]),
        )

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The cells as they are drawn: parents before their children, those above whom no pivot is first."""
        place = {cell: _ancestors(cell, self.parent) for cell in range(self.totals.cells)}
        return tuple(sorted(place, key=lambda cell: (place[cell][-1] in self.pivots, len(place[cell]))))

    @cached_property
    def children(self) -> dict[int, tuple[Order, ...]]:
        """The orders by parent."""
        found: dict[int, tuple[Order, ...]] = {}
        for order in self.parent.values():
            found[order.parent] = (*found.get(order.parent, ()), order)
        return found


def _ancestors(cell: int, parent: dict[int, Order]) -> list[int]:
    found = [cell]
    while found[-1] in parent:
        found.append(parent[found[-1]].parent)
    return found


def _descendants(cell: int, parent: dict[int, Order]) -> list[int]:
    return [cell, *(child for child in parent if child != cell and cell in _ancestors(child, parent))]


class CountProposal:
    """Proposals for one product of weights; ``log_mass`` is the log of what they are scaled by.

    Probability times exp(log_mass) times what is accepted is the product of weights.
    """

    def __init__(self, plan: DrawOrder, weights: CellWeights, tilts: FloatArray) -> None:
        self._plan, self.tilts = plan, tilts
        self._tables: dict[int, CellTable] = {}
        totals = plan.totals
        for cell in reversed(plan.order):  # children first
            tilt = 0.0 if totals.group[cell] == FREE else float(tilts[totals.group[cell]])
            children = [Child(self._tables[order.child], order.by) for order in plan.children.get(cell, ())]
            weighted = weights.cell(cell, totals.low[cell], totals.high[cell], tilt)
            self._tables[cell] = CellTable(weighted, children, whole=cell in plan.parent)

    @cached_property
    def log_mass(self) -> float:
        """The sum of the bounds of all cells."""
        pivots = self._plan.pivots
        return sum(table.cap if cell in pivots else table.bound for cell, table in self._tables.items())

    @cached_property
    def moments(self) -> "Moments":
        """The moments of every cell, of children given that they stay below their parents."""
        totals, shares = self._plan.totals, dict[int, FloatArray]()
        mean, variance, kept = np.zeros(totals.cells), np.zeros(totals.cells), np.ones(totals.cells)
        ties: list[tuple[int, int, float]] = []
        for cell in self._plan.order:
            table, order = self._tables[cell], self._plan.parent.get(cell)
            if order is None:
                shares[cell] = table.shares
                mean[cell], variance[cell] = table.moments(shares[cell])
                continue
            above, parents = self._tables[order.parent], shares[order.parent]
            shares[cell], means = table.below(above, parents, order.by)
            mean[cell], variance[cell] = table.moments(shares[cell])
            share = above.kept(Child(table, order.by))
            kept[[order.parent, cell]] *= share
            one, other = int(totals.group[order.parent]), int(totals.group[cell])
            if FREE not in (one, other):
                both = (parents * (above.places - mean[order.parent]) * (means - mean[cell])).sum()
                ties.append((one, other, float(both)))
        return Moments(mean, variance, kept, tuple(ties))

    def draw(self, size: int, entropy: Entropy) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return points, the log of what each is accepted with, and how far off that may be."""
        totals = self._plan.totals
        points = np.zeros((size, totals.cells), dtype=np.int64)
        logs, off = np.zeros(size), np.zeros(size)
        for cell in self._plan.order:
            table, order = self._tables[cell], self._plan.parent.get(cell)
            if cell in self._plan.pivots:
                group = totals.group[cell]
                points[:, cell] = totals.sums[group] - points[:, totals.group == group].sum(axis=1)
                logs += table.log_weights(points[:, cell]) - table.cap
            else:
                most = None if order is None else points[:, order.parent] - order.by
                points[:, cell], chances = table.draw(size, entropy, most)
                logs += chances
            off += table.off(points[:, cell])
        if self._plan.rows.size:
            logs[~(points @ self._plan.rows.T >= self._plan.least).all(axis=1)] = -np.inf
        return points, logs, off

    def exact(self, point: IntArray) -> flint.arb:
        """Return a ball around the log of the product of weights over the probability of a point."""
        value = flint.arb(0)
        for cell, table in self._tables.items():
            pivot, k = cell in self._plan.pivots, int(point[cell])
            value += table.log_weight(k) if pivot else table.exact(k)
        return value


class Moments(NamedTuple):
    """What counts are like that keep bounds and orders.

    Attributes:
        mean, variance: of each cell.
        kept: how often its orders would be kept if they did not have to.
        ties: covariances of parents and children, with their groups.

    """

    mean: FloatArray
    variance: FloatArray
    kept: FloatArray
    ties: tuple[tuple[int, int, float], ...]

    def step(self, gaps: FloatArray, groups: Sequence[IntArray]) -> FloatArray:
        """Return a step of Newton that closes the gaps between the totals and their means."""
        spread = np.array([max(float(self.variance[cells].sum()), TINY) for cells in groups])
        if self.ties and len(groups) <= MOST_TIED:
            covariance = np.diag(spread)
            for one, other, value in self.ties:
                covariance[one, other] += value * (2 if one == other else 1)
                covariance[other, one] += 0 if one == other else value
            step = np.linalg.lstsq(covariance, gaps, rcond=TINY)[0]
            if step @ gaps > 0:
                return np.asarray(step)
        return np.asarray(gaps / spread)


def tilts_for(totals: Totals, weights: CellWeights, start: FloatArray) -> tuple[FloatArray, Moments]:
    """Return tilts by which sums are near to the totals on average, sought from a ``start``, and the moments.

    They are where the mass of all counts that keep bounds and orders is least. The log of it is convex in the
    tilts, with the means of the sums less the totals for its gradient and their covariance for its second
    derivative: steps of Newton, halved while they lead up.
    """
    groups, plan = [totals.members(number) for number in range(totals.sums.size)], DrawOrder.of(totals, ())
    found = CountProposal(plan, weights, start)
    for _ in range(NEWTON):
        moments = found.moments
        gaps = np.array(
            [
                float(total - moments.mean[cells].sum())
                for total, cells in zip(totals.sums, groups, strict=True)
            ]
        )
        spread = np.array([max(float(moments.variance[cells].sum()), TINY) for cells in groups])
        if (np.abs(gaps) <= NEAR * np.sqrt(spread)).all():
            break
        step = moments.step(gaps, groups)
        step *= min(1.0, LONGEST_STEP / float(np.abs(step).max()))
        for halved in range(HALVED):
            following = CountProposal(plan, weights, found.tilts + step / 2**halved)
            if following.log_mass <= found.log_mass:
                break
        else:
            break
        found = following
    return found.tilts, found.moments


def pivots_of(totals: Totals, moments: Moments) -> tuple[int, ...]:
    """Return the cell of each group that varies most, the less so if its orders then are often broken."""
    worth = np.sqrt(moments.variance) * moments.kept
    groups = map(totals.members, range(totals.sums.size))
    return tuple(int(cells[np.argmax(worth[cells])]) for cells in groups)
