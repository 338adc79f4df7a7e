"""What a guarantee of tables rests on: a universe, and which of its tables are told apart by how much.

Semi-adjacency and sensitivity are integer programs in general. They are worked out when they are asked for,
and once; adjacency "unit" asks for neither.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from holdfast.errors import GuaranteeError
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Adjacency, Scope, Unit
from holdfast.privacy.semi import semi_evidence
from holdfast.sampling.lattice.laplace import Norm
from holdfast.universe.semi_adjacency import SemiAdjacency, semi_adjacency
from holdfast.universe.sensitivity import Sensitivity, sensitivity
from holdfast.universe.spread import spread
from holdfast.universe.universe import Universe
from holdfast.universe.vacuous import refuse_one_table, refuse_vacuous


@dataclass(frozen=True, eq=False)
class Premises:
    """A universe with its scope, and which pairs of its tables a guarantee shall cover.

    ``distance`` is how many records apart such pairs may be under adjacency "semi"; where it is None, it is
    the semi-adjacency.
    """

    universe: Universe
    scope: Scope
    adjacency: Adjacency
    distance: int | None = None

    @classmethod
    def of(
        cls, universe: Universe, scope: Scope, adjacency: Adjacency, distance: int | None = None
    ) -> "Premises":
        """Return the premises of a guarantee; raises where it would be vacuous, or miss one person."""
        return cls(universe, scope, adjacency, distance).checked()

    def checked(self) -> "Premises":
        """Return these premises; raises GuaranteeError where a guarantee would say nothing, or too little."""
        if self.adjacency == "unit":
            refuse_one_table(self.universe)
            return self
        least, distance = self.semi_adjacency.worst_case, self.distance
        if least and distance is not None and distance < least:
            raise GuaranteeError(
                f"[privacy] distance = {distance} does not cover one person: with these invariants one"
                f" person's change takes {least} records; give at least that many, or leave it out."
            )
        refuse_vacuous(self.universe, self._farthest, self.sensitivity)
        return self

    @cached_property
    def semi_adjacency(self) -> SemiAdjacency:
        """How many records one person's change takes."""
        return semi_adjacency(self.universe)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The largest differences of tables within the distance that is protected."""
        return sensitivity(self.universe, self._farthest)

    @property
    def unit(self) -> Unit:
        """The unit of a guarantee on these premises."""
        return Unit("record", self.adjacency, self._farthest if self.adjacency == "semi" else 1)

    def squared_stretch(self, norm: Norm) -> Fraction:
        """Return the square of the largest norm of x - x' that the guarantee has to cover.

        Per record of distance it is the square of the largest ||x - x'|| / d(x, x').
        """
        if self.adjacency == "unit":
            # ||u||_1 = 2 d(x, x') [theory, 1]; for l2 the largest ratio over the lattice.
            return Fraction(4) if norm == "l1" else spread(self.universe)
        return Fraction(self.sensitivity.l1) ** 2 if norm == "l1" else Fraction(self.sensitivity.l2_squared)

    def evidence(self, *norms: Norm) -> tuple[Evidence, ...]:
        """Say why the stretch in these norms is right."""
        if self.adjacency == "semi":
            return semi_evidence(self.semi_adjacency, self.sensitivity, frozenset(norms), self._farthest)
        return tuple(
            Proved(
                f"one record of distance is at most the root of {self.squared_stretch(norm)} in {norm}",
                "theory, 1",
            )
            for norm in norms
        )

    @property
    def _farthest(self) -> int:
        return self.semi_adjacency.worst_case if self.distance is None else self.distance
