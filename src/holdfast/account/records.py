"""What a charge states of a release of swapped records [theory, 10].

The columns of a file of records may be of any type, so no levels are listed and no cells: a charge names the
columns of the swap, and states one loss for each record in which two files with the same induced invariants
differ. Composition on the joint scope of a file asks for nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.account.terms import unit_of, unit_told
from holdfast.errors import GuaranteeError
from holdfast.privacy.guarantee import Unit
from holdfast.privacy.intensity import Pure
from holdfast.privacy.ledger.entry import Charge
from holdfast.privacy.ledger.errors import LedgerError
from holdfast.privacy.profile import PerRecord, profile_of

VERSION = 4
"""The version of the detail of a charge of swapped records."""


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
            "what swapping loses is known for each record in which two files differ: set adjacency ="
            ' "unit" in [privacy].'
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
            "version": VERSION,
            "stratify": sorted(stratify),
            "swap": sorted(swap),
            "held": sorted(held),
            "unit": unit_told(unit),
            "loss": loss.to_dict(),
            "header": None if header is None else sorted(header),
            "marks": dict(marks or {}),
        },
    )


@dataclass(frozen=True, eq=False)
class Swapped:
    """What a charge of swapped records states; ``name`` says which one it is, for messages."""

    name: str
    unit: Unit
    loss: PerRecord
    file: str
    header: frozenset[str] | None
    marks: Mapping[str, str]

    @classmethod
    def of(cls, charge: Charge, name: str) -> "Swapped":
        """Read a charge that `records_charge` made."""
        detail, loss = charge.detail, profile_of(charge.detail["loss"])
        if not isinstance(loss, PerRecord):
            raise LedgerError(f"{name} of the ledger was charged by a newer Holdfast: update this one.")
        header = None if detail["header"] is None else frozenset(detail["header"])
        return cls(name, unit_of(charge), loss, charge.dataset, header, detail["marks"])
