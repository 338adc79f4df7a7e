"""The program as certificates name it, with the hash of its wheel where that is known."""

import json
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest
from tests.small_releases import prepared

import holdfast
from holdfast.certificate.making import WHEEL, this_software, wheel_of
from holdfast.certificate.page import render
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import ReleaseError
from holdfast.version import VERSION

HASH = "ab" * 32


def _installed(folder: Path, origin: Any, version: str = VERSION) -> Distribution:
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: holdfast-dp\nVersion: {version}\n")
    if origin is not None:
        (folder / "direct_url.json").write_text(origin if isinstance(origin, str) else json.dumps(origin))
    return Distribution.at(folder)


ORIGIN = {"url": "file:///w/holdfast_dp-1-py3-none-any.whl", "archive_info": {"hashes": {"sha256": HASH}}}


@pytest.mark.parametrize(
    ("origin", "version", "known"),
    [
        (ORIGIN, VERSION, HASH),
        (ORIGIN, "0.0.1", None),
        (None, VERSION, None),
        ("{", VERSION, None),
        ("[]", VERSION, None),
        ({"url": "file:///w", "dir_info": {"editable": True}}, VERSION, None),
        ({**ORIGIN, "url": "file:///w/holdfast_dp-1.tar.gz"}, VERSION, None),
        ({**ORIGIN, "archive_info": {"hashes": {"sha256": "ab"}}}, VERSION, None),
    ],
)
def test_an_installer_wrote_the_hash_of_a_wheel_down(
    tmp_path: Path, origin: Any, version: str, known: str | None
) -> None:
    assert wheel_of(_installed(tmp_path, origin, version)) == known


def test_the_environment_says_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(WHEEL, HASH.upper())
    release = prepared("lattice-laplace").release(SeededEntropy(1))
    assert release.certificate.software.wheel == HASH
    page = render(release.certificate)
    assert f"the version {VERSION} of the distribution <code>holdfast-dp</code>" in page
    assert HASH in page
    assert "pip install" not in page
    folder = release.write(tmp_path / "out")
    monkeypatch.delenv(WHEEL)
    assert holdfast.verify(folder).kept
    monkeypatch.setenv(WHEEL, "abc")
    with pytest.raises(ReleaseError, match="HOLDFAST_WHEEL_SHA256 is no SHA-256: give its 64 digits"):
        this_software()


def test_a_page_leads_to_the_address_of_its_publisher() -> None:
    certificate = prepared("lattice-laplace").certify(secure=True)
    assert "names it: another program may go by the same name" in render(certificate)
    told = certificate.model_validate(
        {**certificate.to_dict(), "publication": {"url": "https://a.example/x"}}
    )
    assert 'beginning at <a href="https://a.example/x"' in render(told)
