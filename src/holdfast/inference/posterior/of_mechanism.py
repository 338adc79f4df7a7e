"""Which likelihood the release of a mechanism has: the first of several ways that can be worked with."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from holdfast.errors import ReleaseError, SamplingError
from holdfast.inference.posterior.facts import Facts
from holdfast.inference.posterior.likelihood import (
    AddedNoise,
    AnyLaw,
    AnyLikelihood,
    ListedReleases,
    NoisyStatistic,
    WeightedTotals,
    WithinBounds,
)
from holdfast.inference.posterior.normaliser import Normaliser, Power
from holdfast.inference.posterior.sliding import NormForm
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.conditioned import Conditioned
from holdfast.mechanisms.congeniality import Inequalities
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.mechanisms.wasserstein.exponential import WassersteinExponential
from holdfast.mechanisms.wasserstein.loss import TableLoss
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.plan import MOST_WORK

MOST_TERMS = 20_000_000
"""Numbers of a normaliser that is worked out for every table: a tenth of a second."""
MOST_RELEASES = 2_000
"""Releases that are listed for every table."""
MOST_CELLS = 24
"""Cells of a table whose mechanism draws a release for every step of a chain."""


def likelihood_of(mechanism: AnyMechanism, released: NDArray[Any]) -> AnyLikelihood:
    """Return the likelihood of a release: the counts of possible cells, or statistics.

    Raises ReleaseError where the law of the mechanism has no formula that the certificate would tell, or none
    that can be worked with.
    """
    if isinstance(mechanism, NoisyCount):
        return NoisyStatistic(mechanism.canonical, np.asarray(released, dtype=np.float64))
    if mechanism.traits.kind != "exact":
        raise ReleaseError(
            "this release was drawn by a Markov chain, whose law has no formula: a posterior needs a release"
            " that was drawn exactly."
        )
    cells = np.arange(released.size)
    if mechanism.noise is not None:
        return AddedNoise(mechanism.noise, released, cells)
    if (totals := _weighted_totals(mechanism, released, cells)) is not None:
        return totals
    if (
        isinstance(mechanism, Conditioned)
        and (bounded := _within_bounds(mechanism, released, cells)) is not None
    ):
        listed = _listed(mechanism, released, cells) if bounded.seldom else None
        return listed or bounded
    return _drawn_anew(mechanism, released, cells)


def _weighted_totals(mechanism: AnyMechanism, released: IntArray, cells: IntArray) -> WeightedTotals | None:
    """Return a likelihood of separate totals, where it is one; None for other laws."""
    norm: Literal["l1", "squared"] = "l1"
    pseudo = np.ones(released.size)
    match mechanism:
        case Conditioned(nonnegative=True, inequalities=bounds, kappa=kappa):
            pass
        case WassersteinExponential(
            loss_=TableLoss(kind="l1" | "squared" as norm, queries=None), measure=measure, kappa=kappa
        ) if measure.not_negative and all(measure.pseudo_or_ones):
            pseudo = np.array([float(each) for each in measure.pseudo_or_ones])
            bounds = measure.inequalities
        case _:
            return None
    universe, low = mechanism.premises.universe, _floors(bounds, released.size)
    matrix = universe.matrix
    separate = (np.bincount(matrix.indices, minlength=universe.cells) == 1).all() and (matrix.data == 1).all()
    if not separate or low is None:
        return None
    total_of = np.zeros(universe.cells, dtype=np.int64)
    total_of[matrix.indices] = np.repeat(np.arange(universe.rank), np.diff(matrix.indptr))
    form = NormForm(norm, float(kappa))
    power: Power = 1 if norm == "l1" else 2
    normaliser = Normaliser.of(total_of, universe.values, low, released, pseudo, rate=form.rate, power=power)
    if normaliser.work > MOST_TERMS:
        return None
    weight = float((gammaln(released + pseudo) - gammaln(released + 1.0)).sum())
    return WeightedTotals(form, released, cells, normaliser, weight)


def _floors(bounds: Inequalities | None, cells: int) -> IntArray | None:
    """Return the least count of each cell, 0 unless one is stated; None where sums of cells are bounded."""
    low = np.zeros(cells, dtype=np.int64)
    if bounds is None:
        return low
    alone = (np.count_nonzero(bounds.rows, axis=1) == 1) & (bounds.rows.sum(axis=1) == 1)
    if not alone.all():
        return None
    np.maximum.at(low, bounds.rows.argmax(axis=1), bounds.least)
    return low


def _within_bounds(mechanism: Conditioned, released: IntArray, cells: IntArray) -> WithinBounds | None:
    """Return a likelihood of noise that is drawn until it is within bounds; None where that takes long."""
    noise = LatticeLaplaceLaw(mechanism.premises.universe.matrix, mechanism.kappa, "l1")
    try:
        if noise.work > MOST_WORK:
            return None
    except SamplingError:  # within its bounds alone it can be drawn
        return None
    bounds = mechanism.inequalities
    rows = np.zeros((0, released.size), dtype=np.int64) if bounds is None else bounds.rows
    least = np.zeros(0, dtype=np.int64) if bounds is None else bounds.least
    return WithinBounds(noise, released, cells, mechanism.nonnegative, rows, least)


def _listed(mechanism: AnyMechanism, released: IntArray, cells: IntArray) -> ListedReleases | None:
    """Return a likelihood of few releases without negative counts; None where they are others."""
    if not isinstance(mechanism, WassersteinExponential | Conditioned) or not mechanism.traits.nonnegative:
        return None
    universe = mechanism.premises.universe
    every = Facts.of(universe.matrix, universe.values).tables(MOST_RELEASES)
    return None if every is None else ListedReleases(mechanism, released, cells, every)


def _drawn_anew(mechanism: AnyMechanism, released: IntArray, cells: IntArray) -> ListedReleases | AnyLaw:
    """Return a likelihood from the mechanism itself, which takes as long as its draws do."""
    if (listed := _listed(mechanism, released, cells)) is not None:
        return listed
    if released.size > MOST_CELLS:
        raise ReleaseError(
            f"the law of this release of {mechanism.name} has a normaliser for every table, and none that is"
            f" known for {released.size:,} cells: a posterior is offered for l1 or squared losses with"
            f" separate totals, for noise with one law, and for {MOST_CELLS} cells or fewer."
        )
    return AnyLaw(mechanism, released, cells)
