"""The least base to which rounding all tables leaves no protected cell narrow."""

import numpy as np
from scipy.sparse import csr_array

from holdfast.publication.coarsening.truth import Truth, require_told
from holdfast.publication.intervals import Numbers, intervals
from holdfast.publication.remedies import rounded


def rounded_to(truth: Truth, base: int) -> Numbers:
    """Return what is published where tables that may be made coarser are rounded to nearest."""
    return rounded(truth.tables.numbers, np.flatnonzero(truth.free), base)


def least_base(truth: Truth) -> int | None:
    """Return the first of the bases, in their order by size, that is enough; None where none is."""
    require_told(truth)
    asked = csr_array(truth.asked.matrix[truth.protected])
    for base in sorted(set(truth.spec.coarsen.bases)):
        if truth.protected.size == 0:
            return base
        if (intervals(rounded_to(truth, base), asked).width >= truth.narrow).all():
            return base
    return None
