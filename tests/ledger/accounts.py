"""Ledgers to test with, the simplest composition, and a hand that changes files behind Holdfast's back."""

import sqlite3
from contextlib import closing
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from holdfast.ledger import Charge, History, Ledger, Spent
from holdfast.ledger.verify import LedgerCheck, examine


def charge(intensity: Fraction | int = Fraction(1, 3), name: str = "one") -> Charge:
    return Charge(
        dataset=sha256(b"table").hexdigest(),
        scope=sha256(name.encode()).hexdigest(),
        standard="pure",
        intensity=Fraction(intensity),
        guarantee={"statement": f"à propos {name}", "intensity": {"epsilon": str(intensity)}},
        certificate=sha256(b"certificate" + name.encode()).hexdigest(),
        detail={"invariants": [name, 1, None]},
    )


def add(history: History, new: Charge) -> Spent:
    return Spent(history.total + new.intensity, {}, {})


def filled(path: Path, rows: int = 3, budget: Fraction = Fraction(5)) -> Ledger:
    ledger = Ledger.create(path, standard="pure", budget=budget)
    for number in range(rows):
        ledger.charge(charge(Fraction(1, number + 2), f"release {number}"), add)
    return ledger


def verify_stored(path: Path, **options: Any) -> LedgerCheck:
    """Verify all but the totals, which `add` composes by a rule of its own."""
    return examine(path, **options)[0]


def tamper(path: Path, *statements: str | tuple[str, tuple[object, ...]]) -> None:
    """Change a file by raw SQL, and put the triggers back as if they had never been gone."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA journal_mode=MEMORY")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            if isinstance(statement, str):
                connection.execute(statement)
            else:
                connection.execute(*statement)
        for _, sql in triggers:
            connection.execute(sql)
