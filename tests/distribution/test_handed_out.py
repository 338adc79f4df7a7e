"""What is handed out: built again it is the same bytes, with nothing missing and nothing else in it."""

import os
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from distribution.build import packed, packed_site
from tests.sources import ROOT
from website.reference import outputs

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TOP = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
PACKAGES = (("holdfast_dp-0", "src", "holdfast"), ("holdfast_verify", "verify/src", "holdfast_verify"))
CLONE = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="what belongs to the sources is asked of git")


def listed(*options: str) -> set[str]:
    """Return the files of this clone that are there, those that are new among them."""
    names = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", *options],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split("\0")
    return {name for name in names if name and (ROOT / name).is_file()}


def read(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".whl", ".gz")}


def names(archive: Path) -> set[str]:
    """Return the files of a wheel, or of sources without the name of their folder."""
    if archive.suffix == ".whl":
        return set(zipfile.ZipFile(archive).namelist())
    with tarfile.open(archive) as sources:
        return {one.name.partition("/")[2] for one in sources.getmembers() if one.isfile()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All distributions, the site being one page."""
    out = tmp_path_factory.mktemp("built")
    site = tmp_path_factory.mktemp("site")
    (site / "index.html").write_text("a page", encoding="utf-8")
    packed(ROOT, out)
    packed(ROOT / "verify", out)
    packed_site(site, out)
    return out


def test_sources_lead_to_the_same_wheels_and_sources(built: Path, tmp_path: Path) -> None:
    """In another folder, by a user with other permissions, with other times of files."""
    archives = sorted(built.glob("*.tar.gz"))
    assert len(archives) == 3
    before = os.umask(0o077)
    try:
        for archive in archives:
            with tarfile.open(archive) as sources:
                sources.extractall(tmp_path, filter="data")
            folder = tmp_path / archive.name.removesuffix(".tar.gz")
            for path in folder.rglob("*"):
                if path.is_file():
                    path.chmod(path.stat().st_mode & 0o700)
                    os.utime(path, (1, 1))
            packed(folder, tmp_path)
    finally:
        os.umask(before)
    assert read(tmp_path) == read(built)


def test_what_pages_show_of_runs_is_the_same_in_the_next() -> None:
    assert outputs.page() == outputs.page()


def test_files_have_the_time_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    packed(ROOT / "verify", tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    assert {one.date_time for one in zipfile.ZipFile(wheel).infolist()} == {(2023, 11, 14, 22, 13, 20)}


@CLONE
def test_a_wheel_has_every_file_of_the_package_and_no_other(built: Path) -> None:
    for name, root, package in PACKAGES:
        (wheel,) = built.glob(f"{name}*.whl")
        there = {one for one in names(wheel) if ".dist-info/" not in one}
        asked = {
            one.removeprefix(f"{root}/") for one in listed("-co", "--exclude-standard", f"{root}/{package}")
        }
        assert there - {"holdfast_verify/verify.html"} == asked
    (page,) = built.glob("holdfast_verify*.whl")
    assert (
        zipfile.ZipFile(page).read("holdfast_verify/verify.html")
        == (ROOT / "verify/verify.html").read_bytes()
    )
    (docs,) = built.glob("holdfast_dp_docs*.whl")
    assert {"holdfast_docs/__init__.py", "holdfast_docs/site/index.html"} <= names(docs)


@CLONE
def test_sources_are_what_git_knows(built: Path) -> None:
    assert {one.partition("/")[0] for one in listed()} == set(TOP)
    (sources,) = built.glob("holdfast_dp-0*.tar.gz")
    assert names(sources) - {"PKG-INFO"} == listed("-co", "--exclude-standard", *TOP)


def test_the_verifier_and_the_documentation_need_nothing(built: Path) -> None:
    for wheel in (*built.glob("holdfast_verify*.whl"), *built.glob("holdfast_dp_docs*.whl")):
        archive = zipfile.ZipFile(wheel)
        (metadata,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        needs = [
            line for line in archive.read(metadata).decode().splitlines() if line.startswith("Requires-Dist")
        ]
        assert [line for line in needs if "extra ==" not in line] == []
