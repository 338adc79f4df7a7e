"""Folders of this user alone, where others may write to the folder above."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.strangers import as_root, give_away

from holdfast.system.private import MARK, ForeignError, Private


def test_files_are_new_and_plain(tmp_path: Path) -> None:
    with Private.made(tmp_path / "own") as inside:
        inside.close_to_others()
        assert inside.mode == 0o700 | MARK
        inside.write("file", b"content")
        with pytest.raises(FileExistsError):
            inside.write("file", b"other")
        with inside.open("file") as file:
            assert file.read() == b"content"
        assert inside.sha256("file").startswith("ed7002b4")
        (tmp_path / "own" / "link").symlink_to(tmp_path / "aim")
        with pytest.raises(OSError, match=r"exists|symbolic"):
            inside.write("link", b"through it")
        with pytest.raises(OSError, match="symbolic"):
            inside.open("link")
        os.mkfifo(tmp_path / "own" / "pipe")
        with pytest.raises(OSError, match="no plain file"):
            inside.open("pipe")
        (tmp_path / "own" / "folder").mkdir()
        inside.discard()
    assert list(tmp_path.iterdir()) == []


def test_what_links_lead_to_is_neither_written_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "aim").mkdir()
    (tmp_path / "aim" / "file").write_text("precious")
    with Private.made(tmp_path / "own") as inside:
        inside.close_to_others()
        (tmp_path / "own" / "folder").symlink_to(tmp_path / "aim")
        (tmp_path / "own" / "soft").symlink_to(tmp_path / "aim" / "file")
        (tmp_path / "own" / "hard").hardlink_to(tmp_path / "aim" / "file")
        inside.clear()
        assert inside.names == []
    assert (tmp_path / "aim" / "file").read_text() == "precious"


def test_files_go_to_the_folder_that_was_opened_wherever_it_is_moved(tmp_path: Path) -> None:
    with Private.made(tmp_path / "own") as inside:
        inside.close_to_others()
        (tmp_path / "own").rename(tmp_path / "moved")
        (tmp_path / "own").mkdir()
        inside.write("file", b"content")
        assert (tmp_path / "moved" / "file").read_bytes() == b"content"
        with pytest.raises(ForeignError, match="not the folder it was"), inside.shared("room-"):
            raise AssertionError
        inside.discard()
    assert list((tmp_path / "own").iterdir()) == list((tmp_path / "moved").iterdir()) == []


def test_a_room_for_other_processes_is_inside(tmp_path: Path) -> None:
    with Private.made(tmp_path / "own") as inside:
        with inside.shared("room-") as room:
            assert inside.names == [room.name]
            assert room.stat().st_mode & 0o077 == 0
        assert inside.names == []


def folder(path: Path) -> None:
    path.mkdir(mode=0o777)
    path.chmod(0o777)


def file(path: Path) -> None:
    path.write_text("x")


def link(path: Path) -> None:
    (path.parent / "aim").mkdir()
    path.symlink_to(path.parent / "aim")


PLANTED: tuple[Callable[[Path], None], ...] = (folder, file, link, os.mkfifo)


@as_root
@pytest.mark.parametrize("plant", PLANTED)
def test_what_another_user_put_there_is_refused_and_left_alone(
    tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    plant(tmp_path / "own")
    before = give_away(tmp_path / "own").lstat()
    with pytest.raises(ForeignError, match=r"belongs to another user|is not a folder of yours|is a link"):
        Private.made(tmp_path / "own")
    after = (tmp_path / "own").lstat()
    assert (before.st_mode, before.st_uid, before.st_ino) == (after.st_mode, after.st_uid, after.st_ino)


@pytest.mark.parametrize("mode", [0o755, 0o700, 0o777, 0o777 | stat.S_ISVTX])
def test_a_folder_of_ours_that_was_made_for_something_else_is_left_alone(tmp_path: Path, mode: int) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "file").write_text("precious")
    (tmp_path / "own").chmod(mode)
    with pytest.raises(ForeignError, match="did not make"):
        Private.made(tmp_path / "own")
    assert (tmp_path / "own" / "file").read_text() == "precious"


def test_the_umask_decides_what_is_usual(tmp_path: Path) -> None:
    for umask in (0o022, 0o077, 0o002, 0o027):
        before = os.umask(umask)
        try:
            with Private.made(tmp_path / f"{umask}") as inside:
                inside.close_to_others()
                assert inside.usual_mode() == 0o777 & ~umask
                inside.write("file", b"")
                assert (tmp_path / f"{umask}" / "file").stat().st_mode & 0o777 == 0o666 & ~umask
        finally:
            os.umask(before)


def test_a_disk_without_permissions_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own").mkdir(mode=0o755)
    monkeypatch.setattr(os, "fchmod", lambda *_: None)
    with Private.made(tmp_path / "own") as inside, pytest.raises(OSError, match="lets everyone read"):
        inside.close_to_others()
