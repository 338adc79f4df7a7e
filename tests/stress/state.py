"""What must hold of a folder and its ledger, whatever became of the command."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.example import written
from tests.stress.nursery import Ended, Nursery

from holdfast.certificate.read import read_certificate
from holdfast.ledger import Ledger
from holdfast.ledger.verify import verify_ledger
from holdfast.system.errors import HoldfastError
from holdfast.system.files import PREFIX
from holdfast.verification.verify import verify

LEDGER, OUT = "account.db", "out"


def stage(folder: Path, nursery: Nursery, budget: int = 1000) -> Path:
    """Write the example and a ledger to a folder that trials copy; return the folder."""
    written(folder)
    nursery.need("ledger", "open", LEDGER, "--budget", str(budget), cwd=folder)
    return folder


def copy_stage(stage: Path, room: Path) -> Path:
    """Copy the example and its ledger to a room of its own."""
    for path in stage.iterdir():
        if path.is_file():
            shutil.copy2(path, room / path.name)
    return room


def release(out: str | Path = OUT, *more: str) -> tuple[str, ...]:
    """Return the words of a release that is charged."""
    return ("release", "holdfast.toml", "--out", str(out), "--ledger", LEDGER, *more)


def whole(folder: Path) -> Iterator[str]:
    """Say what a release folder lacks."""
    try:
        wrong = [check.name for check in verify(folder, quick=True).checks if not check.holds]
    except HoldfastError as error:
        wrong = [str(error)]
    if wrong:
        yield f"{folder.name} is not whole ({', '.join(wrong)})"


def absent_or_whole(folder: Path, ledger: Path) -> Iterator[str]:
    """Say what is wrong with what is under a name: nothing may be there, or a whole release that is complete.

    A name that was being tried may be an empty folder for a moment, and stay that if the run is killed.
    """
    if not folder.exists() or not any(folder.iterdir()):
        return
    yield from whole(folder)
    named = read_certificate(folder)
    row = None if named.ledger is None else Ledger.open(ledger).completion(named.ledger.row)
    if row is None or row.release != named.digest:
        yield f"{folder.name} is there, and its row is not complete"


def account(ledger: Path, releases: Iterable[Path] = ()) -> Iterator[str]:
    """Say what is wrong with a ledger, and with the releases that should be in it."""
    check = verify_ledger(ledger, releases=list(releases))
    yield from (f"ledger: {problem}" for problem in check.problems)


def drafts(folder: Path) -> list[str]:
    """Return the names of what unfinished runs left in a folder."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(PREFIX))


def after(room: Path, ended: Ended) -> Iterator[str]:
    """Say what is wrong after one charged release, however it ended."""
    ledger, out = room / LEDGER, room / OUT
    yield from ended.faults
    yield from absent_or_whole(out, ledger)
    shown = out.exists() and any(out.iterdir())
    yield from account(ledger, [out] if shown else [])
    rows = len(Ledger.open(ledger).rows())
    if rows > 1:
        yield f"one release was charged {rows} times"
    if any((room / name).stat().st_mode & 0o077 for name in drafts(room)) and not _completed(ledger):
        yield "others may read a draft whose row is not complete"
    if ended.code == 0 and not shown:
        yield "it said that it was done, and no release is there"
    named = "is whole, but the disk does not confirm it" in ended.text
    if ended.code == 2 and shown and not named:
        yield f"it said that it failed, and its release is there: {ended.text!r}"
    if ended.code == 2 and rows and not named and "--resume 1" not in ended.text:
        yield f"a charge was not told: {ended.text!r}"
    if ended.code == 2 and not rows and "is charged" in ended.text:
        yield f"a charge was told that is not there: {ended.text!r}"


def _completed(ledger: Path) -> bool:
    return Ledger.open(ledger).completion(1) is not None


def recovers(room: Path, nursery: Nursery) -> Iterator[str]:
    """Finish what a failed run began: one charge, one release, nothing left over. Say what is not so."""
    ledger, out = room / LEDGER, room / OUT
    shown = out.exists() and any(out.iterdir())
    rows = len(Ledger.open(ledger).rows())
    if not shown:
        again = nursery.run(*release(OUT, *(("--resume", "1") if rows else ())), cwd=room)
        if again.code:
            yield f"it cannot be finished: exit code {again.code}, {again.text[-300:]!r}"
            return
        yield from whole(out)
    elif not rows:
        yield "a release is there without a charge"
    second = nursery.run(*release("second", "--resume", "1"), cwd=room)
    if second.code != 2 or (room / "second").exists():
        yield f"a released row was drawn for again: exit code {second.code}, {second.text[-300:]!r}"
    if (spent := Ledger.open(ledger).spent()) != 1:
        yield f"{spent} is spent for one release"
    if left := drafts(room):
        yield f"left over after the next run: {left}"
    yield from account(ledger, [out])
