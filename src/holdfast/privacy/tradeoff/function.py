"""What every tradeoff function can do.

    f = T(P, Q),  f(alpha) = least type II error of a test of P against Q with type I error alpha

[dong2022, Definition 2.1]; convex, decreasing, continuous on (0, 1], at most 1 - alpha. The papers on
semi-DP write f(1 - alpha) for it [semi-dp, Section 2.2]; only ``group`` reads differently for that.
A mechanism is f-DP when T(M(X), M(X')) >= f for all adjacent X, X', in both orders.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from holdfast.privacy.tradeoff.bound import Certainty

if TYPE_CHECKING:
    from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear

Floats = NDArray[np.float64]


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
    def __call__(self, alpha: Floats) -> Floats: ...
    def __call__(self, alpha: float | Floats) -> float | Floats:
        """Return the least type II error at the type I error alpha."""
        levels = np.asarray(alpha, dtype=np.float64)
        if not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(f"a type I error lies in [0, 1], not {alpha}.")
        beta = self._beta(levels)
        return beta if beta.ndim else float(beta)

    @overload
    def delta_at(self, epsilon: float) -> float: ...
    @overload
    def delta_at(self, epsilon: Floats) -> Floats: ...
    def delta_at(self, epsilon: float | Floats) -> float | Floats:
        """Return the least delta for which f is (epsilon, delta)-DP, for any real epsilon.

        It is 1 + f*(-exp(epsilon)) with the convex conjugate f* [dong2022, Proposition 2.12], the
        largest Q(S) - exp(epsilon) P(S) over events S.
        """
        delta = self._delta(np.asarray(epsilon, dtype=np.float64))
        return delta if delta.ndim else float(delta)

    @abstractmethod
    def _beta(self, alpha: Floats) -> Floats: ...

    @abstractmethod
    def _delta(self, epsilon: Floats) -> Floats: ...

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
