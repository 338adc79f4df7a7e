"""What every tradeoff function can do.

    f = T(P, Q),  f(alpha) = least type II error of a test of P against Q with type I error alpha

[dong2022, Definition 2.1]; convex, decreasing, continuous on (0, 1], at most 1 - alpha. The papers on
semi-DP write f(1 - alpha) for it [semi-dp, Section 2.2]; only ``group`` reads differently for that.
A mechanism is f-DP when T(M(X), M(X')) >= f for all adjacent X, X', in both orders.

Which side of the truth a result is on.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, overload

import numpy as np

from holdfast.lattice.arrays import FloatArray

if TYPE_CHECKING:
    from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear

Certainty = Literal["exact", "lower", "upper"]

NumberT = TypeVar("NumberT", float, Fraction)


@dataclass(frozen=True)
class Bound(Generic[NumberT]):
    """A number, the side of the truth it is on, and how it was found.

    ``lower``: the truth is at least ``value``; ``upper``: at most; ``exact``: equal, floating-point
    rounding aside. An epsilon, delta, rho or mu is a valid privacy claim unless it is ``lower``.
    """

    value: NumberT
    certainty: Certainty
    method: str


def join(*certainties: Certainty) -> Certainty:
    """Return the certainty of a result that rises with each of its ingredients.

    >>> join("exact", "lower", "lower")
    'lower'
    """
    sides = set(certainties) - {"exact"}
    if len(sides) > 1:
        raise ValueError("a lower and an upper bound together bound nothing: give bounds of one side.")
    return sides.pop() if sides else "exact"


class Tradeoff(ABC):
    """A tradeoff function and the side of the truth it is on.

    ``certainty`` is ``lower`` where the true tradeoff function is at least this one, which makes it a
    valid privacy claim; ``upper`` where it is at most this one; else ``exact``. It holds in real
    arithmetic; rounding adds errors of about 1e-15 in alpha and beta.
    """

    certainty: Certainty

    @overload
    def __call__(self, alpha: float) -> float: ...
    @overload
    def __call__(self, alpha: FloatArray) -> FloatArray: ...
    def __call__(self, alpha: float | FloatArray) -> float | FloatArray:
        """Return the least type II error at the type I error alpha."""
        levels = np.asarray(alpha, dtype=np.float64)
        if not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(f"a type I error lies in [0, 1], not {alpha}.")
        beta = self._beta(levels)
        return beta if beta.ndim else float(beta)

    @overload
    def delta_at(self, epsilon: float) -> float: ...
    @overload
    def delta_at(self, epsilon: FloatArray) -> FloatArray: ...
    def delta_at(self, epsilon: float | FloatArray) -> float | FloatArray:
        """Return the least delta for which f is (epsilon, delta)-DP, for any real epsilon.

        It is 1 + f*(-exp(epsilon)) with the convex conjugate f* [dong2022, Proposition 2.12], the
        largest Q(S) - exp(epsilon) P(S) over events S.
        """
        delta = self._delta(np.asarray(epsilon, dtype=np.float64))
        return delta if delta.ndim else float(delta)

    @abstractmethod
    def _beta(self, alpha: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _delta(self, epsilon: FloatArray) -> FloatArray: ...

    @abstractmethod
    def epsilon_at(self, delta: float) -> float:
        """Return the least epsilon >= 0 for which f is (epsilon, delta)-DP; infinity if there is none."""

    @abstractmethod
    def inverse(self) -> "Tradeoff":
        """Return T(Q, P), which is f^{-1}(alpha) = inf {t : f(t) <= alpha}."""

    @abstractmethod
    def labelled(self, certainty: Certainty) -> "Tradeoff":
        """Return the same function with another certainty."""

    @abstractmethod
    def pieces(self) -> "PiecewiseLinear":
        """Return this function if it is piecewise linear, otherwise a close lower bound that is."""
