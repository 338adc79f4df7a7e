"""An account of privacy budget: one file, append-only, in exact rationals, charged before anything is drawn.

ledger = Ledger.create("census.ledger", standard="pure", budget=Fraction(1))
row = ledger.charge(charge, spend)     # durable when it returns; only then may a release be drawn
ledger.complete(row.index, ...)        # durable as well; only then may anybody see the release
verify_ledger("census.ledger").kept    # every row, both chains, the head and the seals

A release needs the row that `charge` returns, and the row exists only once its transaction is on the disk.
So a crash before the commit leaves neither charge nor release, and a crash after it wastes the charge: no
order of events gives a release without its charge. It imports nothing heavy.
"""

from holdfast.privacy.ledger.account import Ledger
from holdfast.privacy.ledger.entry import MEASURES, STANDARDS, Charge, Completion, Opening, Row, Standard
from holdfast.privacy.ledger.errors import BudgetError, FormatError, LedgerError
from holdfast.privacy.ledger.export import export, export_csv, export_json
from holdfast.privacy.ledger.files import files
from holdfast.privacy.ledger.past import Past, Spend, Spent
from holdfast.privacy.ledger.report import LedgerReport, ledger_report
from holdfast.privacy.ledger.salt import fingerprint, read_salt, salt_path, table_fingerprint
from holdfast.privacy.ledger.verify import LedgerCheck, verify_ledger

__all__ = [
    "MEASURES",
    "STANDARDS",
    "BudgetError",
    "Charge",
    "Completion",
    "FormatError",
    "Ledger",
    "LedgerCheck",
    "LedgerError",
    "LedgerReport",
    "Opening",
    "Past",
    "Row",
    "Spend",
    "Spent",
    "Standard",
    "export",
    "export_csv",
    "export_json",
    "files",
    "fingerprint",
    "ledger_report",
    "read_salt",
    "salt_path",
    "table_fingerprint",
    "verify_ledger",
]
