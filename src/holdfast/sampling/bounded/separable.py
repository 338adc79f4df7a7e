"""Counts tied by totals, under a prior and a norm of their distance to a centre, drawn exactly.

p(y) is proportional to

    prod_j Gamma(y_j + a_j) / Gamma(y_j + 1)  exp(-loss(y - x))

on the y that `Totals` allows: the weight of an exponential mechanism whose base measure is a
Dirichlet-multinomial law (a_j = 1 throughout: the counting measure), given totals, bounds and orders. The
loss is below a mixture of products [holdfast, sampling/bounded/losses.py]. A draw chooses a term by whole
numbers, proposes counts by their tables [holdfast, sampling/bounded/proposal.py] and tosses one coin for
all that the proposal is above p. Floats decide where they are clear, enclosures everywhere else [holdfast,
sampling/decisions.py], so the law is exact.

Where there is one term, parts of the table that nothing ties are drawn one by one. How long a draw takes
depends on the centre.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import inf, log

import flint
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.bounded.losses import FUNCTIONS, MixedLoss, SumLoss, Term
from holdfast.sampling.bounded.proposal import CellWeights, CountProposal, DrawOrder, pivots_of, tilts_for
from holdfast.sampling.bounded.totals import Totals
from holdfast.sampling.decisions import Real, ball_of, real, toss_coins
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.uniform import uniform_below
from holdfast.sampling.rejection import PILOT, first_accepted, pilot_share, rows_at_once

SCALE = 2.0**50


@dataclass(frozen=True, eq=False)
class SeparableLaw:
    """A prior and a loss on counts with totals; ``pseudo`` are the a_j, None for the counting measure.

    A pseudo-count of 0 leaves its cell at 0.
    """

    totals: Totals
    centre: IntArray = field(repr=False)
    loss: MixedLoss
    pseudo: tuple[Fraction, ...] | None = None

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        draws = np.empty((size, self.totals.cells), dtype=np.int64)
        for part in self._parts:
            draws[:, part.cells] = part.sample(entropy, size)
        return draws

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return the log probability of each row up to one constant, minus infinity outside."""
        logs = -self.loss.values(points - self.centre)
        if self.pseudo is not None:
            counts = np.maximum(points, 0).astype(np.float64)
            for cell, a in enumerate(map(float, self.pseudo)):
                k = counts[:, cell]
                logs = logs + (gammaln(k + a) - gammaln(k + 1) if a else np.where(k == 0, 0.0, -inf))
        return np.where(self._totals.inside(points), logs, -inf)

    @property
    def acceptance(self) -> float:
        """The share of proposals that is kept in the worst part, from a seeded pilot; 0 if it found none."""
        return min((part.acceptance for part in self._parts), default=1.0)

    @cached_property
    def _totals(self) -> Totals:
        """The bounds, with cells of no mass kept at 0."""
        if self.pseudo is None or all(self.pseudo):
            return self.totals
        return self.totals.without([cell for cell, a in enumerate(self.pseudo) if not a])

    @cached_property
    def _parts(self) -> tuple["_SeparablePart", ...]:
        together = not isinstance(self.loss, SumLoss)
        return tuple(
            _SeparablePart(
                self._totals.part(cells), self.centre[cells], self._own(cells), self._pseudo(cells), cells
            )
            for cells in _apart(self._totals, together=together)
        )

    def _own(self, cells: IntArray) -> MixedLoss:
        if isinstance(self.loss, SumLoss) and self.loss.weights is not None:
            return SumLoss(self.loss.kappa, tuple(self.loss.weights[cell] for cell in cells))
        return self.loss

    def _pseudo(self, cells: IntArray) -> tuple[Fraction, ...]:
        one = Fraction(1)
        return tuple(one if self.pseudo is None else self.pseudo[cell] or one for cell in cells)


class _SeparablePart:
    """Cells that are drawn together."""

    def __init__(
        self, totals: Totals, centre: IntArray, loss: MixedLoss, pseudo: tuple[Fraction, ...], cells: IntArray
    ) -> None:
        self._totals, self._centre, self._loss, self._pseudo, self.cells = totals, centre, loss, pseudo, cells
        self._tilts = np.zeros(totals.sums.size)
        self._masses: dict[Term, tuple[float, FloatArray]] = {}
        self._kept: dict[int, CountProposal] = {}

    @cached_property
    def _plan(self) -> DrawOrder:
        self._tilts, moments = tilts_for(self._totals, self._weights(self._reference), self._tilts)
        return DrawOrder.of(self._totals, pivots_of(self._totals, moments))

    @property
    def _reference(self) -> Term:
        """A term that tells which cells vary."""
        return Term(0.0, linear=getattr(self._loss, "kappa", Fraction(1)))

    def _weights(self, term: Term) -> CellWeights:
        own = self._loss.weights if isinstance(self._loss, SumLoss) else None
        rates = (term.linear,) * self._totals.cells if own is None else tuple(term.linear * w for w in own)
        return CellWeights(tuple(self._centre.tolist()), self._pseudo, rates, term.square)

    def _within(self, term: Term) -> DrawOrder | None:
        """Return the plan within the box of a term; None where that holds nothing."""
        if term.radius is None:
            return self._plan
        totals = self._totals.near(self._centre, term.radius)
        return None if totals is None else DrawOrder.of(totals, self._plan.pivots)

    def _mass(self, term: Term) -> tuple[float, FloatArray]:
        """Return the log mass of a term's proposals and their tilts, sought from where the last ones were."""
        key = term._replace(log_coefficient=0.0)
        if key not in self._masses:
            if (plan := self._within(term)) is None:
                return -inf, self._tilts
            weights = self._weights(term)
            self._tilts, _ = tilts_for(plan.totals, weights, self._tilts)
            self._masses[key] = CountProposal(plan, weights, self._tilts).log_mass, self._tilts
        return self._masses[key]

    @cached_property
    def _terms(self) -> tuple[Term, ...]:
        found = self._loss.terms(lambda term: self._mass(term)[0], _widest(self._totals, self._centre))
        return tuple(term for term in found if term.log_coefficient > -inf)

    @cached_property
    def _numbers(self) -> tuple[IntArray, FloatArray, float]:
        """Whole numbers and log masses of the terms, and a bound of the log of mass over number."""
        masses = np.array([term.log_coefficient + self._mass(term)[0] for term in self._terms])
        some = masses > -inf
        numbers = np.where(some, np.floor(np.exp(masses - masses.max()) * SCALE) + 1, 0)
        bound = float((masses[some] - np.log(numbers[some])).max())
        return numbers.astype(np.int64), masses, bound + FUNCTIONS * (10 + abs(bound))

    def _chosen(self, number: int) -> CountProposal:
        """Return the proposals of a chosen term; few are ever chosen, and these are kept."""
        if number not in self._kept:
            term = self._terms[number]
            plan = self._within(term) or self._plan  # a term that holds nothing is never chosen
            self._kept[number] = CountProposal(plan, self._weights(term), self._mass(term)[1])
        return self._kept[number]

    def attempt(self, size: int, entropy: Entropy) -> IntArray:
        """Return what is accepted of ``size`` proposals."""
        numbers, masses, bound = self._numbers
        sums = np.cumsum(numbers)
        which = np.searchsorted(
            sums, uniform_below(np.full(size, int(sums[-1]), dtype=np.int64), entropy), side="right"
        )
        points = np.empty((size, self._totals.cells), dtype=np.int64)
        logs, off = np.empty(size), np.empty(size)
        for number in np.unique(which).tolist():
            at = np.flatnonzero(which == number)
            points[at], logs[at], off[at] = self._chosen(number).draw(at.size, entropy)
            logs[at] += float(masses[number]) - log(int(numbers[number])) - bound
        some = np.flatnonzero(logs > -inf)
        points, which, logs, off = points[some], which[some], logs[some], off[some]
        rest, more = self._loss.log_rest(points - self._centre, self._terms)
        off = off + more + FUNCTIONS * (10 + abs(bound))

        def exact(i: int) -> Real:
            return real(lambda: self._ball(points[i], int(which[i])).exp())

        return points[toss_coins(logs + rest, off, exact, entropy)]

    def _ball(self, point: IntArray, number: int) -> flint.arb:
        """Return a ball around the log of what a point, proposed by a term, is accepted with."""
        numbers, _, bound = self._numbers
        proposal, term = self._chosen(number), self._terms[number]
        value = proposal.exact(point) + ball_of(term.log_coefficient)
        value -= flint.arb(int(numbers[number])).log() + ball_of(bound)
        return value + self._loss.exact_rest(point - self._centre, self._terms)

    @cached_property
    def acceptance(self) -> float:
        """The share of proposals that is kept, from a seeded pilot; 0 where it found none."""
        return pilot_share(self.attempt)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        most = max(PILOT, rows_at_once(self._totals.cells))
        return first_accepted(
            lambda count: self.attempt(count, entropy), size, chance=self.acceptance, most=most
        )


def _apart(totals: Totals, *, together: bool) -> list[IntArray]:
    """Return the cells that are tied to each other, or all of them."""
    if together:
        return [np.arange(totals.cells)]
    ties: list[tuple[int, int]] = [(order.parent, order.child) for order in totals.orders]
    chained = [*map(totals.members, range(totals.sums.size)), *(np.flatnonzero(row) for row in totals.rows)]
    for cells in chained:
        ties += zip(cells[:-1].tolist(), cells[1:].tolist(), strict=True)
    one, other = np.array(ties, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(one.size), (one, other)), shape=(totals.cells, totals.cells))
    number, label = connected_components(graph, directed=False)
    return [np.flatnonzero(label == part) for part in range(number)]


def _widest(totals: Totals, centre: IntArray) -> int | None:
    """Return how far from the centre a count can be; None where some have no bound."""
    ends = [
        max(abs(low - x), abs(high - x))
        for x, low, high in zip(centre.tolist(), totals.low, totals.high, strict=True)
        if low is not None and high is not None
    ]
    return max(ends) if len(ends) == totals.cells else None
