"""How fast a ledger is charged, short and long.

python benchmarks/ledger.py                charges a second at 10 and at 10,000 rows
python benchmarks/ledger.py --json         the same for machines: one_design.ratio and many_files.ratio
python benchmarks/ledger.py --rows 1000    a shorter ledger

Every charge is a release of the table of four counties by four levels of education with both margins kept,
composed and committed to the disk. "One design" releases one file again and again, "many files" another file
each time. Beside it: a ledger that reads and judges all rows at each charge, and what verifying takes.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

from holdfast.ledger import store
from holdfast.ledger.account import Ledger
from holdfast.ledger.checkpoint import History, Spent
from holdfast.ledger.composition import spend
from holdfast.ledger.rows import Charge
from holdfast.ledger.verify import verify_ledger
from holdfast.releases.prepare import prepare
from holdfast.spec.example import write_example

FEW = 10
MEASURED = 50
BUDGET = Fraction(10**9)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    parser.add_argument("--rows", type=int, default=10_000, help="the rows of the long ledger")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        charge = example(Path(scratch))
        results = {
            name: measured(Path(scratch) / name, charges(charge), asked.rows)
            for name, charges in (("one_design", one_design), ("many_files", many_files))
        }
    if asked.json:
        print(json.dumps({"rows": asked.rows, **results}, indent=2))
        return
    for name, found in results.items():
        print(
            f"{name.replace('_', ' ')}: {found['at_few']:.0f} charges a second at {FEW} rows,"
            f" {found['at_many']:.0f} at {asked.rows:,} (ratio {found['ratio']:.2f});"
            f" reading all rows each time {found['naive_at_many']:.2f};"
            f" verified from the start in {found['verify_seconds']:.1f} s"
        )


def example(folder: Path) -> Charge:
    """Return the charge of the example that new users start from."""
    write_example(folder)
    account = Ledger.create(folder / "example.ledger", standard="pure", budget=BUDGET)
    row = prepare(folder / "holdfast.toml").release(ledger=account).row
    if row is None:
        raise RuntimeError("the release was not charged")
    return row.charge


def one_design(charge: Charge) -> Callable[[int], Charge]:
    """Return releases of one file."""
    return lambda number: replace(charge, certificate=sha256(str(number).encode()).hexdigest())


def many_files(charge: Charge) -> Callable[[int], Charge]:
    """Return releases of a new file each."""
    return lambda number: replace(charge, dataset=sha256(str(number).encode()).hexdigest())


def measured(path: Path, charges: Callable[[int], Charge], rows: int) -> dict[str, Any]:
    """Return charges a second at few and at many rows, taken in turns."""
    short = Ledger.create(path.with_suffix(".short"), standard="pure", budget=BUDGET)
    long = Ledger.create(path.with_suffix(".long"), standard="pure", budget=BUDGET)
    with unsynced():
        grow(short, charges, FEW)
        grow(long, charges, rows)
        without_disk = rates((short, long), charges)
    few, many = rates((short, long), charges)
    start = perf_counter()
    long.charge(charges(rows + 10**6), reading_all)
    naive = 1 / (perf_counter() - start)
    start = perf_counter()
    check = verify_ledger(long.path)
    if not check.kept:
        raise RuntimeError(check.problems[0])
    return {
        "at_few": few,
        "at_many": many,
        "ratio": few / many,
        "without_disk": dict(zip(("at_few", "at_many"), without_disk, strict=True)),
        "naive_at_many": naive,
        "verify_seconds": perf_counter() - start,
    }


def grow(ledger: Ledger, charges: Callable[[int], Charge], rows: int) -> None:
    """Charge until there are some rows."""
    for number in range(_length(ledger), rows):
        ledger.charge(charges(number), spend)


def rates(ledgers: tuple[Ledger, Ledger], charges: Callable[[int], Charge]) -> tuple[float, float]:
    """Return charges a second, by their median: other work on the disk makes some of them slow."""
    first = [_length(ledger) for ledger in ledgers]
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(MEASURED):
        for ledger, start, taken in zip(ledgers, first, seconds, strict=True):
            begun = perf_counter()
            ledger.charge(charges(start + number), spend)
            taken.append(perf_counter() - begun)
    few, many = (1 / median(taken) for taken in seconds)
    return few, many


def reading_all(history: History, charge: Charge) -> Spent:
    """Compose as a ledger without a checkpoint must: all rows are read and judged first."""
    for index in range(1, len(history) + 1):
        history.row(index)
    return spend(history, charge)


@contextmanager
def unsynced() -> Iterator[None]:
    """Do not wait for the disk: to fill a ledger, and to measure the rest by itself."""
    with patch.object(store, "_durable", lambda connection: connection.execute("PRAGMA synchronous=OFF")):
        yield


def _length(ledger: Ledger) -> int:
    with store.connected(ledger.path) as connection, store.reading(connection):
        return int(str(store.read_tip(connection).heads[0]["length"]))


if __name__ == "__main__":
    main()
