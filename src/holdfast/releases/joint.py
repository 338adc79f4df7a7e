"""What holds of several tables of one file together: the files they compare, how far apart, what is proved.

A release of several tables is about one file. Who sees it knows the invariants of every table, so it compares
files that share all of them: the joint scope [holdfast, ledger/scope.py]. One person's change may take more
records there than under the invariants of any one table.

Table j is drawn from T_j(X), independently of the others given the file X, and loses at most l_j between
tables d records apart that share its invariants. Files X, X' of the joint scope at most d records apart have
tables at most d records apart, which share the invariants of each. So all tables together lose at most the
sum of the l_j between them [theory, 10]; and d is no less than one person's change takes under the
invariants of all tables. Per record of distance the same holds with d = 1.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import chain

from holdfast.ledger.charged import ChargedInequality, ChargedInvariant, ChargedTable
from holdfast.ledger.losses import MOST_CELLS, joint_search, nothing_left, refuse_single
from holdfast.ledger.scope import JointScope
from holdfast.privacy.evidence import Evidence, Proved
from holdfast.privacy.guarantee import Adjacency, Guarantee, Scope, Unit
from holdfast.privacy.intensity import Intensity, Pure, total
from holdfast.privacy.premises import SOLVED, distance_evidence, sum_over_tables
from holdfast.public import Public
from holdfast.spec.privacy import ProtectedUnit
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import canonical
from holdfast.system.ways import setting
from holdfast.universe.metrics import METRICS
from holdfast.universe.semi_adjacency import SemiAdjacency


class JointPremises:
    """What a guarantee of several tables of one file rests on: what each makes public, by its name."""

    def __init__(self, publics: Mapping[str, Public], adjacency: Adjacency, distance: int | None) -> None:
        self.publics, self.adjacency, self.distance_given = publics, adjacency, distance

    @cached_property
    def joint(self) -> JointScope:
        """The joint scope."""
        return JointScope(tuple(_charged(name, public) for name, public in self.publics.items()))

    @cached_property
    def semi_adjacency(self) -> SemiAdjacency:
        """How many records one person's change takes, no fewer than under the invariants of one table.

        Where a table keeps all that any table keeps, the joint scope is that of this table.
        """
        alone = [public.premises("semi").semi_adjacency for public in self.publics.values()]
        keepers = {release.name for release in self.joint.keepers}
        found = [one for name, one in zip(self.publics, alone, strict=True) if _called(name) in keepers]
        joint = found[0] if found else joint_search(self.joint)
        return max((joint, *alone), key=lambda one: one.worst_case)

    @property
    def unit(self) -> Unit:
        """Which files are protected against each other."""
        whom = self.whom
        distance = whom.records * (self.distance or 1)
        return Unit(whom.unit, self.adjacency, distance, whom.records, whom.neighbours)

    @property
    def whom(self) -> ProtectedUnit:
        """ProtectedUnit the tables protect, by their records: the same in all."""
        return next(iter(self.publics.values())).whom

    @property
    def distance(self) -> int | None:
        """How many records change with one, for which every table is calibrated; None per record."""
        return None if self.adjacency == "unit" else self.distance_given or self.semi_adjacency.worst_case

    def evidence(self) -> tuple[Evidence, ...]:
        """Say why files so far apart are compared."""
        if self.adjacency == "unit":
            return ()
        found = distance_evidence(self.semi_adjacency, self.unit.distance, self.whom, joint=True)
        return (*found, *((SOLVED,) if self.semi_adjacency.searched else ()))

    def checked(self) -> "JointPremises":
        """Return these premises; raises GuaranteeError where a guarantee would say nothing, or too little."""
        if self.adjacency == "unit":
            refuse_single(self.joint)
        elif self.distance_given is not None and self.distance_given < self.semi_adjacency.worst_case:
            who = self.whom.one if self.whom.records == 1 else "record"
            what = "presence" if self.whom.presence else "change"
            least = self.whom.apart(self.semi_adjacency.worst_case)
            raise GuaranteeError(
                f"{setting('privacy', 'distance')} = {self.distance_given} does not cover one {who}: with the"
                f" invariants of all tables one {who}'s {what} takes {least}; give at least that many,"
                " or leave it out."
            )
        for release in self.joint.releases:
            over = release.attributes
            known = self.joint.knows_more(release) and self.joint.size(over) <= MOST_CELLS
            if known and METRICS[self.whom.neighbours].one_table(self.joint.universe(over)):
                raise nothing_left(over)
        return self

    @property
    def scope(self) -> Scope:
        """The files that agree with all tables: the invariants by table and name, and all that is known."""
        invariants = (
            f"{held.block.name} of {name}"
            for name, public in self.publics.items()
            for held in public.invariants
        )
        known = chain.from_iterable(public.scope.constraints for public in self.publics.values())
        return Scope("tables", tuple(invariants), tuple(dict.fromkeys(known)), self._digest)

    @property
    def _digest(self) -> str:
        """A digest of what defines the scope: the cells and the invariants of every table."""
        said = [
            [
                public.schema.to_dict(),
                [held.to_dict() for held in public.invariants],
                *([floor.to_dict() for floor in public.binding],) * bool(public.binding),
            ]
            for public in self.publics.values()
        ]
        return sha256(canonical({"tables": said}).encode()).hexdigest()


def _charged(name: str, public: Public) -> ChargedTable:
    """Return what a joint scope has to know of a table; what it loses is not asked of these."""
    held = tuple(ChargedInvariant(public.schema, held.to_dict()) for held in public.invariants)
    bounds = tuple(ChargedInequality(public.schema, floor.to_dict()) for floor in public.binding)
    unit, nothing = Unit("record", "semi", 1, 1, public.whom.neighbours), Pure(Fraction(0))
    return ChargedTable(_called(name), public.schema, held, unit, nothing, None, "", None, {}, bounds)


def _called(name: str) -> str:
    return f"the table {name!r}"


def joint_intensity(guarantees: Sequence[Guarantee], asked: Sequence[Intensity]) -> Intensity:
    """Return what all tables lose together, in the standard that was asked for.

    A guarantee in another standard implies what its table was asked for, and counts as that.
    """
    return total(
        [
            one.intensity if one.intensity.standard == part.standard else part
            for one, part in zip(guarantees, asked, strict=True)
        ]
    )


def joint_guarantee(
    premises: JointPremises, guarantees: Mapping[str, Guarantee], intensity: Intensity
) -> Guarantee:
    """Return what holds of all tables together."""
    for name, one in guarantees.items():
        if one.unit != premises.unit:  # the sum is over losses between the same files
            raise GuaranteeError(
                f"the table {name!r} is protected for other pairs of files than all tables together: give all"
                " of them one adjacency and distance."
            )
    assumed = (item for one in guarantees.values() for item in one.evidence if not isinstance(item, Proved))
    evidence = (*premises.evidence(), Proved(sum_over_tables(), "theory, 10"), *assumed)
    return Guarantee(premises.scope, premises.unit, intensity, tuple(dict.fromkeys(evidence)))
