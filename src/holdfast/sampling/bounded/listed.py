"""Laws on few vectors: all of them listed, with their weights, and drawn by inversion.

The weights are told by balls of any precision, so enclosures of their sums decide every draw.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import flint
import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.decisions import GUARD_BITS, Enclosure, enclose
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.inversion import Cumulated, Inversion

ExactLogWeight = Callable[[IntArray], flint.arb]
"""Asked for a vector, a ball around the log of its weight, at the working precision."""


@dataclass(frozen=True, eq=False)
class ListedLaw:
    """A law on the rows of ``points``, with probabilities in proportion to their weights."""

    points: IntArray = field(repr=False)
    log_weight: ExactLogWeight = field(repr=False)
    _sums: dict[int, Cumulated] = field(default_factory=dict, repr=False)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        drawn: IntArray = self.points[self._inversion.sample(entropy, size)]
        return drawn

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return the log probability of each row, minus infinity for what is not listed."""
        place = {tuple(point): number for number, point in enumerate(self.points.tolist())}
        found = [place.get(tuple(point)) for point in points.tolist()]
        return np.array([-np.inf if number is None else self._log_shares[number] for number in found])

    @cached_property
    def _inversion(self) -> Inversion:
        return Inversion(self._cdf)

    @cached_property
    def _log_shares(self) -> FloatArray:
        with flint.ctx.workprec(128):
            logs = np.array([float(self.log_weight(point).mid()) for point in self.points])
        highest = logs.max()
        return np.asarray(logs - highest - np.log(np.exp(logs - highest).sum()))

    def _cdf(self, k: int, bits: int) -> Enclosure:
        """Enclose P(K <= k)."""
        if k >= self.points.shape[0] - 1:
            return 1 << bits, 1 << bits
        if bits not in self._sums:
            precision = bits + GUARD_BITS
            with flint.ctx.workprec(precision + GUARD_BITS):
                highest = self.log_weight(self.points[int(np.argmax(self._log_shares))])
                weights = [enclose((self.log_weight(z) - highest).exp(), precision) for z in self.points]
            self._sums[bits] = Cumulated.of(weights, precision)
        return self._sums[bits].cdf(k, bits)
