"""Kills: SIGKILL at any moment, and at every system call that touches the folder."""

import time
from collections.abc import Iterator

from tests.stress.state import LEDGER, account, after, copy_stage, recovers, release, stage
from tests.stress.tracing import Call, calls, traced
from tests.stress.trial import Outcome, Setting, Trial, tried

WRITING = {
    "rename",
    "renameat",
    "mkdir",
    "mkdirat",
    "fchmod",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "rmdir",
    "fsync",
    "fdatasync",
    "pwrite64",
}


def at_random(setting: Setting) -> Outcome:
    """Kill releases at random moments, and finish each."""
    scene = stage(setting.room("stage"), setting.nursery)
    started = time.monotonic()
    setting.nursery.need(*release(), cwd=copy_stage(scene, setting.room("undisturbed")))
    usual = time.monotonic() - started

    def one(moment: float) -> Iterator[str]:
        room = copy_stage(scene, setting.room(f"kill-{moment:.6f}"))
        running = setting.nursery.start(*release(), cwd=room).go()
        time.sleep(moment)
        running.kill()
        yield from after(room, running.wait())
        yield from recovers(room, setting.nursery)

    return tried([setting.chance.uniform(0, 1.3 * usual) for _ in range(setting.times)], one)


def at_calls(setting: Setting) -> Outcome:
    """Kill releases at chosen system calls, and finish each."""
    scene = stage(setting.room("stage"), setting.nursery)
    found = calls(setting.nursery, copy_stage(scene, setting.room("undisturbed")), release())
    points = [call for call in found if call.name in WRITING or "O_CREAT" in call.told]

    def one(number: int) -> Iterator[str]:
        call = chosen[number]
        room = copy_stage(scene, setting.room(f"kill-{number}"))
        yield from after(
            room,
            traced(setting.nursery, room, release(), f"--inject={call.name}:signal=KILL:when={call.place}"),
        )
        yield from (
            f"{problem} [killed at {call} {call.told}]" for problem in recovers(room, setting.nursery)
        )

    chosen = spread(points, setting)
    outcome = tried(range(len(chosen)), one)
    outcome.note = f"{len(chosen)} of {len(points)} calls"
    return outcome


def spread(points: list[Call], setting: Setting) -> list[Call]:
    """Choose so many points, all of them where they are few."""
    if len(points) <= setting.times:
        return points
    return setting.chance.sample(points, setting.times)


def opening(setting: Setting) -> Outcome:
    """Kill `ledger open` at chosen system calls, and open the same name again."""
    asked = ("ledger", "open", LEDGER, "--budget", "3")
    found = calls(setting.nursery, setting.room("undisturbed"), asked)
    points = [call for call in found if call.name in WRITING or "O_CREAT" in call.told]

    def one(number: int) -> Iterator[str]:
        call = chosen[number]
        room = setting.room(f"kill-{number}")
        ended = traced(setting.nursery, room, asked, f"--inject={call.name}:signal=KILL:when={call.place}")
        yield from ended.faults
        again = setting.nursery.run(*asked, cwd=room)
        if (ended.code, again.code) not in ((-9, 0), (0, 2)):
            yield f"killed at {call} {call.told}: exit codes {ended.code}, {again.code}: {again.text!r}"
        yield from account(room / LEDGER)
        if left := sorted({path.name for path in room.iterdir()} - {LEDGER, f"{LEDGER}.salt"}):
            yield f"killed at {call}: left over after the next run: {left}"

    chosen = spread(points, setting)
    outcome = tried(range(len(chosen)), one)
    outcome.note = f"{len(chosen)} of {len(points)} calls"
    return outcome


TRIALS = (
    Trial("release, any moment", 24, 180, at_random),
    Trial("release, at a system call", 24, 150, at_calls),
    Trial("ledger open, at a system call", 20, 60, opening),
)
