"""`noisy-count`: x_11 of 2 x 2 tables with both margins published, plus canonical noise.

It is the release behind the test of an odds ratio [holdfast, inference/odds_ratio.py]. Tables with the same
margins differ by k (1, -1, -1, 1), which changes 2 |k| records. With several tables (strata with separate
margins) they differ by such multiples k_s, and 2 sum |k_s| records change. Hence at distance a

    sum over s of |k_s| <= floor(a / 2),

which is 1 at a = 2 and at a = 3 [theory, 9], and a <= 3 for both margins of each stratum
[semi-dp, Theorem 16; theory, 2]: one count moves, by one. So canonical noise for f on each count gives
f-semi-DP for all of them together [semi-dp, Theorem 37]. For larger distances (groups of persons) the noise
is widened by floor(a / 2).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import model_validator

from holdfast.data.two_by_two import Margins
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.canonical import CanonicalNoise, Normal, Tulap, canonical
from holdfast.mechanisms.canonical.noise import LARGEST
from holdfast.mechanisms.errors.zero_noise import Chance, ZeroNoiseChances
from holdfast.mechanisms.mechanism import (
    AT_ONCE,
    DrawArray,
    Law,
    Making,
    MechanismRecord,
    TableMechanism,
    Traits,
    missing,
    premises_at,
    premises_for,
)
from holdfast.outputs import Output, StatisticOutput
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target, Unit
from holdfast.privacy.intensity import Approximate, Functional, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import NormLoss, PerRecord, Profile, SquaredLoss
from holdfast.privacy.roots import floor_root
from holdfast.public import Public, public_margins
from holdfast.sampling.entropy import Entropy
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.privacy import ProtectedUnit
from holdfast.spec.values import PositiveRational
from holdfast.system.errors import GuaranteeError, SpecError
from holdfast.system.ways import assigned, setting

if TYPE_CHECKING:
    from holdfast.mechanisms.likelihood import NoisyStatistic
    from holdfast.mechanisms.truncation.laws import Observed

WINDOW = 2.0**-12
"""The width at which the law of the noise is told."""


class NoisyCountOptions(MechanismOptions):
    """No keys but the name: the strength follows from the target.

    >>> hf.NoisyCount().name
    'noisy-count'
    """

    name: Literal["noisy-count"] = "noisy-count"


class NoisyCountRecord(MechanismRecord):
    """The intensity that the noise is canonical for."""

    name: Literal["noisy-count"]
    epsilon: PositiveRational | None = None
    delta: PositiveRational | None = None
    rho: PositiveRational | None = None
    mu: PositiveRational | None = None

    @model_validator(mode="after")
    def _one_intensity(self) -> "NoisyCountRecord":
        self.intensity()
        return self

    def intensity(self) -> Intensity:
        """Return the intensity that is recorded."""
        match self.epsilon, self.delta, self.rho, self.mu:
            case Fraction() as epsilon, None, None, None:
                return Pure(epsilon)
            case Fraction() as epsilon, Fraction() as delta, None, None:
                return Approximate(epsilon, delta)
            case None, None, Fraction() as rho, None:
                return ZeroConcentrated(rho)
            case None, None, None, Fraction() as mu:
                return GaussianDP(mu)
        raise ValueError("is not one intensity")


@dataclass(frozen=True, eq=False)
class CountWithNoise:
    """The law of x_11 + N for each table, told at the width of a window around each point."""

    counts: IntArray = field(repr=False)
    noise: CanonicalNoise

    def sample(self, entropy: Entropy, size: int) -> FloatArray:
        """Return ``size`` independent draws, one a row."""
        drawn = self.noise.add_to(np.tile(self.counts, size), entropy)
        return drawn.reshape(size, self.counts.size)

    def log_prob(self, points: FloatArray) -> FloatArray:
        """Return the log probability of a window around each row."""
        apart = -np.abs(points - self.counts)  # the noise is symmetric, and floats are fine near 0, not 1
        mass = self.noise.cdf(apart + WINDOW / 2) - self.noise.cdf(apart - WINDOW / 2)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(mass, 0.0)).sum(axis=1), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class NoisyCount(TableMechanism[NoisyCountOptions, NoisyCountRecord]):
    """The mechanism that releases x_11 of each table with noise."""

    premises: Premises
    margins: tuple[Margins, ...]
    canonical: CanonicalNoise
    intensity: Intensity

    name = "noisy-count"
    Options = NoisyCountOptions
    Record = NoisyCountRecord
    standards = ("pure", "approximate", "zcdp", "gaussian")
    output = "statistic"

    @classmethod
    def answer(cls, public: Public, target: Target, options: NoisyCountOptions) -> "NoisyCount":
        """Take the noise that spends the target in full."""
        del options  # it has none
        if target.intensity is None:
            raise missing("epsilon")
        if target.adjacency == "unit":
            raise SpecError(
                f"{setting('privacy', 'adjacency')} = 'unit' is not offered by noisy-count, whose noise is"
                f" made for one distance: set {assigned('adjacency', 'semi')}."
            )
        margins = margins_of(public)
        if all(each.lowest == each.highest for each in margins):
            raise GuaranteeError(
                "the margins leave one possible table, so there is nothing to test and nothing to protect:"
                " give a table with no empty row or column."
            )
        if max(each.highest for each in margins) >= LARGEST:
            raise SpecError(
                f"{setting('mechanism', 'name')} = 'noisy-count' leaves no room for noise beside counts of"
                " 2^30 or more: use lattice-laplace."
            )
        premises = premises_for(public, target)
        noise, reached = _noise(target.intensity, premises.unit.distance // 2)
        noise.require_drawable()  # what cannot be drawn is refused before it is charged
        return cls(premises, margins, noise, reached)

    @classmethod
    def of(cls, record: NoisyCountRecord, public: Public, unit: Unit) -> "NoisyCount":
        """Return the mechanism of a record."""
        noise, reached = _noise(record.intensity(), unit.distance // 2)
        return cls(premises_at(public, unit), margins_of(public), noise, reached)

    @classmethod
    def calibrate(
        cls, margins: Sequence[Margins], intensity: Intensity, *, records: int | None = None
    ) -> "NoisyCount":
        """Return the mechanism with the least noise for an intensity, from the margins alone.

        It holds for tables at most ``records`` apart, by default the semi-adjacency of the margins.
        """
        target = Target("semi", intensity, records)
        return cls.answer(public_margins(margins), target, NoisyCountOptions())

    @property
    def steps(self) -> int:
        """How far the counts can move together, floor(a / 2)."""
        return self.premises.unit.distance // 2

    @cached_property
    def guarantee(self) -> Guarantee:
        """What holds of the released counts, and of all that is computed from them [semi-dp, Theorem 37]."""
        return self.premises.guarantee(self.intensity, self._evidence(), self._profile())

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The intensity."""
        return self.intensity.parameters()

    @property
    def traits(self) -> Traits:
        """A real number, drawn on a grid in integers: exact but for functions that have no sampler."""
        return Traits(kind="exact" if self.canonical.certified else "floating", whole=False)

    @property
    def noise(self) -> None:
        """No table gets noise: the law of the statistic's is ``canonical``."""
        return

    @property
    def methods(self) -> tuple[Claim, ...]:
        """How the statistic is drawn."""
        return (_drawn(len(self.margins)),)

    @property
    def unchanged(self) -> ZeroNoiseChances:
        """The chance that a count, rounded, is the true one, and that all of them are."""
        stays = 1 - 2 * float(self.canonical.cdf(np.array([-0.5]))[0])
        return ZeroNoiseChances(Chance(stays, stays), Chance(*(2 * (stays ** len(self.margins),))))

    def law(self, counts: IntArray) -> CountWithNoise:
        """Return the law of the statistics of tables, which are given by rows, one after the other."""
        return CountWithNoise(counts[0::4], self.canonical)

    def likelihood(self, released: DrawArray) -> "NoisyStatistic":
        """Return the law of statistics, one for each stratum, as a function of the tables."""
        from holdfast.mechanisms.likelihood import NoisyStatistic  # noqa: PLC0415 - for inference alone

        values = np.asarray(released, dtype=np.float64)
        return NoisyStatistic(self.canonical, self.law(np.zeros(4 * values.size, dtype=np.int64)), values)

    def observed(
        self,
        folder: Path,
        public: Public,
        counts: IntArray | None,
        level: str | None = None,
        table: str | None = None,
    ) -> "Observed":
        """Return what the statistics in a folder say of the tables."""
        from holdfast.mechanisms.truncation.laws import Observed  # noqa: PLC0415 - for inference alone

        if level is not None:
            return super().observed(folder, public, counts, level, table)
        values = np.array(StatisticOutput.read(folder / f"{self.output}.csv").values)
        nothing = np.zeros(0, dtype=np.int64)
        return Observed(public.schema, public.possible, self.likelihood(values), nothing, public.geography)

    def outputs(
        self,
        law: Law,
        public: Public,
        entropy: Entropy,
        making: Making = AT_ONCE,  # noqa: ARG002 - a few numbers
    ) -> Mapping[str, Output]:
        """Draw one statistic for each stratum."""
        del public
        return {"statistic": StatisticOutput(tuple(law.sample(entropy, 1)[0].tolist()))}

    def _evidence(self) -> tuple[Evidence, ...]:
        whom, distance = self.premises.whom, self.premises.unit.distance
        evidence: list[Evidence] = [
            *self.canonical.evidence,
            *self.premises.evidence(),
            Proved(_moved(self.steps, distance, whom, len(self.margins)), "theory, 9"),
            Proved(_test(), "semi-dp, Proposition 23"),
        ]
        if isinstance(self.intensity, ZeroConcentrated):
            evidence.append(Proved(_concentrated(), "bun2016, Proposition 1.6"))
        return tuple(evidence)

    def _profile(self) -> Profile | None:
        """Return how the loss grows with u, or with the distance d of two tables.

        ||u||_1 = 4 sum |k_s|, ||u||_2^2 = 4 sum k_s^2, and sum |k_s| <= d / 2.
        """
        match self.intensity, self.canonical:
            case Pure(), Tulap(epsilon):
                return NormLoss(epsilon / 4, "l1")
            case ZeroConcentrated(), Normal(mu):
                return SquaredLoss(4 / mu**2)
            case GaussianDP(), Normal(mu):
                return PerRecord(GaussianDP(mu / 2))
        return None


@claim("counts-drawn-on-a-grid")
def _drawn(tables: int) -> str:
    which = "one 2 x 2 table" if tables == 1 else f"{tables:,} tables of 2 x 2"
    return f"{which}: the first count plus canonical noise, on a grid of 2^-32"


@claim("first-counts")
def _moved(steps: int, distance: int, whom: ProtectedUnit, strata: int) -> str:
    what = "x_11" if strata == 1 else "the x_11 of all strata together"
    return (
        f"tables with the same margins that differ in at most {whom.amount(distance)} differ by at most"
        f" {steps} in {what}"
    )


@claim("test-of-a-count")
def _test() -> str:
    return "test and interval use the release and the margins only"


@claim("normal-zcdp")
def _concentrated() -> str:
    return "normal noise of mu has a rho of mu^2 / 2 in zCDP"


def margins_of(public: Public) -> tuple[Margins, ...]:
    """Return the margins of each 2 x 2 table; raises SpecError where the invariants are others."""
    *within, row, column = public.schema.names if len(public.schema.names) > 1 else ("", "", "")
    wanted = {frozenset({*within, row}), frozenset({*within, column})}
    nested = bool(public.schema.nestings)
    if nested or public.schema.shape[-2:] != (2, 2) or set(public.cliques or ()) != wanted:
        raise SpecError(
            f"{setting('mechanism', 'name')} = 'noisy-count' is for 2 x 2 tables, in strata if any, that keep"
            " both margins of each: let the last two attributes have two levels, and keep the two margins of"
            " all attributes but one of them."
        )
    strata = prod(public.schema.shape[:-2])
    totals = []
    for last in (row, column):
        held = next(h for h in public.invariants if set(h.block.attributes) == {*within, last})
        shape = [len(public.schema.attribute(name).levels) for name in held.block.attributes]
        order = [held.block.attributes.index(name) for name in (*within, last)]
        totals.append(held.values.reshape(shape).transpose(order).reshape(strata, 2).tolist())
    return tuple(
        Margins((int(r[0]), int(r[1])), (int(c[0]), int(c[1]))) for r, c in zip(*totals, strict=True)
    )


def _noise(intensity: Intensity, steps: int) -> tuple[CanonicalNoise, Intensity]:
    """Return the noise for a count that moves by at most ``steps``, and the intensity that it reaches."""
    match intensity:
        case Pure(epsilon):
            return Tulap(epsilon / steps), intensity
        case GaussianDP(mu):
            return Normal(mu / steps), intensity
        case ZeroConcentrated(rho):
            # mu-GDP has rho = mu^2 / 2 [bun2016, Proposition 1.6]
            mu = floor_root(2 * rho)
            return Normal(mu / steps), ZeroConcentrated(mu**2 / 2)
        case Approximate(epsilon, delta) if steps == 1:
            return Tulap(epsilon, delta), intensity
        case Functional(f) if steps == 1:
            return canonical(f), intensity
    raise GuaranteeError(
        "counts that move by more than 1 need epsilon without delta, mu or rho: give one of these."
    )
