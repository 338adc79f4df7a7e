"""Re-reading a guarantee: what an advertised one is worth once invariants are published.

An intensity advertised for one changed record holds, among the tables that agree with the invariants, for
a(t) changed records: as many as one person's change takes [semi-dp, Proposition 15].

Several releases under invariants are composed in both orders of the analysis [semi-dp, Proposition 21].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

from holdfast.privacy.composition import Orders, both_orders
from holdfast.privacy.conversion import gdp_to_epsilon, zcdp_to_epsilon, zcdp_to_epsilon_classic
from holdfast.privacy.intensity import Approximate, Functional, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.tradeoff import Tradeoff
from holdfast.spec.files import FilesSpec
from holdfast.spec.model import Spec
from holdfast.spec.tables import TablesSpec
from holdfast.system.errors import GuaranteeError, SpecError
from holdfast.system.notebook import NotebookReport, Picture
from holdfast.system.text import counted
from holdfast.system.ways import option


@dataclass(frozen=True)
class GaussianReading:
    """What a rho is worth where all of it is the loss of normal noise: mu, and epsilon at a delta.

    Integer noise of many measurements, each wide, comes near to it; the mu of integer noise in one piece
    bounds it from above [theory, 13].
    """

    mu: float
    epsilon: float

    @classmethod
    def of(cls, rho: Fraction, delta: Fraction) -> "GaussianReading":
        """Return them for N(0, 1) against N(mu, 1), mu^2 = 2 rho [bun2016, Proposition 1.6]."""
        mu = sqrt(2 * float(rho))
        return cls(mu, gdp_to_epsilon(mu=mu, delta=float(delta)).value)


@dataclass(frozen=True)
class EpsilonReading:
    """An intensity with its epsilons at a delta: by the classic formula, and the best known one."""

    intensity: Intensity
    delta: Fraction | None
    epsilon: float | None
    epsilon_tight: float | None
    method: str
    gaussian: GaussianReading | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers by name."""
        numbers = {name: float(value) for name, value in self.intensity.parameters().items()}
        if self.delta is not None:
            numbers.setdefault("delta", float(self.delta))
        if self.epsilon is not None:
            numbers["epsilon"] = self.epsilon
        if self.epsilon_tight is not None:
            numbers["epsilon_tight"] = self.epsilon_tight
        if self.gaussian is not None:
            numbers |= {"mu_gaussian": self.gaussian.mu, "epsilon_gaussian": self.gaussian.epsilon}
        return {"standard": self.intensity.standard, **numbers, "method": self.method}


def reading(intensity: Intensity, delta: Fraction | None) -> EpsilonReading:
    """Read an intensity as an epsilon at a delta."""
    match intensity:
        case Pure(epsilon):
            return EpsilonReading(intensity, None, float(epsilon), None, "as given")
        case Approximate(epsilon, own):
            return EpsilonReading(intensity, own, float(epsilon), None, "as given")
        case ZeroConcentrated(rho):
            at = {"rho": float(rho), "delta": float(_needed(delta))}
            classic, tight = zcdp_to_epsilon_classic(**at), zcdp_to_epsilon(**at)
            method = f"{classic.method}; {tight.method}"
            gaussian = GaussianReading.of(rho, _needed(delta))
            return EpsilonReading(intensity, delta, classic.value, tight.value, method, gaussian)
        case Functional(f):
            at_delta = _needed(delta)
            return EpsilonReading(intensity, at_delta, f.epsilon_at(float(at_delta)), None, "its profile")
        case GaussianDP(mu):
            exact = gdp_to_epsilon(mu=float(mu), delta=float(_needed(delta)))
            return EpsilonReading(intensity, delta, exact.value, None, exact.method)


@dataclass(frozen=True)
class GuaranteeReport(NotebookReport):
    """A guarantee as it is advertised and as it holds; ``source`` says where the distance comes from."""

    semi_adjacency: int
    source: str
    advertised: EpsilonReading
    effective: EpsilonReading

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        both = {"as advertised": self.advertised, "under the invariants": self.effective}
        return Picture("epsilon", [(name, one.epsilon or 0.0) for name, one in both.items()])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        both = {"advertised": self.advertised.to_dict(), "effective": self.effective.to_dict()}
        return {**vars(self), **both}


def guarantee(
    intensity: Intensity,
    semi_adjacency: int | None = None,
    delta: Fraction | None = None,
    *,
    spec: Spec | TablesSpec | FilesSpec | str | Path | None = None,
    data: Any = None,
) -> GuaranteeReport:
    """Return the advertised guarantee and the effective one under invariants, read at a delta.

    How many records one change takes is given, or follows from the invariants of a spec, whose confidential
    table is read for them; without either there are no invariants.

    >>> from holdfast.calculus import Pure
    >>> hf.audit.guarantee(Pure(Fraction(1)), spec=spec, data=people).semi_adjacency
    2
    """
    if semi_adjacency is not None and spec is not None:
        raise SpecError("give a spec or a semi-adjacency, not both.")
    if spec is not None:
        apart, source = _under_invariants(spec, data)
    else:
        apart, source = (1, "no invariants") if semi_adjacency is None else (semi_adjacency, "as given")
    effective = intensity.group(apart)
    if isinstance(effective, Approximate) and effective.delta >= 1:
        raise GuaranteeError(
            f"{counted(apart, 'record')} at epsilon {float(intensity.parameters()['epsilon']):g}"
            " leave no guarantee: delta reaches 1."
        )
    return GuaranteeReport(apart, source, reading(intensity, delta), reading(effective, delta))


def _under_invariants(spec: Spec | TablesSpec | FilesSpec | str | Path, data: Any) -> tuple[int, str]:
    """Return how many records one person's change takes under the invariants of a spec, and how it is read.

    The advertised guarantee is about people, of whom two may exchange places where no table can change.
    """
    from holdfast.audit.universes import UniverseReport, universe  # noqa: PLC0415 - needed with a spec alone

    found = universe(spec, data)
    table, people = (
        (found.semi_adjacency.worst_case, found.labelled.worst_case)
        if isinstance(found, UniverseReport)
        else (found.semi_adjacency, found.labelled)
    )
    name = Path(spec if isinstance(spec, str | Path) else spec.file or "the spec")
    if people == 0:
        raise GuaranteeError(
            f"the invariants of {name} leave one possible file, as all people have the same values: no"
            " guarantee is worth anything there."
        )
    reading = "worst case" if table else "for people who may exchange places"
    return people, f"the invariants of {name.name}, {reading}"


def _needed(delta: Fraction | None) -> Fraction:
    if delta is None:
        raise SpecError("delta is missing: rho and mu are read as an epsilon at some delta, such as 1e-10.")
    return delta


@dataclass(frozen=True)
class ComposeReport(NotebookReport):
    """What releases cost together: weakened first and then composed, and the other way round."""

    releases: int
    semi_adjacency: int
    delta: float
    orders: Orders
    semi_first: float
    composition_first: float

    @property
    def used(self) -> float:
        """The smaller epsilon: both hold."""
        return min(self.semi_first, self.composition_first)

    @property
    def difference(self) -> float:
        """What weakening first saves."""
        return self.composition_first - self.semi_first

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        both = [("weakened first", self.semi_first), ("composed first", self.composition_first)]
        return Picture(f"epsilon at delta = {self.delta:g}", both)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        orders = self.orders
        return {
            "releases": self.releases,
            "semi_adjacency": self.semi_adjacency,
            "delta": self.delta,
            "semi_first": {"epsilon": self.semi_first, "certainty": _certainty(orders.semi_first)},
            "composition_first": {
                "epsilon": self.composition_first,
                "certainty": _certainty(orders.composition_first),
            },
            "used": self.used,
            "difference": self.difference,
        }


def compose(intensities: Sequence[Intensity], semi_adjacency: int, delta: Fraction | float) -> ComposeReport:
    """Compose releases that are guaranteed per record, under invariants of a semi-adjacency.

    >>> from holdfast.calculus import Pure
    >>> found = hf.audit.compose([Pure(Fraction(1, 2))] * 2, 3, Fraction("1e-6"))
    >>> round(found.to_dict()["used"], 2)
    3.0
    """
    if not intensities:
        raise SpecError("no release is given: name each by its epsilon, rho or mu.")
    at = float(delta)
    if at >= 1:
        raise SpecError(f"{option('delta')} is {delta}: give a small probability, such as 1e-10.")
    orders = both_orders(intensities, semi_adjacency)
    try:
        semi_first, composition_first = orders.epsilons(at)
    except (ArithmeticError, RuntimeError, ValueError):  # no root within reach of floats
        raise SpecError(
            "the epsilon of these releases together is out of reach: give less extreme numbers."
        ) from None
    return ComposeReport(len(intensities), semi_adjacency, at, orders, semi_first, composition_first)


def _certainty(f: Tradeoff) -> str:
    """Return the side of the truth of an epsilon read from f: a lower bound on f gives an upper one."""
    return {"lower": "upper", "upper": "lower", "exact": "exact"}[f.certainty]
