"""`conditioned`: noise in every cell, given what the release must satisfy [congenial-dp, Theorem 2.1].

The base law adds independent double geometric noise z_i to every count. The release y = x + z has that law
conditioned on A y = A x and on inequalities: y >= 0, B y >= b.

* The law and its normaliser depend on x, and the loss grows by a factor 1 + gamma, which is computed or
  bounded over all pairs of tables that the guarantee speaks of (truncation/congeniality.py). Inequalities are
  public, so the tables that are compared keep them, too [theory, 1]; where the premises know nothing of them,
  tables that do not are compared as well.
* Equalities alone. Double geometric noise given A z = 0 is the l1 Laplace law on the lattice of the
  invariants, discrete Gaussian noise the Gaussian law there [theory, 4]: these are `lattice-laplace` and
  `lattice-gaussian`, and a spec without inequalities is sent to them.
* The truncated Gaussian is not offered. With Lambda the log normaliser, extended to real tables, its
  divergence of order alpha is

      (Lambda(alpha x + (1 - alpha) x') - alpha Lambda(x) - (1 - alpha) Lambda(x')) / (alpha - 1).

  It is at most alpha ||x - x'||^2 / (2 sigma^2) if around no real table the law has a larger variance in the
  direction x - x' than without truncation, sigma^2. Real noise on a convex set has this property; integer
  noise around a half has a variance of at least 1/4, however small sigma is. No theorem covers it.

Every draw is exact, unless a chain is asked for by name (``by_chain``; see truncation/chain.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, exp
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictBool, model_validator

from holdfast.estimation.l2 import public_tables
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.markov import read_moves
from holdfast.mechanisms.drawing import WithinBoundsError, drawn_by_chain, drawn_cells
from holdfast.mechanisms.errors.zero_noise import Chance, ZeroNoiseChances
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.mechanisms.mechanism import (
    DrawArray,
    Law,
    MechanismRecord,
    NoiseLaw,
    Shifted,
    TableMechanism,
    Traits,
    drawn_exactly,
    premises_at,
    premises_for,
    unseen_time,
)
from holdfast.mechanisms.truncation.chain import ChainDraw, ChainRecord, basis_of
from holdfast.mechanisms.truncation.congeniality import DIGITS, Conditioning, Congeniality, Inequalities
from holdfast.mechanisms.truncation.spread import BoundBasis, bases_in_words
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target, Unit
from holdfast.privacy.intensity import Approximate, Pure
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import NormLoss
from holdfast.public import Public
from holdfast.sampling.bounded.thinned import ListedLaw, RejectionLaw
from holdfast.sampling.bounded.truncated import TruncatedLaw
from holdfast.sampling.decisions import ball_of
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.numbers.exponential import checked_rate
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.part import Text
from holdfast.spec.values import PositiveRational
from holdfast.system.errors import GuaranteeError, SamplingError, SpecError
from holdfast.system.ways import assigned, setting
from holdfast.universe.limited import listed

if TYPE_CHECKING:
    from holdfast.mechanisms.truncation.laws import AnyLikelihood

STEPS = 1 << 12
"""Parameters that a calibration chooses from, between half of what equalities alone allow and all of it."""


class ConditionedOptions(MechanismOptions):
    """A parameter in place of a target; whether to draw by a Markov chain, and along which moves.

    >>> hf.Conditioned(chain=True).chain
    True
    """

    files: ClassVar = ("moves",)

    name: Literal["conditioned"] = "conditioned"
    epsilon_per_unit: PositiveRational | None = None
    chain: StrictBool = False
    moves: Text | None = None

    @property
    def sets_intensity(self) -> str | None:
        """The parameter, if it is given."""
        return None if self.epsilon_per_unit is None else assigned("epsilon_per_unit", self.epsilon_per_unit)

    @model_validator(mode="after")
    def _moves_of_a_chain(self) -> "ConditionedOptions":
        if self.moves is not None and not self.chain:
            raise ValueError(f"moves are those of a chain: add {assigned('chain', True)}, or leave them out")
        if self.epsilon_per_unit is not None and self.chain:
            raise ValueError("epsilon_per_unit is that of exact draws: leave out chain, or the parameter")
        return self


class ConditionedRecord(MechanismRecord):
    """Epsilon a unit, and the chain if there is one; the inequalities stand among the constraints.

    ``bounds`` identifies these, as the digest of a scope identifies the invariants.
    """

    name: Literal["conditioned"]
    kappa: PositiveRational = Field(alias="epsilon_per_unit")
    given: Literal["by the spec"] | None = Field(default=None, exclude_if=lambda given: given is None)
    """Who gave kappa, where it does not follow from the target."""
    chain: ChainRecord | None = None
    bounds: str | None = Field(default=None, exclude_if=lambda bounds: bounds is None)


@dataclass(frozen=True, eq=False)
class Conditioned(TableMechanism[ConditionedOptions, ConditionedRecord]):
    """Double geometric noise conditioned on invariants and inequalities; ``kappa`` is epsilon a unit."""

    premises: Premises
    kappa: Fraction
    nonnegative: bool
    inequalities: Inequalities | None = None
    walk: ChainDraw | None = None
    given: Literal["by the spec"] | None = None

    name = "conditioned"
    Options = ConditionedOptions
    Record = ConditionedRecord
    standards = ("pure", "approximate")
    bounded = True
    needs_bounds = True

    def __post_init__(self) -> None:
        if self.kappa <= 0:
            raise GuaranteeError("the noise parameter must be positive: give a fraction above 0.")
        cells = self.premises.universe.cells
        if self.inequalities is not None and self.inequalities.rows.shape[1] != cells:
            raise GuaranteeError(
                f"the inequalities speak of {self.inequalities.rows.shape[1]} cells and the table has"
                f" {cells}: give one coefficient for each possible cell."
            )

    @classmethod
    def answer(cls, public: Public, target: Target, options: ConditionedOptions) -> "Conditioned":
        """Take the parameter of the spec, or the one that meets the target, for exact draws or a chain."""
        if not public.nonnegative and not public.inequalities:
            other = "lattice-laplace" if isinstance(target.intensity, Pure | None) else "lattice-gaussian"
            raise SpecError(
                f"{setting('mechanism', 'name')} = 'conditioned' is for releases within inequalities, and"
                f" the spec has none: without them {other} has that law, so set"
                f" {assigned('name', words=repr(other))}, or add"
                f" {assigned('nonnegative', True)} to {setting('constraints')}."
            )
        if options.chain:
            return cls._chained(public, target, options)
        premises, inequalities = premises_for(public, target), Inequalities.of(public)
        if options.epsilon_per_unit is not None:
            kappa = options.epsilon_per_unit
            found = cls(premises, kappa, public.nonnegative, inequalities, given="by the spec")
        elif isinstance(target.intensity, Pure):
            found = cls.calibrate(
                premises,
                intensity=target.intensity,
                nonnegative=public.nonnegative,
                inequalities=inequalities,
            )
        else:
            raise SpecError(
                f"{setting('privacy', 'standard')} = 'approximate' is met by a chain alone, as exact draws"
                f" are pure: set {assigned('standard', 'pure')}, or {assigned('chain', True)} in"
                f" {setting('mechanism')}."
            )
        found.require_drawable(public_tables(public.universe, public.floors))
        return found

    @classmethod
    def of(cls, record: ConditionedRecord, public: Public, unit: Unit) -> "Conditioned":
        """Return the mechanism of a record."""
        premises = premises_at(public, unit)
        walk = None if record.chain is None else ChainDraw.of(record.chain, public, record.kappa)
        inequalities = Inequalities.of(public)
        return cls(premises, record.kappa, public.nonnegative, inequalities, walk, record.given)

    @classmethod
    def calibrate(
        cls,
        premises: Premises,
        *,
        intensity: Pure,
        nonnegative: bool,
        inequalities: Inequalities | None = None,
    ) -> "Conditioned":
        """Return the mechanism with the least noise that is known to meet the intensity."""
        conditioning = _conditioning(premises, nonnegative, inequalities)
        return cls(premises, _kappa(conditioning, intensity), nonnegative, inequalities)

    @classmethod
    def _chained(cls, public: Public, target: Target, options: ConditionedOptions) -> "Conditioned":
        """Draw by a Markov chain; its distance to its law is estimated at public tables, charged to delta."""
        asked = target.intensity
        if not isinstance(asked, Approximate) or not public.nonnegative or public.inequalities:
            raise SpecError(
                f"{assigned(setting('mechanism', 'chain'), True)} draws approximately and keeps counts"
                f" non-negative: set {assigned('standard', 'approximate')} in {setting('privacy')}, with"
                f" epsilon and delta, and {assigned('nonnegative', True)} in {setting('constraints')},"
                " without inequalities."
            )
        premises = premises_for(public, target)
        exact = cls.calibrate(premises, intensity=Pure(asked.epsilon), nonnegative=True)
        # a law that is eta off costs eta (1 + e^epsilon) [theory, 6]
        distance = float(asked.delta) / (1 + exp(float(asked.epsilon)))
        universe = premises.universe
        given = None if options.moves is None else read_moves(Path(options.moves), universe.matrix)
        return exact.by_chain(
            basis_of(public) if given is None else given,
            public_tables(universe),
            distance=distance,
            entropy=SeededEntropy(0),
            derived=given is None,
        )

    @cached_property
    def congeniality(self) -> Congeniality:
        """What the inequalities cost double geometric noise, over all pairs that the guarantee speaks of."""
        return self._conditioning.at(self.kappa)

    @property
    def guarantee(self) -> Guarantee:
        """The loss is (1 + gamma) times that of the base [congenial-dp, Theorem 2.1]."""
        premises, exact, evidence = self.premises, Pure(self.congeniality.loss), tuple(self._evidence())
        if self.walk is not None:
            return Guarantee(premises.scope, premises.unit, self.walk.weakened(exact), evidence)
        per_unit = self._conditioning.per_unit(self.kappa)
        profile = NormLoss(per_unit if per_unit == self.kappa else _up(per_unit), "l1")
        return Guarantee(premises.scope, premises.unit, exact, evidence, profile)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Kappa, the chain, and which inequalities there are."""
        return {
            "kappa": self.kappa,
            "given": self.given,
            "chain": None if self.walk is None else self.walk.record(),
            "bounds": None if self.inequalities is None else self.inequalities.digest(self.nonnegative),
        }

    def calibration(self, public: Public, target: Target) -> Mapping[str, Any] | None:
        """Return the kappa that meets a target; the length of a chain was measured, and is not again.

        None where the spec gave a kappa.
        """
        del public
        if target.intensity is None or self.given is not None:
            return None
        exact = Pure(target.intensity.parameters()["epsilon"])
        return {"kappa": _kappa(self._conditioning, exact)}

    @property
    def traits(self) -> Traits:
        """Exact unless drawn by a chain."""
        kind: Literal["exact", "estimated"] = "exact" if self.walk is None else "estimated"
        return Traits(kind, additive=False, nonnegative=self.nonnegative)

    @property
    def remark(self) -> str:
        """That it depends on the table."""
        return (
            "measured on a public table fitted to the invariants: errors depend on the table, as counts stay"
            " within bounds, and they are biased"
        )

    @property
    def noise(self) -> None:
        """There is no law that every table shares: the inequalities cut it off at other places."""
        return

    @property
    def unchanged(self) -> ZeroNoiseChances | None:
        """At least the chance without inequalities: these shut out other releases, and never the table."""
        free = self._laplace.unchanged
        return None if free is None else ZeroNoiseChances(None, Chance(free.everything.low, 1.0))

    @property
    def methods(self) -> tuple[Claim, ...]:
        """How a release is drawn, in claims that depend on public values only."""
        cells = self.premises.universe.cells
        if self._releases is not None:
            return (drawn_cells(cells, "listed"),)
        if self.walk is not None:
            return (drawn_by_chain(cells, self.walk.length.iterations),)
        return (drawn_cells(cells, "dynamic"),)

    def law(self, counts: IntArray) -> Law:
        """Return the law of the release of a table; no table is refused, but some take longer."""
        return self.walk.law(counts) if self.walk is not None else self._exact_law(counts, patient=True)

    def likelihood(self, released: DrawArray) -> "AnyLikelihood":
        """Return the law of a release by its totals, by noise within bounds, or over all releases."""
        from holdfast.mechanisms.truncation.laws import (  # noqa: PLC0415 - for inference alone
            listed_releases,
            weighted_totals,
            within_bounds,
        )

        if self.walk is not None:
            return super().likelihood(released)
        universe, bounds = self.premises.universe, self.inequalities
        if self.nonnegative:
            ones = np.ones(released.size)
            totals = weighted_totals(universe, released, "l1", float(self.kappa), pseudo=ones, bounds=bounds)
            if totals is not None:
                return totals
        noise = LatticeLaplaceLaw(universe.matrix, self.kappa, "l1")
        bounded = within_bounds(noise, released, bounds, nonnegative=self.nonnegative)
        listed = None
        if self.nonnegative and (bounded is None or bounded.seldom):
            listed = listed_releases(self._log_weights, universe, released)
        return listed or bounded or super().likelihood(released)

    def _log_weights(self, table: IntArray, releases: IntArray) -> FloatArray:
        """Return log p(y | x) for releases, one a row, up to one constant: one noise, within the bounds."""
        inside = (releases >= 0).all(axis=1) if self.nonnegative else True
        inside = inside & (True if self.inequalities is None else self.inequalities.hold(releases))
        apart = np.abs(releases - table).sum(axis=1).astype(np.float64)
        return np.asarray(np.where(inside, -float(self.kappa) * apart, -np.inf))

    def require_drawable(self, stand_ins: Sequence[IntArray]) -> None:
        """Raise SamplingError unless *public* tables with the same invariants are drawn in reasonable time.

        Whether a release is refused must not depend on the confidential table. The share of draws within
        bounds is smallest where many counts are 0, so extreme tables are among the stand-ins.
        """
        checked_rate(self.kappa)
        for table in stand_ins:
            try:
                self._exact_law(table, patient=False)
            except SamplingError as error:
                raise WithinBoundsError(str(error).partition(":")[0], self._other_ways) from None

    @property
    def _other_ways(self) -> str:
        chain = f"ask for a chain ({assigned('chain', True)}), or " if self.inequalities is None else ""
        return f"{chain}keep fewer margins or coarser attributes"

    @cached_property
    def _releases(self) -> IntArray | None:
        """All releases, where inequalities leave few: none has to be drawn in vain then."""
        if not self.nonnegative or self.inequalities is None:
            return None
        universe = self.premises.universe
        if self.inequalities.bound(universe):
            return listed(universe)
        tables = listed(universe.unlimited)
        return None if tables is None else tables[self.inequalities.hold(tables)]

    def _exact_law(self, counts: IntArray, *, patient: bool) -> Law:
        if self._releases is not None:
            return ListedLaw(
                self._releases, lambda release: -ball_of(self.kappa * int(np.abs(release - counts).sum()))
            )
        noise: RejectionLaw | TruncatedLaw | NoiseLaw = self._laplace.noise
        if self.nonnegative:
            matrix = self.premises.universe.matrix
            noise = TruncatedLaw(matrix, low=-counts, epsilon=self.kappa, patient=patient)
        if self.inequalities is not None:
            rows, least = self.inequalities.rows, self.inequalities.least
            low = least - rows @ counts
            noise = RejectionLaw.by_inequalities(noise, rows, low, effort=noise.work, patient=patient)
        return Shifted(counts, noise)

    def by_chain(
        self, moves: IntArray, stand_ins: Sequence[IntArray], *, derived: bool = False, **plan: Any
    ) -> "Conditioned":
        """Return the mechanism that draws by a Markov chain, for where no exact draw exists.

        ``moves`` is a Markov basis of the invariants, ``stand_ins`` are *public* tables with the same
        invariants, and ``plan`` goes on to `Walk.planned`: the ``distance`` to reach and an ``entropy`` at
        least. The guarantee is approximate then, and it rests on an estimate and on assumptions.
        """
        if not self.nonnegative or self.inequalities is not None:
            raise GuaranteeError(
                "a chain is offered for noise that keeps counts non-negative, and for no other condition:"
                " draw exactly instead."
            )
        walk = ChainDraw.planned(
            self.premises.universe, self.kappa, moves, stand_ins, derived=derived, **plan
        )
        return replace(self, walk=walk)

    @property
    def _conditioning(self) -> Conditioning:
        return _conditioning(self.premises, self.nonnegative, self.inequalities)

    @cached_property
    def _laplace(self) -> LatticeLaplace:
        """The same law without inequalities."""
        return LatticeLaplace(self.premises, "l1", self.kappa)

    @property
    def _floats(self) -> bool:
        """Whether floats may sort out clear cases: lists and dynamic programming have none, rejection may."""
        if self._releases is not None:
            return False
        try:
            return self._laplace.noise.floats
        except SamplingError:  # dynamic programming alone can draw it
            return False

    def _evidence(self) -> list[Evidence]:
        cost = self.congeniality
        found: list[Evidence] = [
            Proved(_conditional(self.kappa), "congenial-dp, Theorem 2.1; theory, 4"),
            Proved(
                _within(_up(cost.gamma), cost.how, exact=cost.exact),
                "congenial-dp, Theorem 2.1; holdfast, mechanisms/truncation/spread.py",
            ),
            *self.premises.evidence("l1"),
        ]
        if self.walk is not None:
            return [*found, *self.walk.evidence]
        return [*found, *drawn_exactly(floats=self._floats), unseen_time("inequalities")]


@claim("conditioned-laplace")
def _conditional(kappa: Fraction) -> str:
    return (
        f"double geometric noise of parameter {kappa}, conditioned on the invariants, loses at most {kappa}"
        " for each unit of the l1 norm between two tables"
    )


@claim("congeniality")
def _within(gamma: Fraction, how: tuple[BoundBasis, ...], *, exact: bool) -> str:
    multiplies = "multiplies" if exact else "multiplies at most"
    return (
        f"keeping the release within its inequalities {multiplies} that by 1 + gamma, gamma ="
        f" {float(gamma):.6g}: {bases_in_words(how)}"
    )


@lru_cache(maxsize=4)
def _conditioning(premises: Premises, nonnegative: bool, inequalities: Inequalities | None) -> Conditioning:
    """Look at a universe once, for the calibration and the guarantee."""
    return Conditioning.of(premises, nonnegative=nonnegative, inequalities=inequalities)


def _kappa(conditioning: Conditioning, target: Pure) -> Fraction:
    """Return a parameter a unit whose loss was checked to meet the target, close to the largest such one.

    Half of what equalities alone allow always meets it [congenial-dp, Theorem 2.1].
    """
    most = LatticeLaplace.calibrate(conditioning.premises, norm="l1", intensity=target).kappa

    def parameter(step: int) -> Fraction:
        return most * Fraction(STEPS + step, 2 * STEPS)

    def meets(step: int) -> bool:
        return conditioning.at(parameter(step)).loss <= target.epsilon

    low, high = (STEPS, STEPS) if meets(STEPS) else (0, STEPS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return parameter(low)


def _up(value: Fraction) -> Fraction:
    return Fraction(ceil(value * DIGITS), DIGITS)
