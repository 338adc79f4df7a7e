"""What is charged for a release that is about to be drawn."""

from holdfast.account.pufferfish import tp_charge
from holdfast.account.terms import new_charge
from holdfast.certificate.model import Certificate
from holdfast.data.read import Reading
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.entry import OF_SECRETS, Charge
from holdfast.privacy.pufferfish.guarantee import TPGuarantee
from holdfast.public import Public


def charge_of(
    ledger: Ledger,
    reading: Reading,
    public: Public,
    guarantee: Guarantee,
    certificate: Certificate,
    secrets: TPGuarantee | None = None,
) -> Charge:
    """Return what a ledger is told of a release that is about to be drawn, and of its secrets."""
    dataset = ledger.fingerprint(reading.identity)
    if ledger.standard in OF_SECRETS and secrets is not None:
        return tp_charge(dataset=dataset, guarantee=secrets, certificate=certificate.settled)
    return new_charge(
        dataset=dataset,
        table=ledger.table_fingerprint(public.schema.to_dict(), reading.table.counts),
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
