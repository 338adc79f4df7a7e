"""What is charged for swapped records that are about to be drawn."""

from holdfast.account.records import records_charge
from holdfast.certificate.records.model import RecordsCertificate
from holdfast.data.identity import identity
from holdfast.data.microdata import Microdata, series
from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.entry import Charge
from holdfast.privacy.records import FilesGuarantee
from holdfast.progress import doing
from holdfast.swapping.design import Columns


def charge_of_records(
    ledger: Ledger,
    records: Microdata,
    columns: Columns,
    guarantee: FilesGuarantee,
    certificate: RecordsCertificate,
) -> Charge:
    """Return what a ledger is told of swapped records; their file is read whole for its identity."""
    with doing("telling the file by its records"):
        dataset = ledger.fingerprint(identity([series(column) for column in records.whole().columns]))
    return records_charge(
        dataset=dataset,
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
