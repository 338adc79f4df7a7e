"""What every mechanism rests on: a universe and what was worked out of it, all of it public."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from holdfast.errors import GuaranteeError
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Scope, Unit
from holdfast.privacy.semi import semi_evidence
from holdfast.universe.semi_adjacency import SemiAdjacency, semi_adjacency
from holdfast.universe.sensitivity import Sensitivity, sensitivity
from holdfast.universe.spread import spread
from holdfast.universe.universe import Universe

Per = Literal["semi", "unit"]
Norm = Literal["l1", "l2"]


@dataclass(frozen=True, eq=False)
class Premises:
    """A universe with its scope, semi-adjacency and sensitivity, and which pairs a guarantee shall cover."""

    universe: Universe
    scope: Scope
    adjacency: SemiAdjacency
    sensitivity: Sensitivity
    per: Per

    @classmethod
    def of(cls, universe: Universe, scope: Scope, per: Per) -> "Premises":
        """Work out the semi-adjacency and the sensitivity; raises where nothing is left to protect."""
        adjacency = semi_adjacency(universe)
        if adjacency.worst_case == 0:
            raise GuaranteeError(
                "the invariants leave one possible table, so nothing is left to protect and any guarantee"
                " would be vacuous: drop or coarsen an invariant, or publish the table as it is."
            )
        return cls(universe, scope, adjacency, sensitivity(universe, adjacency.worst_case), per)

    @property
    def unit(self) -> Unit:
        """The unit of a guarantee on these premises."""
        return Unit("record", self.per, self.adjacency.worst_case if self.per == "semi" else 1)

    def squared_stretch(self, norm: Norm) -> Fraction:
        """Return the square of the largest norm of x - x' that the guarantee has to cover.

        Per record of distance it is the square of the largest ||x - x'|| / d(x, x').
        """
        if self.per == "unit":
            # ||u||_1 = 2 d(x, x') [theory, 1]; for l2 the largest ratio over the lattice.
            return Fraction(4) if norm == "l1" else spread(self.universe)
        return Fraction(self.sensitivity.l1) ** 2 if norm == "l1" else Fraction(self.sensitivity.l2_squared)

    def evidence(self, norm: Norm) -> tuple[Evidence, ...]:
        """Say why the stretch is right."""
        if self.per == "semi":
            return semi_evidence(self.adjacency, self.sensitivity, frozenset({norm}))
        stretch = f"one record of distance is at most the root of {self.squared_stretch(norm)} in {norm}"
        return (Proved(stretch, "theory, 1"),)
