"""How exponential weights around a base measure are drawn exactly, by what is public of them.

In this order: noise that all tables share, in l1 or l2, on the lattice; counts with totals, for losses that
are mixtures of products [holdfast, sampling/bounded/separable.py]; all releases listed, where they are few;
and draws of the l1 law, within its bounds, that are thinned to the loss and to the prior. Which of them it
is depends on public values alone.

Where no exact draw is known, chains converge to the weights of any loss and base measure.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

import flint
import numpy as np
from scipy.special import gammaln

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.mechanisms.mechanism import Law, NoiseLaw, Shifted
from holdfast.mechanisms.wasserstein.loss import TableLoss
from holdfast.mechanisms.wasserstein.measure import BaseMeasure
from holdfast.sampling.bounded.separable import SeparableLaw
from holdfast.sampling.bounded.thinned import ListedLaw, ThinnedLaw
from holdfast.sampling.bounded.truncated import TruncatedLaw
from holdfast.sampling.decisions import ball_of
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.system.errors import SamplingError
from holdfast.universe.tables import capacities

SamplingMethod = Literal["lattice", "totals", "listed", "thinned"]
RELEASES = 5000
"""Releases that are listed at most."""
CELLS = 40
"""Cells of universes that are looked through for a list at most."""
FUNCTIONS = 2.0**-47
THINNED = 400
"""Cells of draws that are thinned at most: what is kept of them falls with their number."""
GROUPS = 2
"""Totals that a norm may tie together without a trial."""
SELDOM = 1e-5
"""A share of proposals that is too small to wait for."""


@dataclass(frozen=True, eq=False)
class SamplingDesign:
    """Weights nu(y) exp(-kappa L(x, y)), and how they are drawn."""

    loss: TableLoss
    base: BaseMeasure
    kappa: Fraction

    @cached_property
    def method(self) -> SamplingMethod:
        """How draws are made."""
        if self.base.constant and self.loss.lattice_norm is not None:
            return "lattice"
        mixed = self.loss.mixed(self.kappa)
        if mixed is not None and (totals := self.base.totals) is not None:
            sums = self.loss.kind in ("l1", "squared")
            if totals.bounded or sums:
                return "totals"
        return "listed" if self._releases is not None else "thinned"

    @cached_property
    def _releases(self) -> IntArray | None:
        few = self.base.universe.cells <= CELLS
        return self.base.listed(RELEASES) if few else None

    @cached_property
    def noise(self) -> NoiseLaw | None:
        """The law of the noise, where all tables share one."""
        if self.method != "lattice" or (norm := self.loss.lattice_norm) is None:
            return None
        universe = self.base.universe
        margins = None if self.base.kind == "counting" else universe.margins
        return LatticeLaplaceLaw(self.base.matrix, self.kappa, norm, margins)

    def law(self, counts: IntArray, *, patient: bool = True) -> Law:
        """Return the law of the release of a table; unless ``patient``, raises where it is too slow."""
        match self.method:
            case "lattice":
                assert self.noise is not None  # noqa: S101 - as the method says
                return Shifted(counts, self.noise)
            case "totals":
                law = self._separable(counts)
                if not patient and self._may_be_rare:
                    _require(law.acceptance)
                return law
            case "listed":
                assert self._releases is not None  # noqa: S101 - as the method says
                return ListedLaw(self._releases, lambda release: self._log_weight(counts, release))
            case "thinned":
                thinned = self._thinned(counts, patient=patient)
                if not patient:
                    _require(thinned.acceptance)
                return thinned

    @property
    def ordered(self) -> bool:
        """Whether counts stay below others, and are drawn after them."""
        return self.method == "totals" and self.base.totals is not None and bool(self.base.totals.orders)

    @property
    def _may_be_rare(self) -> bool:
        """Whether proposals may be accepted so seldom that public tables are tried first.

        Each total that is tied to the others takes about the root of its cells; bounds of cells cost nothing.
        """
        totals = self.base.totals
        if totals is None:
            return False
        together = self.loss.kind not in ("l1", "squared") and totals.sums.size > GROUPS
        return together or bool(totals.rows.size) or bool(totals.orders)

    def _separable(self, counts: IntArray) -> SeparableLaw:
        mixed, totals = self.loss.mixed(self.kappa), self.base.totals
        assert mixed is not None  # noqa: S101 - as the method says
        assert totals is not None  # noqa: S101
        return SeparableLaw(totals, counts, mixed, self.base.pseudo)

    def _log_weight(self, counts: IntArray, release: IntArray) -> flint.arb:
        return self.base.log_weight(release) - ball_of(self.kappa) * self.loss.ball(release - counts)

    def _thinned(self, counts: IntArray, *, patient: bool) -> ThinnedLaw:
        """Return draws of the l1 law at a rate that is below the loss everywhere, thinned to it."""
        universe, base = self.base.universe, self.base
        if not patient and universe.cells > THINNED:
            raise SamplingError(
                f"{universe.cells:,} cells are too many to thin draws of the l1 law: keep fewer."
            )
        rate = self.kappa * self.loss.per_l1(universe.cells)
        if not rate:
            raise SamplingError(
                "no exact draw is known for this loss with these invariants: take the loss of the counts"
                ' themselves, in "l1" or "l2".'
            )
        noise: Law
        if base.not_negative:
            noise = TruncatedLaw(base.matrix, low=-counts, epsilon=rate, patient=patient)
        else:
            noise = LatticeLaplaceLaw(base.matrix, rate, "l1")
        tops = self._tops

        def prior(k: int, a: Fraction) -> flint.arb:
            return (ball_of(a) + k).lgamma() - flint.arb(k + 1).lgamma()

        def more(points: IntArray) -> tuple[FloatArray, FloatArray]:
            size = points - counts
            loss = float(self.kappa) * self.loss.values(size)
            plain = float(rate) * np.abs(size).sum(axis=1)
            found, off = loss - plain, FUNCTIONS * (1 + 4 * loss + 4 * plain)
            for cell, (a, top) in tops.items():
                k = np.maximum(points[:, cell], 0).astype(np.float64)
                above, below = gammaln(k + float(a)), gammaln(k + 1)
                found = found + (gammaln(top + float(a)) - gammaln(top + 1) - (above - below))
                off = off + FUNCTIONS * 8 * (1 + np.abs(gammaln(top + float(a))) + np.abs(above) + below)
            return np.where(base.inside(points), np.maximum(found, 0.0), np.inf), off

        def exact(point: IntArray) -> flint.arb:
            z = point - counts
            value = ball_of(self.kappa) * self.loss.ball(z) - ball_of(rate * int(np.abs(z).sum()))
            for cell, (a, top) in tops.items():
                value += prior(top, a) - prior(int(point[cell]), a)
            return value

        return ThinnedLaw(Shifted(counts, noise), more, exact, universe.cells)

    @cached_property
    def _tops(self) -> dict[int, tuple[Fraction, int]]:
        """The cells with a prior, and where Gamma(k + a) / Gamma(k + 1) is largest: at 0, or at the most."""
        universe = self.base.universe
        most = capacities(universe)[universe.patterns.of_cell]
        pseudo = enumerate(self.base.pseudo or ())
        return {cell: (a, 0 if a < 1 else int(most[cell])) for cell, a in pseudo if a and a != 1}


def _require(acceptance: float) -> None:
    if acceptance < SELDOM:
        raise SamplingError("proposals are hardly ever accepted: ask for less noise, or for fewer bounds.")


UNIT = 2.0**-32
"""Logs of weights are whole multiples of it: a chain decides in floats anyway."""


@dataclass(frozen=True, eq=False)
class WeightedTarget:
    """p(y) prop. to nu(y) exp(-kappa L(x, y)) around a table x; the statistic is minus its log, in units."""

    design: SamplingDesign
    centre: IntArray = field(repr=False)

    def statistic(self, points: IntArray) -> IntArray:
        """Return minus the log weight of each row, in whole units."""
        logs = float(self.design.kappa) * self.design.loss.values(points - self.centre)
        for cell, a in enumerate(self.design.base.pseudo or ()):
            if a != 1:
                k = np.maximum(points[:, cell], 0).astype(np.float64)
                logs = logs - (gammaln(k + float(a)) - gammaln(k + 1))
        return np.rint(logs / UNIT).astype(np.int64)

    def inside(self, points: IntArray) -> BoolArray:
        """Return whether each row is a release."""
        return self.design.base.inside(points)

    def log_prob(self, statistic: IntArray) -> FloatArray:
        """Return the log weight for each value of the statistic."""
        return -UNIT * statistic.astype(np.float64)


@dataclass(frozen=True, eq=False)
class WeightedTargets:
    """The laws around all tables."""

    design: SamplingDesign

    def around(self, centre: IntArray) -> WeightedTarget:
        """Return the law around a table."""
        return WeightedTarget(self.design, centre)

    def jump(self, moves: IntArray) -> Fraction:
        """Return kappa times the smallest loss of a move, of those that have one."""
        sizes = self.design.loss.values(moves)
        seen = sizes[sizes > 0]
        least = float(seen.min()) if seen.size else 1.0
        return self.design.kappa * Fraction(least).limit_denominator(1000)
