"""Compiled templates are kept beside compiled modules, and only where nobody else can have put them."""

import os
import sys
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader
from jinja2.bccache import Bucket

from holdfast.certificate.templates import STAMP, Templates


def rendered(folder: Path) -> str:
    loader = FileSystemLoader(folder)
    return (
        Environment(loader=loader, bytecode_cache=Templates(), autoescape=True).get_template("a.j2").render()
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    (tmp_path / "a.j2").write_text("one")
    return tmp_path


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"__pycache__/*.{STAMP}.jinja*"))


def test_what_was_compiled_is_run_again_until_its_text_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rendered(folder) == "one"
    (place,) = kept(folder)
    with monkeypatch.context() as patch:
        patch.setattr(Environment, "compile", lambda *_: pytest.fail("compiled again"))
        assert rendered(folder) == "one"
    before = place.read_bytes()
    (folder / "a.j2").write_text("two")
    assert rendered(folder) == "two"
    assert place.read_bytes() != before


def test_a_broken_file_is_made_anew(folder: Path) -> None:
    rendered(folder)
    (place,) = kept(folder)
    whole = place.read_bytes()
    for broken in (b"", whole[:40], b"x" * 100):
        place.write_bytes(broken)
        assert rendered(folder) == "one"
        assert kept(folder) == [place]


def test_nothing_is_kept_where_python_keeps_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered(folder) == "one"
    assert kept(folder) == []


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_what_others_may_write_is_neither_read_nor_written(folder: Path) -> None:
    rendered(folder)
    (place,) = kept(folder)
    other = Bucket(Environment(autoescape=True), "", Templates().get_source_checksum("one"))
    other.code = other.environment.compile("two")
    place.write_bytes(other.bytecode_to_string())
    assert rendered(folder) == "two"  # it is code, and believed where it is ours
    place.parent.chmod(0o777)
    assert rendered(folder) == "one"
    assert place.read_bytes() == other.bytecode_to_string()
