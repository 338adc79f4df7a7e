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
from holdfast.spec.whom import RECORD, Whom
from holdfast.universe.semi_adjacency import SemiAdjacency, semi_adjacency
from holdfast.universe.sensitivity import Sensitivity, sensitivity
from holdfast.universe.spread import spread
from holdfast.universe.universe import Universe
from holdfast.universe.vacuous import refuse_one_table, refuse_vacuous


@dataclass(frozen=True, eq=False)
class Premises:
    """A universe with its scope, and which pairs of its tables a guarantee shall cover.

    ``distance`` is how many records change with one under adjacency "semi"; where it is None, it is the
    semi-adjacency. A unit of m records is m such steps, one after the other: pairs of tables may be m times
    as far apart [theory, 2].
    """

    universe: Universe
    scope: Scope
    adjacency: Adjacency
    distance: int | None = None
    whom: Whom = RECORD

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
        who = self.whom.one if self.whom.records == 1 else "record"
        if least and distance is not None and distance < least:
            raise GuaranteeError(
                f"[privacy] distance = {distance} does not cover one {who}: with these invariants one"
                f" {who}'s change takes {self.whom.amount(least)}; give at least that many, or leave it out."
            )
        refuse_vacuous(self.universe, self._farthest, self.sensitivity, self.whom)
        return self

    @cached_property
    def semi_adjacency(self) -> SemiAdjacency:
        """How many records one person's change takes."""
        return semi_adjacency(self.universe)

    def semi_adjacency_within(self, work: int) -> SemiAdjacency:
        """Return the semi-adjacency, or a bound of it where the search takes more work than this.

        A search that ends says what a longer one would, and is not made again.
        """
        known = self.__dict__.get("semi_adjacency")  # where `cached_property` keeps it
        found: SemiAdjacency = known or semi_adjacency(self.universe, work)
        if found.exact:
            self.__dict__["semi_adjacency"] = found
        return found

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The largest differences of tables within the distance that is protected."""
        return sensitivity(self.universe, self._farthest)

    @property
    def unit(self) -> Unit:
        """The unit of a guarantee on these premises."""
        whom, semi = self.whom, self.adjacency == "semi"
        return Unit(whom.unit, self.adjacency, self._farthest if semi else whom.records, whom.records)

    def squared_stretch(self, norm: Norm) -> Fraction:
        """Return the square of the largest norm of x - x' that the guarantee has to cover.

        Under adjacency "unit" that is, for the records of one unit, the largest ||x - x'|| / d(x, x').
        """
        if self.adjacency == "unit":
            # ||u||_1 = 2 d(x, x') [theory, 1]; for l2 the largest ratio over the lattice.
            return self.whom.records**2 * (Fraction(4) if norm == "l1" else spread(self.universe))
        return Fraction(self.sensitivity.l1) ** 2 if norm == "l1" else Fraction(self.sensitivity.l2_squared)

    def evidence(self, *norms: Norm) -> tuple[Evidence, ...]:
        """Say why the stretch in these norms is right."""
        if self.adjacency == "semi":
            space, farthest = self.sensitivity, self._farthest
            return semi_evidence(self.semi_adjacency, space, frozenset(norms), farthest, self.whom)
        return tuple(
            Proved(
                f"{self._step} of distance {'is' if self.whom.records == 1 else 'are'} at most the root of"
                f" {self.squared_stretch(norm)} in {norm}",
                "theory, 1",
            )
            for norm in norms
        )

    @property
    def _step(self) -> str:
        whom = self.whom
        one = f", the most that one {whom.one} has,"
        return f"one {whom.record}" if whom.records == 1 else f"{whom.amount(whom.records)}{one}"

    @property
    def _farthest(self) -> int:
        each = self.semi_adjacency.worst_case if self.distance is None else self.distance
        return self.whom.records * each
