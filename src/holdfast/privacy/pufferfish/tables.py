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

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Proved
from holdfast.privacy.guarantee import Guarantee, Scope
from holdfast.privacy.pufferfish.framework import RECORDS, DeltaZ, Framework, LawClass, Stated, Statistic
from holdfast.privacy.pufferfish.guarantee import TPGuarantee
from holdfast.spec.privacy import RECORD, ProtectedUnit
from holdfast.system.errors import GuaranteeError
from holdfast.system.ways import assigned, setting
from holdfast.universe.tables import capacities
from holdfast.universe.universe import Universe

TableLaws = Literal["pairs", "everything", "independent"]


@dataclass(frozen=True)
class NamedTable:
    """A table by its attributes, and a digest of what identifies its cells."""

    attributes: tuple[str, ...]
    cells: str


def framework_of_tables(
    scope: Scope,
    laws: TableLaws,
    *,
    distance: int | None = None,
    whom: ProtectedUnit = RECORD,
    table: NamedTable | None = None,
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
    named = () if table is None else table.attributes
    cells = {} if table is None else {"attributes": list(named), "cells": table.cells}
    said = _even_chances(distance, whom) if distance is not None else _every_law(laws, whom)
    return Framework(
        public=public_part(scope),
        secrets=Stated(_cells(whom, named), {"of": "record", **cells}),
        pairs=Stated(_two_cells(whom), {"by": "record"}),
        laws=LawClass(said, {} if distance is None else {"distance": distance}, laws),
        statistic=RECORDS if table is None else table_statistic(named),
        whom=whom,
        scope=scope,
    )


def table_statistic(attributes: tuple[str, ...]) -> Statistic:
    """Return a table by its attributes, measured by the number of records in which two differ."""
    return Statistic("table", RECORDS.metric, attributes)


def public_part(scope: Scope) -> Stated:
    """Return what a scope makes public."""
    public = {
        "invariants": list(scope.invariants),
        "induced": list(scope.induced),
        "constraints": [one.to_dict() for one in scope.constraints],
        "digest": scope.digest,
    }
    return Stated(_kept((*scope.invariants, *scope.induced)), public)


@claim("public-invariants")
def _kept(invariants: tuple[str, ...]) -> str:
    return " and ".join(invariants) or "nothing but the number of records"


@claim("cell-of-each")
def _cells(whom: ProtectedUnit, attributes: tuple[str, ...]) -> str:
    where = f" in the table of {', '.join(attributes)}" if attributes else ""
    return f"the cell of each {whom.record}{where}"


@claim("any-two-cells")
def _two_cells(whom: ProtectedUnit) -> str:
    return f"each {whom.record}, any two possible cells"


@claim("laws-of-pairs")
def _even_chances(distance: int, whom: ProtectedUnit) -> str:
    return f"even chances of two tables that agree with it, at most {whom.amount(distance)} apart"


@claim("laws-of-tables")
def _every_law(laws: TableLaws, whom: ProtectedUnit) -> str:
    if laws == "independent":
        return f"all laws of independent {whom.counted}, given it"
    return "all laws on the tables that agree with it"


def tp_of_tables(
    guarantee: Guarantee, laws: TableLaws, *, bounded: bool = False, table: NamedTable | None = None
) -> TPGuarantee:
    """Return what a guarantee between tables says of the secrets of single records, for a class of laws.

    ``bounded`` says that inequalities are public, too. They leave fewer pairs of tables, and fewer laws on
    tables; but records that are independent given the invariants are others than those given both. ``table``
    names the table, as in `framework_of_tables`. Raises GuaranteeError where a guarantee says nothing of the
    secrets.
    """
    if bounded and laws == "independent":
        raise GuaranteeError(
            f"{setting('privacy', 'laws')} = 'independent' is for invariants alone, as inequalities may tie"
            f' records to each other: set {assigned("laws", "pairs")} or "everything".'
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
        return DeltaZ(Fraction(value), exact=False, evidence=(Proved(_pair_apart(value, whom), "theory, 7"),))
    if kind == "independent" and (parts := _parts(scope.universe)) is not None:
        count, exact = parts
        return DeltaZ(Fraction(count), exact, (Proved(_through_parts(count, whom), "theory, 7"),))
    if (total := scope.universe.total) is None:
        raise GuaranteeError(
            f"how many {whom.counted} there are is not public, so no bound of Delta_z is: make the total an"
            " invariant, or take the class of pairs."
        )
    return DeltaZ(Fraction(total), exact=False, evidence=(Proved(_all_apart(total, whom), "theory, 7"),))


@claim("secret-moves-a-pair")
def _pair_apart(distance: int, whom: ProtectedUnit) -> str:
    return f"the two tables of a law are at most {whom.amount(distance)} apart"


@claim("secret-moves-through-parts")
def _through_parts(parts: int, whom: ProtectedUnit) -> str:
    if parts == 1:
        return f"what is public ties no {whom.record} to another, so one changes alone"
    return (
        f"with {parts} totals of disjoint parts public, a change of one {whom.record} passes through each"
        f" part once at most, so that {whom.amount(parts)} change"
    )


@claim("secret-moves-everything")
def _all_apart(total: int, whom: ProtectedUnit) -> str:
    return f"two tables are at most all {whom.amount(total)} apart"


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
