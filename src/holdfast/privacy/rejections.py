"""Whether a test of one's own is private [semi-dp, Lemma 34].

A test rejects data X with the chance phi(X), and what is released is the outcome of that toss. It is f-DP
exactly when for any two data X, X' that are protected against each other

    phi(X) <= 1 - f(phi(X'))    and    phi(X) >= f(1 - phi(X')),

f(alpha) being the least rate of missed cases at the rate alpha of false alarms [dong2022]. *Proof.* Of two
tosses the tests worth looking at are "reject on 1" and "reject on 0", with mixtures of them and of
constants, and f is convex. The lemma prints the first with f of one minus the rate, and leaves the second
to the symmetry of f, for which it is the first with X and X' in exchange.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from holdfast.errors import GuaranteeError
from holdfast.lattice.arrays import IntArray
from holdfast.privacy.tradeoff import Tradeoff
from holdfast.universe.enumerate import conforming_tables
from holdfast.universe.universe import Universe

MOST_TABLES = 2_000
ROUNDING = 1e-12
"""What floats may be off by in a chance."""


@dataclass(frozen=True)
class Rejections:
    """Whether a test keeps f, by how much it misses that at most, and the two data where it does."""

    kept: bool
    excess: float
    worst: tuple[int, int] | None
    pairs: int


def check_chances(chances: ArrayLike, pairs: ArrayLike, f: Tradeoff) -> Rejections:
    """Check the chances of rejection of listed data over the pairs that are protected, in both orders."""
    phi, both = np.asarray(chances, dtype=np.float64), np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if not ((phi >= 0) & (phi <= 1)).all():
        raise GuaranteeError("a chance of rejection lies between 0 and 1: correct the test.")
    both = np.vstack([both, both[:, ::-1]])
    if not both.size:
        return Rejections(kept=True, excess=0.0, worst=None, pairs=0)
    on_one, on_zero = f(phi), f(1 - phi)
    one, other = both.T
    over = np.maximum(phi[one] - (1 - on_one[other]), on_zero[other] - phi[one])
    place = int(over.argmax())
    excess = max(float(over[place]), 0.0)
    worst = (int(one[place]), int(other[place]))
    return Rejections(kept=excess <= ROUNDING, excess=excess, worst=worst, pairs=both.shape[0] // 2)


def check_test(
    test: Callable[[IntArray], float], universe: Universe, distance: int, f: Tradeoff
) -> Rejections:
    """Check a test on all tables of a small universe, for those at most ``distance`` records apart.

    ``worst`` counts tables in the order of `conforming_tables`. Raises GuaranteeError for large universes.
    """
    tables = conforming_tables(universe, MOST_TABLES)
    sizes = tables.sum(axis=1)
    apart = np.abs(tables[:, None] - tables[None]).sum(axis=2)
    near = (apart > 0) & (apart <= 2 * distance) & (sizes[:, None] == sizes[None])
    return check_chances([test(table) for table in tables], np.argwhere(np.triu(near)), f)
