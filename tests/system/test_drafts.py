"""A new folder: tried before anything is spent, held by one run, whole or not there."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.strangers import as_root, give_away

from holdfast.system.drafts import destroy, draft_path, drafted, require_new
from holdfast.system.errors import ReleaseError
from holdfast.system.files import PREFIX


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def umask() -> int:
    """Return the umask, which can be asked for only by setting it."""
    found = os.umask(0o022)
    os.umask(found)
    return found


def test_a_draft_becomes_the_folder(tmp_path: Path) -> None:
    with drafted(tmp_path / "out") as draft:
        (draft.path / "file").write_text("whole")
        assert names(tmp_path) == [draft.path.name]
        assert draft.path.stat().st_mode & 0o777 == 0o700
        draft.seal()
        draft.publish()
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out" / "file").read_text() == "whole"
    assert (tmp_path / "out").stat().st_mode & 0o7777 == 0o777 & ~umask()


def test_a_draft_that_is_not_published_goes(tmp_path: Path) -> None:
    with drafted(tmp_path / "out") as draft:
        (draft.path / "file").write_text("half")
    assert names(tmp_path) == []


def test_a_draft_that_may_be_all_that_is_left_stays(tmp_path: Path) -> None:
    with drafted(tmp_path / "out") as draft:
        draft.holds = "digest"
    assert names(tmp_path) == [draft.path.name]


def test_an_empty_folder_is_taken_and_keeps_its_mode_until_then(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir(mode=0o750)
    with drafted(tmp_path / "out") as draft:
        assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750
        draft.seal()
        draft.publish()
    assert names(tmp_path) == ["out"]


def test_what_cannot_be_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    (tmp_path / "dangling").symlink_to("nowhere")
    monkeypatch.chdir(tmp_path / "empty")
    for folder, why in {
        tmp_path / "full": "exists already",
        tmp_path / "file": "exists already",
        tmp_path / "link": "is a symbolic link",
        tmp_path / "dangling": "is a symbolic link",
        Path(): "is the folder you are in",
        tmp_path / "empty" / "..": "exists already",
        tmp_path / "none" / "out": "does not exist: create it first",
        tmp_path / ("x" * 256): "cannot be made",
        tmp_path / "a\0b": "cannot be made",
        tmp_path / "file" / "out": "does not exist: create it first",
    }.items():
        before = names(tmp_path)
        with pytest.raises(ReleaseError, match=why), drafted(folder):
            raise AssertionError
        assert names(tmp_path) == before


def test_a_closed_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ReleaseError, match="cannot be written to"):
        require_new(tmp_path / "out")


def test_a_name_that_the_file_system_refuses_is_found_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **__: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    (tmp_path / "mount").mkdir()
    monkeypatch.setattr(os, "rename", busy)
    with pytest.raises(ReleaseError, match="device or resource busy"), drafted(tmp_path / "mount"):
        raise AssertionError
    assert names(tmp_path) == ["mount"]


def test_one_run_holds_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.system.drafts.NAP", 0)
    with drafted(tmp_path / "out") as draft:
        (draft.path / "file").touch()
        with pytest.raises(ReleaseError, match="another run is writing to it"), drafted(tmp_path / "out"):
            raise AssertionError
        with drafted(tmp_path / "other") as other:
            assert other.path != draft.path
        assert names(draft.path) == ["file"]
        assert not destroy(draft.path)


KILLED = """
import os, sys
from holdfast.system.drafts import drafted
with drafted(sys.argv[1]) as draft:
    (draft.path / "file").write_text("half")
    (draft.path / "folder").mkdir()
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("following", ["out", "other"])
def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path, following: str) -> None:
    run = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "out"], check=False)
    assert run.returncode == -9
    assert names(tmp_path) == [draft_path(tmp_path / "out").name]
    with drafted(tmp_path / following) as draft:
        assert names(tmp_path) == [draft.path.name]
        assert names(draft.path) == []
    assert names(tmp_path) == []


def test_what_is_worth_keeping_is_kept(tmp_path: Path) -> None:
    left = draft_path(tmp_path / "out")
    left.mkdir()

    def spare(path: Path) -> str | None:
        return "it stays." if path == left else None

    with drafted(tmp_path / "other", spare):
        assert left.is_dir()
    with pytest.raises(ReleaseError, match="it stays"), drafted(tmp_path / "out", spare):
        raise AssertionError
    assert names(tmp_path) == [left.name]


def test_only_drafts_are_destroyed(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    assert destroy(tmp_path / "data")
    assert names(tmp_path) == ["data"]
    (tmp_path / f"{PREFIX}x").mkdir()
    assert destroy(tmp_path / f"{PREFIX}x")
    assert names(tmp_path) == ["data"]


def test_a_full_disk_is_found_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with drafted(tmp_path / "out") as draft:
        draft.reserve(10**6)
        assert (draft.path / "room").stat().st_size == 10**6
        draft.free()
        assert names(draft.path) == []
        monkeypatch.setattr(os, "posix_fallocate", full)
        with pytest.raises(ReleaseError, match="has less than the 1 MB that this may take"):
            draft.reserve(10**6)


def test_the_draft_of_a_name_is_short(tmp_path: Path) -> None:
    assert len(draft_path(tmp_path / ("x" * 255)).name) < 40


def test_a_name_that_the_disk_does_not_confirm_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(folder: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with drafted(tmp_path / "out") as draft:
        draft.seal()
        monkeypatch.setattr("holdfast.system.drafts.sync_folder", failing)
        with pytest.raises(ReleaseError, match=r"out is whole, but the disk does not confirm it \(input"):
            draft.publish()
        assert draft.named
    assert names(tmp_path) == ["out"]


def test_nobody_else_may_look_before_it_is_published(tmp_path: Path) -> None:
    with drafted(tmp_path / "out") as draft:
        draft.inside.write("file", b"whole")
        draft.seal()
        assert draft.path.stat().st_mode & 0o077 == 0
        draft.publish()
    assert (tmp_path / "out").stat().st_mode & 0o7777 == 0o777 & ~umask()


@pytest.mark.parametrize("mask", [0o077, 0o027, 0o002])
def test_who_may_read_is_for_the_umask_to_say(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with drafted(tmp_path / "out") as draft:
            draft.inside.write("file", b"")
            draft.publish()
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o7777 == 0o777 & ~mask
    assert (tmp_path / "out" / "file").stat().st_mode & 0o7777 == 0o666 & ~mask


def test_an_empty_folder_that_few_may_read_is_not_opened_to_more(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir(mode=0o700)
    with drafted(tmp_path / "out") as draft:
        draft.publish()
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700


@as_root
def test_what_others_put_in_the_place_of_a_draft_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    planted = draft_path(tmp_path / "out")
    planted.mkdir()
    (tmp_path / "precious").write_text("precious")
    (planted / "table.csv").symlink_to(tmp_path / "precious")
    planted.chmod(0o777)
    give_away(planted)
    with pytest.raises(ReleaseError, match="belongs to another user"), drafted(tmp_path / "out"):
        raise AssertionError
    with drafted(tmp_path / "other") as draft:  # what is not ours is not swept either
        draft.publish()
    assert names(planted) == ["table.csv"]
    assert (tmp_path / "precious").read_text() == "precious"


@as_root
def test_an_empty_folder_of_another_user_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    give_away(tmp_path / "out")
    with pytest.raises(ReleaseError, match="belongs to another user"), drafted(tmp_path / "out"):
        raise AssertionError


def test_another_folder_of_ours_that_was_moved_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "file").write_text("precious")
    moved = (tmp_path / "data").rename(draft_path(tmp_path / "out"))
    with pytest.raises(ReleaseError, match="did not make"), drafted(tmp_path / "out"):
        raise AssertionError
    with drafted(tmp_path / "other"):
        pass
    assert (moved / "file").read_text() == "precious"


def test_a_draft_that_is_moved_away_does_not_lead_astray(tmp_path: Path) -> None:
    with drafted(tmp_path / "out") as draft:
        draft.path.rename(tmp_path / "stolen")
        draft.path.mkdir(mode=0o777)
        draft.inside.write("file", b"whole")
        assert names(draft.path) == []
        with pytest.raises(ReleaseError, match="not what was written"):
            draft.publish()
        assert not draft.named
    assert names(tmp_path / "stolen") == []
