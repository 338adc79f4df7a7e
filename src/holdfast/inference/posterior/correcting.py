"""Moving a table given a release with a normaliser: as without one, and then accepted for it.

The posterior is pi(x) / C(x), where pi would be the posterior if the normaliser were the same for all tables.
Moves that are chosen at random and leave pi as it is are reversible, and so are several of them in a row. So
the table that they lead to is accepted with probability min(1, C(x) / C(x')) [tierney1994]. There are as many
in a row as change log C by about 1.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

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
        """Make as many moves as there are cells, in rows; in place."""
        row = self._row
        for _ in range(times * max(1, round(self.sliding.facts.cells / row))):
            now = table.table
            there = Table(now.counts.copy(), now.sums.copy())
            self.sliding.wander(there, numbers, row, generator)
            log_normaliser = self.normaliser.log(self.sliding.counts(there))
            if table.log_normaliser - log_normaliser >= -generator.standard_exponential():
                table.table, table.log_normaliser = there, log_normaliser

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
