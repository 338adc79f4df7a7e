"""Moving a table given a release with a normaliser: as without one, and then accepted for it.

The posterior is pi(x) / C(x), where pi would be the posterior if the normaliser were the same for all tables.
Moves that are chosen at random and leave pi as it is are reversible, and so are several of them in a row. So
the table that they lead to is accepted with probability min(1, C(x) / C(x')) [tierney1994]. There are as many
in a row as change log C by about 1.

Where a prior of the release outweighs its noise, 1 / C makes the posterior far wider than pi. So each row is
followed by a stride: a Metropolis step along one move, of a length that is uniform on a scale of logarithms.
"""

from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from holdfast.inference.posterior.model import Numbers
from holdfast.inference.posterior.normaliser import Normaliser
from holdfast.inference.posterior.sliding import Sliding, Table
from holdfast.lattice.arrays import IntArray

PILOTS = 6


@dataclass(eq=False)
class Corrected:
    """The table of one chain, and the logarithm of its normaliser."""

    table: Table
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

    def sweep(self, table: Corrected, numbers: Numbers, times: int, generator: np.random.Generator) -> None:
        """Make as many moves as there are cells, in rows with a stride after each; in place."""
        for _ in range(times * max(1, round(self.sliding.facts.cells / self._row))):
            self._slide(table, numbers, generator)
            self._stride(table, numbers, generator)

    def _slide(self, table: Corrected, numbers: Numbers, generator: np.random.Generator) -> None:
        now = table.table
        there = Table(now.counts.copy(), now.sums.copy())
        self.sliding.wander(there, numbers, self._row, generator)
        log_normaliser = self.normaliser.log(self.sliding.counts(there))
        if table.log_normaliser - log_normaliser >= -generator.standard_exponential():
            table.table, table.log_normaliser = there, log_normaliser

    def _stride(self, table: Corrected, numbers: Numbers, generator: np.random.Generator) -> None:
        moves, sliding = self._listed, self.sliding
        at = int(generator.integers(moves.shape[0]))
        part = slice(moves.indptr[at], moves.indptr[at + 1])
        length = int(2 ** (generator.random() * self._longest)) * (1 if generator.random() < 0.5 else -1)
        here = sliding.counts(table.table)
        there = here.copy()
        there[moves.indices[part]] += length * moves.data[part]
        if not sliding.facts.hold(there[None])[0]:
            return
        before, after = (sliding.log_posterior(each, numbers) for each in (here, there))
        log_normaliser = self.normaliser.log(there)
        gain = after - before + table.log_normaliser - log_normaliser
        if gain >= -generator.standard_exponential():
            table.table, table.log_normaliser = sliding.start(there), log_normaliser

    @cached_property
    def _listed(self) -> csr_array:
        return self.sliding.moves.listing(self.sliding.facts.cells)

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
        table = sliding.start(sliding.facts.nearest(sliding.released))
        sliding.wander(table, numbers, 2 * sliding.facts.cells, generator)
        row = sliding.facts.cells
        while row > 1:
            logs = []
            for _ in range(PILOTS):
                logs.append(self.normaliser.log(sliding.counts(table)))
                sliding.wander(table, numbers, row, generator)
            if float(np.abs(np.diff(logs)).mean()) <= 1:
                break
            row = max(1, row // 2)
        return row
