"""How a mechanism's loss grows with the distance between two tables.

A guarantee at one semi-adjacency says nothing at another. When invariants are added, as composition does,
the semi-adjacency changes and the loss is asked for again: that is what a profile can answer. It can also
answer per record of distance, for releases that are accounted for so [theory, 10].
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from holdfast.errors import GuaranteeError
from holdfast.privacy.intensity import Approximate, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.roots import ceil_root
from holdfast.universe.sensitivity import Sensitivity


@dataclass(frozen=True)
class NormLoss:
    """A pure loss of kappa for each unit of a norm between the tables [integer-subspace-dp, Theorem 10]."""

    kappa: Fraction
    norm: Literal["l1", "l2"]

    def at(self, distance: int, sensitivity: Sensitivity) -> Pure:
        """Return the loss for tables at most ``distance`` records apart."""
        del distance
        square = sensitivity.l1**2 if self.norm == "l1" else sensitivity.l2_squared
        return Pure(ceil_root(self.kappa**2 * square))

    def per_record(self, spread: Fraction) -> Pure:
        """Return the loss for each record of distance: ||u||_1 is 2 d, ||u||_2^2 at most spread d^2."""
        return Pure(2 * self.kappa if self.norm == "l1" else ceil_root(self.kappa**2 * spread))

    def to_dict(self) -> dict[str, str]:
        """Return what `profile_of` reads."""
        return {"kind": "norm", "kappa": str(self.kappa), "norm": self.norm}


@dataclass(frozen=True)
class SquaredLoss:
    """A loss of ||x - x'||_2^2 / (2 sigma^2) in zCDP [bun2016, Proposition 1.6; theory, 4]."""

    sigma_squared: Fraction

    def at(self, distance: int, sensitivity: Sensitivity) -> ZeroConcentrated:
        """Return the loss for tables at most ``distance`` records apart."""
        del distance
        return ZeroConcentrated(sensitivity.l2_squared / (2 * self.sigma_squared))

    def per_record(self, spread: Fraction) -> ZeroConcentrated:
        """Return rho for each record of distance: d records are worth d^2 of it, as ||u||_2^2 says."""
        return ZeroConcentrated(spread / (2 * self.sigma_squared))

    def to_dict(self) -> dict[str, str]:
        """Return what `profile_of` reads."""
        return {"kind": "squared", "sigma_squared": str(self.sigma_squared)}


@dataclass(frozen=True)
class PerRecord:
    """An intensity for one record of distance; more records weaken it [semi-dp, Proposition 15]."""

    intensity: Intensity

    def at(self, distance: int, sensitivity: Sensitivity) -> Intensity:
        """Return the intensity for tables at most ``distance`` records apart."""
        del sensitivity
        return self.intensity.group(distance)

    def per_record(self, spread: Fraction) -> Intensity:
        """Return the intensity itself."""
        del spread
        return self.intensity

    def to_dict(self) -> dict[str, str]:
        """Return what `profile_of` reads; a tradeoff function has no such text."""
        numbers = {name: str(value) for name, value in self.intensity.parameters().items()}
        if not numbers:
            raise GuaranteeError("a tradeoff function is not written down: state epsilon, rho or mu instead.")
        return {"kind": "record", "standard": self.intensity.standard, **numbers}


Profile = NormLoss | SquaredLoss | PerRecord


def profile_of(content: Mapping[str, str]) -> Profile:
    """Return the profile that a mapping describes."""
    match content:
        case {"kind": "norm", "kappa": kappa, "norm": "l1" | "l2" as norm}:
            return NormLoss(Fraction(kappa), norm)
        case {"kind": "squared", "sigma_squared": sigma_squared}:
            return SquaredLoss(Fraction(sigma_squared))
        case {"kind": "record", "standard": standard, **numbers}:
            return PerRecord(intensity_of(standard, numbers))
    raise GuaranteeError(f"the loss {dict(content)} is not known: it was written by another version.")


def intensity_of(standard: str, numbers: Mapping[str, str]) -> Intensity:
    """Return the intensity of a standard with these parameters."""
    match standard, {name: Fraction(value) for name, value in numbers.items()}:
        case "pure", {"epsilon": epsilon}:
            return Pure(epsilon)
        case "approximate", {"epsilon": epsilon, "delta": delta}:
            return Approximate(epsilon, delta)
        case "zcdp", {"rho": rho}:
            return ZeroConcentrated(rho)
        case "gaussian", {"mu": mu}:
            return GaussianDP(mu)
    raise GuaranteeError(f"the standard {standard!r} is not known: it was written by another version.")
