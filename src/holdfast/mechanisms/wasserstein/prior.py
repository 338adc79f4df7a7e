"""A Dirichlet-multinomial prior from public past counts.

Its mass at counts y with the sum n is, with pseudo-counts a_j and their sum A,

    Gamma(A) Gamma(n + 1) / Gamma(n + A)  prod_j Gamma(y_j + a_j) / (Gamma(a_j) Gamma(y_j + 1))

[theory, 7]. Pseudo-counts are past counts times a concentration, and no less than a floor: a cell with a
pseudo-count of 0 would be 0 in every release.
"""

from fractions import Fraction
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from holdfast.data.schema import Schema
from holdfast.data.selection import select
from holdfast.errors import SpecError
from holdfast.lattice.arrays import IntArray
from holdfast.spec.choice import Where

Pseudo = tuple[Fraction, ...]


def pseudo_counts(past: IntArray, concentration: Fraction, floor: Fraction) -> Pseudo:
    """Return concentration times the past counts, no less than the floor."""
    return tuple(max(concentration * int(count), floor) for count in past)


def log_mass(counts: IntArray, pseudo: Pseudo) -> float:
    """Return the log of the Dirichlet-multinomial mass of one vector of counts; all pseudo-counts positive.

    >>> from fractions import Fraction
    >>> round(log_mass(np.array([1, 0]), (Fraction(3), Fraction(1))), 6)  # log 3/4
    -0.287682
    """
    if min(pseudo) <= 0:
        raise SpecError("a prior with a pseudo-count of 0 has no mass off its zeros: give it a floor.")
    n, a = int(counts.sum()), float(sum(pseudo))
    logs = [
        lgamma(int(k) + float(p)) - lgamma(float(p)) - lgamma(int(k) + 1)
        for k, p in zip(counts, pseudo, strict=True)
    ]
    return lgamma(a) + lgamma(n + 1) - lgamma(n + a) + sum(logs)


def covered(schema: Schema, where: Where | None) -> NDArray[np.bool_]:
    """Return which cells a prior is over: those of a selection, or all."""
    if where is None:
        return np.ones(schema.size, dtype=np.bool_)
    return select(schema, where, place="[mechanism] prior_where")
