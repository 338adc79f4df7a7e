"""The charge of a release: all that composition may ask of it later, as JSON [theory, 10].

It is of one table, of swapped records, of secrets (see `holdfast.ledger.charged`), or of several tables,
each of which is a part of it. `holdfast.ledger.charged` reads it again.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from holdfast.certificate.model import Certificate
from holdfast.data.invariants import InvariantBlock
from holdfast.data.read import ReadTable
from holdfast.data.schema import Schema
from holdfast.lattice.arrays import IntArray
from holdfast.ledger.account import Ledger
from holdfast.ledger.charged import amount, tp_charge
from holdfast.ledger.rows import OF_SECRETS, STANDARDS, Charge, ChargeStandard
from holdfast.privacy.guarantee import Guarantee, Unit
from holdfast.privacy.intensity import Intensity, Pure
from holdfast.privacy.profile import PerRecord
from holdfast.privacy.pufferfish.guarantee import TPGuarantee
from holdfast.public import Public
from holdfast.system.errors import GuaranteeError
from holdfast.system.text import canonical
from holdfast.system.ways import assigned, setting


def charge_of(
    ledger: Ledger,
    reading: ReadTable,
    public: Public,
    guarantee: Guarantee,
    certificate: Certificate,
    secrets: TPGuarantee | None = None,
) -> Charge:
    """Return what a ledger is told of a release that is about to be drawn, and of its secrets."""
    dataset = ledger.fingerprint(reading.identity)
    _require_before(ledger, public)
    if ledger.standard in OF_SECRETS and secrets is not None:
        return tp_charge(dataset=dataset, guarantee=secrets, certificate=certificate.settled)
    return new_charge(
        dataset=dataset,
        schema=public.schema,
        invariants=[held.block for held in public.invariants],
        values=[held.values for held in public.invariants],
        inequalities=[floor.to_dict() for floor in public.binding],
        guarantee=guarantee,
        stated=certificate.guarantee.model_dump(mode="json"),
        certificate=certificate.settled,
        header=reading.header,
        marks={name: ledger.fingerprint(mark) for name, mark in reading.marks.items()},
    )


def _require_before(ledger: Ledger, public: Public) -> None:
    """Raise where a release that is kept as it was stands in no row: its loss adds to that of this one."""
    charged = {row.charge.certificate for row in ledger.rows()} if public.published else set()
    for each in public.published:
        if each.source and each.source not in charged:
            raise GuaranteeError(
                f"what was published before cost {each.cost}, and {ledger.path} has no row of that"
                " release: charge"
                " both to one ledger, as whoever sees both has the losses of both."
            )


def new_charge(
    *,
    dataset: str,
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
    profile = guarantee.profile
    return Charge(
        dataset=dataset,
        scope=guarantee.scope.digest,
        standard=_standard(guarantee.intensity),
        intensity=amount(guarantee.intensity),
        guarantee=stated,
        certificate=certificate,
        detail={
            "kind": "table",
            "schema": schema.to_dict(),
            "invariants": [
                {**block.to_dict(), "values": value.tolist()}
                for block, value in zip(invariants, values, strict=True)
            ],
            "inequalities": list(inequalities),
            "unit": _unit(guarantee.unit),
            "loss": None if profile is None else profile.to_dict(),
            "header": None if header is None else sorted(header),
            "marks": dict(marks or {}),
        },
    )


def records_charge(
    *,
    dataset: str,
    stratify: Sequence[str],
    swap: Sequence[str],
    held: Sequence[str],
    intensity: Pure,
    unit: Unit,
    scope: str,
    stated: Mapping[str, Any],
    certificate: str,
    header: Sequence[str] | None = None,
    marks: Mapping[str, str] | None = None,
) -> Charge:
    """Return the charge of a release of swapped records.

    Args:
        dataset: the fingerprint of the file of records, from `Ledger.fingerprint`.
        stratify: the columns within whose levels records are swapped.
        swap: the columns that move.
        held: all other columns, which stay with their record.
        intensity: what is lost for each ``unit.distance`` records in which two files differ.
        unit: whom it protects, with adjacency "unit"; a record is what moves, so a household is one of them.
        scope: the digest of the induced and mandated invariants, by which equal scopes are known.
        stated: the guarantee as its certificate states it.
        certificate: the SHA-256 of the certificate's content.
        header: the names of all columns of the file.
        marks: the fingerprint of columns, by which they are known under another name.

    """
    if unit.adjacency != "unit":
        raise GuaranteeError(
            "what swapping loses is known for each record in which two files differ: set"
            f" {assigned('adjacency', 'unit')} in {setting('privacy')}."
        )
    loss = PerRecord(Pure(intensity.epsilon / unit.distance))
    return Charge(
        dataset=dataset,
        scope=scope,
        standard="pure",
        intensity=intensity.epsilon,
        guarantee=stated,
        certificate=certificate,
        detail={
            "kind": "records",
            "stratify": sorted(stratify),
            "swap": sorted(swap),
            "held": sorted(held),
            "unit": _unit(unit),
            "loss": loss.to_dict(),
            "header": None if header is None else sorted(header),
            "marks": dict(marks or {}),
        },
    )


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
            "kind": "tables",
            "unit": first.detail["unit"],
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


def files_charge(
    parts: Mapping[str, Charge],
    *,
    scope: str,
    guarantee: Guarantee,
    stated: Mapping[str, Any],
    certificate: str,
) -> Charge:
    """Return the one charge of tables of several files, from what each would be charged alone.

    It states what any unit loses at most, and holds the charge of each table with its file and its unit:
    losses of different units are not added [theory, 16].
    """
    return Charge(
        dataset=sha256(canonical([part.dataset for part in parts.values()]).encode()).hexdigest(),
        scope=scope,
        standard=_standard(guarantee.intensity),
        intensity=amount(guarantee.intensity),
        guarantee=stated,
        certificate=certificate,
        detail={
            "kind": "files",
            "unit": _unit(guarantee.unit),
            "tables": {
                name: {
                    "dataset": part.dataset,
                    "scope": part.scope,
                    "standard": part.standard,
                    "intensity": str(part.intensity),
                    "detail": part.detail,
                }
                for name, part in parts.items()
            },
        },
    )


def _unit(unit: Unit) -> dict[str, Any]:
    """Return what a charge says of a unit."""
    return {
        "name": unit.name,
        "adjacency": unit.adjacency,
        "distance": unit.distance,
        "records_per_unit": unit.records,
        **({"neighbours": unit.neighbours} if unit.neighbours != "replace" else {}),
    }


def _standard(intensity: Intensity) -> ChargeStandard:
    for standard in STANDARDS:
        if intensity.standard == standard:
            return standard
    raise GuaranteeError(
        f"a ledger adds up epsilon, rho or mu, and this guarantee is {intensity.standard}: set"
        f' {assigned("standard", "pure")} or "zcdp" in {setting("privacy")}, with a mechanism that draws'
        f" exactly (without {assigned('chain', True)})."
    )
