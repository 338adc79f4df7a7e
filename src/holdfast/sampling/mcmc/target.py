"""What a chain converges to: a law known up to its constant, and where it lives."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.sampling.exact.inversion import Flags, Integers
from holdfast.sampling.lattice_laplace import Norm

Floats = NDArray[np.float64]
Constraint = Callable[[Integers], Flags]
"""Tells for each row whether it may be released."""


class Target(Protocol):
    """A law on integer vectors that depends on a point through one integer."""

    @property
    def centre(self) -> Integers:
        """A point of the support, where chains may start."""
        ...

    @property
    def constrained(self) -> bool:
        """Whether some lattice points are outside the support."""
        ...

    def statistic(self, points: Integers) -> Integers:
        """Return the integer that decides each row's probability."""
        ...

    def inside(self, points: Integers) -> Flags:
        """Return whether each row is in the support."""
        ...

    def log_prob(self, statistic: Integers) -> Floats:
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
    centre: Integers
    norm: Norm = "l1"
    constraint: Constraint | None = None

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise ValueError("epsilon must be positive")
        if not self.inside(self.centre[None]).all():
            raise ValueError("the centre does not keep the constraint")

    @property
    def constrained(self) -> bool:
        """Whether a constraint was given."""
        return self.constraint is not None

    def statistic(self, points: Integers) -> Integers:
        """Return ||y - centre||_1 or ||y - centre||_2^2 of each row."""
        size = np.abs(points - self.centre)
        largest = int(size.max(initial=0))
        if points.shape[1] * (largest if self.norm == "l1" else largest**2) >= 2**62:
            raise OverflowError("a chain has left the range of 64-bit integers")
        found: Integers = size.sum(axis=1) if self.norm == "l1" else np.einsum("ij,ij->i", size, size)
        return found

    def inside(self, points: Integers) -> Flags:
        """Return whether each row keeps the constraint."""
        if self.constraint is None:
            return np.ones(points.shape[0], dtype=np.bool_)
        return self.constraint(points)

    def log_prob(self, statistic: Integers) -> Floats:
        """Return -epsilon ||y - centre||."""
        size = statistic.astype(np.float64)
        return -float(self.epsilon) * (size if self.norm == "l1" else np.sqrt(size))


def non_negative(points: Integers) -> Flags:
    """Tell which rows have no negative entry: the constraint y >= 0."""
    return np.asarray(points.min(axis=1, initial=0) >= 0)


def at_least(matrix: Integers, least: Integers) -> Constraint:
    """Return the constraint B y >= b."""
    transposed = np.ascontiguousarray(matrix.T)

    def holds(points: Integers) -> Flags:
        return np.asarray((points @ transposed >= least).all(axis=1))

    return holds
