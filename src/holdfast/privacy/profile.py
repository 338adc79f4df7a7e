"""How a mechanism's loss grows with the distance between two tables.

A guarantee at one semi-adjacency says nothing at another. When invariants are added, as composition does,
the semi-adjacency changes and the loss is asked for again: that is what a profile can answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from holdfast.privacy.intensity import Intensity, Pure, ZeroConcentrated
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

    def to_dict(self) -> dict[str, str]:
        """Return what `profile_of` reads."""
        return {"kind": "norm", "kappa": str(self.kappa), "norm": self.norm}


@dataclass(frozen=True)
class PerRecord:
    """An intensity for one record of distance; more records weaken it [semi-dp, Proposition 15]."""

    intensity: Intensity

    def at(self, distance: int, sensitivity: Sensitivity) -> Intensity:
        """Return the intensity for tables at most ``distance`` records apart."""
        del sensitivity
        return self.intensity.group(distance)


@dataclass(frozen=True)
class SquaredLoss:
    """A loss of ||x - x'||_2^2 / (2 sigma^2) in zCDP [bun2016, Proposition 1.6; theory, 4]."""

    sigma_squared: Fraction

    def at(self, distance: int, sensitivity: Sensitivity) -> ZeroConcentrated:
        """Return the loss for tables at most ``distance`` records apart."""
        del distance
        return ZeroConcentrated(sensitivity.l2_squared / (2 * self.sigma_squared))

    def to_dict(self) -> dict[str, str]:
        """Return what `profile_of` reads."""
        return {"kind": "squared", "sigma_squared": str(self.sigma_squared)}


Profile = NormLoss | SquaredLoss | PerRecord


def profile_of(content: Mapping[str, str]) -> NormLoss | SquaredLoss:
    """Return the profile that a mapping describes."""
    if content["kind"] == "squared":
        return SquaredLoss(Fraction(content["sigma_squared"]))
    return NormLoss(Fraction(content["kappa"]), "l1" if content["norm"] == "l1" else "l2")
