"""What is charged for swapped records that are about to be drawn."""

from holdfast.account.records import records_charge
from holdfast.certificate.records.model import RecordsCertificate
from holdfast.data.identity import identity_of_batches
from holdfast.data.microdata import Microdata, series
from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.entry import Charge
from holdfast.privacy.records import FilesGuarantee
from holdfast.progress import steps
from holdfast.swapping.design import Columns


def charge_of_records(
    ledger: Ledger,
    records: Microdata,
    columns: Columns,
    guarantee: FilesGuarantee,
    certificate: RecordsCertificate,
) -> Charge:
    """Return what a ledger is told of swapped records; all of them are read for the identity of the file."""
    batches = steps(records.batches(), "telling the file by its records", records.number)
    whole = identity_of_batches([series(column) for column in batch.columns] for batch in batches)
    return records_charge(
        dataset=ledger.fingerprint(whole),
        stratify=columns.stratify,
        swap=columns.swap,
        held=columns.held,
        intensity=guarantee.intensity,
        unit=guarantee.unit,
        scope=guarantee.scope.digest,
        stated=certificate.guarantee.model_dump(mode="json"),
        certificate=certificate.settled,
        header=records.columns,
    )
