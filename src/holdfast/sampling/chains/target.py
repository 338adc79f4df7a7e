"""What a chain converges to: a law known up to its constant, and where it lives."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.decisions.floats import Flags, Floats
from holdfast.sampling.lattice.laplace import Norm

Constraint = Callable[[IntArray], Flags]
"""Tells for each row whether it may be released."""


class Target(Protocol):
    """A law on integer vectors that depends on a point through one integer."""

    @property
    def centre(self) -> IntArray:
        """A point of the support, where chains may start."""
        ...

    def statistic(self, points: IntArray) -> IntArray:
        """Return the integer that decides each row's probability."""
        ...

    def inside(self, points: IntArray) -> Flags:
        """Return whether each row is in the support."""
        ...

    def log_prob(self, statistic: IntArray) -> Floats:
        """Return the log probability for each value of the statistic, up to one constant."""
        ...


@dataclass(frozen=True, eq=False)
class LaplaceTarget:
    """p(y) prop. to exp(-epsilon ||y - centre||), restricted to what a constraint allows.

    Centred at zero without a constraint this is the noise of [integer-subspace-dp, Definition 9]; centred
    at a table x with y >= 0 it is the truncated law of [congenial-dp, Theorem 2.1], whose constant depends
    on x. The statistic is ||y - centre||_1, or ||y - centre||_2^2 for the l2 norm.
    """

    epsilon: Fraction
    centre: IntArray = field(repr=False)
    norm: Norm = "l1"
    constraint: Constraint | None = None

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise ValueError("epsilon must be positive")
        if not self.inside(self.centre[None]).all():
            raise ValueError("the centre does not keep the constraint")

    def statistic(self, points: IntArray) -> IntArray:
        """Return ||y - centre||_1 or ||y - centre||_2^2 of each row."""
        size = np.abs(points - self.centre)
        largest = int(size.max(initial=0))
        if points.shape[1] * (largest if self.norm == "l1" else largest**2) >= 2**62:
            raise OverflowError("a chain has left the range of 64-bit integers")
        found: IntArray = size.sum(axis=1) if self.norm == "l1" else np.einsum("ij,ij->i", size, size)
        return found

    def inside(self, points: IntArray) -> Flags:
        """Return whether each row keeps the constraint."""
        if self.constraint is None:
            return np.ones(points.shape[0], dtype=np.bool_)
        return self.constraint(points)

    def log_prob(self, statistic: IntArray) -> Floats:
        """Return -epsilon ||y - centre||."""
        size = statistic.astype(np.float64)
        return -float(self.epsilon) * (size if self.norm == "l1" else np.sqrt(size))


def non_negative(points: IntArray) -> Flags:
    """Tell which rows have no negative entry: the constraint y >= 0."""
    return np.asarray(points.min(axis=1, initial=0) >= 0)
