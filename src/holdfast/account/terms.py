"""What a charge states of its release: which tables it compares, and how much it loses between them.

A charge holds all that composition may ask of it later, as JSON: the attributes with their levels and
structural zeros, the invariants with their values, the pairs of tables its intensity speaks of, and its loss
as a function of the distance in records [theory, 10].
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.data.invariants import InvariantBlock
from holdfast.data.schema import Schema
from holdfast.errors import GuaranteeError
from holdfast.lattice.arrays import IntArray
from holdfast.privacy.guarantee import Guarantee, Unit
from holdfast.privacy.intensity import Intensity
from holdfast.privacy.ledger.entry import MEASURES, STANDARDS, Charge, Standard
from holdfast.privacy.ledger.errors import LedgerError
from holdfast.privacy.ledger.files import VERSION
from holdfast.privacy.profile import PerRecord, Profile, intensity_of, profile_of
from holdfast.universe.limits import Limits

TABLES_VERSION = 3
"""The version of the detail of a charge of several tables, each of which is of version 2."""
NEW = "this release"
"""What messages call the release that is about to be charged; those before it are rows."""


def new_charge(
    *,
    dataset: str,
    table: str | None,
    schema: Schema,
    invariants: Sequence[InvariantBlock],
    values: Sequence[IntArray],
    inequalities: Sequence[Mapping[str, Any]] = (),
    guarantee: Guarantee,
    stated: Mapping[str, Any],
    certificate: str,
    header: Sequence[str] | None = None,
    marks: Mapping[str, str] | None = None,
) -> Charge:
    """Return the charge of a release.

    Args:
        dataset: the fingerprint of the file of records, from `Ledger.fingerprint`.
        table: the fingerprint of the table, from `Ledger.table_fingerprint`, by which old rows know it.
        schema: the cells of the table that is released.
        invariants: what it keeps exactly.
        values: the values of each invariant.
        inequalities: the public bounds that leave fewer tables, with their definitions.
        guarantee: what is proved of the release.
        stated: the guarantee as its certificate states it.
        certificate: the SHA-256 of the certificate's content.
        header: the names of all columns of the file.
        marks: the fingerprint of the column of each attribute, by which it is known under another name.

    """
    held = [
        Stated(schema, {**block.to_dict(), "values": value.tolist()})
        for block, value in zip(invariants, values, strict=True)
    ]
    margins = [one.margin for one in held]
    profile = guarantee.profile
    return Charge(
        dataset=dataset,
        scope=guarantee.scope.digest,
        standard=_standard(guarantee.intensity),
        intensity=amount(guarantee.intensity),
        guarantee=stated,
        certificate=certificate,
        detail={
            "version": VERSION,
            "table": table,
            "schema": schema.to_dict(),
            "invariants": [one.item for one in held],
            **({"inequalities": list(inequalities)} if inequalities else {}),
            "cliques": None if None in margins else [sorted(margin or ()) for margin in margins],
            "unit": unit_told(guarantee.unit),
            "loss": None if profile is None else profile.to_dict(),
            "header": None if header is None else sorted(header),
            "marks": dict(marks or {}),
        },
    )


@dataclass(frozen=True, eq=False)
class Stated:
    """An invariant of one release, over the cells of that release."""

    schema: Schema
    item: Mapping[str, Any]

    @cached_property
    def margin(self) -> frozenset[str] | None:
        """The attributes it is the full margin of, the total being that of none; None for anything else."""
        return frozenset(self.item["attributes"]) if self._by_levels and not self.item["where"] else None

    @cached_property
    def involved(self) -> frozenset[str]:
        """The attributes that it depends on."""
        if self._by_levels:
            return frozenset(self.item["attributes"]) | frozenset(self.item["where"])
        return frozenset(self.schema.names)

    def sees(self, name: str, level: str) -> object:
        """Return what it tells apart of the levels of an attribute: equal for levels it treats alike."""
        if name not in self.involved:
            return None
        if name in self.item["attributes"] or name not in self.item["where"]:
            return level
        return level in self.item["where"][name]

    @cached_property
    def counts(self) -> Mapping[tuple[str, ...], int]:
        """The values other than 0, by levels of its attributes in alphabetical order."""
        names, where = list(self.item["attributes"]), self.item["where"]
        places = [names.index(name) for name in sorted(names)]
        levels = [
            [level for level in self.schema.attribute(name).levels if level in where.get(name, (level,))]
            for name in names
        ]
        return {
            tuple(cell[place] for place in places): value
            for cell, value in zip(product(*levels), self.item["values"], strict=True)
            if value
        }

    @cached_property
    def key(self) -> str:
        """A digest that statements of the same invariant share, whatever else their tables are over."""
        if self._by_levels:
            where = {name: sorted(levels) for name, levels in self.item["where"].items()}
            said: object = [sorted(self.item["attributes"]), where, sorted(self.counts.items())]
        else:
            wording = ("name", "labels", "equals")
            said = [self.schema.to_dict(), {k: v for k, v in self.item.items() if k not in wording}]
        return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    @property
    def _by_levels(self) -> bool:
        """Whether its attributes alone tell which records it counts: not with weights or impossible cells."""
        return self.item["kind"] != "weights" and not self.schema.impossible and not self.schema.nestings

    @cached_property
    def block(self) -> InvariantBlock:
        """Its rows."""
        return InvariantBlock.from_dict(self.item, self.schema)

    @property
    def values(self) -> IntArray:
        """The value of each row."""
        return np.array(self.item["values"], dtype=np.int64)


class Bounded(Stated):
    """An inequality of one release, over its cells: public knowledge of the file [theory, 1]."""

    @cached_property
    def key(self) -> str:
        """A digest that statements of the same inequality over the same cells share."""
        said = [self.schema.to_dict(), {k: v for k, v in self.item.items() if k not in ("name", "labels")}]
        return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def limits(self, places: IntArray) -> Limits:
        """Return it over cells, given the cell of its release that each is a part of."""
        rows = csr_array(self.block.matrix[:, places])
        sides = [(1, self.item.get("at_least")), (-1, self.item.get("at_most"))]
        told = [(sign, bound) for sign, bound in sides if bound is not None]
        return Limits(
            csr_array(vstack([sign * rows for sign, _ in told], format="csr")),
            np.repeat([sign * bound for sign, bound in told], rows.shape[0]),
        )


@dataclass(frozen=True, eq=False)
class Terms:
    """What a charge states; ``name`` says which one it is, for messages."""

    name: str
    schema: Schema
    held: tuple[Stated, ...]
    unit: Unit
    intensity: Intensity
    profile: Profile | None
    file: str
    header: frozenset[str] | None
    marks: Mapping[str, str]
    bounds: tuple[Bounded, ...] = ()

    @classmethod
    def of(cls, charge: Charge, name: str) -> "Terms":
        """Read a charge of any version."""
        detail, loss = charge.detail, charge.detail["loss"]
        if detail.get("version", 1) not in (1, VERSION):
            raise LedgerError(f"{name} of the ledger was charged by a newer Holdfast: update this one.")
        schema = Schema.from_dict(detail["schema"])
        unit, intensity = unit_of(charge), intensity_stated(charge)
        profile = None if loss is None else profile_of(loss)
        if profile is None and unit.adjacency == "unit":
            profile = PerRecord(intensity)  # of several records it is no less
        held = tuple(Stated(schema, item) for item in detail["invariants"])
        header = None if detail.get("header") is None else frozenset(detail["header"])
        marks = detail.get("marks", {})
        bounds = tuple(Bounded(schema, item) for item in detail.get("inequalities", ()))
        return cls(name, schema, held, unit, intensity, profile, charge.dataset, header, marks, bounds)

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The attributes of its table."""
        return frozenset(self.schema.names)

    @cached_property
    def margins(self) -> Mapping[frozenset[str], str]:
        """The key of each margin, by its attributes."""
        return {one.margin: one.key for one in self.held if one.margin is not None}

    @cached_property
    def records(self) -> int | None:
        """The number of records, where a margin tells it."""
        return next((sum(one.counts.values()) for one in self.held if one.margin is not None), None)

    def contradicts(self, other: "Terms") -> bool:
        """Whether no file of records has the margins of both."""
        if None not in (self.records, other.records) and self.records != other.records:
            return True
        return any(other.margins.get(margin, key) != key for margin, key in self.margins.items())


def tables_charge(parts: Mapping[str, Charge], *, scope: str, intensity: Intensity, **said: Any) -> Charge:
    """Return the one charge of several tables of a file, from what each would be charged alone.

    It states what holds of all together, and holds the charge of each table [theory, 10].
    """
    first = next(iter(parts.values()))
    return Charge(
        dataset=first.dataset,
        scope=scope,
        standard=_standard(intensity),
        intensity=amount(intensity),
        **said,
        detail={
            "version": TABLES_VERSION,
            "unit": first.detail["unit"],
            "loss": None,  # versions that know of one table only look here before they ask for the version
            "tables": {
                name: {
                    "scope": part.scope,
                    "standard": part.standard,
                    "intensity": str(part.intensity),
                    "detail": part.detail,
                }
                for name, part in parts.items()
            },
        },
    )


def parts_of(charge: Charge) -> Iterator[Charge]:
    """Yield the charge of each table; a charge of one table is its own part."""
    if charge.detail.get("version") != TABLES_VERSION or "tables" not in charge.detail:
        yield charge
        return
    for table in charge.detail["tables"].values():
        yield Charge(
            dataset=charge.dataset,
            scope=table["scope"],
            standard=table["standard"],
            intensity=Fraction(table["intensity"]),
            guarantee={},
            certificate=charge.certificate,
            detail=table["detail"],
        )


def intensity_stated(charge: Charge) -> Intensity:
    """Return what a charge costs alone."""
    return intensity_of(charge.standard, {MEASURES[charge.standard]: str(charge.intensity)})


def unit_of(charge: Charge) -> Unit:
    """Return which files a charge compares."""
    told = charge.unit
    noun, records = told.get("name", "record"), told.get("records_per_unit", 1)
    return Unit(noun, told["adjacency"], told["distance"], records)


def unit_told(unit: Unit) -> dict[str, Any]:
    """Return what a charge says of a unit; of one record, what it always said."""
    told: dict[str, Any] = {"adjacency": unit.adjacency, "distance": unit.distance}
    several = {"records_per_unit": unit.records} if unit.records > 1 else {}
    return {**({} if unit.name == "record" else {"name": unit.name}), **told, **several}


def amount(intensity: Intensity) -> Fraction:
    """Return the one number of a pure, zCDP or Gaussian intensity."""
    return next(iter(intensity.parameters().values()))


def _standard(intensity: Intensity) -> Standard:
    for standard in STANDARDS:
        if intensity.standard == standard:
            return standard
    raise GuaranteeError(
        f"a ledger adds up epsilon, rho or mu, and this guarantee is {intensity.standard}: set standard ="
        ' "pure" or "zcdp" in [privacy], with a mechanism that draws exactly (without chain = true).'
    )
