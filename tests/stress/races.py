"""Races: processes that begin at once and want the same budget, the same name or the same row."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.releases.test_resume import KILLED
from tests.stress.nursery import PATIENCE, Ended
from tests.stress.state import LEDGER, OUT, absent_or_whole, account, drafts, release, stage, whole
from tests.stress.trial import Outcome, Setting, Trial, tried

from holdfast.ledger import Ledger

RACERS = 6


def together(setting: Setting, room: Path, *commands: tuple[str, ...]) -> list[Ended]:
    """Start commands, let them begin at once, and return how each ended."""
    waiting = [setting.nursery.start(*command, cwd=room) for command in commands]
    running = [one.go() for one in waiting]
    return [one.wait() for one in running]


def budget(setting: Setting) -> Outcome:
    """Let releases race for a budget that pays for some of them."""

    def race(paid: int) -> Iterator[str]:
        room = stage(setting.room(f"budget-{next(names)}"), setting.nursery, paid)
        ended = together(setting, room, *(release(f"r{i}") for i in range(RACERS)))
        for one in ended:
            yield from one.faults
        done = [room / f"r{i}" for i, one in enumerate(ended) if one.code == 0]
        shown = sorted(room.glob("r*/certificate.json"))
        if not len(done) == len(shown) == paid:
            yield f"{len(done)} succeeded, {len(shown)} are there, and the budget pays for {paid}"
        for folder in done:
            yield from whole(folder)
        ledger = Ledger.open(room / LEDGER)
        complete = [row.index for row in ledger.rows() if ledger.completion(row.index) is not None]
        if len(complete) != paid:
            yield f"{len(complete)} rows are complete, not {paid}"
        yield from account(room / LEDGER, done)
        if left := drafts(room):
            yield f"left over: {left}"

    names = iter(range(10**6))
    return tried([setting.chance.randint(1, RACERS - 1) for _ in range(setting.times)], race, at_once=1)


def one_name(setting: Setting) -> Outcome:
    """Let two releases, and more, want one name."""

    def race(number: int) -> Iterator[str]:
        room = stage(setting.room(f"name-{number}"), setting.nursery)
        ended = together(setting, room, *[release()] * (2 + number % 3))
        for one in ended:
            yield from one.faults
        if [one.code for one in ended].count(0) != 1:
            yield f"exit codes {[one.code for one in ended]}"
        yield from absent_or_whole(room / OUT, room / LEDGER)
        if (spent := Ledger.open(room / LEDGER).spent()) != 1:
            yield f"{spent} is spent for one folder"
        yield from account(room / LEDGER, [room / OUT])
        if left := drafts(room):
            yield f"left over: {left}"

    return tried(range(setting.times), race, at_once=2)


def opened(setting: Setting) -> Outcome:
    """Let several processes open one ledger."""

    def race(number: int) -> Iterator[str]:
        room = setting.room(f"open-{number}")
        asked = ("ledger", "open", LEDGER, "--budget", "3")
        ended = together(setting, room, *[asked] * 4)
        for one in ended:
            yield from one.faults
        if [one.code for one in ended].count(0) != 1:
            yield f"exit codes {[one.code for one in ended]}"
        yield from account(room / LEDGER)
        if names := sorted({path.name for path in room.iterdir()} - {LEDGER, f"{LEDGER}.salt"}):
            yield f"left over: {names}"

    return tried(range(setting.times), race, at_once=2)


def resumed(setting: Setting) -> Outcome:
    """Let two processes resume one row, to the same name and to others."""

    def race(number: int) -> Iterator[str]:
        room = stage(setting.room(f"resume-{number}"), setting.nursery)
        places = (str(room / name) for name in ("holdfast.toml", OUT, LEDGER))
        subprocess.run([sys.executable, "-c", KILLED, *places], check=False, timeout=PATIENCE)
        ledger = Ledger.open(room / LEDGER)
        if len(ledger.rows()) != 1 or ledger.completion(1) is not None:
            yield "no run was killed between its charge and its completion: nothing was tried"
            return
        names = (OUT, OUT if number % 2 else "other")
        ended = together(setting, room, *(release(name, "--resume", "1") for name in names))
        for one in ended:
            yield from one.faults
        shown = [room / name for name in sorted(set(names)) if (room / name).exists()]
        if [one.code for one in ended].count(0) != 1 or len(shown) != 1:
            yield f"exit codes {[one.code for one in ended]}, {len(shown)} releases"
            yield " ".join(one.text[-200:] for one in ended if one.code)
        if (spent := ledger.spent()) != 1:
            yield f"{spent} is spent for one release"
        yield from account(room / LEDGER, shown)
        if left := drafts(room):
            yield f"left over: {left}"

    return tried(range(setting.times), race, at_once=1)


TRIALS = (
    Trial(f"{RACERS} releases, a budget for some", 5, 20, budget),
    Trial("one --out, several releases", 5, 40, one_name),
    Trial("one name, four ledger open", 5, 20, opened),
    Trial("one row, two --resume", 5, 20, resumed),
)
