"""Errors of counts under Gaussian or radial noise, from the form of its weight: nothing is drawn."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray
from holdfast.lattice.count_variances import count_variances
from holdfast.lattice.margins import MarginStrategy
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.laws import CountErrors, ErrorLaw
from holdfast.mechanisms.weights.axes import MarginAxes
from holdfast.mechanisms.weights.queries import ONE, WeightedQueryRecord
from holdfast.mechanisms.weights.strategy import Strategy
from holdfast.public import Public
from holdfast.sampling.lattice.weighted import kernel_basis

MOST_CELLS = 1500
"""Cells of a table whose covariances are worked out where no spaces tell them."""
SMOOTH = 0.8
"""The least conditional standard deviation of a cell for which the law of a sum hardly has a ripple: its
theta function is off by 2 exp(-2 pi^2 SMOOTH^2), 7 in a million."""


def form_errors(
    public: Public,
    asked: Sequence[Counts],
    strategy: Strategy | None,
    make: Callable[[float], ErrorLaw],
    *,
    width: float,
) -> list[CountErrors | None]:
    """Return the errors of counts; ``make`` gives the law for w'F^-1 w on the lattice.

    ``width`` is the standard deviation of noise with F = 1. None where no formula tells.
    """
    strengths = [ONE] if strategy is None else list(strategy.form.weights)
    if width < SMOOTH * float(sum(map(abs, strengths), Fraction(0))) ** 0.5:
        return [None] * len(asked)
    found = (form_variances(public, counts, strategy) for counts in asked)
    return [None if one is None else CountErrors.of(one, make) for one in found]


def form_variances(public: Public, counts: Counts, strategy: Strategy | None) -> FloatArray | None:
    """Return w'F^-1 w on the span of the lattice, for each sum; None where no formula tells it."""
    queries = () if strategy is None else strategy.queries
    asked = WeightedQueryRecord(marginal=counts.names, weight=ONE)
    axes = MarginAxes.of(public, [*queries, asked])
    if axes is not None:
        taken = _taken(axes, counts, public)
        entries = tuple(axis.depth for axis in axes.levelled)
        pairs = [(entries, ONE)]
        if strategy is not None:
            readings = [axes.reading(marginal) for marginal in strategy.marginals]
            pairs = list(zip(readings, strategy.form.weights, strict=True))
        margins = MarginStrategy(axes.levelled, axes.kept, tuple(pairs))
        if taken is not None and len(margins.trees) <= 1:
            return count_variances(margins, axes.reading(counts.names), taken)
    if public.possible.size > MOST_CELLS:
        return None
    return _dense(public.universe.matrix, counts.rows(public), strategy)


def _taken(axes: MarginAxes, counts: Counts, public: Public) -> list[int | None] | None:
    """Return how many entries of each axis a selection takes; None where it takes a part of a tree."""
    where = dict(counts.where)
    taken: list[int | None] = []
    for axis, levelled in zip(axes.axes, axes.levelled, strict=True):
        inside = np.ones(axis.size, dtype=np.bool_)
        for name in (name for name in axis.names if name in where):
            attribute = public.schema.attribute(name)
            inside &= np.isin(axis.column(name), [attribute.code(level) for level in where[name]])
        if inside.all():
            taken.append(None)
        elif levelled.depth > 1:
            return None
        else:
            taken.append(int(inside.sum()))
    return taken


def _dense(matrix: csr_array, rows: csr_array, strategy: Strategy | None) -> FloatArray:
    """Return W B (B'FB)^-1 B'W' on its diagonal, for a basis B of the kernel."""
    basis = kernel_basis(matrix.toarray()).astype(np.float64)
    if not basis.shape[1]:
        return np.zeros(rows.shape[0])
    seen = basis
    if strategy is not None:
        roots = np.sqrt([float(strength) for strength in strategy.form.strengths])
        seen = (strategy.form.rows @ basis) * roots[:, None]
    # orthonormal columns, so that what is fixed is 0 but for rounding
    triangle: FloatArray = np.asarray(np.linalg.qr(seen, mode="r"))
    sums = np.asarray(rows @ basis)
    found = (np.linalg.solve(triangle.T, sums.T) ** 2).sum(axis=0)
    return np.asarray(np.where((sums == 0).all(axis=1), 0.0, found))
