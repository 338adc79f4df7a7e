"""The files of records that all tables together compare, and how far apart those are.

A release of several tables is about one file. Who sees it knows the invariants of every table, so it compares
files that share all of them: the joint scope [holdfast, account/joint.py]. One person's change may take more
records there than under the invariants of any one table.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import chain

from holdfast.account.distance import MOST_CELLS, joint_search, nothing_left, refuse_single
from holdfast.account.joint import JointScope
from holdfast.account.terms import Bounded, Stated, Terms
from holdfast.errors import GuaranteeError
from holdfast.privacy.guarantee import Adjacency, Unit
from holdfast.privacy.intensity import Pure
from holdfast.privacy.ledger.canonical import canonical
from holdfast.public import Public
from holdfast.spec.whom import Whom
from holdfast.universe.semi_adjacency import SemiAdjacency
from holdfast.universe.vacuous import one_table


class TablesScope:
    """What several tables of one file make public, by the name of each."""

    def __init__(self, publics: Mapping[str, Public], adjacency: Adjacency, distance: int | None) -> None:
        self.publics, self.adjacency, self.asked = publics, adjacency, distance

    @cached_property
    def joint(self) -> JointScope:
        """The joint scope."""
        return JointScope(tuple(_terms(name, public) for name, public in self.publics.items()))

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
        return Unit(whom.unit, self.adjacency, whom.records * (self.distance or 1), whom.records)

    @property
    def whom(self) -> Whom:
        """Whom the tables protect, by their records: the same in all."""
        return next(iter(self.publics.values())).whom

    @property
    def distance(self) -> int | None:
        """How many records change with one, for which every table is calibrated; None per record."""
        return None if self.adjacency == "unit" else self.asked or self.semi_adjacency.worst_case

    def checked(self) -> "TablesScope":
        """Return this scope; raises GuaranteeError where a guarantee would say nothing, or too little."""
        if self.adjacency == "unit":
            refuse_single(self.joint)
        elif self.asked is not None and self.asked < self.semi_adjacency.worst_case:
            who = self.whom.one if self.whom.records == 1 else "record"
            least = self.whom.amount(self.semi_adjacency.worst_case)
            raise GuaranteeError(
                f"[privacy] distance = {self.asked} does not cover one {who}: with the invariants of all"
                f" tables one {who}'s change takes {least}; give at least that many, or leave it out."
            )
        for release in self.joint.releases:
            over = release.attributes
            known = self.joint.knows_more(release) and self.joint.size(over) <= MOST_CELLS
            if known and one_table(self.joint.universe(over)):
                raise nothing_left(over)
        return self

    @property
    def invariants(self) -> tuple[str, ...]:
        """The invariants by table and name."""
        return tuple(
            f"{held.block.name} of {name}"
            for name, public in self.publics.items()
            for held in public.invariants
        )

    @property
    def constraints(self) -> tuple[str, ...]:
        """What else all files of the scope have in common."""
        known = chain.from_iterable(public.scope.constraints for public in self.publics.values())
        return tuple(dict.fromkeys(known))

    @property
    def digest(self) -> str:
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


def _terms(name: str, public: Public) -> Terms:
    """Return what a joint scope has to know of a table; what it loses is not asked of these."""
    held = tuple(Stated(public.schema, held.to_dict()) for held in public.invariants)
    bounds = tuple(Bounded(public.schema, floor.to_dict()) for floor in public.binding)
    unit, nothing = Unit("record", "semi", 1), Pure(Fraction(0))
    return Terms(_called(name), public.schema, held, unit, nothing, None, "", None, {}, bounds)


def _called(name: str) -> str:
    return f"the table {name!r}"
