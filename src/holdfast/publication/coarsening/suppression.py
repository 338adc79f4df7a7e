"""The cheapest numbers to hide, beside those that the rule hides, so that no protected cell is narrow.

A hidden number is still known within what its symbol says: 1 to k - 1, or no less than 1 where one symbol
stands for all. What is hidden beyond the rule is found by the needs of protected cells. Multipliers p and q
of the numbers prove

    width <= sum_r max(p_r low_r, p_r high_r) + max(q_r low_r, q_r high_r),   c <= p M,  -c <= q M

[schrijver1986, 7.4], and its right side grows by a known amount with each number that is hidden. So all that
is hidden must be worth what is lacking: the capacity constraints of [fischetti2001]. Where only whole counts
make a cell narrow, numbers that do so together, none of which can be left out, need one among them hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.lattice.components import Component, components, patterns
from holdfast.programs.extremes import DENOMINATOR
from holdfast.programs.hitting import minimal_cause
from holdfast.programs.solver import UNBOUNDED, HighsModel, Sides, Status
from holdfast.publication.coarsening.bridges import bridges
from holdfast.publication.coarsening.covers import CheapestChoice, Need, cheapest
from holdfast.publication.coarsening.truth import Truth
from holdfast.publication.intervals import Numbers, intervals

MOST_NEEDS = 200
"""Narrow cells for which needs are found at once."""
EFFORT = 4_000
"""Rounds with numbers hidden as a whole, times the numbers that may be: most needs are found before."""
REACH = 4
"""Where numbers are hidden in part, a hidden one without an end is let go so many times as far as asked."""


@dataclass(frozen=True, eq=False, repr=False)
class Suppression:
    """What can be hidden.

    Attributes:
        primary: the numbers that the rule of their table hides.
        low: what is known of each number where it is hidden; ``high`` likewise.
        candidates: the numbers that may be hidden with them.
        costs: what is lost with each of these.

    """

    truth: Truth
    primary: BoolArray
    low: IntArray
    high: IntArray
    candidates: IntArray
    costs: IntArray

    @classmethod
    def of(cls, truth: Truth) -> "Suppression":
        """Say what the rule of each table hides, and what may be hidden with it."""
        tables = truth.tables
        numbers, spec = tables.numbers, tables.spec
        count = numbers.low.size
        primary, candidates = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
        low, high = numbers.low.copy(), numbers.high.copy()
        for place, table in enumerate(spec.published):
            if not truth.is_free(place):
                continue
            below, least = (table.below or 1), (1 if table.zeros == "shown" else 0)
            mine = (tables.table == place) & (numbers.low == numbers.high)
            small = mine & (numbers.low >= least) & (numbers.low < below)
            large = mine & (numbers.low >= max(below, 1)) & (tables.row >= 0)
            apart = table.secondary not in (None, table.symbol)
            unlisted = small & (tables.row < 0)
            low[small | large] = least
            high[small | large] = UNBOUNDED
            high[unlisted] = max(least, below - 1)
            if apart:
                high[small] = max(least, below - 1)
                low[large] = below
            primary |= small
            candidates |= large
        places = np.flatnonzero(candidates)
        lost = numbers.low[places] if spec.coarsen.cost == "people" else np.ones(places.size, dtype=np.int64)
        return cls(truth, primary, low, high, places, lost)

    def hidden(self, chosen: BoolArray) -> BoolArray:
        """Return which numbers are hidden where some candidates are."""
        found = self.primary.copy()
        found[self.candidates[chosen]] = True
        return found

    def published(self, hidden: BoolArray) -> Numbers:
        """Return what is published where some numbers are hidden."""
        numbers = self.truth.tables.numbers
        low, high = np.where(hidden, self.low, numbers.low), np.where(hidden, self.high, numbers.high)
        return Numbers(numbers.matrix, low, high)

    @cached_property
    def asked(self) -> csr_array:
        """The protected cells as sums."""
        return csr_array(self.truth.asked.matrix[self.truth.protected])

    def solve(self) -> CheapestChoice:
        """Return the cheapest numbers to hide."""
        if self.truth.protected.size == 0:
            return cheapest(self.costs, self.lacks)
        rounds = max(6, min(80, EFFORT // max(1, self.costs.size)))
        always = bridges(self.truth.tables, self.primary, self.candidates)
        return cheapest(self.costs, self.lacks, partly=self._partly, always=always, rounds=rounds)

    def _partly(self, given: FloatArray) -> Sequence[Need]:
        """Return what cells need that are narrow where numbers are hidden in part."""
        return self._programs.partly(self, given)

    def lacks(self, chosen: BoolArray) -> Sequence[Need]:
        """Return what narrow cells need, none if there is no such cell."""
        if self.truth.protected.size == 0:
            return []
        hidden = self.hidden(chosen)
        found = intervals(self.published(hidden), self.asked)
        narrow = np.flatnonzero(found.width < self.truth.narrow)
        needs = []
        for cell in narrow[np.argsort(found.width[narrow], kind="stable")][:MOST_NEEDS].tolist():
            known = self.published(hidden)
            need = self._programs.need(self, cell, Sides.of(known.low, known.high))
            if need is None or need.met(chosen):
                need = self._cover(chosen, cell)
            needs.append(need)
        return needs

    @cached_property
    def _programs(self) -> "_Programs":
        return _Programs(self)

    def _cover(self, chosen: BoolArray, cell: int) -> Need:
        """Return shown numbers that make a cell narrow, of which none can be left out."""
        shown = np.flatnonzero(~chosen)
        one = csr_array(self.asked[[cell]])

        def enough(rows: IntArray) -> bool:
            hidden = np.ones(chosen.size, dtype=np.bool_)
            hidden[shown[rows]] = False
            return bool(intervals(self.published(self.hidden(hidden)), one).width[0] < self.truth.narrow)

        cause = shown[minimal_cause(shown.size, enough)]
        return Need(cause, np.ones(cause.size, dtype=np.int64), 1)


class _Programs:
    """Linear programs for the ends of cells, block by block, each warm from the last one."""

    def __init__(self, suppression: Suppression) -> None:
        numbers = suppression.truth.tables.numbers
        rows = numbers.low.size
        asked = suppression.asked
        kinds = patterns(csr_array(vstack([numbers.matrix, asked], format="csr")))
        self._matrix = csr_array(kinds.columns[:rows])
        self._asked = csr_array(kinds.columns[rows:])
        self._blocks = components(self._matrix)
        self._block_of = np.zeros(kinds.count, dtype=np.int64)
        for place, block in enumerate(self._blocks):
            self._block_of[block.cells] = place
        self._models: dict[int, HighsModel] = {}
        self._place = np.full(rows, -1, dtype=np.int64)
        self._place[suppression.candidates] = np.arange(suppression.candidates.size)

    def partly(self, suppression: Suppression, given: FloatArray) -> list[Need]:
        """Return what all cells need where numbers are hidden in part, each as far as they are."""
        numbers, reach = suppression.truth.tables.numbers, REACH * suppression.truth.narrow
        always, places = suppression.primary, suppression.candidates
        low = np.where(always, suppression.low, numbers.low).astype(np.float64)
        high = np.where(always, np.minimum(suppression.high, numbers.low + reach), numbers.high).astype(
            np.float64
        )
        low[places] -= given * (numbers.low - suppression.low)[places]
        room = np.minimum(suppression.high, numbers.high + reach)[places] - numbers.high[places]
        high[places] += given * room
        high[numbers.high == UNBOUNDED] = np.inf
        sides = Sides(low, high)
        found = (self.need(suppression, cell, sides) for cell in range(self._asked.shape[0]))
        return [one for one in found if one is not None]

    def need(self, suppression: Suppression, cell: int, sides: Sides) -> Need | None:
        """Return what a cell needs by the multipliers of its two programs, None where these fail.

        They are true whatever ``sides`` the programs kept: these only lead to multipliers that say much.
        """
        columns = self._asked.indices[self._asked.indptr[cell] : self._asked.indptr[cell + 1]]
        places = np.unique(self._block_of[columns])
        if places.size != 1:
            return None
        block = self._blocks[int(places[0])]
        numbers = suppression.truth.tables.numbers
        rows = block.rows
        if rows.size == 0:
            return None
        model = self._model(int(places[0]), block, sides)
        objective = np.zeros(self._block_of.size, dtype=np.int64)
        objective[columns] = 1
        cost = objective[block.cells]
        part = csr_array(self._matrix[rows][:, block.cells])
        shown_low, shown_high = numbers.low[rows], numbers.high[rows]
        always = suppression.primary[rows]
        low = np.where(always, suppression.low[rows], shown_low)
        high = np.where(always, suppression.high[rows], shown_high)
        base, worth = 0, np.zeros(rows.size, dtype=np.int64)
        endless = np.zeros(rows.size, dtype=np.bool_)
        place = self._place[rows]
        for sign in (1, -1):
            p = self._multipliers(model, part, sign * cost, high)
            if p is None:
                return None
            up, down = p > 0, p < 0
            base += int((p[up] * high[up]).sum() + (p[down] * low[down]).sum())
            may = place >= 0
            endless |= may & up & (suppression.high[rows] == UNBOUNDED)
            worth += np.where(may & down, -p * (low - suppression.low[rows]), 0)
            bounded = may & up & (suppression.high[rows] != UNBOUNDED)
            worth += np.where(bounded, p * (np.where(bounded, suppression.high[rows], 0) - shown_high), 0)
        lacking = DENOMINATOR * suppression.truth.narrow - base
        if lacking <= 0:
            return None
        worth = np.where(endless, lacking, np.minimum(worth, lacking))
        some = np.flatnonzero(worth > 0)
        return Need(place[some], worth[some], int(lacking))

    def _model(self, place: int, block: Component, sides: Sides) -> HighsModel:
        rows = Sides(sides.low[block.rows], sides.high[block.rows])
        if place not in self._models:
            count = block.cells.size
            columns = Sides.of(np.zeros(count, dtype=np.int64), np.full(count, UNBOUNDED))
            part = csr_array(self._matrix[block.rows][:, block.cells])
            self._models[place] = HighsModel(part, rows, columns, solver="simplex", presolve="off")
        self._models[place].change_rows(rows)
        return self._models[place]

    @staticmethod
    def _multipliers(
        model: HighsModel, part: csr_array, objective: IntArray, high: IntArray
    ) -> IntArray | None:
        """Return multipliers with objective <= p M, in twelfths; None where rounding breaks that."""
        model.aim(-objective.astype(np.float64))
        found = model.run(fresh=False)
        if found.status is not Status.SOLVED:
            return None
        p = np.rint(-model.prices() * DENOMINATOR).astype(np.int64)
        if ((p > 0) & (high == UNBOUNDED)).any():
            return None
        if (DENOMINATOR * objective - csr_array(part.T) @ p > 0).any():
            return None
        return p
