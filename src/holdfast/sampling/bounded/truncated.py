"""Product laws on a lattice, truncated to bounds: noise that keeps counts non-negative.

q(z) is proportional to exp(-epsilon ||z||_1), or to exp(-||z||_2^2 / (2 sigma^2)), on

    {z in Z^d : A z = 0, low <= z <= high};

for a table x that shall stay non-negative low is -x. It is drawn exactly, in one of two ways: by dynamic
programming where the system comes apart into small tables [holdfast, sampling/bounded/dynamic.py], else by
rejection: draws of the law without bounds are repeated until one lies within them.

With low = -x the law depends on the confidential table: its normaliser differs between tables, which costs
up to a factor of two in the guarantee [theory, 4], and so does the time a draw takes. That is a timing
channel. Rejection leaves it wide open: the number of attempts is geometric with an acceptance that depends
on x. Dynamic programming has no attempts, so the number of its steps depends on the invariants alone; but
the length of its tables, and which of them are cached, follow the bounds. Public bounds on the counts
would bound that variation, not remove it, so neither method closes the channel fully. Run times and
``acceptance`` must not leave the curator's machine.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.bounded.dynamic import MOST_ENTRIES, DynamicLaw
from holdfast.sampling.bounded.series_parallel import NoVectorError
from holdfast.sampling.decisions.accept import first_accepted, rows_at_once
from holdfast.sampling.decisions.floats import Flags
from holdfast.sampling.entropy import Entropy, SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.plan import MOST_WORK
from holdfast.sampling.law import Law

LIGHT = 1 << 21
"""Numbers tabulated up to which dynamic programming is taken without a look at rejection."""
PILOT, FEW = 1000, 20
RARE = 1e-6
"""The acceptance that is expected where a pilot found none."""
PILOT_WORK = 1e7
"""Integers that a pilot may propose in search of one vector within the bounds: seconds."""


class TruncatedLaw:
    """A product law on the kernel of a full-rank integer matrix, truncated to ``low`` <= z <= ``high``.

    Give ``epsilon`` for the l1 Laplace law or ``sigma`` for the Gaussian one. A law that neither method
    draws in reasonable time is refused with a SamplingError when it is made, unless ``patient`` takes all
    the time it needs: bounds that are confidential must not decide whether a law is refused. The time of each
    draw depends on the bounds: see the module on what that reveals.
    """

    def __init__(
        self,
        matrix: csr_array,
        *,
        low: IntArray,
        high: IntArray | None = None,
        epsilon: Fraction | None = None,
        sigma: Fraction | None = None,
        patient: bool = False,
    ) -> None:
        self.matrix, self.epsilon, self.sigma, self._patient = matrix, epsilon, sigma, patient
        self._low, self._high = low, high
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
        return self._sampler.work if isinstance(self._sampler, Kept) else float(self.matrix.shape[1])

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent exact draws, one a row."""
        return self._sampler.sample(entropy, size)

    def log_prob(self, points: IntArray) -> NDArray[np.float64]:
        """Return the log probability of each row up to one constant, minus infinity outside."""
        return self._sampler.log_prob(points)

    def _choose(self) -> "DynamicLaw | Kept":
        try:
            dynamic = DynamicLaw(
                self.matrix,
                epsilon=self.epsilon,
                sigma=self.sigma,
                low=self._low,
                high=self._high,
                most=np.inf if self._patient else MOST_ENTRIES,
            )
        except NoVectorError:
            raise
        except SamplingError:
            dynamic = None
        if dynamic is not None and (dynamic.entries <= LIGHT or self.epsilon is None):
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

    def _kept(self) -> "Kept | None":
        """Return the l1 law without bounds, thinned; None where that cannot be drawn either."""
        if self.epsilon is None:
            return None
        free = LatticeLaplaceLaw(self.matrix, self.epsilon, "l1")
        try:
            return Kept(free, self._inside, cells=self.matrix.shape[1], effort=free.work)
        except SamplingError:
            return None

    def _inside(self, points: IntArray) -> Flags:
        inside = points >= self._low
        if self._high is not None:
            inside &= points <= self._high
        return np.asarray(inside.all(axis=1))


class Kept:
    """Draws of a law, kept where a condition holds: the law given the condition, by rejection.

    ``effort`` is how many integers a draw takes. As with ``TruncatedLaw``, how long it is until one is kept
    depends on the condition.
    """

    def __init__(self, law: Law, inside: Callable[[IntArray], Flags], *, cells: int, effort: float) -> None:
        self._law, self._inside, self._cells, self._effort = law, inside, cells, effort

    @classmethod
    def by_inequalities(
        cls, law: Law, rows: IntArray, least: IntArray, *, effort: float | None = None, patient: bool = False
    ) -> "Kept":
        """Return the law given B z >= least; unless ``patient``, refused where a pilot keeps no draw."""
        transposed, cells = np.ascontiguousarray(rows.T), rows.shape[1]
        kept = cls(
            law,
            lambda points: np.asarray((points @ transposed >= least).all(axis=1)),
            cells=cells,
            effort=cells if effort is None else effort,
        )
        if not kept.acceptance and not patient:
            raise SamplingError(
                "noise hardly ever keeps these inequalities: ask for less noise a cell, or for fewer of them."
            )
        return kept

    @cached_property
    def acceptance(self) -> float:
        """The share of draws that is kept, from a seeded pilot; 0 where it found none."""
        entropy, tried, kept = SeededEntropy(0), 0, 0
        size = int(min(PILOT, max(FEW, PILOT_WORK / 100 / self._effort)))
        while not kept and (tried == 0 or (tried + size) * self._effort <= PILOT_WORK):
            kept += int(self._inside(self._law.sample(entropy, size)).sum())
            tried, size = tried + size, 4 * size
        return kept / tried

    @property
    def work(self) -> float:
        """Integers drawn for one that is kept, expected."""
        return self._effort / self.acceptance if self.acceptance else np.inf

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent exact draws, one a row."""

        def attempt(count: int) -> IntArray:
            drawn = self._law.sample(entropy, count)
            return drawn[self._inside(drawn)]

        return first_accepted(attempt, size, chance=self.acceptance or RARE, most=rows_at_once(self._cells))

    def log_prob(self, points: IntArray) -> NDArray[np.float64]:
        """Return the log probability of each row up to one constant, minus infinity outside."""
        return np.where(self._inside(points), self._law.log_prob(points), -np.inf)
