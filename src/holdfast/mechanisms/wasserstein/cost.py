"""What an exponential mechanism loses between two tables: the loss that moves, and the normaliser.

With weight nu(y) exp(-kappa L(x, y)) and normaliser C(x), the log ratio of the laws of two tables at y is

    kappa (L(x', y) - L(x, y)) + log C(x') - log C(x).

Let sigma bound the first difference. Then C(x') / C(x) is at most exp(kappa sigma), too, and the loss is at
most 2 kappa sigma: the 2 of [partially-private-data, Theorem 9]. It is written as (1 + gamma) kappa sigma,
gamma between -1 and 1 [congenial-dp, Theorem 2.1]:

* gamma = 0 where the normaliser is the same for all tables that are compared: a measure that looks the same
  around all of them, or tables that look alike, each cell having two counts [holdfast, universe/tables.py];
* for the l1 norm without a prior it is that of `conditioned` [holdfast,
  mechanisms/truncation/congeniality.py];
* where the tables can be listed, the loss is worked out for every pair, C(x) being a sum over all releases;
* gamma = 1 otherwise.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

import flint
import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.truncation.congeniality import DIGITS, Conditioning
from holdfast.mechanisms.truncation.spread import BoundBasis
from holdfast.mechanisms.wasserstein.loss import TableLoss
from holdfast.mechanisms.wasserstein.measure import BaseMeasure
from holdfast.privacy.intensity import Pure
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import NormLoss, PerRecord, Profile
from holdfast.privacy.roots import ceil_root
from holdfast.sampling.decisions import ball_of, enclose
from holdfast.system.errors import GuaranteeError
from holdfast.universe.tables import conforming_tables, looks_alike

TABLES = 200
"""Tables that are listed at most: a second."""
CELLS = 24
"""Universes with more cells are not listed: the search alone would take too long."""
SCALE = 40
PRECISION = 128
SLACK = 1e-9
"""Covers roundings in differences of losses."""
SAME: tuple[BoundBasis, ...] = ("same, factor 2 dropped",)
TWICE: tuple[BoundBasis, ...] = ("factor 2",)
LISTED: tuple[BoundBasis, ...] = ("every two tables",)


@dataclass(frozen=True)
class Cost:
    """What is lost at one kappa.

    Attributes:
        epsilon: an upper bound of the loss between two tables that the guarantee tells apart.
        base: kappa sigma, the loss without the normaliser.
        how: what the bound rests on.
        reference: where it is proved.
        profile: how the loss grows with the distance.

    """

    epsilon: Fraction
    base: Fraction
    how: tuple[BoundBasis, ...]
    reference: str
    profile: Profile

    @property
    def gamma(self) -> Fraction:
        """Gamma in epsilon = (1 + gamma) base."""
        return self.epsilon / self.base - 1 if self.base else Fraction(0)


@dataclass(frozen=True, eq=False)
class KappaCosts:
    """What a loss over a base measure costs at any kappa."""

    premises: Premises
    loss: TableLoss
    base: BaseMeasure

    def at(self, kappa: Fraction) -> Cost:
        """Return the cost at one kappa."""
        plain = ceil_root(kappa**2 * self.loss.squared_stretch(self.premises))
        if self.base.constant or self._alike:
            return Cost(plain, plain, SAME, "theory, 4", self._profile(kappa))
        if self._conditioning is not None:
            cost = self._conditioning.at(kappa)
            per_unit = min(self._conditioning.per_unit(kappa), 2 * kappa)
            reference = "congenial-dp, Theorem 2.1; holdfast, mechanisms/truncation/spread.py"
            return Cost(cost.loss, cost.base, cost.how, reference, NormLoss(_up(per_unit), "l1"))
        if self._listed is not None:
            epsilon, per_unit = self._listed.at(kappa)
            moved = min(plain, _up(kappa * self._listed.stretch))
            return Cost(
                min(_up(epsilon), 2 * moved),
                moved,
                LISTED,
                "partially-private-data, Theorem 9; holdfast, mechanisms/wasserstein/cost.py",
                NormLoss(_up(per_unit), "l1"),
            )
        return Cost(2 * plain, plain, TWICE, "partially-private-data, Theorem 9", self._profile(2 * kappa))

    @property
    def listed(self) -> bool:
        """Whether what is lost is worked out pair by pair, and no bound."""
        base = self.base
        return not (base.constant or self._alike) and self._conditioning is None and self._listed is not None

    def _profile(self, kappa: Fraction) -> Profile:
        if (norm := self.loss.lattice_norm) is not None:
            return NormLoss(kappa, norm)
        return PerRecord(Pure(kappa * self.loss.per_record(self.premises)))

    @cached_property
    def _alike(self) -> bool:
        """Whether releases are the tables that are compared, these look alike, and the loss sees no order."""
        base = self.base
        same = base.inequalities is None or base.inequalities.bound(base.universe)
        plain = base.pseudo is None and self.loss.queries is None
        return base.not_negative and same and plain and looks_alike(base.universe)

    @cached_property
    def _conditioning(self) -> Conditioning | None:
        base = self.base
        if self.loss.lattice_norm != "l1" or base.pseudo is not None:
            return None
        return Conditioning.of(self.premises, nonnegative=base.nonnegative, inequalities=base.inequalities)

    @cached_property
    def _listed(self) -> "_ListedUniverse | None":
        universe = self.premises.universe
        releases = self.base.listed(TABLES) if universe.cells <= CELLS else None
        if releases is None:
            return None
        try:
            tables = conforming_tables(universe, TABLES)
        except GuaranteeError:
            return None
        return _ListedUniverse(self.premises, self.loss, self.base, tables, releases)


class _ListedUniverse:
    """All tables and all releases of a small universe."""

    def __init__(
        self,
        premises: Premises,
        loss: TableLoss,
        base: BaseMeasure,
        tables: IntArray,
        releases: IntArray,
    ) -> None:
        self._releases, self._tables = releases, tables
        self._loss, self._base = loss, base
        apart = np.abs(tables[:, None, :] - tables[None, :, :]).sum(axis=2)
        sums = tables.sum(axis=1)
        near = (apart > 0) & (sums[:, None] == sums[None, :])
        self._each = premises.adjacency == "unit"
        self._distance = premises.unit.distance
        self._first, self._second = np.nonzero(near)
        self._apart = apart[near]
        # the largest L(x', y) - L(x, y) over all releases
        losses = np.stack([loss.values(releases - table) for table in tables])
        gains = np.stack([(losses - row).max(axis=1) for row in losses])
        self._gains: FloatArray = gains[near] + SLACK * (1 + float(np.abs(losses).max(initial=0.0)))

    @property
    def stretch(self) -> Fraction:
        """How far the loss moves between tables that are told apart, rounded up: sigma itself."""
        return self._over_pairs(self._gains)[0]

    def at(self, kappa: Fraction) -> tuple[Fraction, Fraction]:
        """Return the largest loss of pairs that are told apart, and the largest loss over the l1 distance."""
        low, high = self._log_normalisers(kappa)
        rate = float(kappa) * (1 + SLACK)
        lost = np.maximum(rate * self._gains + high[self._second] - low[self._first], 0.0)
        return self._over_pairs(lost + SLACK * (1 + lost))

    def _over_pairs(self, lost: FloatArray) -> tuple[Fraction, Fraction]:
        """Return the largest of pairs that are told apart, and the largest over the l1 distance."""
        if not self._apart.size:
            return Fraction(0), Fraction(0)
        per_unit = float((lost / self._apart).max())
        if self._each:  # d(x, x') = ||x - x'||_1 / 2 [theory, 1]
            return Fraction(2 * self._distance * per_unit), Fraction(per_unit)
        told = self._apart <= 2 * self._distance
        return Fraction(float(lost[told].max(initial=0.0))), Fraction(per_unit)

    def _log_normalisers(self, kappa: Fraction) -> tuple[FloatArray, FloatArray]:
        """Enclose log C(x) of every table."""
        with flint.ctx.workprec(PRECISION):
            rate = ball_of(kappa)
            weights = [self._base.log_weight(release) for release in self._releases]
            known: dict[tuple[int, ...], flint.arb] = {}

            def loss(point: IntArray) -> flint.arb:
                key = tuple(np.abs(point).tolist()) if self._loss.queries is None else tuple(point.tolist())
                if key not in known:
                    known[key] = rate * self._loss.ball(point)
                return known[key]

            ends = []
            for table in self._tables:
                terms = (
                    (weight - loss(release - table)).exp()
                    for release, weight in zip(self._releases, weights, strict=True)
                )
                ends.append(enclose(sum(terms, flint.arb(0)).log(), SCALE))
        unit = 2.0**-SCALE
        return np.array([low for low, _ in ends]) * unit, np.array([high for _, high in ends]) * unit


def _up(value: Fraction) -> Fraction:
    return Fraction(ceil(value * DIGITS), DIGITS)
