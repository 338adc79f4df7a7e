"""Charging releases to a ledger: what a release costs next to all those before it.

terms.py     what a charge states of its release, written and read
records.py   the same of a release of swapped records
joint.py     the joint scope of all releases of one file of records
distance.py  how far apart the files are that it compares
losses.py    what each release of a file loses there
design.py    releases that compose alike, up to how strong they are
book.py      the checkpoint: each file's designs, and what they lose
spending.py  the total with a new charge
release.py   the charge of a release that is about to be drawn
verify.py    an account, and the releases that were charged to it
pufferfish.py  accounts of epsilon-TP, which have rules of their own
"""

from holdfast.account.pufferfish import tp_charge
from holdfast.account.records import records_charge
from holdfast.account.release import charge_of
from holdfast.account.spending import spend
from holdfast.account.terms import new_charge
from holdfast.account.verify import verify_ledger

__all__ = ["charge_of", "new_charge", "records_charge", "spend", "tp_charge", "verify_ledger"]
