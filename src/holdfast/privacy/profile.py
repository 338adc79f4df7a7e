"""How a mechanism's loss grows with the distance between two tables.

A guarantee at one semi-adjacency says nothing at another. When invariants are added, as composition does,
the semi-adjacency changes and the loss is asked for again: that is what a profile can answer.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from holdfast.privacy.intensity import Intensity, Pure
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


@dataclass(frozen=True)
class PerRecord:
    """An intensity for one record of distance; more records weaken it [semi-dp, Proposition 15]."""

    intensity: Intensity

    def at(self, distance: int, sensitivity: Sensitivity) -> Intensity:
        """Return the intensity for tables at most ``distance`` records apart."""
        del sensitivity
        return self.intensity.group(distance)


Profile = NormLoss | PerRecord
