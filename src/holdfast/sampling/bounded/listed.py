"""Laws on few vectors: all of them listed, with their weights, and drawn by inversion.

The weights are told by balls of any precision, so enclosures of their sums decide every draw.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import flint
import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.enclosure import GUARD_BITS, Enclosure, enclose
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.inversion import Inversion

LogWeight = Callable[[IntArray], flint.arb]
"""Asked for a vector, a ball around the log of its weight, at the working precision."""


@dataclass(frozen=True, eq=False)
class ListedLaw:
    """A law on the rows of ``points``, with probabilities in proportion to their weights."""

    points: IntArray = field(repr=False)
    log_weight: LogWeight = field(repr=False)
    _sums: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict, repr=False)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        drawn: IntArray = self.points[self._inversion.sample(entropy, size)]
        return drawn

    def log_prob(self, points: IntArray) -> NDArray[np.float64]:
        """Return the log probability of each row, minus infinity for what is not listed."""
        place = {tuple(point): number for number, point in enumerate(self.points.tolist())}
        found = [place.get(tuple(point)) for point in points.tolist()]
        return np.array([-np.inf if number is None else self._log_shares[number] for number in found])

    @cached_property
    def _inversion(self) -> Inversion:
        return Inversion(self._cdf)

    @cached_property
    def _log_shares(self) -> NDArray[np.float64]:
        with flint.ctx.workprec(128):
            logs = np.array([float(self.log_weight(point).mid()) for point in self.points])
        highest = logs.max()
        return np.asarray(logs - highest - np.log(np.exp(logs - highest).sum()))

    def _cdf(self, k: int, bits: int) -> Enclosure:
        """Enclose P(K <= k): with A the weight up to k and B that beyond, A / (A + B)."""
        if k >= self.points.shape[0] - 1:
            return 1 << bits, 1 << bits
        lows, highs = self._cumulated(bits + GUARD_BITS)
        low, high = lows[k], highs[k]
        least_beyond, most_beyond = lows[-1] - low, highs[-1] - high
        return (low << bits) // (low + most_beyond), -(-(high << bits) // (high + least_beyond))

    def _cumulated(self, bits: int) -> tuple[list[int], list[int]]:
        """Return the sums of lower and of upper bounds of the weights, relative to one near the largest."""
        if bits not in self._sums:
            place = int(np.argmax(self._log_shares))
            with flint.ctx.workprec(bits + GUARD_BITS):
                highest = self.log_weight(self.points[place])
                ends = [enclose((self.log_weight(point) - highest).exp(), bits) for point in self.points]
            lows, highs = zip(*ends, strict=True)
            self._sums[bits] = list(accumulate(lows)), list(accumulate(highs))
        return self._sums[bits]
