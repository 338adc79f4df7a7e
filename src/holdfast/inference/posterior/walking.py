"""Moving a table by single steps: of any law, or of one with a normaliser.

**Of any law** (`Walking`): propose, and accept with the ratio of the posteriors. It asks the law itself for
every step, so it is slow, and serves where the noise is no sum over cells: K-norm noise, noisy statistics,
and releases within bounds, whose normalisers are exchanged [murray2006].

**With a normaliser** (`Correcting`): the posterior is pi(x) / C(x), where pi would be the posterior if the
normaliser were the same for all tables. Moves that are chosen at random and leave pi as it is are reversible,
and so are several of them in a row. So the table that they lead to is accepted with probability
min(1, C(x) / C(x')) [tierney1994]. There are as many in a row as change log C by about 1.
Where a prior of the release outweighs its noise, 1 / C makes the posterior far wider than pi. So each row is
followed by a stride: a Metropolis step along one move, of a length that is uniform on a scale of logarithms.
"""

from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from holdfast.inference.posterior.model import CountModel, PriorNumbers
from holdfast.inference.posterior.moves import Moves
from holdfast.inference.posterior.sliding import ChainTable, Sliding
from holdfast.inference.posterior.table_constraints import TableConstraints
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.likelihood import Likelihood
from holdfast.mechanisms.truncation.totals import Normaliser


@dataclass(eq=False)
class MetropolisTable:
    """The table of one chain, and where it takes releases from."""

    counts: IntArray
    chances: Any = None


@dataclass(frozen=True, eq=False)
class Walking:
    """Metropolis steps along moves, of lengths that are about as long as the noise is wide."""

    model: CountModel
    constraints: TableConstraints
    moves: Moves
    likelihood: Likelihood

    side_by_side: ClassVar[bool] = False

    def start(self, table: IntArray) -> MetropolisTable:
        """Return a chain's table."""
        return MetropolisTable(table.copy())

    def sweep(
        self, table: MetropolisTable, numbers: PriorNumbers, times: int, generator: np.random.Generator
    ) -> None:
        """Try as many moves as there are, twice the number of cells at most; in place."""
        moves, low, (rows, least) = self._listed, self.constraints.low, self._joint
        terms = self.model.terms(numbers)
        if table.chances is None:
            table.chances = self.likelihood.chances(generator)
        tries = times * min(len(moves), 2 * self.constraints.cells)
        chosen = generator.integers(len(moves), size=tries)
        lengths = generator.geometric(min(1.0, 2 / self._width), size=tries)
        lengths *= 2 * generator.integers(2, size=tries) - 1
        here = self.model.log_kernel(table.counts, terms)
        for row, length, level in zip(chosen, lengths, generator.standard_exponential(tries), strict=True):
            there = table.counts + length * moves[row]
            if (there < low).any() or (least.size and (rows @ there < least).any()):
                continue
            prior = self.model.log_kernel(there, terms)
            if prior - here + self.likelihood.log_ratio(table.counts, there, table.chances) >= -level:
                table.counts[:], here = there, prior

    def counts(self, table: MetropolisTable) -> IntArray:
        """Return the counts of a chain's table."""
        return table.counts

    @cached_property
    def _listed(self) -> IntArray:
        return np.asarray(csr_array(self.moves.listing(self.constraints.cells)).toarray(), dtype=np.int64)

    @cached_property
    def _joint(self) -> tuple[IntArray, IntArray]:
        rows, least = self.constraints.joint
        return np.asarray(rows.toarray(), dtype=np.int64), least

    @cached_property
    def _width(self) -> int:
        return self.likelihood.width


PILOTS = 6


@dataclass(eq=False)
class Corrected:
    """The table of one chain, and the logarithm of its normaliser."""

    table: ChainTable
    log_normaliser: float


@dataclass(frozen=True, eq=False)
class Correcting:
    """Rows of random moves, each accepted for the normaliser."""

    sliding: Sliding
    normaliser: Normaliser

    side_by_side: ClassVar[bool] = False

    def start(self, table: IntArray) -> Corrected:
        """Return a chain's table."""
        return Corrected(self.sliding.start(table), self.normaliser.log(table))

    def sweep(
        self, table: Corrected, numbers: PriorNumbers, times: int, generator: np.random.Generator
    ) -> None:
        """Make as many moves as there are cells, in rows with a stride after each; in place."""
        for _ in range(times * max(1, round(self.sliding.constraints.cells / self._row))):
            self._slide(table, numbers, generator)
            self._stride(table, numbers, generator)

    def _slide(self, table: Corrected, numbers: PriorNumbers, generator: np.random.Generator) -> None:
        now = table.table
        there = ChainTable(now.counts.copy(), now.sums.copy())
        self.sliding.wander(there, numbers, self._row, generator)
        log_normaliser = self.normaliser.log(self.sliding.counts(there))
        if table.log_normaliser - log_normaliser >= -generator.standard_exponential():
            table.table, table.log_normaliser = there, log_normaliser

    def _stride(self, table: Corrected, numbers: PriorNumbers, generator: np.random.Generator) -> None:
        moves, sliding = self._listed, self.sliding
        at = int(generator.integers(moves.shape[0]))
        part = slice(moves.indptr[at], moves.indptr[at + 1])
        length = int(2 ** (generator.random() * self._longest)) * (1 if generator.random() < 0.5 else -1)
        here = sliding.counts(table.table)
        there = here.copy()
        there[moves.indices[part]] += length * moves.data[part]
        rows, least = sliding.constraints.joint  # a move keeps the invariants
        if (there < sliding.constraints.low).any() or (least.size and (rows @ there < least).any()):
            return
        before, after = sliding.log_posteriors(np.stack([here, there]), numbers)
        log_normaliser = self.normaliser.log(there)
        gain = after - before + table.log_normaliser - log_normaliser
        if gain >= -generator.standard_exponential():
            table.table, table.log_normaliser = sliding.start(there), log_normaliser

    @cached_property
    def _listed(self) -> csr_array:
        return self.sliding.moves.listing(self.sliding.constraints.cells)

    @cached_property
    def _longest(self) -> float:
        """The logarithm of the longest stride, to the base 2: that of the largest released count."""
        return log2(1 + int(self.sliding.released.max(initial=1)))

    def counts(self, table: Corrected) -> IntArray:
        """Return the counts of a chain's table."""
        return self.sliding.counts(table.table)

    @cached_property
    def _row(self) -> int:
        """How many moves change log C by about 1, seen from a table near the release."""
        sliding, generator = self.sliding, np.random.default_rng(0)
        numbers = sliding.model.medians()
        table = sliding.start(sliding.constraints.nearest(sliding.released))
        sliding.wander(table, numbers, 2 * sliding.constraints.cells, generator)
        row = sliding.constraints.cells
        while row > 1:
            logs = []
            for _ in range(PILOTS):
                logs.append(self.normaliser.log(sliding.counts(table)))
                sliding.wander(table, numbers, row, generator)
            if float(np.abs(np.diff(logs)).mean()) <= 1:
                break
            row = max(1, row // 2)
        return row
