"""Re-reading a guarantee: what an advertised one is worth once invariants are published.

An intensity advertised for one changed record holds, among the tables that agree with the invariants, for
a(t) changed records: as many as one person's change takes [semi-dp, Proposition 15].
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from holdfast.errors import GuaranteeError, SpecError
from holdfast.privacy.conversion import gdp_to_epsilon, zcdp_to_epsilon, zcdp_to_epsilon_classic
from holdfast.privacy.intensity import Approximate, Functional, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.words import counted


@dataclass(frozen=True)
class Reading:
    """An intensity with its epsilons at a delta: by the classic formula, and the best known one."""

    intensity: Intensity
    delta: Fraction | None
    epsilon: float | None
    epsilon_tight: float | None
    method: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers by name."""
        numbers = {name: float(value) for name, value in self.intensity.parameters().items()}
        if self.delta is not None:
            numbers.setdefault("delta", float(self.delta))
        if self.epsilon is not None:
            numbers["epsilon"] = self.epsilon
        if self.epsilon_tight is not None:
            numbers["epsilon_tight"] = self.epsilon_tight
        return {"standard": self.intensity.standard, **numbers, "method": self.method}


def reading(intensity: Intensity, delta: Fraction | None) -> Reading:
    """Read an intensity as an epsilon at a delta."""
    match intensity:
        case Pure(epsilon):
            return Reading(intensity, None, float(epsilon), None, "as given")
        case Approximate(epsilon, own):
            return Reading(intensity, own, float(epsilon), None, "as given")
        case ZeroConcentrated(rho):
            at = {"rho": float(rho), "delta": float(_needed(delta))}
            classic, tight = zcdp_to_epsilon_classic(**at), zcdp_to_epsilon(**at)
            return Reading(intensity, delta, classic.value, tight.value, f"{classic.method}; {tight.method}")
        case Functional(f):
            at_delta = _needed(delta)
            return Reading(intensity, at_delta, f.epsilon_at(float(at_delta)), None, "its profile")
        case GaussianDP(mu):
            exact = gdp_to_epsilon(mu=float(mu), delta=float(_needed(delta)))
            return Reading(intensity, delta, exact.value, None, exact.method)


@dataclass(frozen=True)
class GuaranteeReport:
    """A guarantee as it is advertised and as it holds; ``source`` says where the distance comes from."""

    semi_adjacency: int
    source: str
    advertised: Reading
    effective: Reading

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "semi_adjacency": self.semi_adjacency,
            "source": self.source,
            "advertised": self.advertised.to_dict(),
            "effective": self.effective.to_dict(),
        }


def audit_guarantee(
    intensity: Intensity, semi_adjacency: int, delta: Fraction | None = None, *, source: str = "as given"
) -> GuaranteeReport:
    """Return the advertised guarantee and the effective one under invariants."""
    effective = intensity.group(semi_adjacency)
    if isinstance(effective, Approximate) and effective.delta >= 1:
        raise GuaranteeError(
            f"{counted(semi_adjacency, 'record')} at epsilon {float(intensity.parameters()['epsilon']):g}"
            " leave no guarantee: delta reaches 1."
        )
    return GuaranteeReport(semi_adjacency, source, reading(intensity, delta), reading(effective, delta))


def intensity_of(
    *, epsilon: Fraction | None, delta: Fraction | None, rho: Fraction | None, mu: Fraction | None
) -> tuple[Intensity, Fraction | None]:
    """Return the one intensity that was given, and the delta to read it at."""
    if sum(value is not None for value in (epsilon, rho, mu)) != 1:
        raise SpecError("give exactly one of --epsilon, --rho and --mu (and --delta where it is needed).")
    if rho is not None:
        return ZeroConcentrated(rho), delta
    if mu is not None:
        return GaussianDP(mu), delta
    if epsilon is None:
        raise AssertionError("one of the three is given")
    return (Pure(epsilon), None) if delta is None else (Approximate(epsilon, delta), delta)


def _needed(delta: Fraction | None) -> Fraction:
    if delta is None:
        raise SpecError("--delta is missing: rho and mu are read as an epsilon at some delta, such as 1e-10.")
    return delta
