"""A release appears whole or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.small_releases import released

import holdfast.releases.release
from holdfast.certificate.write import sha256
from holdfast.data.table import PublicTable
from holdfast.outputs import StatisticOutput
from holdfast.releases.release import Release
from holdfast.system.drafts import Draft
from holdfast.system.errors import ReleaseError
from holdfast.system.private import Private


@pytest.fixture(scope="module")
def release() -> Release:
    return released("lattice-laplace")


def write(release: Release, folder: Path, *, parquet: bool = False) -> Path:
    return release.write(folder, parquet=parquet)


@pytest.mark.parametrize("parquet", [False, True])
def test_three_files_and_nothing_else(release: Release, tmp_path: Path, *, parquet: bool) -> None:
    out = write(release, tmp_path / "out", parquet=parquet)
    table = "table.parquet" if parquet else "table.csv"
    assert sorted(path.name for path in out.iterdir()) == ["certificate.html", "certificate.json", table]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert sha256(out / table) in (out / "certificate.json").read_text()
    assert out.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("parquet", [False, True])
def test_statistics_are_a_file_of_their_own(tmp_path: Path, *, parquet: bool) -> None:
    made = released("noisy-count, strata")
    out = write(made, tmp_path / "out", parquet=parquet)
    assert sorted(path.name for path in out.iterdir()) == [
        "certificate.html",
        "certificate.json",
        "statistic.csv",
    ]
    assert StatisticOutput.read(out / "statistic.csv").values == made.statistics
    assert len(made.statistics) == 2


def test_the_same_release_is_the_same_bytes(release: Release, tmp_path: Path) -> None:
    one, two = write(release, tmp_path / "one"), write(release, tmp_path / "two")
    for path in one.iterdir():
        assert path.read_bytes() == (two / path.name).read_bytes()


def test_an_empty_folder_may_become_a_release(release: Release, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert len(list(write(release, tmp_path / "out").iterdir())) == 3


def test_a_long_name_is_as_good_as_any(release: Release, tmp_path: Path) -> None:
    assert write(release, tmp_path / ("x" * 255)).is_dir()


def test_nothing_is_overwritten(release: Release, tmp_path: Path) -> None:
    out = write(release, tmp_path / "out")
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(ReleaseError, match="exists already"):
        write(release, out)
    (tmp_path / "file").touch()
    with pytest.raises(ReleaseError, match="exists already"):
        write(release, tmp_path / "file")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def full(*_: object, **__: object) -> Any:
    raise OSError(28, "No space left on device")


def stop(*_: object, **__: object) -> Any:
    raise KeyboardInterrupt


STEPS = [
    (PublicTable, "write"),
    (holdfast.releases.release, "render"),
    (Private, "sha256"),
]


@pytest.mark.parametrize(("place", "step"), STEPS)
@pytest.mark.parametrize(("failure", "error"), [(full, ReleaseError), (stop, KeyboardInterrupt)])
def test_a_failure_leaves_nothing(
    release: Release,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    place: object,
    step: str,
    failure: Callable[..., Any],
    error: type[BaseException],
) -> None:
    monkeypatch.setattr(place, step, failure)
    with pytest.raises(error) as caught:
        write(release, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    if error is ReleaseError:
        assert "out cannot be written (no space left on device)" in str(caught.value)


def test_a_failure_of_the_last_step_leaves_nothing(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Draft, "seal", full)
    with pytest.raises(ReleaseError, match="no space left"):
        write(release, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_fills_meanwhile_is_kept(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another release to the same folder, between the look and the last step."""
    publish = Draft.publish

    def late(draft: Draft) -> None:
        draft.folder.mkdir()
        (draft.folder / "table.csv").write_text("theirs")
        publish(draft)

    monkeypatch.setattr(Draft, "publish", late)
    with pytest.raises(ReleaseError, match="directory not empty"):
        write(release, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "table.csv").read_text() == "theirs"
