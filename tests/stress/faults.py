"""Faults: a system call that fails, once or from then on, in a command that would have succeeded."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.stress.nursery import Ended
from tests.stress.state import (
    LEDGER,
    OUT,
    account,
    after,
    copy_stage,
    recovers,
    release,
    stage,
)
from tests.stress.tracing import Call, calls, traced
from tests.stress.trial import Outcome, Setting, Trial, tried

from holdfast.ledger import Ledger

FULL = ("ENOSPC", "EIO", "EDQUOT")
ERRORS: dict[str, tuple[str, ...]] = {
    "openat": (*FULL, "EMFILE", "EROFS"),
    "write": FULL,
    "pwrite64": FULL,
    "fsync": ("EIO", "ENOSPC"),
    "fdatasync": ("EIO", "ENOSPC"),
    "rename": FULL,
    "mkdir": FULL,
    "link": FULL,
    "linkat": FULL,
    "unlink": ("EIO",),
    "unlinkat": ("EIO",),
    "rmdir": ("EIO",),
    "fallocate": FULL,
    "ftruncate": ("EIO",),
    "chmod": ("EIO", "EPERM"),
    "fchmodat": ("EIO", "EPERM"),
    "flock": ("ENOLCK",),
    "read": ("EIO",),
    "pread64": ("EIO",),
}
CREATING = ("O_CREAT", "O_WRONLY", "O_RDWR")


@dataclass(frozen=True)
class Fault:
    """One error at one call, and at all later ones of its name if it stays."""

    number: int
    call: Call
    error: str
    stays: bool

    @property
    def inject(self) -> str:
        """The option of strace."""
        return f"--inject={self.call.name}:error={self.error}:when={self.call.place}{'+' * self.stays}"

    def __str__(self) -> str:
        """Say what fails, as strace is told."""
        return f"{self.inject} ({self.call.told[:150]})"


def chosen(found: list[Call], setting: Setting) -> list[Fault]:
    """Choose faults among the calls of an undisturbed run, each name of a call as likely as another."""
    by_name: dict[str, list[Call]] = {}
    for call in found:
        if call.name in ERRORS and (call.name != "openat" or any(word in call.told for word in CREATING)):
            by_name.setdefault(call.name, []).append(call)
    faults = []
    for number in range(setting.times):
        name = sorted(by_name)[number % len(by_name)]
        call, error = setting.chance.choice(by_name[name]), setting.chance.choice(ERRORS[name])
        stays = setting.chance.random() < 0.4 and name != "write"  # that would silence the message too
        faults.append(Fault(number, call, error, stays=stays))
    return faults


def releases(setting: Setting) -> Outcome:
    """Fail calls of a charged release, and finish each."""
    scene = stage(setting.room("stage"), setting.nursery)
    found = calls(setting.nursery, copy_stage(scene, setting.room("undisturbed")), release())

    def one(fault: Fault) -> Iterator[str]:
        room = copy_stage(scene, setting.room(fault.number))
        ended = traced(setting.nursery, room, release(), fault.inject)
        yield from after(room, ended)
        yield from recovers(room, setting.nursery)

    return tried(chosen(found, setting), one)


def resumes(setting: Setting) -> Outcome:
    """Fail calls of a release that is resumed, and resume it again."""
    scene = stage(setting.room("stage"), setting.nursery)
    traced_room = copy_stage(scene, setting.room("undisturbed"))
    first = calls(setting.nursery, traced_room, release())
    seal = next(call for call in reversed(first) if call.name == "fsync" and "certificate.json" in call.told)
    traced(setting.nursery, scene, release(), f"--inject=fsync:error=EIO:when={seal.place}")
    if len(Ledger.open(scene / LEDGER).rows()) != 1 or Ledger.open(scene / LEDGER).completion(1) is not None:
        raise RuntimeError("no row was charged without a completion")
    again = release(OUT, "--resume", "1")
    found = calls(setting.nursery, copy_stage(scene, setting.room("resumed")), again)

    def one(fault: Fault) -> Iterator[str]:
        room = copy_stage(scene, setting.room(fault.number))
        ended = traced(setting.nursery, room, again, fault.inject)
        told = ended if ended.code != 2 else Ended(2, f"{ended.text} --resume 1")  # whoever resumes knows
        yield from after(room, told)
        yield from recovers(room, setting.nursery)

    return tried(chosen(found, setting), one)


def openings(setting: Setting) -> Outcome:
    """Fail calls of `ledger open`, and open the same name again."""
    asked = ("ledger", "open", LEDGER, "--budget", "3")
    found = calls(setting.nursery, setting.room("undisturbed"), asked)

    def one(fault: Fault) -> Iterator[str]:
        room = setting.room(fault.number)
        ended = traced(setting.nursery, room, asked, fault.inject)
        yield from ended.faults
        again = setting.nursery.run(*asked, cwd=room)
        if (ended.code, again.code) not in ((0, 2), (2, 0)):
            yield f"exit codes {ended.code}, {again.code}: {ended.text!r} {again.text!r}"
        yield from account(room / LEDGER)

    return tried(chosen(found, setting), one)


FILES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "export": (("ledger", "export", LEDGER, "--out", "rows.json"), ("rows.json",)),
    "init": (("init", "new"), ("new/holdfast.toml", "new/children.csv")),
    "keygen": (("keygen", "key"), ("key", "key.pub")),
    "picture": (("audit", "census-2020", "--picture", "census.svg"), ("census.svg",)),
}
"""Commands that write files, and the files."""


def files(setting: Setting) -> Outcome:
    """Fail calls of commands that write files: none is there in part, and after exit 0 all are."""
    scene = stage(setting.room("stage"), setting.nursery)
    share = Setting(setting.folder, setting.chance, -(-setting.times // len(FILES)), setting.nursery)
    outcome = Outcome()
    for name, (words, names) in FILES.items():
        usual = _room(scene, setting, f"{name}-undisturbed")
        found = calls(setting.nursery, usual, words)
        sizes = {file: (usual / file).stat().st_size for file in names}

        def one(
            fault: Fault,
            name: str = name,
            words: tuple[str, ...] = words,
            sizes: dict[str, int] = sizes,
        ) -> Iterator[str]:
            room = _room(scene, setting, f"{name}-{fault.number}")
            ended = traced(setting.nursery, room, words, fault.inject)
            yield from ended.faults
            there = [file for file in sizes if (room / file).exists()]
            if ended.code == 0 and len(there) < len(sizes):
                yield f"it said that it was done, and only {there} are there"
            yield from (
                f"{file} is there in part" for file in there if (room / file).stat().st_size != sizes[file]
            )

        part = tried(chosen(found, share), one)
        outcome.tried += part.tried
        outcome.violations += [f"{name}: {violation}" for violation in part.violations]
    return outcome


def _room(scene: Path, setting: Setting, name: str) -> Path:
    room = copy_stage(scene, setting.room(name))
    (room / "new").mkdir()
    return room


TRIALS = (
    Trial("release", 40, 300, releases),
    Trial("release --resume", 12, 100, resumes),
    Trial("ledger open", 20, 150, openings),
    Trial("export, init, keygen, --picture", 12, 120, files),
)
