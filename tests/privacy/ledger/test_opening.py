"""Opening an account: whatever kills it, the same command opens it; of two at once, one does."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.privacy.ledger.accounts import add, charge

from holdfast import durable
from holdfast.privacy.ledger import Ledger, LedgerError, opening, salt, salt_path, store, verify_ledger

OPEN = """
import os, sys, time
from fractions import Fraction
from pathlib import Path
from holdfast.privacy.ledger import Ledger, LedgerError
path = Path(sys.argv[1])
print("ready", flush=True)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.0002)
try:
    Ledger.create(path, standard="pure", budget=Fraction(sys.argv[3]))
except LedgerError as error:
    print(error)
    sys.exit(3)
"""


def create(path: Path, budget: int = 5) -> Ledger:
    return Ledger.create(path, standard="pure", budget=Fraction(budget))


def usable(ledger: Ledger) -> bool:
    return ledger.charge(charge(), add).index == 1 and verify_ledger(ledger.path).kept


STEPS: list[tuple[Any, str]] = [
    (os, "link"),
    (os, "fsync"),
    (os, "close"),
    (tempfile, "mkstemp"),
    (durable, "sync_file"),
    (durable, "sync_folder"),
    (Path, "touch"),
    (Path, "unlink"),
    (Path, "chmod"),
    (store, "create"),
    (store, "_insert"),
    (salt, "read_salt"),
    (opening, "sync_folder"),
]


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be copied")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("place", "name"), STEPS, ids=[name for _, name in STEPS])
def test_killed_at_any_step_the_same_command_opens_it(
    tmp_path: Path, place: Any, name: str, after: bool
) -> None:
    """The n-th call of each step is the last thing that a process does, before or after it."""
    for number in range(1, 20):
        path = tmp_path / str(number)
        if not dies(path, place, name, number, after=after):
            break
        try:
            ledger = create(path)
        except LedgerError:  # all was done, it was only not told
            assert os.path.lexists(path)
            assert not os.path.lexists(tmp_path / f".{number}.opening")
            ledger = Ledger.open(path)
        assert usable(ledger)
    assert 1 < number < 19
    assert usable(Ledger.open(path))


def dies(path: Path, place: Any, name: str, number: int, *, after: bool) -> bool:
    """Open an account in a process that ends at some call of a step; whether it came to that."""
    if (child := os.fork()) == 0:
        original, calls = getattr(place, name), 0

        def dying(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                if after:
                    original(*arguments, **named)
                os._exit(9)
            return original(*arguments, **named)

        setattr(place, name, dying)
        try:
            create(path)
        finally:
            os._exit(0 if os.path.lexists(path) else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


def test_an_opening_that_was_never_told_is_completed_only_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a"
    made = create(path)
    mark = tmp_path / ".a.opening"
    mark.touch()
    with pytest.raises(LedgerError, match="exists already"):
        create(path, budget=6)
    assert create(path) == made
    assert not mark.exists()
    with pytest.raises(LedgerError, match="exists already"):
        create(path)
    mark.touch()
    assert usable(made)
    with pytest.raises(LedgerError, match="exists already"):
        create(path)  # it was charged
    salt_path(path).unlink()
    with pytest.raises(LedgerError, match="exists already"):
        create(path)
    assert not salt_path(path).exists()


def test_a_salt_without_a_ledger_is_taken_and_not_overwritten(tmp_path: Path) -> None:
    orphan = create(tmp_path / "a")
    text = salt_path(tmp_path / "a").read_text()
    orphan.path.unlink()
    assert usable(create(tmp_path / "a"))
    assert salt_path(tmp_path / "a").read_text() == text
    for content, mode, said in ((text, 0o644, "others than you can read it"), ("?", 0o600, "is not a salt")):
        other = salt_path(tmp_path / "b")
        other.write_text(content)
        other.chmod(mode)
        with pytest.raises(LedgerError, match=said):
            create(tmp_path / "b")
        assert other.read_text() == content
        assert not (tmp_path / "b").exists()


def start(path: Path, go: Path, budget: int = 5) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [sys.executable, "-c", OPEN, str(path), str(go), str(budget)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def test_killed_at_any_moment_the_name_can_be_opened_again(tmp_path: Path) -> None:
    rng, again = random.Random(3), 0
    for number in range(20):
        path, go = tmp_path / f"{number}.ledger", tmp_path / f"{number}.go"
        process = start(path, go)
        go.touch()
        time.sleep(rng.uniform(0, 0.04))
        process.kill()
        process.communicate(timeout=60)
        if process.returncode == -signal.SIGKILL and not path.exists():
            again += 1
            assert usable(create(path))
        else:
            assert usable(Ledger.open(path))
    assert again > 0


def test_of_two_openings_at_once_one_wins_and_its_salt_is_beside_it(tmp_path: Path) -> None:
    for number in range(5):
        path, go = tmp_path / f"{number}.ledger", tmp_path / f"{number}.go"
        processes = [start(path, go, budget) for budget in (5, 7)]
        go.touch()
        said = [process.communicate(timeout=60)[0] for process in processes]
        codes = [process.returncode for process in processes]
        assert sorted(codes) == [0, 3], said
        assert b"exists already" in said[codes.index(3)]
        ledger = Ledger.open(path)
        assert ledger.budget == (5, 7)[codes.index(0)]
        assert usable(ledger)
    assert not list(tmp_path.glob(".*"))
