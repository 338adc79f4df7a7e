"""One set of folders, and what the quick check of Holdfast says of each."""

from pathlib import Path

import pytest
from tests.verifier.folders import good, tampered

from holdfast.system.errors import ReleaseError
from holdfast.verification.verify import verify


def code(folder: Path) -> int:
    """Return the exit code of a quick check."""
    try:
        return 0 if verify(folder, quick=True).kept else 1
    except ReleaseError:
        return 2


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, int]:
    place = tmp_path_factory.mktemp("folders")
    for name in ("good", "changed"):
        (place / name).mkdir()
    released = [*good(place / "good")]
    told = {folder: code(folder) for folder in (*released, *tampered(released, place / "changed"))}
    assert [told[folder] for folder in released] == [0] * len(released)
    return told
