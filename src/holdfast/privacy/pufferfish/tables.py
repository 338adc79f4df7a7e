"""Frameworks for tables whose invariants are public: the secrets are the cells of single records.

The public facts are A x = t, every pair is "the record of person i is in cell v" against "... in cell w", and
the class of laws is one of three [theory, 7]:

* ``pairs``: even chances of two conforming datasets at most ``distance`` records apart. epsilon-TP is then
  pure semi-DP at that distance, in other words.
* ``everything``: all laws on conforming datasets. All of them must look alike: no free lunch [kifer2011].
* ``independent``: records that are independent of each other, given the invariants. That is the class of
  [partially-private-data, Lemma 8]. Where these are totals of disjoint parts a secret moves as many records
  as there are parts, at worst, however many records there are.

Which table it is belongs to the framework: two tables of one file may share A and t, and what each loses
between its own values says nothing of a law of both. Releases of both do not add up as releases of one
statistic do [theory, 7].
"""

from fractions import Fraction
from typing import Any, Literal

import numpy as np

from holdfast.errors import GuaranteeError
from holdfast.privacy.evidence import Proved
from holdfast.privacy.guarantee import Guarantee, Scope
from holdfast.privacy.pufferfish.delta import DeltaZ
from holdfast.privacy.pufferfish.framework import RECORDS, Framework, LawClass, Stated, Statistic
from holdfast.privacy.pufferfish.guarantee import TPGuarantee
from holdfast.spec.whom import RECORD, Whom
from holdfast.universe.capacity import capacities
from holdfast.universe.universe import Universe

TableLaws = Literal["pairs", "everything", "independent"]


def framework_of_tables(
    scope: Scope,
    laws: TableLaws,
    *,
    distance: int | None = None,
    whom: Whom = RECORD,
    table: Stated | None = None,
) -> Framework:
    """Return the framework of the tables in a scope.

    ``distance`` is that of ``pairs``; ``table`` names the table and identifies its cells.
    """
    if whom.records > 1:
        raise GuaranteeError(
            f"the secrets of a table are those of single records, and one {whom.one} has up to"
            f" {whom.records:,}: leave out records_per_unit."
        )
    if (distance is None) == (laws == "pairs"):
        raise GuaranteeError("a distance in records belongs to the class of pairs, and to no other.")
    kept, public = public_part(scope)
    words = {
        "pairs": f"even chances of two tables that agree with it, at most {whom.amount(distance or 0)} apart",
        "everything": "all laws on the tables that agree with it",
        "independent": f"all laws of independent {whom.counted}, given it",
    }
    return Framework(
        public=Stated(kept, public),
        secrets=_cells(whom, table),
        pairs=Stated(f"each {whom.record}, any two possible cells", {"by": "record"}),
        laws=LawClass(words[laws], {} if distance is None else {"distance": distance}, laws),
        statistic=RECORDS if table is None else Statistic(table.words, RECORDS.metric),
        whom=whom,
        scope=scope,
    )


def _cells(whom: Whom, table: Stated | None) -> Stated:
    if table is None:
        return Stated(f"the cell of each {whom.record}", {"of": "record"})
    return Stated(f"the cell of each {whom.record} in the {table.words}", {"of": "record", **table.data})


def public_part(scope: Scope) -> tuple[str, dict[str, Any]]:
    """Return what a scope makes public, in words and as data."""
    kept = " and ".join((*scope.invariants, *scope.induced)) or "nothing but the number of records"
    public = {
        "invariants": list(scope.invariants),
        "induced": list(scope.induced),
        "constraints": list(scope.constraints),
        "digest": scope.digest,
    }
    return kept, public


def tp_of_tables(
    guarantee: Guarantee, laws: TableLaws, *, bounded: bool = False, table: Stated | None = None
) -> TPGuarantee:
    """Return what a guarantee between tables says of the secrets of single records, for a class of laws.

    ``bounded`` says that inequalities are public, too. They leave fewer pairs of tables, and fewer laws on
    tables; but records that are independent given the invariants are others than those given both. ``table``
    names the table, as in `framework_of_tables`. Raises GuaranteeError where a guarantee says nothing of the
    secrets.
    """
    if bounded and laws == "independent":
        raise GuaranteeError(
            "[privacy] laws = 'independent' is for invariants alone, as inequalities may tie records to each"
            ' other: set laws = "pairs" or "everything".'
        )
    distance = guarantee.unit.distance if laws == "pairs" else None
    framework = framework_of_tables(
        guarantee.scope, laws, distance=distance, whom=guarantee.unit.whom, table=table
    )
    return TPGuarantee.of(guarantee, framework, delta_of_tables(framework))


def delta_of_tables(framework: Framework) -> DeltaZ:
    """Return how many records a secret moves, or a bound [theory, 7]."""
    kind, scope, whom = framework.laws.kind, framework.scope, framework.whom
    if scope is None or kind not in ("pairs", "everything", "independent"):
        raise GuaranteeError("this framework is not of tables: its family knows its Delta_z.")
    if kind == "pairs":
        value = int(framework.laws.data["distance"])
        claim = f"the two tables of a law are at most {whom.amount(value)} apart"
        return DeltaZ(Fraction(value), exact=False, evidence=(Proved(claim, "theory, 7"),))
    if kind == "independent" and (parts := _parts(scope.universe)) is not None:
        count, exact = parts
        claim = (
            f"what is public ties no {whom.record} to another, so one changes alone"
            if count == 1
            else f"with {count} totals of disjoint parts public, a change of one {whom.record} passes through"
            f" each part once at most, so that {whom.amount(count)} change"
        )
        return DeltaZ(Fraction(count), exact, (Proved(claim, "theory, 7"),))
    if (total := scope.universe.total) is None:
        raise GuaranteeError(
            f"how many {whom.counted} there are is not public, so no bound of Delta_z is: make the total an"
            " invariant, or take the class of pairs."
        )
    claim = f"two tables are at most all {whom.amount(total)} apart"
    return DeltaZ(Fraction(total), exact=False, evidence=(Proved(claim, "theory, 7"),))


def _parts(universe: Universe) -> tuple[int, bool] | None:
    """Return how many parts of the cells can hold a record, where how many each holds is public, else None.

    A part are the cells of one column of A. The counts of all are public, beside the number of records, where
    the columns with a 1 below each are linearly independent. Also whether each is known to hold one: the
    bound is then attained [theory, 7].
    """
    if universe.rank + (universe.total is None) < universe.patterns.count:
        return None
    occupied = int(np.count_nonzero(capacities(universe)))
    return max(occupied, 1), universe.settled is not None or occupied == 1
