"""`wasserstein-k-norm-gradient`: an estimate that is likely where the gradient of its loss is small.

With G(theta) the gradient of the loss of a table, and s(theta) how far one record moves it at most in the
largest coordinate, the release theta has

    P(theta | x) proportional to exp(-kappa ||G(theta)|| / s(theta))

on the points of a grid [partially-private-data, Theorem 10]. Between tables d records apart the exponent
moves by kappa d at most, and so does the log of the normaliser: the loss is 2 kappa d. Theorem 10 is for
any base measure, that of a grid among them: what is proved holds of the law that is drawn, in whole
numbers.

The table counts records by attributes whose levels are numbers: the response, and the predictors. Whatever
else is kept of it, as demographic counts, is kept exactly, and makes s smaller: a record then changes
within its own demographic group [holdfast, mechanisms/wasserstein/score.py].
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from pydantic import Field

from holdfast.estimation.l2 import public_tables
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.mechanism import (
    AT_ONCE,
    Law,
    Making,
    MechanismRecord,
    TableMechanism,
    Traits,
    drawn_exactly,
    premises_at,
    premises_for,
    pure,
    unseen_time,
)
from holdfast.mechanisms.wasserstein.estimand import Estimand, EstimandName, KNormGradientOptions
from holdfast.mechanisms.wasserstein.score import ParameterGrid, ScoreDensity
from holdfast.outputs import EstimateOutput, Output
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target, Unit
from holdfast.privacy.intensity import Pure
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import PerRecord
from holdfast.public import Public
from holdfast.sampling.bounded.boxes import BoxedLaw
from holdfast.sampling.entropy import Entropy
from holdfast.spec.privacy import ProtectedUnit
from holdfast.spec.values import PositiveRational, Rational, Where
from holdfast.system.errors import SamplingError

SELDOM = 1e-4
"""A share of proposals that is too small to wait for."""


ASKED = ("estimate", "of", "on", "where", "level", "event", "steps")
"""What options and a record both say."""


class GradientRecord(MechanismRecord):
    """Kappa for each record, and what is estimated on which grid."""

    name: Literal["wasserstein-k-norm-gradient"]
    kappa: PositiveRational = Field(alias="epsilon_per_unit")
    estimate: EstimandName
    of: str
    on: tuple[str, ...]
    where: Where | None = Field(default=None, exclude_if=lambda where: where is None)
    level: Rational | None = Field(default=None, exclude_if=lambda level: level is None)
    event: str | None = Field(default=None, exclude_if=lambda event: event is None)
    coefficients: tuple[str, ...]
    """What each number of the release is."""
    low: tuple[Rational, ...]
    high: tuple[Rational, ...]
    """Where each of them lies."""
    steps: int

    def parameters(self, write: Callable[[Fraction], str] = str) -> dict[str, str]:
        """Return the parameters by name, in words."""
        found = super().parameters(write)
        ranges = [
            f"{name} from {write(low)} to {write(high)}"
            for name, low, high in zip(self.coefficients, self.low, self.high, strict=True)
        ]
        for key in ("coefficients", "low", "high", "on", "where"):
            found.pop(key, None)
        if self.on:
            found["on"] = " and ".join(self.on)
        return {**found, "grid": "; ".join(ranges)}


@dataclass(frozen=True, eq=False)
class EstimateLaw:
    """The law of an estimate, as real numbers on a grid."""

    boxes: BoxedLaw = field(repr=False)
    grid: ParameterGrid

    def sample(self, entropy: Entropy, size: int) -> FloatArray:
        """Return ``size`` independent draws, one a row: floats next to points of the grid."""
        return self._points(self.boxes.sample(entropy, size))

    def log_prob(self, points: Any) -> FloatArray:
        """Return the log probability of each row up to one constant, minus infinity off the grid."""
        steps = self.grid.steps
        low, high = self.grid.floats(np.array([[0.0], [steps]]))
        index = np.rint((np.asarray(points) - low) / (high - low) * steps).astype(np.int64)
        near = np.abs(self._points(index) - points) <= 1e-9 * (np.abs(low) + high - low)
        return np.where(near.all(axis=1), self.boxes.log_prob(index), -np.inf)

    def _points(self, index: IntArray) -> FloatArray:
        return np.array([[float(value) for value in self.grid.point(row)] for row in index]).reshape(
            index.shape
        )


@dataclass(frozen=True, eq=False)
class KNormGradient(TableMechanism[KNormGradientOptions, GradientRecord]):
    """The mechanism that releases an estimate; ``kappa`` is half of epsilon for each record."""

    premises: Premises
    options: KNormGradientOptions
    model: Estimand
    kappa: Fraction

    name = "wasserstein-k-norm-gradient"
    Options = KNormGradientOptions
    Record = GradientRecord
    standards = ("pure",)
    output = "estimate"

    @classmethod
    def answer(cls, public: Public, target: Target, options: KNormGradientOptions) -> "KNormGradient":
        """Take the kappa that spends the target in full."""
        intensity = pure(target)
        premises = premises_for(public, target)
        model = Estimand.of(public, premises, options)
        found = cls(premises, options, model, intensity.epsilon / (2 * premises.unit.distance))
        found.require_drawable(public)
        return found

    @classmethod
    def of(cls, record: GradientRecord, public: Public, unit: Unit) -> "KNormGradient":
        """Return the mechanism of a record."""
        premises = premises_at(public, unit)
        said = {key: getattr(record, key) for key in ASKED}
        asked = KNormGradientOptions.model_construct(name=cls.name, **said)
        model = Estimand.of(public, premises, asked, ranges=(record.low, record.high))
        return cls(premises, asked, model, record.kappa)

    @property
    def guarantee(self) -> Guarantee:
        """The loss is 2 kappa for each record of distance [partially-private-data, Theorem 10]."""
        premises, each = self.premises, Pure(2 * self.kappa)
        return premises.guarantee(each.group(premises.unit.distance), self._evidence(), PerRecord(each))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Kappa, and what is estimated where."""
        model, said = self.model, {key: getattr(self.options, key) for key in ASKED}
        grid = {"coefficients": model.names, "low": model.low, "high": model.high}
        return {"kappa": self.kappa, **said, **grid}

    def calibration(self, public: Public, target: Target) -> Mapping[str, Any] | None:
        """Return the kappa that meets a target."""
        del public
        if not isinstance(target.intensity, Pure):
            return None
        return {"kappa": target.intensity.epsilon / (2 * self.premises.unit.distance)}

    @property
    def traits(self) -> Traits:
        """Real numbers on a grid, drawn exactly; their law depends on the table."""
        return Traits(whole=False, additive=False)

    @property
    def noise(self) -> None:
        """No table gets noise."""
        return

    def caveats(self, public: Public) -> tuple[Claim, ...]:
        """Return that no error is stated, and where the intercept is."""
        del public
        middles = self.model.middles
        return (_no_error(tuple(middles), tuple(Fraction(middle) for middle in middles.values())),)

    @property
    def methods(self) -> tuple[Claim, ...]:
        """How the estimate is drawn."""
        return (_drawn(len(self.model.names), self.options.steps + 1),)

    def law(self, counts: IntArray) -> EstimateLaw:
        """Return the law of the estimate of a table; no table is refused, but some take longer."""
        model = self.model
        density = ScoreDensity(model.score, model.kinds_of(counts), self.kappa, model.least)
        return EstimateLaw(BoxedLaw(density), ParameterGrid(model.low, model.high, self.options.steps))

    def outputs(
        self,
        law: Law,
        public: Public,
        entropy: Entropy,
        making: Making = AT_ONCE,  # noqa: ARG002 - a few numbers
    ) -> Mapping[str, Output]:
        """Draw one estimate."""
        del public
        drawn = tuple(law.sample(entropy, 1)[0].tolist())
        return {"estimate": EstimateOutput(self.model.names, drawn)}

    def require_drawable(self, public: Public) -> None:
        """Raise SamplingError unless a *public* table, fitted to the invariants, is drawn in reasonable time.

        Others may take longer, those most whose predictors nearly say the same.
        """
        fitted = public_tables(public.universe, public.floors)[0]
        if self.law(fitted).boxes.acceptance < SELDOM:
            raise SamplingError(
                "a table with these invariants has an estimate that is not drawn in reasonable time: take"
                " fewer predictors, or a larger epsilon."
            )

    def _evidence(self) -> list[Evidence]:
        whom = self.premises.whom
        return [
            Proved(_loses(self.kappa, whom), "partially-private-data, Theorem 10; theory, 7"),
            Proved(
                _moves(whom, within=bool(self.model.within)),
                "theory, 7; holdfast, mechanisms/wasserstein/score.py",
            ),
            *self.premises.evidence(),
            *drawn_exactly(floats=True),
            unseen_time("estimate"),
        ]


@claim("estimates-drawn-on-a-grid")
def _drawn(estimates: int, points: int) -> str:
    what = "one estimate" if estimates == 1 else f"{estimates} estimates"
    return f"{what}, on a grid of {points:,} points for each of {estimates}, by boxes and rejection"


@claim("estimate-without-error")
def _no_error(predictors: tuple[str, ...], middles: tuple[Fraction, ...]) -> str:
    said = (
        "How far an estimate is from that of the data depends on the confidential table: no error is stated."
        " Estimates lie on a grid, within bounds that were chosen beforehand."
    )
    if not predictors:
        return said
    each = zip(predictors, middles, strict=True)
    places = " and ".join(f"{name} = {float(middle):.12g}" for name, middle in each)
    return f"{said} The intercept is that at {places}, the middle of the levels."


@claim("wasserstein-gradient")
def _loses(kappa: Fraction, whom: ProtectedUnit) -> str:
    return (
        f"weights exp(-{kappa} ||G|| / s) lose at most {kappa} for each {whom.record}, and as much again for"
        f" the normaliser, where one {whom.record} moves the gradient G by at most s in its largest"
        " coordinate"
    )


@claim("record-in-the-gradient")
def _moves(whom: ProtectedUnit, *, within: bool) -> str:
    where = (
        "within its own pattern of invariants, as these fix how many there are of each"
        if within
        else "from any kind to any other"
    )
    return f"one {whom.record} moves {where}, and s is the widest range of a coordinate that this leaves"
