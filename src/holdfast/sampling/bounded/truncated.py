"""Product laws on a lattice, truncated to bounds: noise that keeps counts non-negative.

q(z) is proportional to exp(-epsilon ||z||_1) on {z in Z^d : A z = 0, z >= low}; for a table x that shall
stay non-negative low is -x. It is drawn exactly, in one of two ways: by dynamic programming where the system
comes apart into small tables [holdfast, sampling/bounded/dynamic.py], else by rejection: draws of the law
without bounds are repeated until one lies within them.

With low = -x the law depends on the confidential table: its normaliser differs between tables, which costs
up to a factor of two in the guarantee [theory, 4], and so does the time a draw takes. That is a timing
channel. Rejection leaves it wide open: the number of attempts is geometric with an acceptance that depends
on x. Dynamic programming has no attempts, so the number of its steps depends on the invariants alone; but
the length of its tables, and which of them are cached, follow the bounds. Public bounds on the counts
would bound that variation, not remove it, so neither method closes the channel fully. Run times and
``acceptance`` must not leave the curator's machine.
"""

from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.bounded.dynamic import MOST_ENTRIES, DynamicLaw
from holdfast.sampling.bounded.series_parallel import NoVectorError
from holdfast.sampling.bounded.thinned import RejectionLaw
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.plan import MOST_WORK
from holdfast.system.errors import SamplingError

LIGHT = 1 << 21
"""Numbers tabulated up to which dynamic programming is taken without a look at rejection: 16 MB, an
eighth of what it may take at most (`MOST_ENTRIES`)."""


class TruncatedLaw:
    """The l1 Laplace law on the kernel of a full-rank integer matrix, truncated to z >= ``low``.

    A law that neither method draws in reasonable time is refused with a SamplingError when it is made, unless
    ``patient`` takes all the time it needs: bounds that are confidential must not decide whether a law is
    refused. The time of each draw depends on the bounds: see the module on what that reveals.
    """

    def __init__(self, matrix: csr_array, *, low: IntArray, epsilon: Fraction, patient: bool = False) -> None:
        self.matrix, self.epsilon, self._patient, self._low = matrix, epsilon, patient, low
        self._sampler = self._choose()

    @property
    def method(self) -> str:
        """What is done, in a sentence without a number that depends on the bounds."""
        if isinstance(self._sampler, DynamicLaw):
            return f"{self.matrix.shape[1]:,} cells within bounds, by dynamic programming"
        return f"{self.matrix.shape[1]:,} cells within bounds, by rejection"

    @property
    def work(self) -> float:
        """Integers drawn for one draw, expected; it depends on the bounds."""
        return self._sampler.work if isinstance(self._sampler, RejectionLaw) else float(self.matrix.shape[1])

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent exact draws, one a row."""
        return self._sampler.sample(entropy, size)

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return the log probability of each row up to one constant, minus infinity outside."""
        return self._sampler.log_prob(points)

    def _choose(self) -> "DynamicLaw | RejectionLaw":
        try:
            most = np.inf if self._patient else MOST_ENTRIES
            dynamic = DynamicLaw(self.matrix, epsilon=self.epsilon, low=self._low, most=most)
        except NoVectorError:
            raise
        except SamplingError:
            dynamic = None
        if dynamic is not None and dynamic.entries <= LIGHT:
            return dynamic
        kept = self._kept()
        most = np.inf if self._patient else MOST_WORK
        if kept is not None and kept.work <= (most if dynamic is None else dynamic.entries):
            return kept
        if dynamic is not None:
            return dynamic
        raise SamplingError(
            f"no exact sampler keeps noise on {self.matrix.shape[1]:,} cells within its bounds in reasonable"
            " time: keep fewer margins or coarser attributes, or allow negative counts."
        )

    def _kept(self) -> "RejectionLaw | None":
        """Return the l1 law without bounds, thinned; None where that cannot be drawn either."""
        free = LatticeLaplaceLaw(self.matrix, self.epsilon, "l1")
        try:
            cells, effort = self.matrix.shape[1], free.work
        except SamplingError:
            return None
        low = self._low
        return RejectionLaw(free, lambda z: np.asarray((z >= low).all(axis=1)), cells=cells, effort=effort)
