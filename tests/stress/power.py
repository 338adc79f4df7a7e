"""Power cuts: what a command reported as done is on the disk when it ends.

An image of a file system is copied the moment a command has ended, without a sync or an unmount: the copy
holds what had reached the disk, and mounting it replays its journal, as after a cut. A file that nobody
synced is written beside it each time; were that one in the copies, they would prove nothing. Where no image
can be mounted, the order of system calls tells: each file is synced after its last write, and each folder
after the last name in it was made.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.example import written
from tests.stress.state import LEDGER, absent_or_whole, account, release, stage, whole
from tests.stress.tracing import Call, calls
from tests.stress.trial import Outcome, Setting, SkippedError, Trial, tried

from holdfast.certificate.sign import read_public_key, read_signing_key

SIZE = 48 << 20
COMMANDS: dict[str, tuple[str, ...]] = {
    "init": ("init", "new"),
    "ledger open": ("ledger", "open", LEDGER, "--budget", "9"),
    "release": release("first"),
    "release --parquet": release("second", "--parquet"),
    "keygen": ("keygen", "key"),
    "release --sign": ("release", "holdfast.toml", "--out", "third", "--sign", "key"),
    "ledger export": ("ledger", "export", LEDGER, "--out", "rows.json"),
    "--picture": ("audit", "census-2020", "--picture", "census.svg"),
}
UNSYNCED = "unsynced"


def images(setting: Setting) -> Outcome:
    """Run every command on an image, and look at a copy of the image after each."""
    outcome, lost = Outcome(), 0
    for number in range(setting.times):
        with image(setting.folder / f"disk-{number}") as (disk, place):
            written(place)
            (place / "new").mkdir()
            os.sync()
            for name, words in COMMANDS.items():
                ended = setting.nursery.run(*words, cwd=place)
                (place / f"{UNSYNCED}-{len(name)}").write_text("nobody synced this")
                copy = disk.with_name(f"copy-{number}")
                subprocess.run(["cp", "--sparse=always", disk, copy], check=True)
                with mounted_image(copy, setting.folder / "copied") as after:
                    problems = list(ended.faults) if ended.code in (0, 2) else []
                    problems += [f"exit code {ended.code}: {ended.text}"] if ended.code else []
                    outcome.count([*problems, *_kept(name, after)], f"{name} on disk {number}")
                    control = after / f"{UNSYNCED}-{len(name)}"
                    lost += not control.exists() or not control.stat().st_size
                copy.unlink()
    if not lost:
        outcome.violations.append("every copy held what nobody had synced: they prove nothing")
    outcome.note = f"{lost} of {outcome.tried} copies lost a file that was not synced"
    return outcome


def _kept(name: str, place: Path) -> Iterator[str]:
    """Say what is missing after a command that ended well, and all before it."""
    done = list(COMMANDS)[: list(COMMANDS).index(name) + 1]
    ledger = place / LEDGER
    if "init" in done:
        for file in ("holdfast.toml", "children.csv"):
            if (place / "new" / file).read_bytes() != (place / file).read_bytes():
                yield f"new/{file} is not whole"
    if "ledger open" in done:
        charged = [place / out for out in ("first", "second") if (place / out).exists()]
        yield from account(ledger, charged)
    for command, out in (("release", "first"), ("release --parquet", "second")):
        if command in done:
            if not (place / out).exists():
                yield f"{out} is not there"
            yield from absent_or_whole(place / out, ledger)
    if "release --sign" in done:
        yield from whole(place / "third")
    if "keygen" in done:
        read_signing_key(place / "key")
        read_public_key(place / "key.pub")
    if "ledger export" in done:
        json.loads((place / "rows.json").read_text(encoding="utf-8"))
    if "--picture" in done and not (place / "census.svg").read_text(encoding="utf-8").endswith("</svg>\n"):
        yield "census.svg is not whole"


@contextmanager
def image(disk: Path) -> Iterator[tuple[Path, Path]]:
    """Make a file system in a file, and mount it."""
    with disk.open("wb") as file:
        file.truncate(SIZE)
    try:
        made = subprocess.run(
            ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", disk], capture_output=True, check=False
        )
    except OSError as error:
        raise SkippedError(f"there is no mkfs.ext4 ({error.strerror})") from None
    if made.returncode:
        raise SkippedError("mkfs.ext4 fails")
    with mounted_image(disk, disk.with_name(f"{disk.name}-mounted")) as place:
        yield disk, place


@contextmanager
def mounted_image(disk: Path, place: Path) -> Iterator[Path]:
    """Mount an image; nothing is written back before its time."""
    place.mkdir(exist_ok=True)
    made = subprocess.run(
        ["mount", "-o", "loop,commit=600", disk, place], capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise SkippedError(f"images cannot be mounted ({made.stderr.strip()[:80]})")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], capture_output=True, check=False)
        with suppress(OSError):
            place.rmdir()


MAKING = ("rename", "renameat", "renameat2", "link", "linkat", "mkdir", "mkdirat")
WRITING = ("write", "pwrite64", "pwritev", "ftruncate", "fallocate")


def orders(setting: Setting) -> Outcome:
    """Look at the system calls of every command: what is written is synced, and then its folder."""

    def one(name: str) -> Iterator[str]:
        room = setting.room(name.replace(" ", "-"))
        if name == "ledger open":
            written(room)
        else:
            stage(room, setting.nursery)
        (room / "new").mkdir()
        if name == "release --sign":
            setting.nursery.need("keygen", "key", cwd=room)
        words = COMMANDS[name]
        yield from unsynced(calls(setting.nursery, room, words), room)

    return tried(COMMANDS, one)


def unsynced(found: list[Call], room: Path) -> Iterator[str]:
    """Say which files and names that are there in the end were not synced after their last change."""
    moved: list[tuple[str, str]] = []
    content: dict[str, bool] = {}
    names: dict[str, bool] = {}
    for call in found:
        if call.result.startswith("-"):
            continue
        opened = re.match(r"\d+<(.*?)>", call.told)
        path = opened[1] if opened else ""
        if call.name in WRITING and path.startswith(str(room)):
            content[path] = False
        elif call.name in ("fsync", "fdatasync"):
            content[path] = names[path] = True
        elif call.name in MAKING:
            quoted = [str(room / word) for word in re.findall(r'"(.*?)"', call.told)]
            names[str(Path(quoted[-1]).parent)] = False
            if len(quoted) > 1:
                moved.append((quoted[0], quoted[-1]))
    for path, synced in content.items():
        final = path
        for old, new in moved:
            final = final.replace(old, new, 1) if final == old or final.startswith(f"{old}/") else final
        if not synced and Path(final).exists():
            yield f"{Path(final).name} was not synced after its last write"
    for path, synced in names.items():
        if not synced and Path(path).is_dir():
            yield f"the names in {Path(path).name} were not synced after the last was made"


TRIALS = (
    Trial("a copy of the disk when a command has ended", 1, 8, images),
    Trial("the order of system calls", 1, 1, orders),
)
