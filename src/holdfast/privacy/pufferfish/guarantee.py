"""epsilon-TP and rho-TP: what a release that uses public facts promises.

epsilon-TP [partially-private-data, Definition 3]: for every law theta in the class, every discriminative pair
(s_1, s_2) that counts under it and every set B of releases,

    P(Y in B | s_1, theta) <= exp(epsilon) P(Y in B | s_2, theta).

rho-TP says instead that the Renyi divergences of these two laws of Y are at most rho alpha, for every order
alpha > 1.

A mechanism that reads the data through a statistic T and loses at most epsilon, or rho, between *any two
values of T at most Delta_z apart* promises more than that: ``pointwise``. By a coupling of the two
conditional laws of T it is epsilon-TP, or rho-TP [theory, 7], and only the pointwise promise composes.

What epsilon-TP means to an analyst who knows what is public [partially-private-data, Lemma 4].

Let an analyst take the data to follow a law of the class, and let one of the two secrets of a pair be true.
By Bayes' rule the odds of the secrets change by the ratio of the likelihoods of the release, so

    exp(-epsilon)  <=  (odds after the release) / (odds before it)  <=  exp(epsilon),

and epsilon-TP says no more than this, for all laws, pairs and releases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Literal

import numpy as np

from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Evidence, Proved, evidence_dict
from holdfast.privacy.guarantee import Guarantee, Scope, Unit, format_parameter, times
from holdfast.privacy.intensity import GaussianNoise, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.order import at_least_as_strong
from holdfast.privacy.posterior import posterior_bounds
from holdfast.privacy.pufferfish.framework import RECORDS, DeltaZ, Framework, covers
from holdfast.spec.privacy import ProtectedUnit
from holdfast.system.errors import GuaranteeError
from holdfast.system.ways import assigned, setting

PureOrZeroConcentrated = Pure | ZeroConcentrated
"""How releases given two secrets are compared: by their ratio, or by Renyi divergences."""


@dataclass(frozen=True)
class TPGuarantee:
    """What was proved of a mechanism relative to a framework.

    ``delta`` is the Delta_z that its noise was scaled to, None where it was not needed; ``pointwise`` says
    that the loss is bounded between any two values of the framework's statistic that far apart. ``model`` is
    the file that the laws were read from, as data.
    """

    framework: Framework
    intensity: PureOrZeroConcentrated
    evidence: tuple[Evidence, ...]
    delta: DeltaZ | None = None
    pointwise: bool = False
    model: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.amount < 0:
            raise GuaranteeError("epsilon and rho are not negative: correct the guarantee.")
        if self.pointwise and self.delta is None:
            raise GuaranteeError("a pointwise guarantee holds up to some Delta_z: state it.")
        if self.delta is not None:
            self.delta.finite  # noqa: B018  raises where no guarantee is to be had

    @property
    def standard(self) -> Literal["tp", "rho-tp"]:
        """By which standard laws of a release are compared, and accounts kept."""
        return "tp" if isinstance(self.intensity, Pure) else "rho-tp"

    @property
    def amount(self) -> Fraction:
        """Epsilon, or rho."""
        return self.intensity.epsilon if isinstance(self.intensity, Pure) else self.intensity.rho

    @property
    def statement(self) -> str:
        """The guarantee in one sentence."""
        framework = self.framework
        return statement(framework.public.words, framework.pairs.words, framework.laws.words, self.intensity)

    @classmethod
    def of(cls, guarantee: Guarantee, framework: Framework, delta: DeltaZ) -> "TPGuarantee":
        """Return what a guarantee between tables, pure or zCDP, says of secrets [theory, 7].

        Raises GuaranteeError where it says nothing: of tables further apart than it speaks of, of laws on
        tables outside of its scope, or in another standard.
        """
        intensity = _between_tables(guarantee, framework, delta)
        amount = next(iter(intensity.parameters().values()))
        coupled = _coupled(ceil(delta.finite), framework.whom, intensity.standard, amount)
        evidence = (*guarantee.evidence, *delta.evidence, Proved(coupled, "theory, 7"))
        return cls(framework, intensity, evidence, delta, pointwise=True)

    def implies(self, other: "TPGuarantee | Guarantee") -> bool:
        """Whether this guarantee is at least as strong as another, of secrets or of tables.

        Raises GuaranteeError, with the reason, where no theorem relates the two.
        """
        if isinstance(other, Guarantee):
            return at_least_as_strong(self._between(other.unit, other.scope), other.intensity)
        if covers(self.framework, other.framework):
            return at_least_as_strong(self.intensity, other.intensity)
        if covers(other.framework, self.framework):
            return False
        raise GuaranteeError(
            "the guarantees are not comparable: neither is known to cover the public facts, secrets and laws"
            f" of the other ({self.framework.laws.words}; {other.framework.laws.words})."
        )

    def implied_by(self, guarantee: Guarantee) -> bool:
        """Whether a guarantee between tables is at least as strong as this one.

        Raises GuaranteeError, with the reason, where it does not speak of all that this one does.
        """
        if self.delta is None:
            raise GuaranteeError("how far a secret moves the tables is not stated: give Delta_z, in records.")
        found = _between_tables(guarantee, self.framework, self.delta)
        return at_least_as_strong(found, self.intensity)

    def _between(self, unit: Unit, scope: Scope) -> Intensity:
        """Return what is known between conforming tables of a unit [theory, 7]."""
        own, laws = self.framework.scope, self.framework.laws
        if own is None or laws.kind not in ("everything", "pairs", "independent"):
            raise GuaranteeError(
                f"epsilon-TP for {laws.words} says nothing of two given tables: under these laws a secret"
                " leaves more than one table possible, and only mixtures of them are compared."
            )
        if not scope.within(own):
            raise GuaranteeError(
                "the guarantees are not comparable: the one for secrets takes more to be public than the"
                " invariants of the other."
            )
        if laws.kind == "everything":
            return self.intensity
        if laws.kind == "independent":
            # a conforming change is a chain of smallest ones, each of this many records at least
            least = 2 if own.universe.patterns.count == own.universe.cells else 1
            if unit.adjacency == "unit":
                return self._of_steps(Fraction(unit.distance, least))
            return self.intensity.group(max(1, unit.distance // least))
        if unit.adjacency == "unit" or unit.distance > laws.data["distance"]:
            raise GuaranteeError(
                f"epsilon-TP for {laws.words} says nothing of tables that are further apart: take a larger"
                " distance."
            )
        return self.intensity

    def _of_steps(self, steps: Fraction) -> Intensity:
        """Return what a chain of this many changes loses; rho grows with the square [semi-dp, Lemma 39]."""
        if isinstance(self.intensity, Pure):
            return Pure(self.intensity.epsilon * steps)
        return ZeroConcentrated(self.intensity.rho * steps**2)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name: what a certificate states."""
        said = {} if self.model is None else {"model": dict(self.model)}
        return {
            "standard": self.standard,
            "intensity": {name: str(value) for name, value in self.intensity.parameters().items()},
            "framework": self.framework.to_dict(),
            "delta_z": None if self.delta is None else self.delta.to_dict(),
            "pointwise": self.pointwise,
            **said,
            "evidence": [evidence_dict(one) for one in self.evidence],
        }


def statement(public: str, pairs: str, laws: str, intensity: PureOrZeroConcentrated) -> str:
    """Return a guarantee in one sentence, from the parts of its framework in words."""
    known = f"Given what is public ({public}), for {pairs}, and whichever law the data follow among {laws},"
    if isinstance(intensity, ZeroConcentrated):
        return (
            f"{known} the Renyi divergence of order alpha between releases given one secret and given the"
            f" other is at most {format_parameter(intensity.rho)} alpha, for every alpha (zCDP)."
        )
    epsilon = intensity.epsilon
    return (
        f"{known} no release is more than exp({format_parameter(epsilon)}) = {times(epsilon)} times as"
        " likely under one secret as under the other."
    )


@claim("secrets-coupled")
def _coupled(distance: int, whom: ProtectedUnit, standard: str, amount: Fraction) -> str:
    between = (
        f"the loss is at most {format_parameter(amount)}"
        if standard == "pure"
        else f"Renyi divergences of order alpha are at most {format_parameter(amount)} alpha"
    )
    return (
        "the laws given the two secrets of a pair can be coupled with no two tables more than"
        f" {whom.amount(distance)} apart, and between such tables {between}"
    )


def _between_tables(guarantee: Guarantee, framework: Framework, delta: DeltaZ) -> PureOrZeroConcentrated:
    """Return the loss between any two values that a coupling joins; GuaranteeError where none is known."""
    if not isinstance(guarantee.intensity, PureOrZeroConcentrated):
        raise GuaranteeError(
            "a guarantee given secrets is pure or zCDP, and one of the standard"
            f' {guarantee.intensity.standard!r} is neither: set {assigned("standard", "pure")} or "zcdp".'
        )
    if framework.scope is None or framework.statistic.metric != RECORDS.metric:
        raise GuaranteeError(
            "the framework is not one of tables, so a guarantee between tables says nothing of it: state"
            " Delta_z in records."
        )
    if not framework.scope.within(guarantee.scope):
        raise GuaranteeError(
            "the laws of the framework may leave the tables that the guarantee compares: make its invariants"
            " public, all of them."
        )
    distance, alone = ceil(delta.finite), guarantee.intensity
    if isinstance(alone, GaussianNoise):  # given laws of the data, mixtures are compared: rho is what holds
        alone = ZeroConcentrated(alone.rho)
    if guarantee.unit.adjacency == "unit":
        return alone.group(ceil(Fraction(distance, guarantee.unit.distance)))
    if distance > guarantee.unit.distance:
        whom = framework.whom
        raise GuaranteeError(
            f"a secret moves up to {whom.amount(distance)}, and the guarantee speaks of tables at most"
            f" {whom.amount(guarantee.unit.distance)} apart: set"
            f" {assigned('distance', distance)} in {setting('privacy')}, or state less dependent laws."
        )
    return alone


PRIORS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Semantics:
    """For each belief in one secret of a pair before the release, the bounds of the belief after it."""

    epsilon: float
    prior: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name, as a plot needs them."""
        return {
            "epsilon": self.epsilon,
            "prior": list(self.prior),
            "low": list(self.low),
            "high": list(self.high),
        }


def semantics(guarantee: TPGuarantee, priors: Sequence[float] = PRIORS) -> Semantics:
    """Return how far a release can move the belief in one of two secrets."""
    if not isinstance(guarantee.intensity, Pure):
        raise GuaranteeError(
            "rho-TP bounds how far a belief moves on average, and not for every release: state epsilon-TP, or"
            " convert it to an epsilon at a small delta."
        )
    epsilon = float(guarantee.intensity.epsilon)
    low, high = posterior_bounds(np.asarray(priors, dtype=np.float64), epsilon)
    return Semantics(epsilon, tuple(map(float, priors)), tuple(low.tolist()), tuple(high.tolist()))
