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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from holdfast.data.geography import Regions
from holdfast.estimation.hierarchy.run import Run, here
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.details import MechanismDetails, ReleasedFiles
from holdfast.mechanisms.mechanism import (
    AT_ONCE,
    Law,
    Making,
    MechanismRecord,
    TableMechanism,
    Traits,
    drawn_exactly,
    missing,
    premises_at,
    premises_for,
)
from holdfast.mechanisms.topdown.allocation import Allocation, levels_of
from holdfast.mechanisms.topdown.design import MeasurementDesign
from holdfast.mechanisms.topdown.details import (
    MICRODATA,
    TopDownDetails,
    check_files,
    simulated_bias,
    topdown_details,
)
from holdfast.mechanisms.topdown.engine import ENGINES, workers
from holdfast.mechanisms.topdown.estimate import estimated, possible_tables, require_counts
from holdfast.mechanisms.topdown.measurements import (
    NAME,
    Measurement,
    MeasurementLaw,
    MeasurementNoise,
    MeasurementsOutput,
    Values,
    read_measurements,
)
from holdfast.mechanisms.topdown.microdata import MicrodataOutput
from holdfast.mechanisms.topdown.options import TopDownOptions
from holdfast.mechanisms.topdown.queries import QueryRecord
from holdfast.outputs import Output, TableOutput, among
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target, Unit, format_parameter
from holdfast.privacy.intensity import GaussianNoise, Intensity, Pure, Standard, ZeroConcentrated, total
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import PerRecord
from holdfast.privacy.tradeoff import EpsilonDelta, PiecewiseLinear, tensor
from holdfast.public import Public
from holdfast.sampling.entropy import Entropy
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.privacy import Neighbours
from holdfast.spec.values import PositiveRational, Rational
from holdfast.system.checks import Check
from holdfast.system.errors import GuaranteeError, SpecError
from holdfast.system.paged import paged
from holdfast.system.text import closest, counted
from holdfast.system.ways import setting

if TYPE_CHECKING:
    from holdfast.data.across import AcrossTables
    from holdfast.mechanisms.errors.counts import Counts
    from holdfast.mechanisms.errors.laws import CountErrors
    from holdfast.mechanisms.jointly import JointTables, TableOnTree
    from holdfast.mechanisms.possible import PossibleTables
    from holdfast.mechanisms.topdown.best_linear import MeasuredNodes
    from holdfast.mechanisms.topdown.nmf import MeasurementFiles
    from holdfast.mechanisms.truncation.laws import Observed

NOISES: dict[str, MeasurementNoise] = {"zcdp": "gaussian", "pure": "laplace"}
PER_MEASUREMENT = 40
"""Bytes of a row of the file of measurements, about."""
MOST_TOGETHER = 16
"""Pure measurements whose product is listed."""
LEAST_VARIANCE = 1e-300
"""Floats have no inverse of much less, and estimates weigh by it."""


class _Item(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


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
    query: str
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
    passes: tuple[tuple[str, ...], ...]
    """The queries that are estimated one group after another, by name."""
    measurements: tuple[MeasurementRecord, ...]

    def parameters(self, write: Callable[[Fraction], str] = str) -> dict[str, str]:
        """Return the parameters by name, as text."""
        return {
            "noise": f"discrete {self.noise.capitalize()}",
            f"{'rho' if self.noise == 'gaussian' else 'epsilon'} for one record": write(self.per_record),
            "queries": "; ".join(query.name for query in self.queries),
            "shares of the levels": ", ".join(
                f"{each.level} {write(each.share)}" for each in self.allocation
            ),
            **({"estimated": ", then ".join(map(" and ".join, self.passes))} if self.passes else {}),
        }


@dataclass(frozen=True, eq=False)
class TopDown(TableMechanism[TopDownOptions, TopDownRecord]):
    """Measurements of a design; sees public values only."""

    premises: Premises
    design: MeasurementDesign
    noise_law: MeasurementNoise
    per_record: Fraction
    allocation: Allocation

    name: ClassVar[str] = "topdown"
    Options: ClassVar[type[MechanismOptions]] = TopDownOptions
    Record: ClassVar[type[MechanismRecord]] = TopDownRecord
    Details: ClassVar[type[MechanismDetails] | None] = TopDownDetails
    page: ClassVar[str | None] = "topdown.html.j2"
    standards: ClassVar[tuple[Standard, ...]] = ("zcdp", "pure")
    neighbours: ClassVar[tuple[Neighbours, ...]] = ("replace", "add-remove")
    output: ClassVar[str] = "measurements"
    estimated: ClassVar[tuple[str, ...]] = ("table",)
    extras: ClassVar[tuple[str, ...]] = (MICRODATA,)
    keeps_published: ClassVar[bool] = True
    bounded: ClassVar[bool] = True
    resumable: ClassVar[bool] = True
    engines: ClassVar[tuple[str, ...]] = ENGINES
    parallel: ClassVar[bool] = True
    bytes_per_cell: ClassVar[int] = 64

    @classmethod
    def answer(cls, public: Public, target: Target, options: TopDownOptions) -> "TopDown":
        """Share the budget among levels and queries as the spec says."""
        premises = premises_for(public, target)
        asked = options.measured_queries(Regions.of(public.schema, public.geography).names)
        given = options.allocation
        shares = given if isinstance(given, Mapping) else {}
        design = MeasurementDesign.of(public, asked, options.passes, shares)
        weights = tuple(query.on(tuple(design.regions.places)) for query in asked)
        if options.allocation == "optimise":
            from holdfast.mechanisms.topdown.allocation import optimised  # noqa: PLC0415 - few ask for it

            levels = optimised(design, weights, options.optimise_for)
        else:
            levels = levels_of(design, weights, options.allocation)
        distance = premises.unit.distance
        match target.intensity:
            case ZeroConcentrated(rho):
                noise, one = NOISES["zcdp"], rho / distance**2
            case Pure(epsilon):
                noise, one = NOISES["pure"], epsilon / distance
            case _:
                raise missing("rho")
        made = cls(premises, design, noise, one, Allocation.of(design, levels, weights))
        made.measurements  # noqa: B018  raises where there would be no noise
        return made

    @classmethod
    def of(cls, record: TopDownRecord, public: Public, unit: Unit) -> "TopDown":
        """Return the mechanism that a certificate records."""
        shares = {each.level: each.share for each in record.allocation}
        design = MeasurementDesign.of(public, record.queries, record.passes, shares)
        weights = tuple(query.weights for query in record.queries)
        allocation = Allocation.of(design, levels_of(design, weights, shares), weights)
        return cls(premises_at(public, unit), design, record.noise, record.per_record, allocation)

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
                f" measures: ask for a smaller budget in {setting('privacy')}."
            )
        return tuple(found)

    @property
    def parameters(self) -> dict[str, object]:
        """What the law is made of."""
        design = self.design
        levels = tuple(design.regions.places)
        return {
            "noise": self.noise_law,
            "per_record": self.per_record,
            "queries": [
                QueryRecord.told(query, weights)
                for query, weights in zip(design.queries, self.allocation.weights, strict=True)
            ],
            "allocation": [
                {"level": level, "share": share}
                for level, share in zip(levels, self.allocation.levels, strict=True)
            ],
            "passes": tuple(tuple(design.queries[at].name for at in each) for each in design.passes),
            "measurements": [
                {
                    "level": levels[each.of.level],
                    "query": design.queries[each.of.query].name,
                    "nodes": design.regions.numbers[each.of.level],
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
    def one_record(self) -> Intensity:
        """What all measurements together lose for one record of distance: the losses add up."""
        kind = GaussianNoise.of if self.noise_law == "gaussian" else Pure
        return total([kind(each.loss) for each in self.measurements])

    @property
    def guarantee(self) -> Guarantee:
        """The losses of all queries add up, and grow with the distance in records [theory, 11]."""
        one, premises = self.one_record, self.premises
        total = next(iter(one.parameters().values()))
        stated = one.group(premises.unit.distance)
        return premises.guarantee(stated, self._evidence(total), PerRecord(one), self._together)

    @cached_property
    def _together(self) -> PiecewiseLinear | None:
        """What pure measurements are worth together, which is more than a pure guarantee of their sum."""
        if self.noise_law == "gaussian" or len(self.measurements) > MOST_TOGETHER:
            return None
        distance = self.premises.unit.distance
        law = tensor(*(EpsilonDelta(float(each.loss * distance), 0.0, "lower") for each in self.measurements))
        return law.pieces()

    @property
    def noise(self) -> None:
        """None: the estimated table depends on the confidential one by more than an added noise."""
        return

    def errors(self, public: Public, asked: "Sequence[Counts]") -> "tuple[CountErrors, ...]":
        """Return the errors of its best linear estimates, which follow from the design."""
        from holdfast.mechanisms.topdown.expected import estimate_errors  # noqa: PLC0415 - not for a release

        del public
        return estimate_errors(self, asked)

    def possible(self, public: Public, number: int) -> "PossibleTables":
        """Return tables that are estimated of invented counts, of a part of a large geography."""
        return possible_tables(self.design, self.measurements, public.universe.total, number)

    @property
    def traits(self) -> Traits:
        """Exact, whole, never below zero; the law of the table is not public, that of measurements is."""
        return Traits(additive=False, nonnegative=True)

    @property
    def methods(self) -> tuple[Claim, ...]:
        """How a release is drawn."""
        levels = tuple(self.design.regions.places)
        at = dict.fromkeys(levels[each.of.level] for each in self.measurements)
        return _measured(self.noise_law, tuple(at)), _nearest(), _rounded()

    def details(
        self, public: Public, extras: tuple[str, ...] = (), simulated: MechanismDetails | None = None
    ) -> TopDownDetails:
        """Return both readings of the guarantee, and how far counts are off on a stand-in."""
        biases = simulated.bias if isinstance(simulated, TopDownDetails) else simulated_bias(self, public)
        return topdown_details(self, public, extras, biases)

    def check(self, public: Public, files: ReleasedFiles, *, whole: bool) -> Iterator[Check]:
        """Check the measurements, all levels, the estimates and the records."""
        return check_files(self, public, files, whole=whole)

    def observed(
        self,
        folder: Path,
        public: Public,
        counts: IntArray | None,
        level: str | None = None,
        table: str | None = None,
    ) -> "Observed":
        """Return what the measurements in a folder say of the counts of a level, by default of the leaves."""
        from holdfast.mechanisms.topdown.nodes import Nodes  # noqa: PLC0415
        from holdfast.mechanisms.truncation.laws import Observed  # noqa: PLC0415 - for inference alone

        known = self.design.regions.levels
        if level is not None and level not in known:
            raise SpecError(
                f"{setting('model', 'level')} is {level!r}, which is no level: {closest(level, known)}"
            )
        if counts is None:
            return super().observed(folder, public, counts, table=table)
        nodes = Nodes(public, self, len(known) - 1 if level is None else known.index(level))
        values = self._measured_in(folder, table)
        return Observed(
            nodes.schema,
            nodes.possible,
            nodes.likelihood(values),
            nodes.sums(counts)[nodes.possible],
            nodes.levels,
            None if nodes.place == len(known) - 1 else nodes.known,
        )

    def measured_nodes(self, folder: Path, table: str | None = None) -> "MeasuredNodes":
        """Return the estimates of all nodes by the measurements in a folder."""
        from holdfast.mechanisms.topdown.best_linear import MeasuredNodes  # noqa: PLC0415 - for inference alone

        return MeasuredNodes.of(self, self._measured_in(folder, table))

    def measurement_files(self, folder: Path, public: Public, table: str | None = None) -> "MeasurementFiles":
        """Return the measurements in a folder as files in the layout of the 2020 products."""
        from holdfast.mechanisms.topdown.nmf import measurement_files  # noqa: PLC0415 - few ask for it

        return measurement_files(self, public, self._measured_in(folder, table))

    def _measured_in(self, folder: Path, table: str | None) -> Values:
        file = folder / f"{among(table, NAME)}.parquet"
        return read_measurements(file, self.design, self.measurements)

    def law(self, counts: IntArray) -> MeasurementLaw:
        """Return the law of the measurements of a table, given by the counts of its possible cells."""
        possible = self.design.regions.possible.ravel()
        if counts.size == possible.size:
            return MeasurementLaw(self.design, self.measurements, counts)
        every = paged(possible.size, np.int64)
        every[possible] = counts
        return MeasurementLaw(self.design, self.measurements, every)

    def outputs(
        self, law: Law, public: Public, entropy: Entropy, making: Making = AT_ONCE
    ) -> Mapping[str, Output]:
        """Measure the confidential table, unless that was done, and estimate it."""
        assert isinstance(law, MeasurementLaw)  # noqa: S101 - its own
        measured = making.drawn or self.measured(law.measure(entropy))
        assert isinstance(measured, MeasurementsOutput)  # noqa: S101 - its own
        if making.keep is not None and making.drawn is None:
            making.keep(measured)
        with workers(making) as run:
            found = self.outputs_of(public, measured.values, run)
        if not making.microdata:
            return found
        table = found["table"]
        assert isinstance(table, TableOutput)  # noqa: S101 - its own
        return {**found, "microdata": MicrodataOutput(table.table)}

    @classmethod
    def jointly(cls, tables: "Mapping[str, TableOnTree]", across: "Sequence[AcrossTables]") -> "JointTables":
        """Estimate tables of several files together [holdfast, mechanisms/topdown/joint.py]."""
        from holdfast.mechanisms.topdown.joint import JointTopDown  # noqa: PLC0415 - where there are several

        return JointTopDown(tables, across)

    def require_counts(self) -> None:
        """Raise where no counts keep the invariants and what was published before."""
        require_counts(self.design)

    def restored(self, file: Path) -> MeasurementsOutput:
        """Return measurements from their file; raises DataError where it holds others."""
        return self.measured(read_measurements(file, self.design, self.measurements))

    def caveats(self, public: Public) -> tuple[Claim, ...]:
        """Return what is to be known of counts that were estimated from measurements."""
        return (
            _biased(),
            *((_all_alike(),) if public.invariants else ()),
            *(_published_kept(int(each.values.size), each.cost) for each in public.published),
        )

    def measured(self, values: Values) -> MeasurementsOutput:
        """Return measurements as they are published, without what they were drawn by."""
        return MeasurementsOutput(self.design, tuple(map(replace, self.measurements)), values)

    def outputs_of(self, public: Public, values: Values, run: Run = here) -> Mapping[str, Output]:
        """Return measurements and the counts that are estimated from them, by name."""
        leaves = estimated(self.design, self.measurements, values, run)[-1]
        return {
            "measurements": self.measured(values),
            "table": TableOutput.of_all(public, leaves.ravel(), estimated=True),
        }

    @property
    def plan_details(self) -> Mapping[str, Any]:
        """What is measured of each level, and how many nodes make an area."""
        record, regions = self.record(), self.design.regions
        assert isinstance(record, TopDownRecord)  # noqa: S101 - its own
        away = [regions.nodes_away(kind) for kind in range(len(regions.areas))]
        areas = [
            {
                "areas": each.name,
                "number": len(each.codes),
                "nodes": {"mean": some.mean(), "most": int(some.max())},
            }
            for each, some in zip(regions.areas, away, strict=True)
        ]
        measured = [each.model_dump(mode="json") for each in record.measurements]
        return {"measurements": measured, **({"areas": areas} if areas else {})}

    @property
    def file_size(self) -> int:
        """About as many bytes as the file of measurements takes."""
        return PER_MEASUREMENT * sum(
            self.design.regions.numbers[each.of.level] * int(self.design.queries[each.of.query].rows.shape[0])
            for each in self.measurements
        )

    def _evidence(self, total: Fraction) -> Sequence[Evidence]:
        gaussian, distance = self.noise_law == "gaussian", self.premises.unit.distance
        number = len(self.measurements)
        return [
            Proved(_gaussian(number, total), "canonne2020, Theorem 4; bun2016, Lemma 1.7")
            if gaussian
            else Proved(_laplace(number, total), "canonne2020; theory, 11"),
            Proved(
                (_come_or_gone if self.premises.whom.presence else _one_record)(
                    attained=all(each.of.attained for each in self.measurements)
                ),
                "theory, 11",
            ),
            Proved(_along(self.noise_law, total, distance), "theory, 11; semi-dp, Proposition 15"),
            *self.premises.evidence(),
            Proved(_estimated(), "semi-dp, Proposition 23; swapping-slides, TopDown theorem"),
            *(
                Proved(_made_of_before(each), "semi-dp, Proposition 23; bun2016, Lemma 1.7")
                for each in self.design.costs
            ),
            *drawn_exactly(floats=any(each.law.floats for each in self.measurements)),
        ]


@claim("measurements-drawn")
def _measured(noise: Literal["gaussian", "laplace"], levels: tuple[str, ...]) -> str:
    kind = "Gaussian" if noise == "gaussian" else "Laplace"
    return f"independent discrete {kind} noise is drawn for each measurement, at {', '.join(levels)}"


@claim("nearest-from-the-top")
def _nearest() -> str:
    return (
        "from the top down, the counts of a node are those nearest to its measurements that are not negative,"
        " keep all invariants and bounds, and add up to their parent"
    )


@claim("rounded-to-whole-counts")
def _rounded() -> str:
    return "real counts are rounded to the nearest whole ones that keep the same"


@claim("measurements-gaussian")
def _gaussian(measurements: int, rho: Fraction) -> str:
    return (
        "discrete Gaussian noise on a query loses at most Delta^2 / (2 sigma^2) for one record, and the sum"
        f" over {_measurements(measurements)} is rho {format_parameter(rho)}"
    )


@claim("measurements-laplace")
def _laplace(measurements: int, epsilon: Fraction) -> str:
    return (
        "discrete Laplace noise on a query loses at most kappa Delta for one record, and the sum over"
        f" {_measurements(measurements)} is epsilon {format_parameter(epsilon)}"
    )


def _measurements(number: int) -> str:
    return counted(number, "query and level", "queries and levels")


@claim("record-in-a-marginal")
def _one_record(*, attained: bool) -> str:
    some = ", which some change attains without a change of invariants" if attained else ""
    return (
        "one record leaves a cell of one node and enters a cell of that or another: it moves a marginal on a"
        f" level by at most 2 in l1 and by the root of 2 in l2{some}"
    )


@claim("presence-in-a-marginal")
def _come_or_gone(*, attained: bool) -> str:
    some = ", which some record attains without a change of invariants" if attained else ""
    return (
        "one record that is added or removed is in one cell of one node: it moves a marginal on a level by at"
        f" most 1 in l1 and in l2{some}"
    )


@claim("records-in-a-marginal")
def _along(noise: Literal["gaussian", "laplace"], of_one: Fraction, distance: int) -> str:
    name, power, square = ("rho", 2, "^2") if noise == "gaussian" else ("epsilon", 1, "")
    along = "" if distance == 1 else f": {format_parameter(of_one * distance**power)}"
    return f"d records move it by at most d times as much, and lose d{square} times {name}{along}"


@claim("counts-estimated")
def _estimated() -> str:
    return (
        "the counts are made of measurements and invariants alone, which is post-processing among tables with"
        " the same invariants"
    )


@claim("made-of-published")
def _made_of_before(cost: str) -> str:
    return (
        "the counts are made of what was published before as well, which costs nothing beyond that release:"
        f" {cost}. Whoever sees both has the losses of both, which add up"
    )


@claim("published-kept")
def _published_kept(numbers: int, cost: str) -> str:
    return (
        f"{counted(numbers, 'number')} stay as an earlier release published them, which cost {cost}."
        " They are no"
        " invariants of the data: this certificate states what its own measurements lose, and that of the"
        " earlier release comes on top."
    )


@claim("estimates-biased")
def _biased() -> str:
    return (
        "The table is estimated from the measurements beside it, with no count below zero: small counts come"
        " out too large on average, and large ones too small. The measurements have no such bias; for"
        " confidence intervals use them, with `holdfast intervals`."
    )


@claim("all-invariants-alike")
def _all_alike() -> str:
    return (
        "The guarantee holds among tables with the same values of all invariants. Subject to a part of them"
        " that leaves another one open it does not hold with any budget, as the release tells that one"
        " exactly."
    )
