"""Files that a certificate does not name are told, in a release of every kind."""

from pathlib import Path

import pytest
from tests.mechanisms.topdown.small import spec
from tests.small_releases import released

import holdfast
from holdfast.certificate.unlisted import unlisted_files
from holdfast.verification.verify import verify
from holdfast.verification.verify import verify as verify_any


@pytest.mark.parametrize("quick", [True, False])
def test_a_file_beside_a_table_is_told_and_changes_nothing(tmp_path: Path, quick: bool) -> None:
    folder = released("lattice-laplace, zeros and weights").write(tmp_path / "out")
    before = verify(folder, quick=quick)
    assert not any("does not name" in said for said in before.warnings)
    (folder / "notes.txt").write_text("the true counts")
    (folder / "certificate.sig").write_bytes(bytes(64))
    after = verify(folder, quick=quick)
    assert after.kept
    told = [said for said in after.warnings if said not in before.warnings]
    (said,) = told
    assert said.startswith("'notes.txt' is in the folder, and the certificate does not name it")


def test_a_topdown_release_tells_them_too(tmp_path: Path) -> None:
    holdfast.release(spec(tmp_path), tmp_path / "out", seed=1)
    assert not any("does not name" in said for said in verify_any(tmp_path / "out", quick=True).warnings)
    (tmp_path / "out" / "more").mkdir()
    (tmp_path / "out" / "table.parquet").write_bytes(b"")
    found = verify_any(tmp_path / "out", quick=True)
    assert any(said.startswith("'more', 'table.parquet' are in the folder") for said in found.warnings)


def test_of_many_files_some_are_told(tmp_path: Path) -> None:
    for place in range(9):
        (tmp_path / f"{place}").touch()
    (said,) = unlisted_files(tmp_path, {"files": {"0": ""}})
    assert said.startswith("'1', '2', '3', '4', '5' and 3 more are in the folder")
    assert unlisted_files(tmp_path / "none", {}) == ()
