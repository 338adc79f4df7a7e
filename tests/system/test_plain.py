"""Names inside of a folder, and files that can be read to their end."""

import os
from pathlib import Path

import pytest

from holdfast.system.files import plain_name, special


@pytest.mark.parametrize("name", ["table.csv", "caf\u00e9.html", "...", "a b", ".hidden", "-x"])
def test_plain_names(name: str) -> None:
    assert plain_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "/",
        "/etc/passwd",
        "a/b",
        "../a",
        "a\\b",
        "C:a",
        "a\0",
        "a\n",
        "\x1b",
        "\ud800",
        "\u202ea",
        None,
        3,
    ],
)
def test_all_others_are_none(name: object) -> None:
    assert not plain_name(name)


def test_special_files_are_told_without_opening_them(tmp_path: Path) -> None:
    file, link, pipe = tmp_path / "file", tmp_path / "link", tmp_path / "pipe"
    file.write_text("")
    link.symlink_to(file)
    os.mkfifo(pipe)
    assert special(file) is None
    assert (special(link), special(link, links=False)) == (None, "a link")
    assert (special(pipe), special(tmp_path), special(Path("/dev/null"))) == (
        "a pipe",
        "a folder",
        "a device",
    )
    for missing in (tmp_path / "none", file / "none", tmp_path / "a\0b", tmp_path / "\ud800"):
        with pytest.raises(OSError, match=r"No such file|Not a directory|Invalid argument"):
            special(missing)
