"""Tampering: a release or a ledger that was changed is never taken for the one that was kept."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from fnmatch import fnmatchcase
from pathlib import Path

from tests.certificate.falsify import forgeries, write
from tests.certificate.unclaimed import CLAIMS_NOTHING, OF_RECORDS
from tests.stress.material import ledger_at, material
from tests.stress.trial import Outcome, Setting, Trial
from tests.stress.workers import Bench, inputs

from holdfast.certificate.sign import read_public_key, signature_check
from holdfast.ledger.report import export_json
from holdfast.ledger.verify import verify_ledger
from holdfast.verification.verify import verify

SIGNATURE, CERTIFICATE = "certificate.sig", "certificate.json"


def _release(bench: Bench) -> Path:
    name = bench.chance.choice(("csv", "parquet", "swapped"))
    return Path(shutil.copytree(bench.material / name, bench.folder / "release"))


def _found(folder: Path, bench: Bench) -> str | None:
    """Say that neither way of verifying finds a change."""
    signed = signature_check(
        folder, (folder / CERTIFICATE).read_bytes(), read_public_key(bench.material / "key.pub")
    )
    if not signed.holds:
        return None
    if verify(folder, quick=True).kept:
        return "verify --quick does not find it"
    return "verify does not find it" if verify(folder).kept else None


def a_byte(bench: Bench) -> str | None:
    """Change one byte of one file; of the signature, its key must tell."""
    folder = _release(bench)
    path = bench.chance.choice(sorted(folder.iterdir()))
    content = bytearray(path.read_bytes())
    content[bench.chance.randrange(len(content))] ^= bench.chance.randrange(1, 256)
    path.write_bytes(content)
    if path.name == SIGNATURE:
        return _found(folder, bench)
    quick, full = verify(folder, quick=True).kept, verify(folder).kept
    return f"{path.name}: quick {quick}, full {full}" if quick or full else None


def a_file(bench: Bench) -> str | None:
    """Cut a file, swap it for that of another release, or put another thing in its place."""
    folder = _release(bench)
    files = [path for path in sorted(folder.iterdir()) if path.name != SIGNATURE]
    path = bench.chance.choice(files)
    content = path.read_bytes()
    how = bench.chance.choice(("cut", "longer", "another's", "gone", "link", "pipe", "folder", "device"))
    path.unlink()
    if how == "cut":
        path.write_bytes(content[: bench.chance.randrange(len(content))])
    elif how == "longer":
        path.write_bytes(content + bench.chance.choice((b"\n", b" ", b"\0", b"x,1\n")))
    elif how == "another's":
        other = next(
            (
                bench.material / name / path.name
                for name in ("later", "parquet")
                if (bench.material / name / path.name).exists()
                and (bench.material / name / path.name).read_bytes() != content
            ),
            None,
        )
        path.write_bytes(content[1:] if other is None else other.read_bytes())
    elif how == "link":
        (bench.folder / "aim").write_bytes(content[:-1])
        path.symlink_to(bench.folder / "aim")
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    elif how == "device":
        path.symlink_to("/dev/zero")
    quick, full = verify(folder, quick=True).kept, verify(folder).kept
    return f"{path.name}, {how}: quick {quick}, full {full}" if quick or full else None


def a_field(bench: Bench) -> str | None:
    """Falsify a field of a certificate, and make every hash right again."""
    folder = _release(bench)
    before = json.loads((folder / CERTIFICATE).read_text(encoding="utf-8"))
    forgery = next(forgeries(before, bench.chance, 1))
    write(folder, forgery.content, page=True)
    unclaimed = OF_RECORDS if before["parts"][0]["kind"] == "records" else CLAIMS_NOTHING
    excused = any(fnmatchcase(forgery.name, item.place) for item in unclaimed)
    return f"{forgery.name} {forgery.what}" if verify(folder).kept and not excused else None


def ledger_byte(bench: Bench) -> str | None:
    """Change bytes of a ledger, or cut it: it is found, or the account is what it was."""
    path = ledger_at(bench.material, bench.folder)
    before = export_json(path)
    content = bytearray(path.read_bytes())
    if bench.chance.random() < 0.1:
        del content[bench.chance.randrange(len(content)) :]
    else:
        for _ in range(bench.chance.choice((1, 1, 2, 20))):
            content[bench.chance.randrange(len(content))] ^= bench.chance.randrange(1, 256)
    path.write_bytes(content)
    if not verify_ledger(path).kept:
        return None
    return None if export_json(path) == before else "another account is kept"


def ledger_salt(bench: Bench) -> str | None:
    """Change the salt."""
    path = ledger_at(bench.material, bench.folder)
    salt = Path(f"{path}.salt")
    text = list(salt.read_text())
    place = bench.chance.randrange(len(text) - 1)
    text[place] = bench.chance.choice("0123456789abcdef".replace(text[place], ""))
    salt.write_text("".join(text))
    return "another salt is taken" if verify_ledger(path).kept else None


def ledger_row(bench: Bench) -> str | None:
    """Change, remove or copy something by SQL, with the triggers taken away and put back."""
    path = ledger_at(bench.material, bench.folder)
    releases = [bench.material / name for name in ("csv", "parquet", "later")]
    before = _dumped(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        tables = ("opening", "charges", "completions", "head", "entries", "nodes")
        there = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = bench.chance.choice([name for name in tables if name in there])
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        if not count:
            table, columns = "charges", [row[1] for row in connection.execute("PRAGMA table_info(charges)")]
            count = 3
        column, place = bench.chance.choice(columns), bench.chance.randrange(count)
        values = ("0", "1", "''", "NULL", "'x'", "1e308", "9223372036854775807", f"\"{column}\" || '0'")
        statement = bench.chance.choice(
            (f"DELETE FROM {table}", f'UPDATE {table} SET "{column}" = {bench.chance.choice(values)}')
        )
        some = f' WHERE "{column}" = (SELECT "{column}" FROM {table} LIMIT 1 OFFSET {place})'
        try:
            connection.execute(statement + some)
        except sqlite3.IntegrityError:
            connection.execute(f"DELETE FROM {table}")
        for _, sql in triggers:
            connection.execute(sql)
    if _dumped(path) == before:
        return None
    found = not verify_ledger(path).kept or not verify_ledger(path, releases=releases).kept
    return None if found else f"not found: {statement}"


def _dumped(path: Path) -> list[str]:
    """Return all that is in the tables."""
    with closing(sqlite3.connect(path)) as connection:
        return sorted(line for line in connection.iterdump() if line.startswith("INSERT"))


def ledger_older(bench: Bench) -> str | None:
    """Put an older copy in its place: the releases tell."""
    for name in ("", ".salt"):
        shutil.copy2(bench.material / f"older.db{name}", bench.folder / f"account.db{name}")
    later = bench.material / bench.chance.choice(("parquet", "later"))
    kept = verify_ledger(bench.folder / "account.db", releases=[bench.material / "csv", later]).kept
    return "an older copy is taken" if kept else None


def releases(setting: Setting) -> Outcome:
    """Change bytes and files of releases."""
    return inputs(setting, (a_byte, a_file), material(setting.folder))


def fields(setting: Setting) -> Outcome:
    """Falsify fields of certificates."""
    return inputs(setting, (a_field,), material(setting.folder))


def ledgers(setting: Setting) -> Outcome:
    """Change ledgers."""
    attempts = (ledger_byte, ledger_row, ledger_byte, ledger_salt, ledger_row)
    return inputs(setting, attempts, material(setting.folder))


def older(setting: Setting) -> Outcome:
    """Put older copies of ledgers in their place."""
    return inputs(setting, (ledger_older,), material(setting.folder))


TRIALS = (
    Trial("release: bytes and files", 300, 2000, releases),
    Trial("certificate: fields, resealed", 80, 400, fields),
    Trial("ledger: bytes, rows, salt", 300, 2000, ledgers),
    Trial("ledger: an older copy", 5, 20, older),
)
