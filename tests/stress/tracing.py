"""System calls of a command, seen and failed by strace [strace(1), inject]."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.stress.nursery import PATIENCE, Ended, Nursery
from tests.stress.trial import MissingError, SkippedError

CALLS = (
    "openat,write,pwrite64,pwritev,fsync,fdatasync,rename,renameat,renameat2,mkdir,mkdirat,link,linkat,"
    "unlink,unlinkat,rmdir,fallocate,ftruncate,chmod,fchmod,fchmodat,flock,read,pread64,lseek"
)
LINE = re.compile(r"(\w+)\((.*)\) += (-?\d+|\?)(.*)")


@dataclass(frozen=True)
class Call:
    """A system call: the ``place``-th of its name."""

    name: str
    place: int
    told: str
    result: str

    def __str__(self) -> str:
        """Name it as strace does."""
        return f"{self.name}:when={self.place}"


def traced(
    nursery: Nursery, room: Path, words: tuple[str, ...], *more: str, log: Path | None = None
) -> Ended:
    """Run a command under strace, which sees its first thread: all files but Parquet are written there."""
    require()
    running = nursery.start(*words, cwd=room)
    tracer = subprocess.Popen(
        ["strace", "-y", "-s0", f"-etrace={CALLS}", *more, f"-o{log or '/dev/null'}", f"-p{running.pid}"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert tracer.stderr is not None
    told = tracer.stderr.readline()
    if "attached" not in told:
        running.kill()
        raise SkippedError(f"strace cannot attach ({told.strip()})")
    ended = running.go().wait()
    tracer.communicate(timeout=PATIENCE)
    return ended


def calls(nursery: Nursery, room: Path, words: tuple[str, ...]) -> list[Call]:
    """Return the calls of a command that succeeds, those that touch its folder."""
    log = room / "trace"
    if (ended := traced(nursery, room, words, log=log)).code:
        raise RuntimeError(f"a traced command fails: {ended.text}")
    return [call for call in _parsed(log.read_text(encoding="utf-8", errors="replace")) if _of(call, room)]


def _parsed(text: str) -> Iterator[Call]:
    """Count calls by name."""
    seen: dict[str, int] = {}
    for line in text.splitlines():
        if found := LINE.match(line):
            seen[found[1]] = seen.get(found[1], 0) + 1
            yield Call(found[1], seen[found[1]], found[2], found[3] + found[4])


def _of(call: Call, room: Path) -> bool:
    """Whether a call speaks of a folder: by an open file, by its whole path, or from within it."""
    return str(room) in call.told or str(room) in call.result or call.told.startswith(f"AT_FDCWD<{room}>")


@cache
def require() -> None:
    """Raise SkippedError where processes cannot be traced."""
    if shutil.which("strace") is None:
        raise MissingError("strace is not installed")
    probe = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True, check=False)
    if probe.returncode:
        raise SkippedError(f"strace is not permitted ({probe.stderr.strip()[:100]})")
