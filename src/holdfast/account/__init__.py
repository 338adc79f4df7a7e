"""Charging releases to a ledger: what a release costs next to all those before it.

terms.py     what a charge states of its release, written and read
joint.py     the joint scope of all releases of one file of records
distance.py  how far apart the files are that it compares
losses.py    what each release of a file loses there
spending.py  the total of a history and a new charge
release.py   a release that is about to be drawn
"""

from holdfast.account.release import charge_release
from holdfast.account.spending import spend
from holdfast.account.terms import new_charge

__all__ = ["charge_release", "new_charge", "spend"]
