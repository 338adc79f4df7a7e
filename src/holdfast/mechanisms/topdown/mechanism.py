"""`topdown`: discrete noise on queries at every level of a geography, then estimates by levels.

**Step 1** measures W x_g + z at every node g of every level, with independent discrete Gaussian noise (zCDP)
or discrete Laplace noise (pure). A query with noise of parameter sigma^2 loses ||W u||^2 / (2 sigma^2)
between tables u apart [canonne2020, Theorem 4], and losses add up over queries and levels [bun2016, Lemma
1.7]. One record moves a query of a level by at most the root of 2 in l2, and d records by d times that
[theory, 11]: rho for one record is the sum of Delta^2 / (2 sigma^2), and d^2 rho at a distance of d.

**Step 2** makes whole counts, none below zero, that keep every invariant and add up from level to level. It
sees the measurements and the invariants alone: post-processing within the scope of the same invariants
[semi-dp, Proposition 23]. That is the theorem of [swapping-slides]: DP(X, D_c, d_Ham, D_nor) with rho,
subject to the invariants c, and with no finite budget subject to fewer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from holdfast.errors import GuaranteeError
from holdfast.estimation.topdown.run import Run, here
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.mechanism import (
    Law,
    MechanismOptions,
    MechanismRecord,
    TableMechanism,
    Traits,
    drawn_exactly,
    missing,
    premises_at,
    premises_for,
)
from holdfast.mechanisms.topdown.allocation import Allocation, levels_of
from holdfast.mechanisms.topdown.design import Design
from holdfast.mechanisms.topdown.estimate import estimated
from holdfast.mechanisms.topdown.file import MeasurementsOutput, Values
from holdfast.mechanisms.topdown.law import Measurement, MeasurementLaw, Noise
from holdfast.mechanisms.topdown.options import TopDownOptions
from holdfast.outputs import Output, TableOutput
from holdfast.premises import Premises
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target, Unit, shown
from holdfast.privacy.intensity import Pure, Standard, ZeroConcentrated
from holdfast.privacy.profile import PerRecord
from holdfast.public import Public
from holdfast.sampling.entropy import Entropy
from holdfast.spec.rational import PositiveRational, Rational
from holdfast.words import counted

NOISES: dict[str, Noise] = {"zcdp": "gaussian", "pure": "laplace"}
LEAST_VARIANCE = 1e-300
"""Floats have no inverse of much less, and estimates weigh by it."""


class _Item(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QueryRecord(_Item):
    """A marginal of every node, and its weight within a level."""

    marginal: tuple[str, ...]
    weight: PositiveRational


class ShareRecord(_Item):
    """The share of a level."""

    level: str
    share: Rational


class MeasurementRecord(_Item):
    """What was measured of a level: a query with so many rows at so many nodes, and its noise.

    ``sensitivity`` is the square of the l2 norm by which one record moves all of it, and the l1 norm too;
    ``scale`` is sigma^2, or 1 / kappa; ``loss`` is rho, or epsilon, for one record.
    """

    level: str
    query: tuple[str, ...]
    nodes: int
    rows: int
    sensitivity: int
    attained: bool
    scale: PositiveRational
    loss: PositiveRational
    variance: float


class TopDownRecord(MechanismRecord):
    """The design of the measurements; what was measured follows from it."""

    name: Literal["topdown"]
    noise: Literal["gaussian", "laplace"]
    per_record: PositiveRational
    """Rho, or epsilon, for one record of distance."""
    queries: tuple[QueryRecord, ...]
    allocation: tuple[ShareRecord, ...]
    measurements: tuple[MeasurementRecord, ...]

    def parameters(self, write: Callable[[Fraction], str] = str) -> dict[str, str]:
        """Return the parameters by name, as text."""
        return {
            "noise": f"discrete {self.noise.capitalize()}",
            f"{'rho' if self.noise == 'gaussian' else 'epsilon'} for one record": write(self.per_record),
            "queries": "; ".join(" by ".join(query.marginal) or "total" for query in self.queries),
            "shares of the levels": ", ".join(
                f"{each.level} {write(each.share)}" for each in self.allocation
            ),
        }


@dataclass(frozen=True, eq=False)
class TopDown(TableMechanism[TopDownOptions, TopDownRecord]):
    """Measurements of a design; sees public values only."""

    premises: Premises
    design: Design
    noise_law: Noise
    per_record: Fraction
    allocation: Allocation

    name: ClassVar[str] = "topdown"
    Options: ClassVar[type[MechanismOptions]] = TopDownOptions
    Record: ClassVar[type[MechanismRecord]] = TopDownRecord
    standards: ClassVar[tuple[Standard, ...]] = ("zcdp", "pure")
    output: ClassVar[str] = "measurements"
    estimated: ClassVar[tuple[str, ...]] = ("table",)
    bounded: ClassVar[bool] = True

    @classmethod
    def answer(cls, public: Public, target: Target, options: TopDownOptions) -> "TopDown":
        """Share the budget among levels and queries as the spec says."""
        premises = premises_for(public, target)
        asked = options.asked(tuple(name for name in public.schema.names if name not in public.geography))
        design = Design.of(public, [query.marginal for query in asked])
        weights = tuple(query.weight for query in asked)
        if options.allocation == "optimise":
            from holdfast.mechanisms.topdown.optimise import optimised  # noqa: PLC0415 - few ask for it

            levels = optimised(design, weights, options.optimise_for)
        else:
            levels = levels_of(design, options.allocation)
        distance = premises.unit.distance
        match target.intensity:
            case ZeroConcentrated(rho):
                noise, one = NOISES["zcdp"], rho / distance**2
            case Pure(epsilon):
                noise, one = NOISES["pure"], epsilon / distance
            case _:
                raise missing("rho")
        made = cls(premises, design, noise, one, Allocation(levels, weights))
        made.measurements  # noqa: B018  raises where there would be no noise
        return made

    @classmethod
    def of(cls, record: TopDownRecord, public: Public, unit: Unit) -> "TopDown":
        """Return the mechanism that a certificate records."""
        design = Design.of(public, [query.marginal for query in record.queries])
        shares = {each.level: each.share for each in record.allocation}
        levels = levels_of(design, shares)
        weights = tuple(query.weight for query in record.queries)
        return cls(
            premises_at(public, unit), design, record.noise, record.per_record, Allocation(levels, weights)
        )

    @cached_property
    def measurements(self) -> tuple[Measurement, ...]:
        """What is measured, with its noise: Delta^2 / (2 sigma^2) is its rho, Delta_1 kappa its epsilon."""
        found = []
        for each, share in zip(self.design.measured, self.allocation.shares(self.design), strict=True):
            if share:
                loss = self.per_record * share
                twice = 2 if self.noise_law == "gaussian" else 1
                found.append(Measurement(each, self.noise_law, each.sensitivity / (twice * loss), loss))
        if any(measurement.variance < LEAST_VARIANCE for measurement in found):
            raise GuaranteeError(
                "topdown would measure without any noise to speak of, so that no estimate can weigh what it"
                " measures: ask for a smaller budget in [privacy]."
            )
        return tuple(found)

    @property
    def parameters(self) -> dict[str, object]:
        """What the law is made of."""
        design = self.design
        levels = design.regions.levels
        return {
            "noise": self.noise_law,
            "per_record": self.per_record,
            "queries": [
                {"marginal": query.marginal, "weight": weight}
                for query, weight in zip(design.queries, self.allocation.weights, strict=True)
            ],
            "allocation": [
                {"level": level, "share": share}
                for level, share in zip(levels, self.allocation.levels, strict=True)
            ],
            "measurements": [
                {
                    "level": levels[each.of.level],
                    "query": design.queries[each.of.query].marginal,
                    "nodes": design.regions.sizes[each.of.level],
                    "rows": int(design.queries[each.of.query].rows.shape[0]),
                    "sensitivity": each.of.sensitivity,
                    "attained": each.of.attained,
                    "scale": each.scale,
                    "loss": each.loss,
                    "variance": float(f"{each.variance:.12g}"),
                }
                for each in self.measurements
            ],
        }

    def calibration(self, public: Public, target: Target) -> Mapping[str, object] | None:
        """Return the loss for one record that a target settles: it is spent whole."""
        del public
        distance = self.premises.unit.distance
        match target.intensity:
            case ZeroConcentrated(rho):
                return {"per_record": rho / distance**2}
            case Pure(epsilon):
                return {"per_record": epsilon / distance}
        return None

    @property
    def one_record(self) -> ZeroConcentrated | Pure:
        """What all measurements together lose for one record of distance: the losses add up."""
        total = sum((each.loss for each in self.measurements), Fraction(0))
        return ZeroConcentrated(total) if self.noise_law == "gaussian" else Pure(total)

    @property
    def guarantee(self) -> Guarantee:
        """The losses of all queries add up, and grow with the distance in records [theory, 11]."""
        one, premises = self.one_record, self.premises
        total = next(iter(one.parameters().values()))
        stated = one.group(premises.unit.distance)
        return Guarantee(premises.scope, premises.unit, stated, tuple(self._evidence(total)), PerRecord(one))

    @property
    def noise(self) -> None:
        """None: the estimated table depends on the confidential one by more than an added noise."""
        return

    @property
    def traits(self) -> Traits:
        """Exact, whole, never below zero; the law of the table is not public, that of measurements is."""
        return Traits(additive=False, nonnegative=True)

    @property
    def methods(self) -> tuple[str, ...]:
        """How a release is drawn."""
        levels, kind = self.design.regions.levels, "Gaussian" if self.noise_law == "gaussian" else "Laplace"
        at = ", ".join(dict.fromkeys(levels[each.of.level] for each in self.measurements))
        nearest = (
            "from the top down, the counts of a node are those nearest to its measurements that are not"
            " negative, keep all invariants and bounds, and add up to their parent"
        )
        return (
            f"independent discrete {kind} noise is drawn for each measurement, at {at}",
            nearest,
            "real counts are rounded to the nearest whole ones that keep the same",
        )

    def law(self, counts: IntArray) -> MeasurementLaw:
        """Return the law of the measurements of a table, given by the counts of its possible cells."""
        possible = self.design.regions.possible.ravel()
        every = np.zeros(possible.size, dtype=np.int64)
        every[possible] = counts
        return MeasurementLaw(self.design, self.measurements, every)

    def outputs(self, law: Law, public: Public, entropy: Entropy) -> Mapping[str, Output]:
        """Measure the confidential table, and estimate it: what is published, by name."""
        assert isinstance(law, MeasurementLaw)  # noqa: S101 - its own
        return self.outputs_of(public, law.measure(entropy))

    def measured(self, values: Values) -> MeasurementsOutput:
        """Return measurements as they are published, without what they were drawn by."""
        return MeasurementsOutput(self.design, tuple(map(replace, self.measurements)), values)

    def outputs_of(self, public: Public, values: Values, run: Run = here) -> Mapping[str, Output]:
        """Return measurements and the counts that are estimated from them, by name."""
        leaves = estimated(self.design, self.measurements, values, run)[-1]
        return {
            "measurements": self.measured(values),
            "table": TableOutput.of(public, leaves.ravel()[public.possible]),
        }

    def _evidence(self, total: Fraction) -> Sequence[Evidence]:
        gaussian, distance = self.noise_law == "gaussian", self.premises.unit.distance
        name, power = ("rho", 2) if gaussian else ("epsilon", 1)
        tight = all(each.of.attained for each in self.measurements)
        number = counted(len(self.measurements), "query and level", "queries and levels")
        summed = f"the sum over {number} is {name} {shown(total)}"
        along = "" if distance == 1 else f": {shown(total * distance**power)}"
        attained = ", which some change attains without a change of invariants" if tight else ""
        return [
            Proved(
                "discrete Gaussian noise on a query loses at most Delta^2 / (2 sigma^2) for one record, and"
                f" {summed}",
                "canonne2020, Theorem 4; bun2016, Lemma 1.7",
            )
            if gaussian
            else Proved(
                f"discrete Laplace noise on a query loses at most kappa Delta for one record, and {summed}",
                "canonne2020; theory, 11",
            ),
            Proved(
                "one record leaves a cell of one node and enters a cell of that or another: it moves a"
                f" marginal on a level by at most 2 in l1 and by the root of 2 in l2{attained}",
                "theory, 11",
            ),
            Proved(
                f"d records move it by at most d times as much, and lose d{'^2' if gaussian else ''} times"
                f" {name}{along}",
                "theory, 11; semi-dp, Proposition 15",
            ),
            *self.premises.evidence(),
            Proved(
                "the counts are made of measurements and invariants alone, which is post-processing among"
                " tables with the same invariants",
                "semi-dp, Proposition 23; swapping-slides, TopDown theorem",
            ),
            *drawn_exactly(floats=any(each.law.floats for each in self.measurements)),
        ]
