"""`lattice-gaussian`: integer Gaussian noise on the lattice of the invariants.

q(z) is proportional to exp(-||z||_2^2 / (2 sigma^2)) on L = {u in Z^d : A u = 0} [integer-subspace-dp,
Definition 13]. For u in L and alpha > 1, completing the square,

    D_alpha(q || q(. - u)) = alpha ||u||^2 / (2 sigma^2)
                             + log(rho_sigma(L + (alpha - 1) u) / rho_sigma(L)) / (alpha - 1),

and rho_sigma(L + c) <= rho_sigma(L) by Poisson summation. Hence rho-zCDP with rho = Delta_2^2 / (2 sigma^2),
the constant of the continuous Gaussian in any dimension [theory, 4]. At u = 0 in the second term (integer
alpha) the bound is attained.

With queries, ||z||^2 gives way to z'Fz, F = sum of the strength of each query times W'W [holdfast,
mechanisms/weights/strategy.py]. The proof holds word for word in the norm of F, which is positive on L: rho
is the largest u'Fu over 2 sigma^2 [theory, 13].

The law is mu-GDP, too, with the mu of that rho [holdfast, privacy/integer_gaussian.py]. A target in mu, or in
epsilon and delta, is met by it: the whole profile of the Gaussian follows, where rho alone would give less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from holdfast.lattice.forms import Form
from holdfast.mechanisms.cut.noise import CutNoise, approximate, counts_within, cut_gaussian
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.forms import form_errors
from holdfast.mechanisms.errors.laws import CountErrors, WholeNormal
from holdfast.mechanisms.errors.zero_noise import ZeroNoiseChances, on_lattice
from holdfast.mechanisms.mechanism import (
    Calibrated,
    DrawArray,
    drawn_exactly,
    missing,
    noise_repeats,
    premises_at,
    premises_for,
)
from holdfast.mechanisms.weights.queries import QueryOptions, WeightedRecord, counted_queries
from holdfast.mechanisms.weights.strategy import Strategy, form_loss, squared_stretch, summed
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.conversion import gdp_within, largest_rho
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Target, Unit
from holdfast.privacy.integer_gaussian import no_easier_than_normal, rho_per_record
from holdfast.privacy.intensity import Approximate, GaussianDP, Standard, ZeroConcentrated
from holdfast.privacy.premises import Premises
from holdfast.privacy.profile import GaussianStandard, Profile, SquaredLoss, of_noise
from holdfast.privacy.roots import down
from holdfast.privacy.tradeoff import PiecewiseLinear
from holdfast.public import Public
from holdfast.sampling.lattice.cut import CutLaw
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.spec.values import PositiveRational
from holdfast.system.machine import IN_PARTS
from holdfast.system.ways import assigned

if TYPE_CHECKING:
    from holdfast.mechanisms.truncation.laws import AnyLikelihood


def _narrow() -> str:
    """Return the way out where noise is too narrow to be drawn, beside wider noise."""
    return (
        f"take lattice-laplace with {assigned('norm', 'l2')} and {assigned('standard', 'pure')}, or keep"
        " fewer margins or coarser attributes"
    )


class LatticeGaussianOptions(QueryOptions):
    """The queries that noise is to be small in, if any; its strength follows from the target.

    >>> hf.LatticeGaussian(queries=[{"marginal": ["county"]}]).name
    'lattice-gaussian'
    """

    name: Literal["lattice-gaussian"] = "lattice-gaussian"


class LatticeGaussianRecord(WeightedRecord):
    """The variance of the noise, were it real and free, and the queries where it is weighted."""

    name: Literal["lattice-gaussian"]
    sigma_squared: PositiveRational
    stated: Annotated[Literal["gaussian"] | None, Field(exclude_if=lambda stated: stated is None)] = None
    """The standard in which the guarantee is stated, where that is not zCDP."""


@dataclass(frozen=True, eq=False)
class LatticeGaussian(Calibrated[LatticeGaussianOptions, LatticeGaussianRecord]):
    """The generalized discrete Gaussian mechanism on one universe."""

    sigma_squared: Fraction
    strategy: Strategy | None = None
    stated: Literal["gaussian"] | None = None
    cut: CutNoise | None = None
    """What is known of the noise within a bound, where it has one."""
    at_epsilon: Fraction | None = None
    repeatable: bool = False

    name = "lattice-gaussian"
    Options = LatticeGaussianOptions
    Record = LatticeGaussianRecord
    standards = ("zcdp", "approximate", "gaussian")
    neighbours = ("replace", "add-remove")
    intensities = (ZeroConcentrated, Approximate, GaussianDP)
    beside_records = True

    @classmethod
    def answer(cls, public: Public, target: Target, options: LatticeGaussianOptions) -> "LatticeGaussian":
        """Take the variance that meets the target."""
        if not isinstance(target.intensity, cls.intensities):
            raise missing("rho")
        premises = premises_for(public, target)
        strategy = Strategy.of_options(public, options, premises)
        if options.bound is None:
            found = cls.calibrate(premises, intensity=target.intensity, strategy=strategy)
            return replace(found, repeatable=options.repeatable)
        cut, asked = CutNoise.of(premises, public, "squared", strategy, options.bound), approximate(target)
        sigma_squared = cut.calibrated(asked)
        return cls(premises, sigma_squared, strategy, None, cut, asked.epsilon, options.repeatable)

    @classmethod
    def room_per_cell(cls, chosen: LatticeGaussianOptions, *, apart: bool) -> int:
        """Noise that is weighted by margins is drawn in parts, and so is that of totals of many leaves."""
        return IN_PARTS if apart or chosen.queries or chosen.optimise_for else cls.bytes_per_cell

    @classmethod
    def standards_with(cls, chosen: QueryOptions | WeightedRecord) -> tuple[Standard, ...]:
        """Within a bound nothing but delta pays for the edge."""
        return cls.standards if chosen.bound is None else ("approximate",)

    @classmethod
    def of(cls, record: LatticeGaussianRecord, public: Public, unit: Unit) -> "LatticeGaussian":
        """Return the mechanism of a record."""
        premises = premises_at(public, unit)
        strategy = Strategy.of_record(public, record, premises)
        cut = CutNoise.of_record(premises, public, "squared", strategy, record.bound)
        found = cls(premises, record.sigma_squared, strategy, record.stated, cut, record.at_epsilon)
        return replace(found, repeatable=record.repeatable)

    @classmethod
    def calibrate(
        cls,
        premises: Premises,
        *,
        intensity: ZeroConcentrated | Approximate | GaussianDP,
        strategy: Strategy | None = None,
    ) -> "LatticeGaussian":
        """Return the mechanism with the least noise whose guarantee implies the intensity.

        An approximate target is met through the largest mu, or rho if that allows more, that implies it.
        """
        match intensity:
            case ZeroConcentrated(rho):
                pass
            case GaussianDP(mu):
                rho = rho_per_record(mu, premises.longest_step)
            case Approximate(epsilon, delta):
                mu = down(gdp_within(epsilon=float(epsilon), delta=float(delta)).value)
                rho = max(
                    rho_per_record(mu, premises.longest_step), largest_rho(epsilon=epsilon, delta=delta)
                )
        stated: Literal["gaussian"] | None = "gaussian" if isinstance(intensity, GaussianDP) else None
        return cls(premises, squared_stretch(premises, strategy) / (2 * rho), strategy, stated)

    def calibration(self, public: Public, target: Target) -> Mapping[str, Any] | None:
        """Return the variance that meets a target with these queries."""
        del public
        if not isinstance(target.intensity, self.intensities):
            return None
        if self.cut is not None:
            asked = approximate(target)
            return {"sigma_squared": self.cut.calibrated(asked), "at_epsilon": asked.epsilon}
        again = self.calibrate(self.premises, intensity=target.intensity, strategy=self.strategy)
        return {"sigma_squared": again.sigma_squared, "stated": again.stated}

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The variance, the queries and the bound, and whether the noise is the same each time."""
        shape = {} if self.strategy is None else self.strategy.parameters
        bound = {} if self.cut is None else {"bound": self.cut.bound, "at_epsilon": self.at_epsilon}
        own = {"sigma_squared": self.sigma_squared, "stated": self.stated, "repeatable": self.repeatable}
        return {**own, **shape, **bound}

    @property
    def form(self) -> Form | None:
        """The form that queries make."""
        return None if self.strategy is None else self.strategy.form

    @property
    def remark(self) -> str | None:
        """The queries and the bound, if there are some."""
        shape = None if self.strategy is None else f"weighted: {self.strategy.words}"
        return shape if self.cut is None else self.cut.remark(shape)

    @property
    def guarantee(self) -> Guarantee:
        """Rho is the squared stretch over 2 sigma^2, and mu belongs to it [theory, 4; theory, 13]."""
        if self.cut is not None and self.at_epsilon is not None:
            queries = 0 if self.strategy is None else self.strategy.squares
            told = cut_gaussian(self.sigma_squared, self.cut.bound, queries)
            return self.cut.guarantee(self.sigma_squared, self.at_epsilon, told, self._drawn)
        premises, twice = self.premises, 2 * self.sigma_squared
        standard: GaussianStandard = self.stated or "zcdp"
        rho = squared_stretch(premises, self.strategy) / twice
        lost = of_noise(rho, standard, premises.longest_step)
        profile: Profile = SquaredLoss(self.sigma_squared, standard)
        if self.strategy is not None:
            profile = form_loss(standard, premises, self.strategy.form, 1 / twice)
        return premises.guarantee(lost, self._evidence(), profile, self._exact)

    @cached_property
    def _exact(self) -> PiecewiseLinear | None:
        return self.premises.worst_on_a_line(self.noise.log_prob)

    @cached_property
    def noise(self) -> LatticeGaussianLaw | CutLaw:
        """The law of the noise, which every table shares."""
        universe = self.premises.universe
        whole = LatticeGaussianLaw(
            universe.given, self.sigma_squared, universe.margins, self.form, otherwise=_narrow()
        )
        return whole if self.cut is None else self.cut.law(whole, self.sigma_squared)

    def caveats(self, public: Public) -> tuple[Claim, ...]:
        """Return what a bound says for sure, and what noise that is the same each time tells."""
        bound = () if self.cut is None else (counts_within(self.cut.bound),)
        same = (noise_repeats(),) if self.repeatable else ()
        return (*bound, *same, *super().caveats(public))

    @cached_property
    def unchanged(self) -> ZeroNoiseChances | None:
        """The chance of noise 0, where at most one total ties the cells."""
        if self.strategy is not None or self.cut is not None:
            return None
        twice = float(2 * self.sigma_squared)
        return on_lattice(self.premises.universe.given, lambda steps: -(steps**2) / twice)

    def errors(self, public: Public, asked: Sequence[Counts]) -> list[CountErrors | None]:
        """Return the errors of counts: discrete Gaussian, with the variances of its form [theory, 13].

        Within a bound they are simulated.
        """
        if self.cut is not None:
            return [None] * len(asked)
        width = float(self.sigma_squared) ** 0.5
        return form_errors(public, asked, self.strategy, self.error_law, width=width)

    def error_law(self, variance: float) -> WholeNormal:
        """Return the law of the error of a count with w'F^-1 w = variance."""
        return WholeNormal(float(self.sigma_squared) * variance)

    def likelihood(self, released: DrawArray) -> "AnyLikelihood":
        """Return the law of a release as a function of the table: with queries, that of their noisy sums."""
        if self.strategy is None or self.cut is not None:
            return super().likelihood(released)
        return summed(self.strategy.form, released, 1 / (2 * self.sigma_squared))

    @property
    def _drawn(self) -> list[Evidence]:
        return drawn_exactly(floats=self.noise.floats, repeatable=self.repeatable)

    def _evidence(self) -> list[Evidence]:
        drawn = [Proved(no_easier_than_normal(), "theory, 13; dong2022, Theorem 2.10"), *self._drawn]
        if self.strategy is None:
            loses = Proved(_diverges(self.sigma_squared), "theory, 4; canonne2020, Theorem 4")
            return [loses, *self.premises.evidence("l2"), *drawn]
        loses = Proved(_diverges_in_form(self.sigma_squared, self.strategy.squares), "theory, 13")
        return [loses, *self.premises.form_evidence(self.strategy.form), *drawn]


@claim("lattice-gaussian")
def _diverges(sigma_squared: Fraction) -> str:
    return (
        "noise with probability proportional to exp(-||z||^2 / (2 sigma^2)) on the lattice of the"
        f" invariants, sigma^2 = {sigma_squared}, has Renyi divergences of order alpha of at most"
        " alpha ||u||^2 / (2 sigma^2) between tables u apart"
    )


@claim("lattice-gaussian-weighted")
def _diverges_in_form(sigma_squared: Fraction, queries: int) -> str:
    return (
        "noise with probability proportional to exp(-Q(z) / (2 sigma^2)) on the lattice of the invariants,"
        f" sigma^2 = {sigma_squared} and Q the weighted sum of squares of {counted_queries(queries)}, has"
        " Renyi divergences of order alpha of at most alpha Q(u) / (2 sigma^2) between tables u apart"
    )
