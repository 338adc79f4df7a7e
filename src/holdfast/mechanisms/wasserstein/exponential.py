"""`wasserstein-exponential`: a release that is near to the table and likely beforehand.

With a loss L and a base measure nu that depends on public values alone, the release y of a table x has

    P(y | x) proportional to nu(y) exp(-kappa L(x, y))

[partially-private-data, Theorem 9], kappa being epsilon / (2 sigma(Delta_z)) there. Between two tables at
most Delta_z records apart the loss moves by sigma(Delta_z) at most, and so does the log of the normaliser
over kappa: hence the 2. Where the normaliser does not depend on x it is dropped, and where it does its cost
is worked out if that can be done [holdfast, mechanisms/wasserstein/cost.py].

Delta_z is the distance of the guarantee, `distance` in [privacy] and otherwise the semi-adjacency. The
guarantee speaks of pairs of tables; for laws of the data under which a secret moves these by no more than
that, it is epsilon-TP [theory, 7], which a certificate says beside it where [privacy] has `laws`.

Every draw is exact, unless a chain is asked for by name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, StrictBool, model_validator
from scipy.sparse import csr_array, vstack

from holdfast.data.cell_values import read_counts, read_weights
from holdfast.estimation.l2 import public_tables
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.markov import read_moves
from holdfast.lattice.rows import independent_rows
from holdfast.mechanisms.drawing import drawn_by_blocks, drawn_by_chain, drawn_cells
from holdfast.mechanisms.mechanism import (
    DrawArray,
    Law,
    MechanismRecord,
    NoiseLaw,
    TableMechanism,
    Traits,
    drawn_exactly,
    missing,
    premises_at,
    premises_for,
    unseen_time,
)
from holdfast.mechanisms.truncation.chain import ChainDraw, ChainRecord, basis_of
from holdfast.mechanisms.truncation.congeniality import Inequalities
from holdfast.mechanisms.truncation.spread import BoundBasis, bases_in_words
from holdfast.mechanisms.wasserstein.cost import Cost, KappaCosts
from holdfast.mechanisms.wasserstein.laws import SamplingDesign, WeightedTargets
from holdfast.mechanisms.wasserstein.loss import LossKind, Queries, TableLoss, loss_words
from holdfast.mechanisms.wasserstein.measure import Base, BaseMeasure, Pseudo, covered, pseudo_counts
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Assumed, Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target, Unit
from holdfast.privacy.intensity import Approximate, Pure
from holdfast.privacy.premises import Premises
from holdfast.privacy.roots import floor_root
from holdfast.public import Public
from holdfast.sampling.chains.coupling import MOST_RUNS, runs_for
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.numbers.exponential import checked_rate
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.part import Text
from holdfast.spec.values import PositiveRational, Rational, Where
from holdfast.system.errors import SamplingError, SpecError
from holdfast.system.ways import assigned, setting

if TYPE_CHECKING:
    from holdfast.mechanisms.truncation.laws import AnyLikelihood

DOUBLINGS, HALVINGS = 6, 12
"""How often a calibration doubles what a bound allows, and halves the range that is left to choose from."""

MOST_CELLS = 20_000
"""Cells of tables with bounds or a prior: each has a table of its own, of a millisecond."""
CONFIDENCE = 0.99
SPARE = (4, 16, 64)
"""How many times the fewest pairs of chains that could show a distance are run, one try after the other."""


class WassersteinExponentialOptions(MechanismOptions):
    """The loss, the base measure with its prior, and whether to draw by a chain.

    >>> hf.WassersteinExponential(loss="l2").loss
    'l2'
    """

    files: ClassVar = ("prior", "queries", "moves")

    name: Literal["wasserstein-exponential"] = "wasserstein-exponential"
    loss: LossKind = "l1"
    queries: Text | None = None
    base: Base | None = None
    prior: Text | None = None
    prior_count: Text | None = None
    prior_where: Where | None = None
    concentration: PositiveRational = Fraction(1)
    floor: Rational = Fraction(1, 2)
    chain: StrictBool = False
    moves: Text | None = None

    @property
    def measure(self) -> Base:
        """The base measure: a prior where one is given."""
        return self.base or ("prior" if self.prior is not None else "congenial")

    @model_validator(mode="after")
    def _agree(self) -> "WassersteinExponentialOptions":
        if self.measure == "prior" and self.prior is None:
            raise ValueError(
                f"has {assigned('base', 'prior')} and no prior: name a file of public past counts"
            )
        if self.measure != "prior":
            for key in ("prior", "prior_count", "prior_where", "concentration", "floor"):
                if key in self.model_fields_set:
                    raise ValueError(
                        f"{key} goes with {assigned('base', 'prior')}: change the base, or leave it out"
                    )
        if self.floor < 0:
            raise ValueError(f'floor is {self.floor}: give a pseudo-count of at least 0, such as "1/2"')
        if self.queries is not None and self.loss == "squared":
            raise ValueError(
                f'queries go with a norm: set {assigned("loss", "l1")}, "l2" or "linf", or leave them out'
            )
        if self.moves is not None and not self.chain:
            raise ValueError(f"moves are those of a chain: add {assigned('chain', True)}, or leave them out")
        return self


class WassersteinExponentialRecord(MechanismRecord):
    """Kappa, the loss, the base measure and the chain if there is one.

    ``pseudo`` are the pseudo-counts of the possible cells, as text; ``bounds`` identifies the inequalities.
    """

    name: Literal["wasserstein-exponential"]
    kappa: PositiveRational = Field(alias="epsilon_per_unit")
    loss: LossKind
    base: Base
    queries: Queries | None = Field(default=None, exclude_if=lambda queries: queries is None)
    pseudo: tuple[Rational, ...] | None = Field(default=None, exclude_if=lambda pseudo: pseudo is None)
    bounds: str | None = Field(default=None, exclude_if=lambda bounds: bounds is None)
    chain: ChainRecord | None = Field(default=None, exclude_if=lambda chain: chain is None)

    def parameters(self, write: Callable[[Fraction], str] = str) -> dict[str, str]:
        """Return the parameters by name, long ones by their number."""
        found = super().parameters(write)
        if self.queries is not None:
            found["queries"] = f"{len(self.queries):,} rows"
        if self.pseudo is not None:
            found["pseudo"] = f"{len(self.pseudo):,} pseudo-counts, {float(sum(self.pseudo)):g} in all"
        return found


@dataclass(frozen=True, eq=False)
class WassersteinExponential(TableMechanism[WassersteinExponentialOptions, WassersteinExponentialRecord]):
    """Exponential weights of a loss over a base measure; ``kappa`` is epsilon a unit of the loss."""

    premises: Premises
    loss_: TableLoss
    measure: BaseMeasure
    kappa: Fraction
    walk: ChainDraw | None = None

    name = "wasserstein-exponential"
    Options = WassersteinExponentialOptions
    Record = WassersteinExponentialRecord
    standards = ("pure", "approximate")
    bounded = True
    contends = False

    @classmethod
    def answer(
        cls, public: Public, target: Target, options: WassersteinExponentialOptions
    ) -> "WassersteinExponential":
        """Take the parameter that meets the target, for exact draws or for a chain."""
        measure = measure_of(public, options)
        if not measure.constant and public.universe.cells > MOST_CELLS:
            raise SamplingError(
                "tables with bounds or a prior are drawn cell by cell, for at most"
                f" {MOST_CELLS:,} cells, and there are {public.universe.cells:,}: release fewer of them at a"
                " time, or leave out bounds and prior."
            )
        measure.totals  # noqa: B018 - what has no mass is refused before anything else
        loss = TableLoss(options.loss, _queries(public, options), measure.largest)
        intensity = target.intensity
        if options.chain:
            if not isinstance(intensity, Approximate) or not measure.not_negative or public.inequalities:
                raise SpecError(
                    f"{assigned(setting('mechanism', 'chain'), True)} draws approximately and keeps counts"
                    f" non-negative: set {assigned('standard', 'approximate')} in {setting('privacy')}, with"
                    f" epsilon and delta, and {assigned('nonnegative', True)} in {setting('constraints')},"
                    " without inequalities."
                )
        elif isinstance(intensity, Approximate):
            raise SpecError(
                f"{setting('privacy', 'standard')} = 'approximate' is met by a chain alone, as exact draws"
                f" are pure: set {assigned('standard', 'pure')}, or {assigned('chain', True)} in"
                f" {setting('mechanism')}."
            )
        if not isinstance(intensity, Pure | Approximate):
            raise missing("epsilon")
        premises = premises_for(public, target)
        found = cls.calibrate(premises, loss, measure, intensity=Pure(intensity.epsilon))
        stand_ins = public_tables(public.universe, public.floors)
        if isinstance(intensity, Approximate):
            return found.by_chain(public, stand_ins, intensity, options.moves)
        found.require_drawable(stand_ins)
        return found

    @classmethod
    def of(cls, record: WassersteinExponentialRecord, public: Public, unit: Unit) -> "WassersteinExponential":
        """Return the mechanism of a record."""
        bounded = record.base != "counting"
        measure = BaseMeasure(
            public.universe,
            record.base,
            public.nonnegative and bounded,
            Inequalities.of(public) if bounded else None,
            record.pseudo,
        )
        loss = TableLoss(record.loss, record.queries, measure.largest)
        exact = cls(premises_at(public, unit), loss, measure, record.kappa)
        if record.chain is None:
            return exact
        return replace(exact, walk=ChainDraw.of(record.chain, public, record.kappa, exact.targets))

    @classmethod
    def calibrate(
        cls, premises: Premises, loss: TableLoss, measure: BaseMeasure, *, intensity: Pure
    ) -> "WassersteinExponential":
        """Return the mechanism with the largest kappa that is known to meet the intensity, nearly."""
        return cls(premises, loss, measure, _kappa(KappaCosts(premises, loss, measure), intensity))

    def by_chain(
        self,
        public: Public,
        stand_ins: Sequence[IntArray],
        asked: Approximate,
        moves: str | None,
    ) -> "WassersteinExponential":
        """Return the mechanism that draws by a Markov chain, its distance to the law charged to delta."""
        if self.measure.pseudo is not None and not all(self.measure.pseudo):
            raise SpecError(
                f"{setting('mechanism', 'floor')} = 0 keeps cells at 0 that a chain would have to pass: give"
                " a positive floor."
            )
        # a law that is eta off costs eta (1 + e^epsilon) [theory, 6]
        distance = float(asked.delta) / (1 + exp(float(asked.epsilon)))
        universe = self.premises.universe
        given = None if moves is None else read_moves(Path(moves), universe.matrix)
        tried = 1 - (1 - CONFIDENCE) / len(SPARE)  # so that all tries are right with CONFIDENCE
        fewest = runs_for(distance, 1 - (1 - tried) / len(stand_ins))
        for number, spare in enumerate(SPARE):
            try:
                walk = ChainDraw.planned(
                    universe,
                    self.kappa,
                    basis_of(public) if given is None else given,
                    stand_ins,
                    derived=given is None,
                    distance=distance,
                    confidence=tried,
                    entropy=SeededEntropy(number),
                    runs=min(spare * fewest, MOST_RUNS) if fewest <= MOST_RUNS else None,
                    target=self.targets,
                )
            except SamplingError:
                if spare == SPARE[-1] or spare * fewest >= MOST_RUNS:
                    raise
            else:
                return replace(self, walk=replace(walk, length=replace(walk.length, confidence=CONFIDENCE)))
        raise AssertionError("the last try returns or raises")

    @property
    def targets(self) -> WeightedTargets:
        """What chains around each table converge to."""
        return WeightedTargets(self.design)

    @cached_property
    def design(self) -> SamplingDesign:
        """How it is drawn."""
        return SamplingDesign(self.loss_, self.measure, self.kappa)

    @cached_property
    def cost(self) -> Cost:
        """What is lost, and what the normaliser has to do with it."""
        return KappaCosts(self.premises, self.loss_, self.measure).at(self.kappa)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The loss is at most (1 + gamma) kappa sigma [partially-private-data, Theorem 9]."""
        premises, cost = self.premises, self.cost
        exact, evidence = Pure(cost.epsilon), tuple(self._evidence())
        if self.walk is not None:
            return Guarantee(premises.scope, premises.unit, self.walk.weakened(exact), evidence)
        return Guarantee(premises.scope, premises.unit, exact, evidence, cost.profile)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Kappa, the loss, the base measure and the chain."""
        floors = self.measure.inequalities
        return {
            "kappa": self.kappa,
            "loss": self.loss_.kind,
            "base": self.measure.kind,
            "queries": self.loss_.queries,
            "pseudo": self.measure.pseudo,
            "bounds": None if floors is None else floors.digest(self.measure.nonnegative),
            "chain": None if self.walk is None else self.walk.record(),
        }

    def calibration(self, public: Public, target: Target) -> Mapping[str, Any] | None:
        """Return the kappa that meets a target; the length of a chain was measured, and is not again."""
        del public
        if not isinstance(target.intensity, Pure | Approximate):
            return None
        costs = KappaCosts(self.premises, self.loss_, self.measure)
        return {"kappa": _kappa(costs, Pure(target.intensity.epsilon))}

    @property
    def traits(self) -> Traits:
        """Additive where the normaliser is the same for all tables."""
        kind: Literal["exact", "estimated"] = "exact" if self.walk is None else "estimated"
        universe = self.premises.universe
        return Traits(
            kind,
            keeps_invariants=self.measure.kind != "counting" or not universe.rank,
            additive=self.noise is not None,
            nonnegative=self.measure.not_negative,
        )

    @property
    def remark(self) -> str:
        """The loss and the base measure."""
        said = f"{self.loss_.words}, base measure {self.measure.kind}"
        if self.noise is not None:
            return said
        return f"{said}; measured on a public table, as errors depend on the table"

    def caveats(self, public: Public) -> tuple[Claim, ...]:
        """Return what pulls a release away from the table."""
        return super().caveats(public) if self.measure.pseudo is None else (_pulled(),)

    @property
    def noise(self) -> NoiseLaw | None:
        """The law of the noise, where every table shares it."""
        return None if self.walk is not None else self.design.noise

    @property
    def methods(self) -> tuple[Claim, ...]:
        """How a release is drawn, in claims that depend on public values only."""
        cells, noise = self.premises.universe.cells, self.design.noise
        if self.walk is not None:
            return (drawn_by_chain(cells, self.walk.length.iterations),)
        return (drawn_cells(cells, self.design.method),) if noise is None else drawn_by_blocks(noise.steps)

    def likelihood(self, released: DrawArray) -> "AnyLikelihood":
        """Return the law of a release by its totals, or over all releases."""
        from holdfast.mechanisms.truncation.laws import listed_releases, weighted_totals  # noqa: PLC0415 - for inference

        if self.traits.kind != "exact" or self.noise is not None:
            return super().likelihood(released)
        universe, loss, measure = self.premises.universe, self.loss_, self.measure
        pseudo = np.array([float(each) for each in measure.pseudo_or_ones])
        if loss.kind in ("l1", "squared") and loss.queries is None and measure.not_negative and pseudo.all():
            norm: Literal["l1", "squared"] = "l1" if loss.kind == "l1" else "squared"
            rate, bounds = float(self.kappa), measure.inequalities
            totals = weighted_totals(universe, released, norm, rate, pseudo=pseudo, bounds=bounds)
            if totals is not None:
                return totals
        listed = None
        if self.traits.nonnegative:
            listed = listed_releases(lambda x, y: self.law(x).log_prob(y), universe, released)
        return listed or super().likelihood(released)

    def law(self, counts: IntArray) -> Law:
        """Return the law of the release of a table; no table is refused, but some take longer."""
        return self.walk.law(counts) if self.walk is not None else self.design.law(counts)

    def require_drawable(self, stand_ins: Sequence[IntArray]) -> None:
        """Raise SamplingError unless *public* tables with the same invariants are drawn in reasonable time.

        Whether a release is refused must not depend on the confidential table.
        """
        checked_rate(self.kappa)
        zeros = self.measure.pseudo is not None and not all(self.measure.pseudo)
        floor = " give the prior a floor," if zeros else ""
        # in extreme tables a count is all that another one may be, which no table of people is like
        for table in stand_ins[:1] if self.design.ordered else stand_ins:
            try:
                self.design.law(table, patient=False)
            except SamplingError as error:
                raise SamplingError(
                    "not every table with these invariants can be released exactly in reasonable time"
                    f" ({str(error).partition(':')[0]}): keep fewer margins or bounds, set"
                    f" {assigned('loss', 'l1')},{floor} or ask for a chain ({assigned('chain', True)})."
                ) from None

    def _evidence(self) -> list[Evidence]:
        cost, queries = self.cost, self.loss_.queries
        found: list[Evidence] = [
            Proved(
                _loses(self.kappa, self.loss_.kind, None if queries is None else len(queries)),
                "partially-private-data, Theorem 9; theory, 7",
            ),
            Proved(_normalised(cost.gamma, cost.how), cost.reference),
            *self.loss_.evidence(self.premises),
        ]
        if self.measure.pseudo is not None:
            found.append(Assumed(_prior()))
        if self.walk is not None:
            return [*found, *self.walk.evidence]
        found += drawn_exactly(floats=self.design.noise.floats if self.design.noise is not None else True)
        if not self.measure.constant:
            found.append(unseen_time("release"))
        return found


@claim("wasserstein-exponential")
def _loses(kappa: Fraction, loss: LossKind, queries: int | None) -> str:
    return (
        f"weights that fall with {kappa} a unit of {loss_words(loss, queries)} lose at most that for each"
        " unit that the loss moves between two tables, and as much again for the normaliser"
    )


@claim("normaliser")
def _normalised(gamma: Fraction, how: tuple[BoundBasis, ...]) -> str:
    return f"{bases_in_words(how)}: gamma = {float(gamma):.6g}"


@claim("prior-public")
def _prior() -> tuple[str, str]:
    return (
        "the past counts behind the prior are public, and are not counts of these records",
        "the base measure may be anything that depends on public values alone",
    )


@claim("pulled-to-the-past")
def _pulled() -> str:
    return (
        "The law of this release pulls counts towards public past counts, and keeps them within"
        " inequalities. By how much depends on the confidential table: no error is stated."
    )


def measure_of(public: Public, options: WassersteinExponentialOptions) -> BaseMeasure:
    """Return the base measure that options ask for; raises SpecError where what is public forbids it."""
    kind, universe = options.measure, public.universe
    if kind == "counting":
        if public.nonnegative or public.inequalities:
            raise SpecError(
                f"{setting('mechanism', 'base')} = 'counting' counts every integer table, whatever bounds"
                f" it: leave out the bounds in {setting('constraints')}, or set"
                f" {assigned('base', 'congenial')}."
            )
        return BaseMeasure(universe, kind)
    pseudo = _pseudo(public, options) if options.prior is not None else None
    return BaseMeasure(universe, kind, public.nonnegative, Inequalities.of(public), pseudo)


def _pseudo(public: Public, options: WassersteinExponentialOptions) -> Pseudo:
    """Read the past counts; cells that the prior is not over have a pseudo-count of 1."""
    if not public.nonnegative:
        raise SpecError(
            f"{setting('mechanism', 'base')} = 'prior' is a law of counts that are not negative: set"
            f" {assigned('nonnegative', True)} in {setting('constraints')}."
        )
    over = covered(public.schema, options.prior_where)[public.possible]
    universe = public.universe
    stacked = csr_array(vstack([universe.matrix, csr_array(over[None].astype(np.int64))], format="csr"))
    if not over.any() or independent_rows(stacked).size != universe.rank:
        raise SpecError(
            f"{setting('mechanism', 'base')} = 'prior' is a law of counts with a known total, and that of"
            " these cells is not public: make it an invariant."
        )
    past = read_counts(Path(options.prior or ""), public.schema, options.prior_count or public.count)
    found = pseudo_counts(past[public.possible], options.concentration, options.floor)
    return tuple(a if inside else Fraction(1) for a, inside in zip(found, over.tolist(), strict=True))


def _queries(public: Public, options: WassersteinExponentialOptions) -> Queries | None:
    if options.queries is None:
        return None
    entries = read_weights(Path(options.queries), public.schema)
    matrix = np.zeros((len(entries.labels), public.schema.size), dtype=np.int64)
    matrix[entries.rows, entries.cells] = entries.weights
    kept = matrix[:, public.possible]
    if not kept.any(axis=0).all() and not public.nonnegative:
        cell = public.schema.in_words(int(public.possible[int(np.argmin(kept.any(axis=0)))]))
        raise SpecError(
            f"{setting('mechanism', 'queries')} do not see the cell {cell}, so nothing keeps its count near:"
            f" add a query with it, or set {assigned('nonnegative', True)} in {setting('constraints')}."
        )
    return tuple(tuple(row) for row in kept.tolist())


def _kappa(costs: KappaCosts, target: Pure) -> Fraction:
    """Return a parameter whose cost was checked to meet the target, close to the largest such one.

    A normaliser costs nothing at best where all that is known of it is a bound. Where tables are listed,
    their own loss decides, and may allow more: sigma is a bound, too, and so is (1 + gamma) [theory, 7].
    """
    square = costs.loss.squared_stretch(costs.premises)
    if not square:
        raise SpecError(
            f"{setting('mechanism', 'queries')} have the same answers whatever one record is, so the release"
            " would tell nothing of any: add a query that tells two cells apart."
        )
    most = floor_root(target.epsilon**2 / square)

    def meets(kappa: Fraction) -> bool:
        return costs.at(kappa).epsilon <= target.epsilon

    low, high = most / 2, most
    if meets(most):
        for _ in range(DOUBLINGS if costs.listed else 0):
            low, high = high, 2 * high
            if not meets(high):
                break
        else:
            return high
    elif not meets(low):  # an irrational root: round once more
        low, high = (end * (1 - Fraction(1, 10**10)) for end in (low, high))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low
