"""A second reader of releases of Holdfast: files, hashes, signature, invariants and constraints.

It shares no line with the program that makes releases, and needs Python alone. What a guarantee is worth is
not derived here.

    record.py     the text of a certificate: one form, one digest
    cells.py      the cells of a table, and sums over them
    tables.py     a released table against all that it keeps
    records.py    released records: fingerprints and counts
    processed.py  a table that was processed after its release
    ed25519.py    signatures
    folder.py     all checks of one folder
    cli.py        the command
"""

from holdfast_verify.folder import Verification, verify
from holdfast_verify.record import NoReleaseError
from holdfast_verify.tables import Check

__all__ = ["Check", "NoReleaseError", "Verification", "verify"]
