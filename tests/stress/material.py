"""Valid files of every kind, which trials change: specs, tables, releases, a ledger and keys."""

import shutil
from fractions import Fraction
from pathlib import Path

import polars as pl
from tests.example import written
from tests.mechanisms.swapping.small import KINDS, asked, households

import holdfast
from holdfast.certificate.sign import generate_keys, read_signing_key
from holdfast.ledger.account import Ledger


def material(room: Path) -> Path:
    """Return a folder with all of it, beside a room: trials of one run share it."""
    folder = room.parent / "material"
    if folder.exists():
        return folder
    folder.mkdir()
    spec = written(folder)
    pl.read_csv(folder / "children.csv").write_parquet(folder / "children.parquet")
    key = read_signing_key(generate_keys(folder / "key")[0])
    ledger = Ledger.create(folder / "account.db", standard="pure", budget=Fraction(100))
    holdfast.release(spec, folder / "csv", ledger=ledger, key=key)
    for name in ("", ".salt"):
        shutil.copy2(folder / f"account.db{name}", folder / f"older.db{name}")
    holdfast.release(spec, folder / "parquet", ledger=ledger, key=key, parquet=True)
    holdfast.release(spec, folder / "later", ledger=ledger, key=key)
    holdfast.release(
        asked(**KINDS["records"]), folder / "swapped", data=households(), key=key, accept_no_protection=True
    )
    return folder


def ledger_at(material: Path, folder: Path) -> Path:
    """Copy the ledger and its salt to a folder of their own."""
    for name in ("account.db", "account.db.salt"):
        shutil.copy2(material / name, folder / name)
    return folder / "account.db"
