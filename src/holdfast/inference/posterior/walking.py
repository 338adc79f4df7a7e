"""Moving a table by single steps of any law: propose, and accept with the ratio of the posteriors.

It asks the law itself for every step, so it is slow, and serves where the noise is no sum over cells: K-norm
noise, noisy statistics, and releases within bounds, whose normalisers are exchanged [murray2006].
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from holdfast.inference.posterior.facts import Facts
from holdfast.inference.posterior.likelihood import Likelihood
from holdfast.inference.posterior.model import CountModel, Numbers
from holdfast.inference.posterior.moves import Moves
from holdfast.lattice.arrays import IntArray


@dataclass(eq=False)
class Walked:
    """The table of one chain, and where it takes releases from."""

    counts: IntArray
    chances: Any = None


@dataclass(frozen=True, eq=False)
class Walking:
    """Metropolis steps along moves, of lengths that are about as long as the noise is wide."""

    model: CountModel
    facts: Facts
    moves: Moves
    likelihood: Likelihood

    side_by_side: ClassVar[bool] = False

    def start(self, table: IntArray) -> Walked:
        """Return a chain's table."""
        return Walked(table.copy())

    def sweep(self, table: Walked, numbers: Numbers, times: int, generator: np.random.Generator) -> None:
        """Try as many moves as there are, twice the number of cells at most; in place."""
        moves, low, (rows, least) = self._listed, self.facts.low, self._joint
        if table.chances is None:
            table.chances = self.likelihood.chances(generator)
        tries = times * min(len(moves), 2 * self.facts.cells)
        chosen = generator.integers(len(moves), size=tries)
        lengths = generator.geometric(min(1.0, 2 / self._width), size=tries)
        lengths *= 2 * generator.integers(2, size=tries) - 1
        here = self._prior(table.counts, numbers)
        for row, length, level in zip(chosen, lengths, generator.standard_exponential(tries), strict=True):
            there = table.counts + length * moves[row]
            if (there < low).any() or (rows @ there < least).any():
                continue
            prior = self._prior(there, numbers)
            if prior - here + self.likelihood.log_ratio(table.counts, there, table.chances) >= -level:
                table.counts[:], here = there, prior

    def counts(self, table: Walked) -> IntArray:
        """Return the counts of a chain's table."""
        return table.counts

    def _prior(self, table: IntArray, numbers: Numbers) -> float:
        return float(self.model.log_prob(table[None], numbers[None])[0])

    @cached_property
    def _listed(self) -> IntArray:
        return np.asarray(csr_array(self.moves.listing(self.facts.cells)).toarray(), dtype=np.int64)

    @cached_property
    def _joint(self) -> tuple[IntArray, IntArray]:
        rows, least = self.facts.joint
        return np.asarray(rows.toarray(), dtype=np.int64), least

    @cached_property
    def _width(self) -> int:
        return self.likelihood.width
