"""A Dirichlet-multinomial prior from public past counts.

Its mass at counts y with the sum n is, with pseudo-counts a_j and their sum A,

    Gamma(A) Gamma(n + 1) / Gamma(n + A)  prod_j Gamma(y_j + a_j) / (Gamma(a_j) Gamma(y_j + 1))

[theory, 7]. Pseudo-counts are past counts times a concentration, and no less than a floor: a cell with a
pseudo-count of 0 would be 0 in every release.
"""

from fractions import Fraction

import numpy as np

from holdfast.data.schema import Schema
from holdfast.data.selection import select
from holdfast.lattice.arrays import BoolArray, IntArray
from holdfast.spec.values import Where
from holdfast.system.ways import setting

Pseudo = tuple[Fraction, ...]


def pseudo_counts(past: IntArray, concentration: Fraction, floor: Fraction) -> Pseudo:
    """Return concentration times the past counts, no less than the floor."""
    return tuple(max(concentration * int(count), floor) for count in past)


def covered(schema: Schema, where: Where | None) -> BoolArray:
    """Return which cells a prior is over: those of a selection, or all."""
    if where is None:
        return np.ones(schema.size, dtype=np.bool_)
    return select(schema, where, place=setting("mechanism", "prior_where"))
