"""A law by thinning another: its draws are kept with a probability that is told by balls.

Where p(z) = q(z) exp(-more(z)) with more(z) >= 0, a draw of q that is kept with probability exp(-more(z)) is
one of p. So the l1 law serves every norm that is at least c times l1, and every prior with a largest value.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import flint
import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.accept import first_accepted, pilot_size, rows_at_once
from holdfast.sampling.decisions.coin import toss_coins
from holdfast.sampling.decisions.enclosure import Real, real
from holdfast.sampling.decisions.floats import Floats
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.law import Law

PILOT = 1000
RARE = 1e-6
"""The share that is expected to be kept where a pilot kept none."""
More = Callable[[IntArray], tuple[Floats, Floats]]
"""What the log of p is below that of q for each row, and how far off that may be; infinite outside of p."""


@dataclass(frozen=True, eq=False)
class ThinnedLaw:
    """The law of ``law`` times exp(-more); ``exact`` gives a ball around ``more`` for one row."""

    law: Law
    more: More
    exact: Callable[[IntArray], flint.arb]
    cells: int

    @cached_property
    def acceptance(self) -> float:
        """The share of draws that is kept, from a seeded pilot; 0 where it kept none."""
        size = pilot_size(PILOT, self.cells)
        return int(self._kept(size, SeededEntropy(0)).shape[0]) / size

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        return first_accepted(
            lambda count: self._kept(count, entropy),
            size,
            chance=self.acceptance or RARE,
            most=rows_at_once(self.cells),
        )

    def log_prob(self, points: IntArray) -> NDArray[np.float64]:
        """Return the log probability of each row up to one constant, minus infinity outside."""
        more, _ = self.more(points)
        return np.where(np.isfinite(more), self.law.log_prob(points) - more, -np.inf)

    def _kept(self, size: int, entropy: Entropy) -> IntArray:
        points = self.law.sample(entropy, size)
        more, off = self.more(points)
        some = np.flatnonzero(np.isfinite(more))
        points, more, off = points[some], more[some], off[some]

        def exact(i: int) -> Real:
            return real(lambda: self._chance(points[i]))

        kept: IntArray = points[toss_coins(-more, off, exact, entropy)]
        return kept

    def _chance(self, point: IntArray) -> flint.arb:
        return (-self.exact(point)).exp()
