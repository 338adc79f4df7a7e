"""Compiled code is kept, and found again, where nobody else could have put it."""

import os
from pathlib import Path

import pytest
from tests.strangers import STRANGER, as_root, give_away

from holdfast.system.compiled import compiled
from holdfast.system.private import only_ours


def double(number: int) -> int:
    return 2 * number


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder of this user's, two levels below the test's own."""
    folder = tmp_path / "one" / "two"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent, tmp_path):
        place.chmod(0o755)
    return folder


def test_a_folder_of_ours_is_used(own: Path) -> None:
    assert only_ours(own)
    assert only_ours(own / "not" / "there")


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o1777])
def test_a_folder_that_others_may_write_to_is_not_used(own: Path, mode: int) -> None:
    own.chmod(mode)
    assert not only_ours(own)


def test_nor_is_one_below_such_a_folder_unless_names_there_stay(own: Path) -> None:
    own.parent.chmod(0o777)
    assert not only_ours(own)
    own.parent.chmod(0o1777)
    assert only_ours(own)
    (own / "link").symlink_to("nowhere")
    assert only_ours(own / "link" / "more")


@as_root
def test_what_belongs_to_another_user_or_group_is_not_used(own: Path) -> None:
    give_away(own.parent)
    assert not only_ours(own)
    own.parent.chmod(0o700)
    assert not only_ours(own)


@as_root
def test_a_group_that_may_write_is_one_user_alone(own: Path) -> None:

    own.chmod(0o775)
    assert only_ours(own)
    os.chown(own, 0, STRANGER)
    assert not only_ours(own)


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_code_is_kept_only_there(own: Path, mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import config

    own.chmod(mode)
    monkeypatch.setattr(config, "CACHE_DIR", str(own))
    assert compiled(double)(21) == 42
    assert any(path.suffix == ".nbi" for path in own.rglob("*")) is (mode == 0o755)
