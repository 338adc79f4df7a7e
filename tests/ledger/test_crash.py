"""Many processes, and processes that die: no charge is lost and none is taken twice."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest
from tests.ledger.accounts import add, charge, filled, verify_stored
from tests.ledger.deaths import PATIENCE, killed

from holdfast.ledger import Ledger

COMMON = """
import os, sys, time
from fractions import Fraction
from holdfast.ledger import BudgetError, Charge, Ledger, Spent

path = sys.argv[1]
one = Charge("a" * 64, "b" * 64, "pure", Fraction(1), {}, "c" * 64, {"process": os.getpid()})

def add(history, new):
    return Spent(history.total + new.intensity, {}, {})
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
ledger = Ledger.open(path)
while True:
    ledger.charge(one, add)
    os.write(1, b"x")
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
    process.communicate(timeout=PATIENCE)
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
    assert verify_stored(ledger.path).kept


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be copied")
def test_killed_at_any_step_a_charge_is_there_or_not(tmp_path: Path) -> None:
    """Nothing in between, nothing released without it, and the ledger goes on."""
    filled(tmp_path / "a")
    left = Counter[int]()
    for step in count(1):
        path, drawn = tmp_path / str(step), tmp_path / f"{step}.drawn"
        for name in ("", ".salt"):
            shutil.copy(f"{tmp_path / 'a'}{name}", f"{path}{name}")
        ledger = Ledger.open(path)
        died = killed(lambda: (ledger.charge(charge(), add), drawn.write_bytes(b"x")), step)  # noqa: B023
        check = verify_stored(path)
        assert check.kept, check.problems
        left[len(ledger.rows())] += 1
        assert len(ledger.rows()) == 4 or not drawn.exists()
        if not died:
            break
        assert len(ledger.rows()) in (3, 4)
        assert ledger.charge(charge(), add).index == len(ledger.rows())
    assert drawn.exists()
    assert left.keys() == {3, 4}
    assert left[3] > 20


def test_killed_at_any_moment_no_charge_is_lost(tmp_path: Path) -> None:
    """Each release (a byte in the pipe) has its charge, and each kill wastes at most one.

    A process is killed after its first releases, wherever it then is: nothing here is a matter of speed.
    """
    ledger = Ledger.create(tmp_path / "a", standard="pure", budget=Fraction(10**6))
    drawn, kills = 0, 20
    for number in range(kills):
        process = start(FOREVER, ledger.path)
        assert process.stdout is not None
        drawn += len(process.stdout.read(1 + number % 3))
        process.kill()
        rest, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL
        drawn += len(rest)
        check = verify_stored(ledger.path)
        assert check.kept, check.problems
    assert kills < drawn <= len(ledger.rows()) <= drawn + kills


def test_a_death_while_composing_takes_nothing_and_frees_the_lock(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    assert finish(start(IN_SPEND, ledger.path)) == -signal.SIGKILL
    assert len(ledger.rows()) == 3
    assert ledger.charge(charge(), add).index == 4


def test_a_death_between_charge_and_release_leaves_the_charge(tmp_path: Path) -> None:
    ledger = filled(tmp_path / "a")
    assert finish(start(AFTER_CHARGE, ledger.path)) == -signal.SIGABRT
    assert len(ledger.rows()) == 4
    assert verify_stored(ledger.path).kept
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
    check = verify_stored(left / "a")
    assert (check.kept, check.rows) == (True, 20)
    assert not (left / "a-journal").exists()
    assert Ledger.open(left / "a").charge(charge(), add).index == 21
