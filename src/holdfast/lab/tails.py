"""Tails of l2 Laplace and Gaussian noise on a lattice: exact, and as they are bounded in print.

With m dimensions, V the volume of the unit ball and det that of the lattice, [integer-subspace-dp] has

    #{z : ||z|| <= r} <= 2 V r^m / sqrt(det)                          Lemma 11, r large enough
    P(||z|| >= t) <= K t^m exp(-epsilon t),  K = 4 2^m V / sqrt(det)    Theorem 12, l2 Laplace, t large enough
    P(||z|| >= t) <= K t^m exp(-t^2 / (2 sigma^2))                     Theorem 15, Gaussian, t large enough.

Tails are exact here: shells of the lattice are counted in whole numbers (`shells`). The bounds leave out the
normaliser, the sum of all weights, which is at least 1 and often very large; divided by it they still hold,
from a larger t on.
"""

from collections.abc import Callable
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from holdfast.lab.shells import Floats, RadialLaw, ShellLattice


class Tail(NamedTuple):
    """A law, the theorem that bounds its tail, and the exponent in it."""

    theorem: str
    law: RadialLaw
    exponent: Callable[[Floats], Floats]

    @property
    def norms(self) -> Floats:
        """The norms that points have, but 0 and those whose tail is too small for a float."""
        return self.law.lattice.norms[self._told]

    @property
    def log_tails(self) -> Floats:
        """Log P(||z|| >= r) for each of these norms."""
        return np.asarray(np.log(self.law.tails[self._told]))

    @property
    def _told(self) -> NDArray[np.bool_]:
        return np.asarray((self.law.lattice.norms > 0) & (self.law.tails > 0))

    @property
    def log_constant(self) -> float:
        """Log K."""
        lattice = self.law.lattice
        return log(4 * lattice.ball / lattice.volume) + lattice.dimension * log(2)

    def log_bound(self, t: Floats) -> Floats:
        """Return the log of the printed bound."""
        return self.log_constant + self.law.lattice.dimension * np.log(t) + self.exponent(t)

    def reaches(self, share: float) -> float:
        """Return the t beyond which the bound is below a share."""
        far = 10.0 * float(self.norms[-1])
        peak = float(self.norms[int(np.argmax(self.log_bound(self.norms)))])
        return float(brentq(lambda t: float(self.log_bound(np.array(t))) - log(share), peak, far))


def tails_of(lattice: ShellLattice, epsilon: float, variance: float) -> tuple[Tail, Tail]:
    """Return the two laws of the paper on a lattice."""
    return (
        Tail("Theorem 12", RadialLaw.laplace(lattice, epsilon), lambda t: -epsilon * t),
        Tail("Theorem 15", RadialLaw.gaussian(lattice, variance), lambda t: -(t**2) / (2 * variance)),
    )


def holds_from(lattice: ShellLattice) -> float:
    """Return the least r from which on Lemma 11 holds, up to the last shell that was counted."""
    bound = 2 * lattice.ball / lattice.volume
    needed = (np.cumsum(lattice.points) / bound) ** (1 / lattice.dimension)
    # on [norm, next norm) the count stays; the lemma fails there up to the radius that it needs
    late = np.flatnonzero(needed[:-1] > lattice.norms[:-1])
    return float(np.minimum(needed[late[-1]], lattice.norms[late[-1] + 1])) if late.size else 0.0


def largest_share(tail: Tail) -> float:
    """Return the largest exact tail divided by its bound, over all norms that points have but 0.

    The tail is constant between two norms, and the bound rises, then falls; so it is enough to look at t
    equal to a norm, as long as the bound has reached 1 before the first one.
    """
    return float(np.exp(tail.log_tails - tail.log_bound(tail.norms)).max())


def divided_holds_from(tail: Tail) -> float:
    """Return the norm from which on the bound over the normaliser holds, too."""
    fails = tail.log_tails > tail.log_bound(tail.norms) - log(tail.law.normaliser)
    return float(tail.norms[int(np.flatnonzero(fails)[-1]) + 1])
