"""Classes of laws from a model file, for the tables that agree with the invariants [theory, 7].

A family states its Delta_z in the metric of its own statistic. A mechanism on tables bounds its loss by the
number of records in which two tables differ, d(x, x') = ||x - x'||_1 / 2. So a family fits a table only where
its distance bounds that number, and where its laws stay on tables that agree with the invariants:

* counts: the table has two possible cells and a public total n. Then d is the difference of the second
  counts. The first cell is the answer 0, the second one 1.
* listed tables, by l1: d is half of it. Every one that has a chance must agree with the invariants.
* listed datasets, each record a cell: a release reads them through their tables, so these are what a coupling
  joins, and Delta_z may be less than on datasets.
* presence, with a public number of records and nothing else: of Delta_z people who differ one enters and one
  leaves, as good as one record that changes, so d is at most Delta_z - 1.

The statistic is then this table, by records, and Delta_z takes the place of the distance of a guarantee.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.privacy.claims import Claim, claim
from holdfast.privacy.evidence import Proved
from holdfast.privacy.guarantee import Guarantee, Scope
from holdfast.privacy.pufferfish.families.dependent_counts import DependentCounts, DisclosedCount
from holdfast.privacy.pufferfish.families.joint import JointLaws
from holdfast.privacy.pufferfish.families.listed import ListedCounts, ListedLaws, ListedPoint, SecretPair
from holdfast.privacy.pufferfish.families.presence import Presence
from holdfast.privacy.pufferfish.framework import DeltaZ, Family, Framework, LawClass, Stated
from holdfast.privacy.pufferfish.guarantee import TPGuarantee
from holdfast.privacy.pufferfish.models import model_of
from holdfast.privacy.pufferfish.tables import public_part, table_statistic
from holdfast.spec.load import read_toml
from holdfast.spec.privacy import ProtectedUnit
from holdfast.spec.values import short
from holdfast.system.errors import GuaranteeError, HoldfastError, SpecError
from holdfast.system.text import canonical, closest, counted, visible
from holdfast.system.ways import assigned, of_a_file, setting

MOST_LETTERS = 10**6
"""Of a model as text: a certificate holds all of it."""


@dataclass(frozen=True)
class StatedModel:
    """A model as a certificate states it: the content of its file, as plain values."""

    content: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> "StatedModel":
        """Read a file; SpecError where it is no model of one class of laws."""
        path, values = read_toml(path)
        model = cls(values)
        try:
            with of_a_file():
                model.family  # noqa: B018  raises where it is none
            if len(canonical(values)) > MOST_LETTERS:
                raise SpecError(
                    f"{setting('model')} is longer than {MOST_LETTERS:,} letters, and a certificate holds all"
                    " of it: list fewer laws."
                )
        except HoldfastError as error:
            raise SpecError(f"{path}, {error}") from None
        return model

    @cached_property
    def family(self) -> Family:
        """The class of laws; SpecError where there are several."""
        found = model_of(self.content).families()
        if len(found) != 1:
            raise SpecError(
                f"{setting('model')} lists several classes of laws: give each parameter one value."
            )
        return found[0]

    @property
    def digest(self) -> str:
        """Identify the content."""
        return hashlib.sha256(canonical(self.content).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {"content": dict(self.content), "digest": self.digest}


@dataclass(frozen=True)
class TableOf:
    """The tables of a scope: their attributes, and the names of their possible cells."""

    scope: Scope = field(repr=False)
    attributes: tuple[str, ...]
    cells: tuple[str, ...]
    whom: ProtectedUnit

    @cached_property
    def total(self) -> int:
        """How many records there are; GuaranteeError where that is not public."""
        found = self.scope.universe.total
        if found is None:
            raise GuaranteeError(
                f"the model speaks of a given number of {self.whom.counted}, and how many there are is not"
                " public: make the total an invariant."
            )
        return found

    @cached_property
    def places(self) -> Mapping[str, Sequence[int]]:
        """The places of cells by their names, which are their levels separated by commas: one, or several."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for place, name in enumerate(self.cells):
            found[name].append(place)
        return dict(found)

    def require(self, counts: IntArray, what: str) -> None:
        """Raise where a table that a law gives a chance is none that agrees with what is public."""
        universe, limits = self.scope.universe, self.scope.universe.limits
        agrees = bool(np.all(counts >= 0)) and np.array_equal(universe.matrix @ counts, universe.values)
        if not agrees or (limits is not None and bool(np.any(limits.rows @ counts < limits.least))):
            raise GuaranteeError(
                f"the model gives {what} a chance, which does not agree with the invariants and bounds:"
                " leave it out of the model."
            )


def tp_of_model(guarantee: Guarantee, model: StatedModel, table: TableOf) -> TPGuarantee:
    """Return what a guarantee between tables says of the secrets of a model [theory, 7]."""
    if guarantee.unit.whom.records > 1:
        raise GuaranteeError("a model speaks of the secrets of single records: leave out records_per_unit.")
    framework, delta = fitted(model.family, table)
    return replace(TPGuarantee.of(guarantee, framework, delta), model=model.to_dict())


def fitted(family: Family, table: TableOf) -> tuple[Framework, DeltaZ]:
    """Return the framework of a family on a table, and Delta_z in records.

    Raises GuaranteeError where the family does not fit the table.
    """
    delta, why = _in_records(family, table)
    own = family.framework
    kept, laws = public_part(table.scope), own.laws
    return (
        Framework(
            public=Stated(
                (*kept.claims, *own.public.claims),
                {**kept.data, "model": dict(own.public.data), "cells": list(table.cells)},
            ),
            secrets=own.secrets,
            pairs=own.pairs,
            # of the kinds of laws on all tables of a scope more is known
            laws=LawClass(
                laws.said, {**laws.data, "of": laws.kind}, "listed" if laws.kind == "listed" else "family"
            ),
            statistic=table_statistic(table.attributes),
            whom=table.whom,
            scope=table.scope,
        ),
        replace(delta, evidence=(*delta.evidence, Proved(why, "theory, 7"))),
    )


def _in_records(family: Family, table: TableOf) -> tuple[DeltaZ, Claim]:
    """Return Delta_z in records, and why it is."""
    match family:
        case DependentCounts(n=people) | DisclosedCount(n=people):
            low, high = family.bounds if isinstance(family, DisclosedCount) else (0, people)
            return family.delta, _of_counts(table, people, low, high)
        case ListedCounts(laws=laws):
            found = [place for pair in laws for law in pair for place, mass in enumerate(law) if mass]
            return family.delta, _of_counts(table, None, min(found), max(found))
        case Presence():
            return _of_presence(family, table)
        case JointLaws(outcomes=outcomes) if outcomes[0].value is None:
            return _of_tables(tuple(_counted(pair, table) for pair in family.listed.pairs), table)
        case ListedLaws(metric="records", statistic="data"):
            return _of_tables(tuple(_counted(pair, table) for pair in family.pairs), table)
        case ListedLaws(metric="l1", statistic="table"):
            return _of_tables(family.pairs, table)
    statistic = family.framework.statistic
    raise GuaranteeError(
        f"the model measures Delta_z on the {visible(statistic.words)}, by {statistic.metric}, and a release"
        f' is of a table: use a family of counts or of datasets, or "laws" with {assigned("metric", "l1")}'
        f" and {assigned('statistic', 'table')}."
    )


def _of_counts(table: TableOf, people: int | None, low: int, high: int) -> Claim:
    """Check that a table is one count of a public total, and return why its distance is that of the count."""
    if len(table.cells) != 2:
        raise GuaranteeError(
            f"the model is of one count, and the table has {counted(len(table.cells), 'possible cell')}: it"
            " needs two, the first for the answer 0, the second for 1."
        )
    if people is not None and people != table.total:
        raise GuaranteeError(
            f"the model has n = {people:,}, and the public total is {table.total:,}: give the same number."
        )
    for count in (low, high):  # what lies between two tables within bounds is within them
        table.require(np.array([table.total - count, count]), f"the count {count:,}")
    return _as_counts(table.cells[1], table.whom)


def _of_presence(family: Presence, table: TableOf) -> tuple[DeltaZ, Claim]:
    universe = table.scope.universe
    if family.size is None or universe.rank != 1 or universe.limits is not None:
        raise GuaranteeError(
            "presence as a secret fits a table whose total is public and nothing else is: give the model a"
            " size, and keep the total alone."
        )
    if family.size != table.total:
        raise GuaranteeError(
            f"the model has size = {family.size:,}, and the public total is {table.total:,}: give the same"
            " number."
        )
    for name in {name for person in family.people for name in person.values}:
        _place_of(name, table)
    return replace(family.delta, value=family.delta.finite - 1, exact=False), _as_change(table.whom)


def _of_tables(pairs: tuple[SecretPair, ...], table: TableOf) -> tuple[DeltaZ, Claim]:
    """Return half of the l1 distance of the laws of tables, all of which must agree with what is public."""
    for point in {point: None for pair in pairs for law in pair.given for point in law}:
        whole = [entry for entry in point if isinstance(entry, Fraction) and entry.denominator == 1]
        if len(point) != len(table.cells) or len(whole) != len(point) or max(map(abs, whole)) > table.total:
            raise GuaranteeError(
                f"the model lists {_point_in_words('the point', point)}, which is no table of"
                f" {counted(len(table.cells), 'possible cell')} and {table.whom.amount(table.total)}: give a"
                " whole number for each cell, in their order."
            )
        table.require(np.array([int(entry) for entry in whole]), _point_in_words("the table", point))
    found = ListedLaws(pairs, "l1", "table").delta
    return replace(found, value=found.finite / 2), _half(table.whom)


@claim("model-of-a-count")
def _as_counts(cell: str, whom: ProtectedUnit) -> str:
    second = visible(cell)
    return f"with a public total two tables differ in as many {whom.counted} as their counts of {second!r}"


@claim("model-of-presence")
def _as_change(whom: ProtectedUnit) -> str:
    return f"who enters and who leaves are as good as one of {whom.counted} that changes, in the table"


@claim("model-of-tables")
def _half(whom: ProtectedUnit) -> str:
    return f"tables of as many {whom.counted} differ in half of their l1 distance"


def _counted(pair: SecretPair, table: TableOf) -> SecretPair:
    """Return the laws of the tables of listed datasets."""
    laws: list[dict[ListedPoint, Fraction]] = []
    for chances in pair.given:
        law: dict[ListedPoint, Fraction] = {}
        for point, chance in chances.items():
            counts = _tabulated(point, table)
            law[counts] = law.get(counts, Fraction(0)) + chance
        laws.append(law)
    return replace(pair, given=(laws[0], laws[1]))


def _tabulated(point: ListedPoint, table: TableOf) -> ListedPoint:
    if len(point) != table.total:
        raise GuaranteeError(
            f"the model lists a dataset of {table.whom.amount(len(point))}, and the public total is"
            f" {table.total:,}: list as many."
        )
    found = Counter(_place_of(str(name), table) for name in point)
    return tuple(Fraction(found[place]) for place in range(len(table.cells)))


def _place_of(name: str, table: TableOf) -> int:
    found = table.places.get(name, ())
    if not found:
        raise GuaranteeError(
            f"the model speaks of {visible(name)!r}, which is no possible cell of the table:"
            f" {closest(name, table.cells)}"
        )
    if len(found) > 1:
        one, other = (visible(table.cells[place]) for place in found[:2])
        raise GuaranteeError(
            f"the model speaks of {visible(name)!r}, which may be the cell {one!r} or {other!r}:"
            " rename one of their levels."
        )
    return found[0]


def _point_in_words(what: str, point: ListedPoint) -> str:
    return f"{what} {short(visible(', '.join(map(str, point))))!r}"
