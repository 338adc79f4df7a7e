"""Places where no release can be: refused before the charge, in one sentence, and nothing is left behind."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.stress.state import LEDGER, account, copy_stage, drafts, release, stage, whole
from tests.stress.trial import Outcome, Setting, SkippedError, Trial, tried

from holdfast.ledger import Ledger

Arrange = Callable[[Path, ExitStack], tuple[tuple[str, ...], Path]]
"""Makes a place in a room, and returns the command for it and the folder to run it in."""


@contextmanager
def mounted(place: Path, size: str = "2m", kind: str = "tmpfs") -> Iterator[None]:
    """Mount a small file system in memory; SkippedError where that is not permitted."""
    place.mkdir(exist_ok=True)
    options = ["-t", kind, "-o", f"size={size}", kind, str(place)]
    try:
        made = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    except OSError as error:
        raise SkippedError(f"there is no mount ({error.strerror})") from None
    if made.returncode:
        raise SkippedError(f"mounts are not permitted ({made.stderr.strip()[:80]})")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=False, capture_output=True)


def link_to_folder(room: Path, _: ExitStack) -> tuple[tuple[str, ...], Path]:
    (room / "aim").mkdir()
    (room / "link").symlink_to("aim")
    return release("link"), room


def link_to_nothing(room: Path, _: ExitStack) -> tuple[tuple[str, ...], Path]:
    (room / "link").symlink_to("nowhere")
    return release("link"), room


def here(room: Path, _: ExitStack) -> tuple[tuple[str, ...], Path]:
    (room / "inner").mkdir()
    words = ("release", "../holdfast.toml", "--out", ".", "--ledger", f"../{LEDGER}")
    return words, room / "inner"


def above(room: Path, _: ExitStack) -> tuple[tuple[str, ...], Path]:
    (room / "inner").mkdir()
    words = ("release", "../holdfast.toml", "--out", "..", "--ledger", f"../{LEDGER}")
    return words, room / "inner"


def long_name(room: Path, _: ExitStack) -> tuple[tuple[str, ...], Path]:
    return release("x" * 256), room


def long_path(room: Path, _: ExitStack) -> tuple[tuple[str, ...], Path]:
    return release("/".join(["x" * 200] * 30)), room


def nul(room: Path, _: ExitStack) -> tuple[tuple[str, ...], Path]:
    return release("a\0b"), room


def missing_parent(room: Path, _: ExitStack) -> tuple[tuple[str, ...], Path]:
    return release("no/such/folder"), room


def file_as_parent(room: Path, _: ExitStack) -> tuple[tuple[str, ...], Path]:
    return release("children.csv/out"), room


def a_file(room: Path, _: ExitStack) -> tuple[tuple[str, ...], Path]:
    return release("children.csv"), room


def a_full_folder(room: Path, _: ExitStack) -> tuple[tuple[str, ...], Path]:
    (room / "there").mkdir()
    (room / "there" / "file").write_text("kept")
    return release("there"), room


def a_pipe(room: Path, _: ExitStack) -> tuple[tuple[str, ...], Path]:
    os.mkfifo(room / "pipe")
    return release("pipe"), room


def mount_point(room: Path, stack: ExitStack) -> tuple[tuple[str, ...], Path]:
    stack.enter_context(mounted(room / "mount"))
    return release("mount"), room


def read_only(room: Path, stack: ExitStack) -> tuple[tuple[str, ...], Path]:
    stack.enter_context(mounted(room / "mount"))
    subprocess.run(["mount", "-o", "remount,ro", str(room / "mount")], check=True)
    return release("mount/out"), room


def full_disk(room: Path, stack: ExitStack) -> tuple[tuple[str, ...], Path]:
    stack.enter_context(mounted(room / "mount"))
    _fill(room / "mount", leave=0)
    return release("mount/out"), room


def nearly_full_disk(room: Path, stack: ExitStack) -> tuple[tuple[str, ...], Path]:
    stack.enter_context(mounted(room / "mount"))
    _fill(room / "mount", leave=60_000)
    return release("mount/out"), room


def ledger_on_a_full_disk(room: Path, stack: ExitStack) -> tuple[tuple[str, ...], Path]:
    stack.enter_context(mounted(room / "mount"))
    for path in (room / LEDGER, room / f"{LEDGER}.salt"):
        (room / "mount" / path.name).write_bytes(path.read_bytes())
        path.unlink()
        path.symlink_to(Path("mount") / path.name)
    _fill(room / "mount", leave=0)
    return ("release", "holdfast.toml", "--out", "out", "--ledger", f"mount/{LEDGER}"), room


def _fill(folder: Path, leave: int) -> None:
    """Fill a disk, up to so many bytes."""
    with (folder / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"0" * 4096):
            pass
    if leave:
        os.truncate(folder / "filler", (folder / "filler").stat().st_size - leave)


PLAIN: tuple[Arrange, ...] = (
    link_to_folder,
    link_to_nothing,
    here,
    above,
    long_name,
    long_path,
    nul,
    missing_parent,
    file_as_parent,
    a_file,
    a_full_folder,
    a_pipe,
)
MOUNTED: tuple[Arrange, ...] = (mount_point, read_only, full_disk, nearly_full_disk, ledger_on_a_full_disk)


def refused(setting: Setting, places: tuple[Arrange, ...]) -> Outcome:
    """Try each place."""
    scene = stage(setting.room("stage"), setting.nursery)

    def one(arrange: Arrange) -> Iterator[str]:
        room = copy_stage(scene, setting.room(arrange.__name__))
        with ExitStack() as stack:
            words, folder = arrange(room, stack)
            before = _listed(room)
            ended = setting.nursery.run(*words, cwd=folder)
            yield from (fault for fault in ended.faults if "Usage: " not in ended.text)
            if ended.code != 2:
                yield f"exit code {ended.code}: {ended.text[-300:]!r}"
            if (spent := Ledger.open(room / LEDGER).spent()) != 0:
                yield f"{spent} is spent"
            if changed := sorted(map(str, before ^ _listed(room))):
                yield f"changed: {changed}"
            yield from account(room / LEDGER)

    return tried([_Named(place) for place in places], lambda place: one(place.arrange))


class _Named:
    """A place by its name, for what is told of it."""

    def __init__(self, arrange: Arrange) -> None:
        self.arrange = arrange

    def __str__(self) -> str:
        """Name the place in words."""
        return self.arrange.__name__.replace("_", " ")


def _listed(room: Path) -> set[Path]:
    return {path for path in room.rglob("*") if path.name != "trace"}


def plain(setting: Setting) -> Outcome:
    """Try the places that need no mount."""
    return refused(setting, PLAIN)


def mounts(setting: Setting) -> Outcome:
    """Try the places that are file systems of their own."""
    with mounted(setting.room("probe")):
        pass
    return refused(setting, MOUNTED)


def filling(setting: Setting) -> Outcome:
    """Release to disks with more and more room: refused before the charge, or whole."""
    scene = stage(setting.room("stage"), setting.nursery)
    with mounted(setting.room("probe")):
        pass

    def one(room_left: int) -> Iterator[str]:
        room = copy_stage(scene, setting.room(room_left))
        with mounted(room / "mount"):
            _fill(room / "mount", leave=room_left)
            ended = setting.nursery.run(*release("mount/out"), cwd=room)
            yield from ended.faults
            spent = Ledger.open(room / LEDGER).spent()
            if ended.code not in (0, 2) or spent != (ended.code == 0):
                yield f"exit code {ended.code}, {spent} is spent: {ended.text[-300:]!r}"
            if ended.code == 0:
                yield from whole(room / "mount" / "out")
            elif left := sorted(path.name for path in (room / "mount").iterdir() if path.name != "filler"):
                yield f"left over: {left}"
            if left := drafts(room / "mount"):
                yield f"drafts left over: {left}"

    sizes = [4096 * setting.chance.randint(0, 120) for _ in range(setting.times)]
    return tried(sorted(set(sizes)), one)


TRIALS = (
    Trial("names that cannot be", len(PLAIN), len(PLAIN), plain),
    Trial("mount point, read-only, full disk", len(MOUNTED), len(MOUNTED), mounts),
    Trial("disks with some room", 10, 40, filling),
)
