"""Opening an account: whatever kills it, the same command opens it; of two at once, one does."""

import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest
from tests.ledger.accounts import add, charge, verify_stored
from tests.ledger.deaths import PATIENCE, killed

from holdfast.ledger import Ledger, LedgerError, salt_path

OPEN = """
import os, sys, time
from fractions import Fraction
from pathlib import Path
from holdfast.ledger import Ledger, LedgerError
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
    return ledger.charge(charge(), add).index == 1 and verify_stored(ledger.path).kept


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be copied")
def test_killed_at_any_step_the_same_command_opens_it(tmp_path: Path) -> None:
    done = Counter[bool]()
    for step in count(1):
        path = tmp_path / str(step)
        died = killed(lambda: create(path), step)  # noqa: B023
        try:
            ledger = create(path)
        except LedgerError:  # all was done, it was only not told
            assert os.path.lexists(path)
            assert not os.path.lexists(tmp_path / f".{step}.opening")
            ledger = Ledger.open(path)
            done[True] += 1
        else:
            assert died
            done[False] += 1
        assert usable(ledger)
        if not died:
            break
    assert done[False] > 20
    assert done[True] > 1
    assert not list(tmp_path.glob(".*"))


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


def test_of_two_openings_at_once_one_wins_and_its_salt_is_beside_it(tmp_path: Path) -> None:
    for number in range(5):
        path, go = tmp_path / f"{number}.ledger", tmp_path / f"{number}.go"
        processes = [start(path, go, budget) for budget in (5, 7)]
        go.touch()
        said = [process.communicate(timeout=PATIENCE)[0] for process in processes]
        codes = [process.returncode for process in processes]
        assert sorted(codes) == [0, 3], said
        assert b"exists already" in said[codes.index(3)]
        ledger = Ledger.open(path)
        assert ledger.budget == (5, 7)[codes.index(0)]
        assert usable(ledger)
    assert not list(tmp_path.glob(".*"))
