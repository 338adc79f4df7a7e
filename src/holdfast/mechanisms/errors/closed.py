"""Errors of counts with closed forms [holdfast, sampling/lattice/linear_law.py]."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.laws import Closed, CountErrors
from holdfast.public import Public
from holdfast.sampling.lattice.anchored import AnchoredLaw
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.linear_law import LinearLaws

MOST_SUMS = 30_000
"""Sums that are looked at one by one."""


def closed_errors(
    noise: LatticeLaplaceLaw | AnchoredLaw, public: Public, asked: Sequence[Counts]
) -> list[CountErrors | None]:
    """Return the errors of counts; None for what has no closed form."""
    laws = LinearLaws(noise, public.universe.matrix)
    return [_closed(counts.rows(public), laws) for counts in asked]


def _closed(rows: csr_array, laws: LinearLaws) -> CountErrors | None:
    if rows.shape[0] > MOST_SUMS:
        return None
    times: dict[Closed, int] = {}
    exact = 0
    for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        form = laws.of(rows.indices[begin:end].astype(np.int64), rows.data[begin:end])
        if form is None:
            return None
        step, law = form
        if law is None or not step:
            exact += 1
        else:
            one = Closed(abs(step), law)
            times[one] = times.get(one, 0) + 1
    return CountErrors(tuple(times.items()), exact)
