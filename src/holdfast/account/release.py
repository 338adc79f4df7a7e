"""Charging a release that is about to be drawn."""

from pathlib import Path

from holdfast.account.spending import spend
from holdfast.account.terms import new_charge
from holdfast.certificate.model import Certificate
from holdfast.data.read import Reading
from holdfast.privacy.guarantee import Guarantee
from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.entry import Charge, Row
from holdfast.public import Public


def charge_release(
    ledger: Ledger,
    reading: Reading,
    public: Public,
    guarantee: Guarantee,
    certificate: Certificate,
    *,
    draft: Path | None = None,
) -> Row:
    """Commit the cost of a release that is about to be drawn; raises, charging nothing, if it is too much."""
    charge = _charge(ledger, reading, public, guarantee, certificate)
    return ledger.charge(charge, spend, draft=draft)


def resume_release(
    ledger: Ledger,
    index: int,
    reading: Reading,
    public: Public,
    guarantee: Guarantee,
    certificate: Certificate,
    *,
    draft: Path,
) -> Row:
    """Let a release be drawn for a row that was charged for it, if nothing of that row was handed over."""
    return ledger.resume(index, _charge(ledger, reading, public, guarantee, certificate), draft=draft)


def _charge(
    ledger: Ledger, reading: Reading, public: Public, guarantee: Guarantee, certificate: Certificate
) -> Charge:
    return new_charge(
        dataset=ledger.fingerprint(reading.identity),
        table=ledger.table_fingerprint(public.schema.to_dict(), reading.table.counts),
        schema=public.schema,
        invariants=[held.block for held in public.invariants],
        values=[held.values for held in public.invariants],
        guarantee=guarantee,
        stated=certificate.guarantee.model_dump(mode="json"),
        certificate=certificate.settled,
        header=reading.header,
        marks={name: ledger.fingerprint(mark) for name, mark in reading.marks.items()},
    )
