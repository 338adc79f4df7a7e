"""Releases of the second form verify with their page, are checked, and are used as they were.

Each archive in `version_2` was written in that form from a seed: a spec, its table, the release, and what
`holdfast intervals` said of it where the law of its noise is public.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.certificate.archives import failed, seal, unpacked
from tests.certificate.places import content_of

from holdfast.certificate.model import Certificate
from holdfast.certificate.read import read_certificate
from holdfast.certificate.text import FORMAT
from holdfast.certificate.verify import verify
from holdfast.inference.table_intervals import table_intervals

ARCHIVES = sorted(path.stem for path in (Path(__file__).parent / "version_2").glob("*.zip"))
ADDITIVE = ["k-norm", "lattice-gaussian", "lattice-laplace", "lattice-laplace-unit", "selections"]
Unpack = Callable[[str], Path]


@pytest.fixture
def unpack(tmp_path: Path) -> Unpack:
    """Unpack an archive; return the folder of its release."""
    return lambda name: unpacked("version_2", name, tmp_path)


@pytest.mark.parametrize("name", ARCHIVES)
def test_it_verifies_with_its_page(unpack: Unpack, name: str) -> None:
    release = unpack(name)
    assert content_of(release)["format"] == "holdfast-certificate/2"
    verification = verify(release)
    assert failed(verification) == []
    assert "page" in verification.derived
    assert "verdict" not in verification.derived


@pytest.mark.parametrize("name", ARCHIVES)
def test_it_is_read_as_what_it_would_be_now(unpack: Unpack, name: str) -> None:
    release = unpack(name)
    certificate, old = read_certificate(release), content_of(release)
    assert certificate.format == FORMAT
    assert certificate.verdict is None
    assert certificate.to_dict() == {**old, "format": FORMAT, "verdict": None}
    assert Certificate.from_json(certificate.to_json()) == certificate


@pytest.mark.parametrize("name", ARCHIVES)
@pytest.mark.parametrize("change", ["epsilon", "caveats", "page", "verdict", "label"])
def test_what_was_changed_is_found(unpack: Unpack, name: str, change: str) -> None:
    release = unpack(name)
    content = content_of(release)
    if change == "epsilon":
        first = next(iter(content["guarantee"]["intensity"]))
        content["guarantee"]["intensity"][first] = "1/9"
    elif change == "caveats":
        content["caveats"] = [one.replace(" Declare", " Do not declare") for one in content["caveats"][:-1]]
    elif change == "page":
        page = (release / "certificate.html").read_text(encoding="utf-8")
        (release / "certificate.html").write_text(page.replace("exactly", "nearly"), encoding="utf-8")
    elif change == "verdict":
        said = {"level": "strong", "right": 0.5, "meaning": "x", "unchanged": None, "warnings": []}
        content["verdict"] = said
    else:
        content["invariants"][0]["labels"][0] += " and more"
    seal(release, content)
    assert failed(verify(release)) != []


@pytest.mark.parametrize("name", ADDITIVE)
def test_intervals_are_what_they_were(unpack: Unpack, name: str) -> None:
    """An end that is simulated may differ by one with another sampler."""
    release = unpack(name)
    before = json.loads((release.parent / "intervals.json").read_text())
    found = table_intervals(release).to_dict()
    for row, old in zip(found["rows"], before["rows"], strict=True):
        assert (row["cell"], row["estimate"]) == (old["cell"], old["estimate"])
        assert all(abs(row[end] - old[end]) <= 1 for end in ("low", "high"))


def test_every_kind_is_here() -> None:
    within = ["conditioned-below-zero", "conditioned-chain", "conditioned-inequalities"]
    assert sorted([*ADDITIVE, *within, "conditioned-nonnegative", "noisy-count"]) == ARCHIVES
