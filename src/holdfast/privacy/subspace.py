"""Subspace differential privacy as a guarantee that can be compared [semi-dp, Definition 10].

A mechanism M for tables x with the invariants A x is *f-subspace private* when for any two tables one
record apart, with the same invariants or not, the projections of M(x) and M(x') off the rows of A are as
hard to tell apart as f says.

*What it is worth* [semi-dp, Section 3.2]. The invariants are published beside M(x). Two tables that differ
in them are told apart for certain, whatever f: for these pairs the promise is about a part of the release
only, and none about the release. `told_apart` is the share of one-record changes for which that is so: all
of them, where every cell has its own column of A.

*What follows from it.* Let M keep the invariants, A M(x) = A x, as all mechanisms made for it do. On tables
that share A x = t the rest of M(x) is a function of t, so M(x) is one of its projection and t; and two of
them k records apart are k steps of one record, through tables that need not conform, apart. By group
privacy and post-processing M is then f composed k times, for all conforming tables at most k records apart
(`for_tables`): at the semi-adjacency [semi-dp, Proposition 15] and no better. The converse needs all
one-record changes: a guarantee without invariants, or with those that no one-record change touches, implies
the subspace one by post-processing; no other says anything of it, and the comparison is refused.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Scope, Unit, promise
from holdfast.privacy.intensity import Intensity
from holdfast.privacy.order import at_least_as_strong
from holdfast.system.errors import GuaranteeError


@dataclass(frozen=True)
class SubspaceGuarantee:
    """What a mechanism promises of its release off the invariants, for any two tables one record apart."""

    scope: Scope
    intensity: Intensity
    evidence: tuple[Evidence, ...] = ()

    @property
    def told_apart(self) -> Fraction:
        """The share of one-record changes that change an invariant, which the release tells for certain."""
        universe = self.scope.universe
        sizes = universe.patterns.size.astype(object)  # pairs of 10^6 cells and more
        every = universe.cells * (universe.cells - 1)
        return 1 - Fraction(int(np.sum(sizes * (sizes - 1))), every) if every else Fraction(0)

    @property
    def statement(self) -> str:
        """The promise in a sentence, and what it leaves out."""
        kept = " and ".join(self.scope.invariants) or "nothing"
        return (
            "For any two tables that differ in one record, of the release without what it says of"
            f" {kept}: {promise(self.intensity)} That is published beside it, and tells"
            f" {float(self.told_apart):.3g} of all such pairs apart for certain."
        )

    def for_tables(self, distance: int) -> Guarantee:
        """Return what it promises of tables with the same invariants, at most so many records apart."""
        if distance < 1:
            raise GuaranteeError("a distance of one record at least is compared: give a positive number.")
        found = Proved(_changes(distance), "semi-dp, Proposition 15; semi-dp, Proposition 23")
        unit = Unit("record", "semi", distance)
        return Guarantee(self.scope, unit, self.intensity.group(distance), (*self.evidence, found))

    def implies(self, other: "Guarantee | SubspaceGuarantee") -> bool:
        """Whether this guarantee is at least as strong as the other [semi-dp, Definition 20].

        Raises GuaranteeError where no theorem relates the two.
        """
        if isinstance(other, SubspaceGuarantee):
            self._require_same(other.scope)
            return at_least_as_strong(self.intensity, other.intensity)
        self._require_same(other.scope)
        if other.unit.adjacency == "unit":  # for each record of distance, so for the group of its records
            return at_least_as_strong(self.intensity.group(other.unit.distance), other.intensity)
        return self.for_tables(other.unit.distance).implies(other)

    def implied_by(self, one: Guarantee) -> bool:
        """Whether a guarantee of tables is at least as strong; raises GuaranteeError where it cannot be."""
        universe = one.scope.universe
        if universe.cells != self.scope.universe.cells:
            self._require_same(one.scope)
        if universe.rank and universe.patterns.count > 1:
            kept = " and ".join(one.scope.invariants)
            raise GuaranteeError(
                "the guarantees are not comparable: subspace privacy is about tables one record apart, and"
                f" those differ in {kept}, outside of the other's scope; compare what `for_tables` gives."
            )
        return at_least_as_strong(one.intensity, self.intensity)  # projecting is post-processing

    def _require_same(self, other: Scope) -> None:
        if not (self.scope.within(other) and other.within(self.scope)):
            raise GuaranteeError(
                "the guarantees are not comparable: subspace privacy is about the release without its own"
                " invariants, and the other keeps others; state it for the same invariants."
            )


@claim("one-record-changes")
def _changes(distance: int) -> str:
    return (
        f"tables {distance} records apart are {distance} one-record changes apart, and those with the same"
        " invariants share all that the projection leaves out"
    )
