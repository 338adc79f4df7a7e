"""What a charge states of its release, read for composition [theory, 10].

Of a table it is the attributes with their levels and structural zeros, the invariants with their values, the
pairs of tables that its intensity speaks of, and its loss as a function of the distance in records. The
columns of a file of swapped records may be of any type, so no levels are listed and no cells: a charge states
one loss for each record in which two files with the same induced invariants differ, and the joint scope of a
file asks for nothing else.

**Accounts of epsilon-TP and of rho-TP**: releases that share their public facts [theory, 7]. A charge
states its framework by digest, and whether its loss is bounded between any two values of the statistic
within Delta_z. Releases of the same data add up where all of them are so bounded. What no lemma composes is
refused. What is computed from a release and from public facts is free.

A loss of epsilon is one of rho = epsilon^2 / 2 [bun2016, Proposition 1.4], and so it is charged to an
account of rho-TP. No account of epsilon-TP takes a rho.
"""

import json
from collections.abc import Iterator, Mapping
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
from holdfast.lattice.arrays import IntArray
from holdfast.ledger.checkpoint import History, Spent
from holdfast.ledger.rows import MEASURES, OF_SECRETS, Charge, ChargeStandard
from holdfast.privacy.conversion import pure_to_zcdp
from holdfast.privacy.guarantee import Unit
from holdfast.privacy.intensity import GaussianNoise, Intensity
from holdfast.privacy.profile import PerRecord, Profile, intensity_of, profile_of
from holdfast.privacy.pufferfish.guarantee import TPGuarantee
from holdfast.system.errors import GuaranteeError, LedgerError
from holdfast.system.ways import assigned, setting
from holdfast.universe.limits import Limits

NEW = "this release"
"""What messages call the release that is about to be charged; those before it are rows."""


@dataclass(frozen=True, eq=False)
class ChargedInvariant:
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


class ChargedInequality(ChargedInvariant):
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
class ChargedTable:
    """What a charge states of a table; ``name`` says which one it is, for messages."""

    name: str
    schema: Schema
    held: tuple[ChargedInvariant, ...]
    unit: Unit
    intensity: Intensity
    profile: Profile | None
    file: str
    header: frozenset[str] | None
    marks: Mapping[str, str]
    bounds: tuple[ChargedInequality, ...] = ()

    @classmethod
    def of(cls, charge: Charge, name: str) -> "ChargedTable":
        """Read a charge that `new_charge` made."""
        detail, loss = charge.detail, charge.detail["loss"]
        schema = Schema.from_dict(detail["schema"])
        unit, intensity = unit_of(charge), intensity_stated(charge)
        profile = None if loss is None else profile_of(loss)
        if profile is None and unit.adjacency == "unit":
            profile = PerRecord(intensity)  # of several records it is no less
        held = tuple(ChargedInvariant(schema, item) for item in detail["invariants"])
        header = None if detail["header"] is None else frozenset(detail["header"])
        bounds = tuple(ChargedInequality(schema, item) for item in detail["inequalities"])
        return cls(
            name, schema, held, unit, intensity, profile, charge.dataset, header, detail["marks"], bounds
        )

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

    def contradicts(self, other: "ChargedTable") -> bool:
        """Whether no file of records has the margins of both."""
        if None not in (self.records, other.records) and self.records != other.records:
            return True
        return any(other.margins.get(margin, key) != key for margin, key in self.margins.items())


@dataclass(frozen=True, eq=False)
class ChargedRecords:
    """What a charge states of swapped records; ``name`` says which one it is, for messages."""

    name: str
    unit: Unit
    loss: PerRecord
    file: str
    header: frozenset[str] | None
    marks: Mapping[str, str]

    @classmethod
    def of(cls, charge: Charge, name: str) -> "ChargedRecords":
        """Read a charge that `records_charge` made."""
        detail, loss = charge.detail, profile_of(charge.detail["loss"])
        if not isinstance(loss, PerRecord):
            raise newer(name)
        header = None if detail["header"] is None else frozenset(detail["header"])
        return cls(name, unit_of(charge), loss, charge.dataset, header, detail["marks"])


def charged(charge: Charge, name: str) -> ChargedTable | ChargedRecords:
    """Read what a charge states of its table, or of its swapped records."""
    match charge.detail.get("kind"):
        case "table":
            return ChargedTable.of(charge, name)
        case "records":
            return ChargedRecords.of(charge, name)
    raise newer(name)


def newer(name: str) -> LedgerError:
    """Return the refusal to read a charge that this version did not write."""
    return LedgerError(f"{name} of the ledger was charged by a newer Holdfast: update this one.")


def parts_of(charge: Charge) -> Iterator[Charge]:
    """Yield the charge of each table; a charge of one table is its own part."""
    if charge.detail.get("kind") not in ("tables", "files"):
        yield charge
        return
    for table in charge.detail["tables"].values():
        yield Charge(
            dataset=table.get("dataset", charge.dataset),
            scope=table["scope"],
            standard=table["standard"],
            intensity=Fraction(table["intensity"]),
            guarantee={},
            certificate=charge.certificate,
            detail=table["detail"],
        )


def intensity_stated(charge: Charge) -> Intensity:
    """Return what a charge costs alone; of integer Gaussian noise more is known than its rho."""
    match charge.standard, charge.detail.get("loss"):
        case "zcdp", {"kind": "squared"} | {"kind": "form"} | {"kind": "record", "mu": _}:
            return noise_of(charge)
        case "zcdp", None if charge.detail.get("kind") == "tables":
            if all(isinstance(intensity_stated(part), GaussianNoise) for part in parts_of(charge)):
                return noise_of(charge)
    return intensity_of(charge.standard, {MEASURES[charge.standard]: str(charge.intensity)})


def noise_of(charge: Charge, rho: Fraction | None = None) -> GaussianNoise:
    """Return what noise is worth that has the rho of a charge, or another, as its unit has it."""
    longest = 1 if charge.unit["adjacency"] == "semi" else None
    return GaussianNoise.of(charge.intensity if rho is None else rho, longest)


def unit_of(charge: Charge) -> Unit:
    """Return which files a charge compares."""
    told = charge.unit
    distance, records = told["distance"], told["records_per_unit"]
    return Unit(told["name"], told["adjacency"], distance, records, told.get("neighbours", "replace"))


def amount(intensity: Intensity) -> Fraction:
    """Return the one number of a pure, zCDP or Gaussian intensity."""
    return next(iter(intensity.parameters().values()))


ENTRY = sha256(b"holdfast tp").hexdigest()
"""The one entry of the checkpoint: all releases of such an account are of the same data."""


def tp_charge(*, dataset: str, guarantee: TPGuarantee, certificate: str) -> Charge:
    """Return the charge of a release with a guarantee of epsilon-TP or of rho-TP.

    Args:
        dataset: the fingerprint of the file of records, from `Ledger.fingerprint`.
        guarantee: what is proved of the release.
        certificate: the SHA-256 of the certificate's content.

    """
    framework, delta = guarantee.framework, guarantee.delta
    return Charge(
        dataset=dataset,
        scope=framework.digest_of_public,
        standard=guarantee.standard,
        intensity=guarantee.amount,
        guarantee=guarantee.to_dict(),
        certificate=certificate,
        detail={
            "kind": "secrets",
            "framework": framework.digest,
            "pointwise": guarantee.pointwise,
            "delta_z": None if delta is None else str(delta.finite),
        },
    )


def spend_tp(history: History, new: Charge) -> Spent:
    """Return the composed total of epsilon-TP or rho-TP with a new charge, and the checkpoint after it."""
    if history.standard not in OF_SECRETS:
        raise GuaranteeError(
            f"the ledger is for guarantees between datasets, and this release states {_name(new.standard)},"
            " which says nothing of them: charge it to a ledger that was opened for it."
        )
    if new.standard not in OF_SECRETS:
        raise GuaranteeError(
            f"the ledger adds up {_name(history.standard)} for one set of public facts, and this release"
            f" states none: set laws in {setting('privacy')}, or charge another ledger."
        )
    if (history.standard, new.standard) == ("tp", "rho-tp"):
        raise GuaranteeError(
            "the ledger adds up epsilon-TP, and this release states rho-TP, which gives none: set"
            f" {assigned('standard', 'pure')} in {setting('privacy')}, or charge a ledger that was opened"
            " for rho-TP."
        )
    if history.state is not None and history.state["public"] != new.scope:
        raise GuaranteeError(
            "the ledger adds up epsilon-TP given other public facts than this release takes for given: state"
            " the same for all, or open another ledger."
        )
    spent = _spent_on(history, new)
    entry = {
        "dataset": new.dataset,
        "framework": new.detail["framework"],
        "pointwise": new.detail["pointwise"],
        "epsilon": str(spent),
    }
    return Spent(max(history.total, spent), {"public": new.scope}, {ENTRY: entry})


def _spent_on(history: History, new: Charge) -> Fraction:
    """Return what all releases of the data have cost with a charge."""
    before, cost = history.entry(ENTRY), new.intensity
    if history.standard != new.standard:
        cost = pure_to_zcdp(cost).value
    if before is None:
        return cost
    if (before["dataset"], before["framework"]) != (new.dataset, new.detail["framework"]):
        raise GuaranteeError(
            "the ledger has a release of this data in another framework: state the same secrets, laws and"
            " statistic for all of them."
        )
    if not (before["pointwise"] and new.detail["pointwise"]):
        raise GuaranteeError(
            "epsilon-TP alone does not add up over releases of the same data, as two that tell nothing of a"
            " secret may tell it together: use mechanisms that bound the loss between any two values within"
            " Delta_z."
        )
    return Fraction(before["epsilon"]) + cost


def _name(standard: ChargeStandard) -> str:
    return "epsilon-TP" if standard == "tp" else "rho-TP"
