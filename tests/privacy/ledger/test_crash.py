"""Many processes, and processes that die: no charge is lost and none is taken twice."""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from fractions import Fraction
from pathlib import Path

from tests.privacy.ledger.accounts import add, charge, filled

from holdfast.privacy.ledger import Ledger, verify_ledger

COMMON = """
import os, sys, time
from fractions import Fraction
from holdfast.privacy.ledger import BudgetError, Charge, Ledger

path = sys.argv[1]
one = Charge("a" * 64, "b" * 64, "pure", Fraction(1), {}, "c" * 64, {"process": os.getpid()})

def add(rows, new):
    return sum((row.charge.intensity for row in rows), Fraction(0)) + new.intensity
"""
ONCE = """
while not os.path.exists(path + ".go"):
    time.sleep(0.005)
try:
    Ledger.open(path).charge(one, add)
except BudgetError:
    sys.exit(3)
"""
FOREVER = """
markers = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
ledger = Ledger.open(path)
print("ready", flush=True)
while True:
    ledger.charge(one, add)
    os.write(markers, b"x")
"""
IN_SPEND = """
import signal
Ledger.open(path).charge(one, lambda rows, new: os.kill(os.getpid(), signal.SIGKILL))
"""
AFTER_CHARGE = """
Ledger.open(path).charge(one, add)
os.abort()
"""


def start(script: str, *arguments: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", COMMON + script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def finish(process: "subprocess.Popen[bytes]") -> int:
    process.communicate(timeout=60)
    return process.returncode


def test_forty_processes_take_what_is_there_for_ten(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a", standard="pure", budget=Fraction(10))
    processes = [start(ONCE, ledger.path) for _ in range(40)]
    Path(f"{ledger.path}.go").touch()
    codes = [finish(process) for process in processes]
    assert sorted(codes) == [0] * 10 + [3] * 30
    rows = ledger.rows()
    assert len({row.charge.detail["process"] for row in rows}) == 10
    assert ledger.left() == 0
    assert verify_ledger(ledger.path).kept


def test_killed_at_any_moment_no_charge_is_lost(tmp_path: Path) -> None:
    """Each release (a marker) has its charge, and each kill wastes at most one."""
    ledger = Ledger.create(tmp_path / "a", standard="pure", budget=Fraction(10**6))
    markers, rng, kills = tmp_path / "markers", random.Random(11), 40
    for _ in range(kills):
        process = start(FOREVER, ledger.path, markers)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0, 0.03))
        process.kill()
        assert finish(process) == -signal.SIGKILL
        check = verify_ledger(ledger.path)
        assert check.kept, check.problems
    drawn, charged = markers.stat().st_size, len(ledger.rows())
    assert drawn <= charged <= drawn + kills
    assert drawn > 0


def test_a_death_while_composing_takes_nothing_and_frees_the_lock(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    assert finish(start(IN_SPEND, ledger.path)) == -signal.SIGKILL
    assert len(ledger.rows()) == 3
    assert ledger.charge(charge(), add).index == 4


def test_a_death_between_charge_and_release_leaves_the_charge(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    assert finish(start(AFTER_CHARGE, ledger.path)) == -signal.SIGABRT
    assert len(ledger.rows()) == 4
    assert verify_ledger(ledger.path).kept
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.salt"]


def test_a_half_written_file_with_its_journal_is_rolled_back(tmp_path: Path) -> None:
    """What a killed process leaves: pages already overwritten, and the journal that undoes them."""
    ledger = filled(tmp_path / "a", rows=20, budget=Fraction(50))
    left = tmp_path / "left"
    left.mkdir()
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA cache_size=1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DROP TRIGGER charges_no_update")
        connection.execute("UPDATE charges SET detail = hex(zeroblob(3000))")
        connection.execute("CREATE TABLE more AS SELECT zeroblob(1000000)")  # too much for the cache
        for name in ("a", "a.salt", "a-journal"):
            shutil.copy(tmp_path / name, left / name)
        connection.execute("ROLLBACK")
    assert (left / "a").read_bytes() != ledger.path.read_bytes()
    check = verify_ledger(left / "a")
    assert (check.kept, check.rows) == (True, 20)
    assert not (left / "a-journal").exists()
    assert Ledger.open(left / "a").charge(charge(), add).index == 21
