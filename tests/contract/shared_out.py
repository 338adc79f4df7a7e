"""`shared-out`: every level of one attribute is measured with noise, and the table estimated from that.

Each count gets double geometric noise of its own: y = x + z, with q(z) proportional to exp(-kappa ||z||_1).
Tables a records apart with the same total differ by 2 a in l1: the loss is 2 a kappa, attained beyond both.

The table is made of y and the public total alone: what y lacks of it is shared out among the levels in whole
numbers, one more for the first ones. That is post-processing among tables with this total.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast import HoldfastError
from holdfast.calculus import Guarantee, Proved, Pure, Target, Unit, claim
from holdfast.workshop import (
    AT_ONCE,
    Check,
    DoubleGeometric,
    Entropy,
    EstimateOutput,
    IntArray,
    Law,
    Making,
    MechanismOptions,
    MechanismRecord,
    Output,
    PositiveRational,
    Premises,
    Public,
    ReleasedFiles,
    SpecError,
    TableMechanism,
    TableOutput,
    Traits,
    drawn_exactly,
    premises_at,
    premises_for,
    pure,
)


@dataclass(frozen=True, eq=False)
class Measured:
    """The law of the measurements of a table."""

    counts: IntArray = field(repr=False)
    kappa: Fraction

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        noise = DoubleGeometric(self.kappa).sample(entropy, size * self.counts.size)
        return np.asarray(self.counts + noise.reshape(size, -1))

    def log_prob(self, points: IntArray) -> NDArray[np.float64]:
        """Return the log probability of each row, up to one constant."""
        apart: IntArray = np.abs(points - self.counts).sum(axis=1)
        return -float(self.kappa) * apart.astype(np.float64)


class SharedOutRecord(MechanismRecord):
    """Kappa, the loss for each unit of a count."""

    name: Literal["shared-out"]
    kappa: PositiveRational


@claim("tests:levels-drawn")
def _drawn() -> str:
    return "independent double geometric noise for each level"


@claim("tests:levels-completed")
def _completed() -> str:
    return "what they lack of the total is shared out"


@dataclass(frozen=True, eq=False)
class SharedOut(TableMechanism[MechanismOptions, SharedOutRecord]):
    """Measurements of all levels, and a table with the true total that is estimated from them."""

    premises: Premises
    kappa: Fraction

    name = "shared-out"
    Record = SharedOutRecord
    standards = ("pure",)
    output = "measured"
    estimated = ("table",)
    methods = (_drawn(), _completed())
    noise = None
    traits = Traits(additive=False)

    @classmethod
    def answer(cls, public: Public, target: Target, options: MechanismOptions) -> "SharedOut":
        """Take the kappa that spends the target in full."""
        del options  # it has none
        if public.cliques != (frozenset(),) or len(public.schema.names) > 1:
            raise SpecError("[mechanism] name = 'shared-out' is for one attribute: keep its total, alone.")
        premises = premises_for(public, target)
        return cls(premises, pure(target).epsilon / (2 * premises.unit.distance))

    @classmethod
    def of(cls, record: SharedOutRecord, public: Public, unit: Unit) -> "SharedOut":
        """Return the mechanism of a record."""
        return cls(premises_at(public, unit), record.kappa)

    @property
    def guarantee(self) -> Guarantee:
        """The loss is kappa times the l1 distance, and nothing is added by the estimate."""
        premises, distance = self.premises, self.premises.unit.distance
        evidence = (
            Proved(_apart(2 * distance), "theory, 1"),
            *premises.evidence(),
            Proved(_shared_out(), "semi-dp, Proposition 23"),
            *drawn_exactly(floats=False),
        )
        return Guarantee(premises.scope, premises.unit, Pure(2 * distance * self.kappa), evidence)

    def law(self, counts: IntArray) -> Measured:
        """Return the law of the measurements."""
        return Measured(counts, self.kappa)

    def outputs(
        self, law: Law, public: Public, entropy: Entropy, making: Making = AT_ONCE
    ) -> Mapping[str, Output]:
        """Measure, and estimate from the measurements alone."""
        del making  # it is made at once
        measured = law.sample(entropy, 1)[0]
        levels = public.schema.attribute(public.schema.names[0]).levels
        return {
            "measured": EstimateOutput(tuple(levels), tuple(map(float, measured))),
            "table": TableOutput.of(public, shared_out(measured, public)),
        }

    def check(self, public: Public, files: ReleasedFiles, *, whole: bool) -> Iterator[Check]:
        """Check that the table is what follows from the measurements."""
        try:
            measured = np.rint(EstimateOutput.read(files.path("measured")).values).astype(np.int64)
        except HoldfastError as error:
            yield Check("measured", holds=False, detail=str(error).rstrip("."))
            return
        if whole:
            same = np.array_equal(shared_out(measured, public), files.table.counts)
            yield Check.that("estimates", same, "the table is not what follows from the measurements")


def shared_out(measured: IntArray, public: Public) -> IntArray:
    """Return whole counts with the public total, all about as far from their measurements."""
    lacking = int(public.invariants[0].values[0]) - int(measured.sum())
    each, more = divmod(lacking, measured.size)
    return np.asarray(measured + each + (np.arange(measured.size) < more))


@claim("tests:counts-apart")
def _apart(distance: int) -> str:
    return f"two such tables are at most {distance} apart in l1"


@claim("tests:shared-out")
def _shared_out() -> str:
    return "the table is made of the measurements and the total alone"
