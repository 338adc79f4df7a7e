"""The four ways of [partially-private-data, Section 4.2] to release cases and deaths of a month.

Public are the sum of cases, the cases of the month before, and that no county has more deaths than cases.

    post-processed    the release of `naive`, moved to the nearest counts that agree with all this: over the
                      reals in l2, then to whole numbers next to them in l1
    naive             weights exp(-kappa ||y - x||) on all whole tables y
    congenial         the same on those that agree with what is public
    prior             these weighted by a Dirichlet-multinomial law of the cases, from those of last month

The loss is the l2 norm, as printed, or the l1 norm, which is better for this many counts. The paper takes
Delta_z = 2 and leaves the metric open. A person who turns out to live in another county, and has died, moves
four counts by one: 2 in l2, and 4 in l1. That is sigma here. kappa is epsilon / (2 sigma) by
[partially-private-data, Theorem 9], and epsilon / sigma for `naive`, whose normaliser is the same for all
tables [theory, 7].

Every draw is an exact one of its law: noise on the lattice, or counts with totals by tables and rejection
[holdfast, mechanisms/wasserstein/laws.py].
"""

import time
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from holdfast import SeededEntropy
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.truncation.congeniality import Inequalities
from holdfast.mechanisms.wasserstein.laws import SamplingDesign
from holdfast.mechanisms.wasserstein.loss import TableLoss
from holdfast.mechanisms.wasserstein.measure import BaseMeasure, pseudo_counts
from holdfast.processing.contraction import whole_ordered
from holdfast.universe.universe import Universe
from studies.partially_private.counties import Counties

Norm = Literal["l1", "l2"]
PROCESSED, NAIVE, CONGENIAL, PRIOR = "post-processed", "naive", "congenial", "prior"
METHODS = (PROCESSED, NAIVE, CONGENIAL, PRIOR)
BOUNDED = (PROCESSED, CONGENIAL, PRIOR)
"""Those that agree with what is public."""
EPSILONS = (Fraction(1, 100), Fraction(1))
NORMS: tuple[Norm, ...] = ("l2", "l1")
SIGMA: dict[Norm, int] = {"l2": 2, "l1": 4}
FLOOR = Fraction(1, 2)
"""The pseudo-count of a county without cases in the month before."""


class Setting(NamedTuple):
    """A loss and an epsilon."""

    norm: Norm
    epsilon: Fraction

    @property
    def title(self) -> str:
        """What it is called."""
        return f"{self.norm}, epsilon {float(self.epsilon):g}"

    def kappa(self, method: str) -> Fraction:
        """Return the rate of the weights."""
        return self.epsilon / (SIGMA[self.norm] * (1 if method == NAIVE else 2))


SETTINGS = tuple(Setting(norm, epsilon) for norm in NORMS for epsilon in EPSILONS)


def measure(counties: Counties, month: int, method: str) -> BaseMeasure:
    """Return a base measure, which public values alone determine."""
    number = counties.people.size
    matrix = csr_array(np.repeat([1, 0], number)[None])
    universe = Universe.of(matrix, counties.cases[month].sum(keepdims=True))
    if method == NAIVE:
        return BaseMeasure(universe, "counting")
    own = np.eye(number, dtype=np.int64)
    ordered = Inequalities(np.hstack([own, -own]), np.zeros(number, dtype=np.int64))
    if method == CONGENIAL:
        return BaseMeasure(universe, "congenial", True, ordered)
    pseudo = pseudo_counts(counties.past(month), Fraction(1), FLOOR)
    return BaseMeasure(universe, "prior", True, ordered, (*pseudo, *[Fraction(1)] * number))


def released(counties: Counties, month: int, setting: Setting, method: str, draws: int) -> IntArray:
    """Return independent releases of a month, one a row: all cases, then all deaths."""
    base = measure(counties, month, method)
    design = SamplingDesign(TableLoss(setting.norm, None, base.largest), base, setting.kappa(method))
    seed = 1_000 * month + 10 * SETTINGS.index(setting) + METHODS.index(method)
    return design.law(counties.table(month)).sample(SeededEntropy(seed), draws)


def processed(release: IntArray, total: int) -> IntArray:
    """Return releases moved to what is public."""
    cases, deaths = np.split(release, 2, axis=1)
    return np.concatenate(whole_ordered(cases, deaths, total), axis=1)


def month_of(
    counties: Counties, month: int, setting: Setting, draws: int, seconds: dict[str, float] | None = None
) -> dict[str, IntArray]:
    """Return releases of a month by all four methods; CPU seconds are noted in ``seconds``."""
    found: dict[str, IntArray] = {}
    for method in (NAIVE, CONGENIAL, PRIOR):
        began = time.process_time()
        found[method] = released(counties, month, setting, method, draws)
        if seconds is not None:
            seconds[method] = time.process_time() - began
    return {PROCESSED: processed(found[NAIVE], int(counties.cases[month].sum())), **found}
