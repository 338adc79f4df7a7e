"""After a crash a release goes on from what was measured: no new noise, no new charge."""

import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.mechanisms.topdown.small import TOML, spec
from tests.strangers import as_root, can, give_away

import holdfast
from holdfast.ledger.account import Ledger
from holdfast.mechanisms.topdown import mechanism
from holdfast.releases.checkpoint import Checkpoint
from holdfast.system.errors import HoldfastError
from holdfast.verification.verify import verify


class Crash(BaseException):
    """As sudden as the end of a process."""


def crash(*_: Any, **__: Any) -> Any:
    raise Crash


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def place(folder: Path) -> Path:
    """Return where measurements wait."""
    (found,) = (path for path in folder.iterdir() if path.name.startswith(".measured-"))
    return found


def measured(folder: Path) -> bytes:
    return (place(folder) / "measurements.parquet").read_bytes()


def crashed(folder: Path, monkeypatch: pytest.MonkeyPatch, privacy: Any = None, **options: Any) -> bytes:
    """Let a release end in the middle of step 2; return what it had measured."""
    asked = spec(folder) if privacy is None else spec(folder, privacy=privacy)
    with monkeypatch.context() as patch:
        patch.setattr(mechanism, "estimated", crash)
        with pytest.raises((Crash, HoldfastError)):
            holdfast.release(asked, folder / "out", **options)
    return measured(folder)


def test_the_same_command_goes_on_from_the_measurements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = crashed(tmp_path, monkeypatch)
    holdfast.release(spec(tmp_path), tmp_path / "out")
    assert (tmp_path / "out" / "measurements.parquet").read_bytes() == before
    assert verify(tmp_path / "out").kept
    assert hidden(tmp_path) == []


def test_a_ledger_is_charged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", standard="zcdp", budget=Fraction(3, 2))
    before = crashed(tmp_path, monkeypatch, ledger=ledger)
    assert ledger.spent() == 1
    written = holdfast.release(spec(tmp_path), tmp_path / "out", ledger=ledger)
    assert ledger.spent() == 1
    assert len(ledger.rows()) == 1
    assert written.row is not None
    assert ledger.completion(written.row.index) is not None
    assert (tmp_path / "out" / "measurements.parquet").read_bytes() == before


def test_a_row_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", standard="zcdp", budget=Fraction(1))
    before = crashed(tmp_path, monkeypatch, ledger=ledger)
    holdfast.release(spec(tmp_path), tmp_path / "out", ledger=ledger, resume=1)
    assert (tmp_path / "out" / "measurements.parquet").read_bytes() == before
    assert ledger.spent() == 1


def test_other_data_are_measured_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = crashed(tmp_path, monkeypatch)
    asked = spec(tmp_path)
    text = (tmp_path / "blocks.csv").read_text()
    lines = text.splitlines()
    one, other = lines[1].rsplit(",", 1), lines[2].rsplit(",", 1)
    lines[1], lines[2] = f"{one[0]},{int(one[1]) + 1}", f"{other[0]},{max(0, int(other[1]) - 1)}"
    (tmp_path / "blocks.csv").write_text("\n".join(lines) + "\n")
    holdfast.release(asked, tmp_path / "out")
    assert (tmp_path / "out" / "measurements.parquet").read_bytes() != before


def test_another_budget_is_measured_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = crashed(tmp_path, monkeypatch)
    half = {"standard": "zcdp", "rho": "1/2", "adjacency": "unit"}
    holdfast.release(spec(tmp_path, privacy=half), tmp_path / "out")
    assert (tmp_path / "out" / "measurements.parquet").read_bytes() != before
    assert hidden(tmp_path) == []


def test_another_seed_is_measured_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = crashed(tmp_path, monkeypatch, seed=1)
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=2)
    assert (tmp_path / "out" / "measurements.parquet").read_bytes() != before


def test_damaged_measurements_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashed(tmp_path, monkeypatch)
    (place(tmp_path) / "measurements.parquet").write_bytes(b"PAR1")
    holdfast.release(spec(tmp_path), tmp_path / "out")
    assert verify(tmp_path / "out").kept


def test_a_charge_before_the_measurements_is_not_charged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", standard="zcdp", budget=Fraction(1))
    with monkeypatch.context() as patch:
        patch.setattr("holdfast.releases.checkpoint.Checkpoint.keep", crash)
        with pytest.raises((Crash, HoldfastError)):
            holdfast.release(spec(tmp_path), tmp_path / "out", ledger=ledger)
    assert ledger.spent() == 1
    holdfast.release(spec(tmp_path), tmp_path / "out", ledger=ledger)
    assert ledger.spent() == 1


def test_another_release_in_that_folder_is_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", standard="zcdp", budget=Fraction(2))
    crashed(tmp_path, monkeypatch, ledger=ledger)
    half = {"standard": "zcdp", "rho": "1/2", "adjacency": "unit"}
    holdfast.release(spec(tmp_path, privacy=half), tmp_path / "out", ledger=ledger)
    assert ledger.spent() == Fraction(3, 2)


def test_what_waits_beside_a_whole_release_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("holdfast.releases.handover.forget", lambda _: None)
        holdfast.release(spec(tmp_path), tmp_path / "out")
    assert len(hidden(tmp_path)) == 1
    with pytest.raises(HoldfastError, match="exists already"):
        holdfast.release(spec(tmp_path), tmp_path / "out")
    assert hidden(tmp_path) == []


def test_nobody_else_may_read_what_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashed(tmp_path, monkeypatch)
    assert place(tmp_path).stat().st_mode & 0o077 == 0


@as_root
@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_others_put_in_its_place_is_refused_before_the_charge(tmp_path: Path, kind: str) -> None:
    """A folder that the stranger made would receive every measurement, or lead it over another file."""
    tmp_path.chmod(0o1777)
    ledger = Ledger.create(tmp_path / "a.ledger", standard="zcdp", budget=Fraction(1))
    there = Checkpoint(tmp_path / "out", "", b"").folder
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "checkpoint.json").write_text("precious")
    if kind == "folder":
        there.mkdir()
        (there / "measurements.parquet").symlink_to(precious / "checkpoint.json")
        there.chmod(0o777)
    elif kind == "link":
        there.symlink_to(precious)
    else:
        os.mkfifo(there)
    give_away(there)
    with pytest.raises(HoldfastError, match=r"\.measured-.* cannot be used \(.*where measurements wait"):
        holdfast.release(spec(tmp_path), tmp_path / "out", ledger=ledger)
    assert ledger.spent() == 0
    assert not (tmp_path / "out").exists()
    assert (precious / "checkpoint.json").read_text() == "precious"


@as_root
def test_nobody_sees_a_draft_before_its_completion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", standard="zcdp", budget=Fraction(1))
    seen = []

    def look(*_: Any, **__: Any) -> Any:
        for draft in tmp_path.glob(".*-*"):
            seen.append(draft.name[:5])
            assert not can("ls", draft.name, within=tmp_path)
            assert not can("cat", f"{draft.name}/measurements.parquet", within=tmp_path)
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "complete", look)
        with pytest.raises((Crash, HoldfastError)):
            holdfast.release(spec(tmp_path), tmp_path / "out", ledger=ledger)
    assert sorted(seen) == [".hold", ".meas"]


KILLED = """\
import os, signal, sys
from holdfast.mechanisms.topdown import mechanism
def killed(*a, **k): os.kill(os.getpid(), signal.SIGKILL)
mechanism.estimated = killed
from holdfast.cli import main
sys.argv = ["holdfast", *sys.argv[1:]]
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is for POSIX")
def test_kill_9_and_the_same_command(tmp_path: Path) -> None:
    """Killed in step 2, and run again: the same measurements, one charge."""
    spec(tmp_path)
    (tmp_path / "s.toml").write_text(TOML)
    holdfast = (sys.executable, "-m", "holdfast")
    command = ("release", "s.toml", "--out", "out", "--ledger", "a.ledger")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run(*holdfast, "ledger", "open", "a.ledger", "--rho", "1").returncode == 0
    assert run(sys.executable, "-c", KILLED, *command).returncode == -signal.SIGKILL
    before = measured(tmp_path)
    assert not (tmp_path / "out").exists()
    done = run(*holdfast, *command)
    assert done.returncode == 0, done.stderr
    assert "charged before" in done.stdout
    assert "no new noise was drawn" in done.stdout
    assert (tmp_path / "out" / "measurements.parquet").read_bytes() == before
    ledger = Ledger.open(tmp_path / "a.ledger")
    assert len(ledger.rows()) == ledger.spent() == 1
    assert run(*holdfast, "verify", "out").returncode == 0
    assert hidden(tmp_path) == []


AT_EACH_PIECE = """\
import os, signal, sys
from holdfast.estimation.hierarchy import family, kept
from holdfast.releases.checkpoint import Checkpoint
family.AT_ONCE, kept.TOGETHER = 8, 1
put = Checkpoint.put
def killed(*told):
    put(*told)
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "killed":
    Checkpoint.put = killed
from holdfast.cli import main
sys.argv = ["holdfast", *sys.argv[2:]]
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is for POSIX")
def test_kill_9_after_every_subtree(tmp_path: Path) -> None:
    """However often a run is killed on its way down, the next goes on, and at last all is as without."""
    spec(tmp_path)
    (tmp_path / "s.toml").write_text(TOML)
    ledger = Ledger.create(tmp_path / "a.ledger", standard="zcdp", budget=Fraction(1))
    command = ("release", "s.toml", "--out", "out", "--ledger", "a.ledger", "--jobs", "1")

    def run(how: str) -> int:
        words = (sys.executable, "-c", AT_EACH_PIECE, how, *command)
        return subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode

    assert run("killed") == -signal.SIGKILL
    before, pieces = measured(tmp_path), [sorted(path.name for path in place(tmp_path).glob("level-*"))]
    for _ in range(3):
        assert run("killed") == -signal.SIGKILL
        assert measured(tmp_path) == before
        pieces.append(sorted(path.name for path in place(tmp_path).glob("level-*")))
        assert len(pieces[-1]) == len(pieces[-2]) + 1
    assert {name.rpartition("-")[0] for name in pieces[-1]} >= {"level-1", "level-2"}
    assert run("whole") == 0
    assert (tmp_path / "out" / "measurements.parquet").read_bytes() == before
    assert len(ledger.rows()) == ledger.spent() == 1
    assert verify(tmp_path / "out").kept
    assert hidden(tmp_path) == []


def test_pieces_of_other_measurements_are_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashed(tmp_path, monkeypatch)
    (place(tmp_path) / "level-1-0").write_bytes(b"of what was measured before")
    half = {"standard": "zcdp", "rho": "1/2", "adjacency": "unit"}
    crashed(tmp_path, monkeypatch, privacy=half)
    assert not list(place(tmp_path).glob("level-*"))
