"""Files that appear whole, or not at all."""

import os
from pathlib import Path

import pytest

from holdfast.system.files import held, write_new, write_new_text


def test_a_file_appears_whole(tmp_path: Path) -> None:
    write_new_text(tmp_path / "note.txt", "one\ntwo\n")
    assert (tmp_path / "note.txt").read_bytes() == b"one\ntwo\n"
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_a_name_that_is_taken_keeps_its_file(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("old")
    with pytest.raises(FileExistsError):
        write_new_text(path, "new")
    assert path.read_text() == "old"
    write_new_text(path, "new", replace=True)
    assert path.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail(draft: Path) -> None:
        draft.write_text("half")
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        write_new(tmp_path / "note.txt", fail)
    assert not list(tmp_path.iterdir())


def test_the_mode_is_as_asked(tmp_path: Path) -> None:
    write_new_text(tmp_path / "secret.txt", "x", mode=0o600)
    assert (tmp_path / "secret.txt").stat().st_mode & 0o777 == 0o600


def test_what_killed_runs_left_is_removed_and_what_is_held_is_not(tmp_path: Path) -> None:
    for name in (".holdfast-old", ".holdfast-old-journal", ".holdfast-gone-journal", ".holdfast-live"):
        (tmp_path / name).touch()
    handle = held(tmp_path / ".holdfast-live")
    assert handle is not None
    (tmp_path / ".holdfast-live-journal").touch()
    (tmp_path / ".holdfast-folder").mkdir()
    (tmp_path / "mine").touch()
    write_new_text(tmp_path / "note.txt", "whole")
    kept = [".holdfast-folder", ".holdfast-live", ".holdfast-live-journal", "mine", "note.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == kept
    os.close(handle)
