"""An account of privacy budget: one file, append-only, in exact rationals, charged before anything is drawn.

ledger = Ledger.create("census.ledger", standard="pure", budget=Fraction(1))
row = ledger.charge(charge, spend)     # durable when it returns; only then may a release be drawn
ledger.complete(row.index, ...)        # durable as well; only then may anybody see the release
verify_ledger("census.ledger").kept    # every row, both chains, the head and the seals

A release needs the row that `charge` returns, and the row exists only once its transaction is on the disk.
So a crash before the commit leaves neither charge nor release, and a crash after it wastes the charge: no
order of events gives a release without its charge. What is imported here is light.

rows.py         row 0, rows, completions and the head: the values of the file
chain.py        hashes and seals, the judgement of a whole ledger; the secret beside it, and fingerprints of
                confidential files
store.py        the file: SQLite's tables, connections and transactions
opening.py      a new ledger appears whole, beside its salt
checkpoint.py   what composition sees of the rows so far, and leaves for the next
account.py      `Ledger`: charged once a release, and told when it is handed over
report.py       what an account says, and its export

charge.py       the charge of a release that is about to be drawn
charged.py      what a charge states, read again; accounts of epsilon-TP, which have rules of their own
scope.py        the joint scope of all releases of one file of records
losses.py       how far apart the files are that it compares, and what each release loses there
composition.py  the total with a new charge
verify.py       an account composed again, and releases held against their rows
"""

from holdfast.ledger.account import Ledger
from holdfast.ledger.chain import fingerprint, read_salt, salt_path
from holdfast.ledger.checkpoint import History, Spend, Spent
from holdfast.ledger.report import LedgerReport, export, export_csv, export_json, ledger_report
from holdfast.ledger.rows import MEASURES, STANDARDS, Charge, ChargeStandard, Completion, Opening, Row
from holdfast.system.errors import BudgetError, FormatError, LedgerError

__all__ = [
    "MEASURES",
    "STANDARDS",
    "BudgetError",
    "Charge",
    "ChargeStandard",
    "Completion",
    "FormatError",
    "History",
    "Ledger",
    "LedgerError",
    "LedgerReport",
    "Opening",
    "Row",
    "Spend",
    "Spent",
    "export",
    "export_csv",
    "export_json",
    "fingerprint",
    "ledger_report",
    "read_salt",
    "salt_path",
]
