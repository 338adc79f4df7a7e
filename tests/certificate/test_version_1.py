"""Releases of the first version verify, are checked and are used as they were.

Each archive in `version_1` was written by that version from a seed: a spec, its table, the release, and what
`holdfast intervals` said of it where the law of its noise is public.
"""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.certificate.archives import failed, seal, unpacked
from tests.certificate.places import ABSURD, changed, content_of, put, tried

from holdfast.certificate.model import Certificate
from holdfast.certificate.page import render
from holdfast.certificate.public import Published, mechanism_of, public_of
from holdfast.certificate.read import read_certificate
from holdfast.certificate.text import FORMAT, canonical, digest
from holdfast.certificate.verify import Verification, verify
from holdfast.errors import GuaranteeError, ReleaseError
from holdfast.inference.table_intervals import table_intervals
from holdfast.mechanisms.conditioned import Conditioned, ConditionedRecord
from holdfast.release import published
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec import read_spec

ARCHIVES = sorted((Path(__file__).parent / "version_1").glob("*.zip"))
ADDITIVE = {
    "conditioned-free": "lattice-laplace",
    "conditioned-free-gaussian": "lattice-gaussian",
    "k-norm": "k-norm",
    "lattice-gaussian": "lattice-gaussian",
    "lattice-laplace": "lattice-laplace",
    "lattice-laplace-unit": "lattice-laplace",
}
"""What has a public law, and its name today: `conditioned` without inequalities has the law of another."""
WITHIN = {
    "conditioned-below-zero": ["inequality inequality 1"],
    "conditioned-chain": ["counts at least 0"],
    "conditioned-chain-moves": ["counts at least 0"],
    "conditioned-inequalities": [
        "counts at least 0",
        "inequality inequality 1",
        "inequality inequality 2",
        "inequality inequality 3",
    ],
    "conditioned-nonnegative": ["counts at least 0"],
}
"""What keeps to bounds, and the checks of these."""
Unpack = Callable[[str], Path]


@pytest.fixture
def unpack(tmp_path: Path) -> Unpack:
    """Unpack an archive; return the folder of its release."""
    return lambda name: unpacked("version_1", name, tmp_path)


def rewrite(release: Path, counts: list[int]) -> None:
    """Give the table other counts."""
    head, *rows = (release / "table.csv").read_text().splitlines()
    lines = [f"{row.rpartition(',')[0]},{count}" for row, count in zip(rows, counts, strict=True)]
    (release / "table.csv").write_text("\n".join([head, *lines]) + "\n")


def test_every_kind_of_the_first_version_is_here(unpack: Unpack) -> None:
    assert {path.stem for path in ARCHIVES} == {*ADDITIVE, *WITHIN}
    for path in ARCHIVES:
        content = content_of(unpack(path.stem))
        assert content["format"] == "holdfast-certificate/1"
        assert "constraints" not in content


@pytest.mark.parametrize("name", [*ADDITIVE, *WITHIN])
def test_it_verifies(unpack: Unpack, name: str) -> None:
    verification = verify(unpack(name))
    assert failed(verification) == []
    names = [check.name for check in verification.checks]
    assert {"certificate unchanged", "table.csv unchanged", "certificate.html unchanged", "schema"} <= set(
        names
    )
    assert [check for check in names if check.startswith(("counts", "inequality"))] == WITHIN.get(name, [])
    assert any(check.startswith("invariant ") for check in names)


@pytest.mark.parametrize("name", [*ADDITIVE, *WITHIN])
def test_tampering_is_found(unpack: Unpack, name: str) -> None:
    release = unpack(name)
    content = content_of(release)
    first, *rest = Published(release).table.counts.tolist()
    rewrite(release, [first + 1, *rest])
    found = failed(verify(release))
    assert found[0] == "table.csv unchanged"
    assert any(check.startswith("invariant ") for check in found)
    seal(release, content)
    assert failed(verify(release)) == found[1:]
    rewrite(release, [first, *rest])
    seal(release, content)
    assert failed(verify(release)) == []
    content["guarantee"]["intensity"] = {"epsilon": "1/9"}
    put(release, content)
    assert failed(verify(release)) == ["certificate unchanged"]


def test_broken_bounds_are_found(unpack: Unpack) -> None:
    release = unpack("conditioned-inequalities")  # the total is 20: old are at least 2, younger ones 1 each
    for counts, broken in (
        ([18, 0, 1, 0, 0, 1], ["inequality inequality 3"]),
        ([9, 0, 0, 10, 0, 1], ["inequality inequality 1"]),
        ([-1, 9, 2, 9, 0, 1], ["counts at least 0"]),
    ):
        rewrite(release, counts)
        seal(release, content_of(release))
        assert failed(verify(release)) == broken


@pytest.mark.parametrize("name", [*ADDITIVE, *WITHIN])
def test_it_is_read_as_what_it_would_be_now(unpack: Unpack, name: str) -> None:
    release = unpack(name)
    certificate = read_certificate(release)
    assert certificate.format == FORMAT
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert certificate.mechanism.name == ADDITIVE.get(name, "conditioned")
    assert certificate.guarantee.statement in render(certificate)
    old = content_of(release)
    assert certificate.guarantee.statement == old["guarantee"]["statement"]
    assert certificate.to_dict()["guarantee"]["intensity"] == old["guarantee"]["intensity"]
    assert certificate.digest == old["digest"]


@pytest.mark.parametrize("name", [*ADDITIVE, *WITHIN])
def test_what_was_public_is_what_the_spec_makes_public(unpack: Unpack, name: str) -> None:
    release = unpack(name)
    public, asked = public_of(read_certificate(release)), read_spec(release.parent / "holdfast.toml")
    own = published(asked)
    assert (public.schema, public.count, public.nonnegative) == (own.schema, own.count, own.nonnegative)
    assert public.scope.digest == own.scope.digest == read_certificate(release).guarantee.scope.digest
    assert [held.to_dict() for held in public.invariants] == [held.to_dict() for held in own.invariants]
    if own.floors is None or public.floors is None:
        assert own.floors is public.floors is None
    else:
        for mine, theirs in zip(own.floors, public.floors, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", [*ADDITIVE, *WITHIN])
def test_its_mechanism_gives_the_guarantee_that_it_states(unpack: Unpack, name: str) -> None:
    certificate = read_certificate(unpack(name))
    guarantee = mechanism_of(certificate, public_of(certificate)).guarantee
    assert guarantee.intensity.parameters().keys() == certificate.guarantee.intensity.keys()
    for parameter, value in guarantee.intensity.parameters().items():
        # of a chain the distance was written to three digits
        error = 5e-3 if parameter == "delta" else 0
        assert float(value) == pytest.approx(float(certificate.guarantee.intensity[parameter]), rel=error)


@pytest.mark.parametrize("name", ADDITIVE)
def test_intervals_are_what_they_were(unpack: Unpack, name: str) -> None:
    """An end that is simulated, from 19,999 draws of the law, may differ by one with another sampler."""
    release = unpack(name)
    found, before = (
        table_intervals(release).to_dict(),
        json.loads((release.parent / "intervals.json").read_text()),
    )
    ends = ("low", "high")
    for row, old in zip(found["rows"], before["rows"], strict=True):
        assert {key: row[key] for key in row if key not in ends} == {
            key: old[key] for key in old if key not in ends
        }
        assert all(abs(row[end] - old[end]) <= 1 for end in ends)
    assert (found["level"], found["simultaneous"]) == (before["level"], before["simultaneous"])


@pytest.mark.parametrize("name", WITHIN)
def test_there_are_intervals_only_where_there_were(unpack: Unpack, name: str) -> None:
    release = unpack(name)
    assert not (release.parent / "intervals.json").exists()
    with pytest.raises(ReleaseError, match="its law is not public"):
        table_intervals(release)


def test_chains_are_told(unpack: Unpack) -> None:
    for name, rows in (("conditioned-chain", True), ("conditioned-chain-moves", False)):
        release = unpack(name)
        certificate = read_certificate(release)
        record = certificate.mechanism
        assert isinstance(record, ConditionedRecord)
        assert record.chain is not None
        assert record.chain.pairs_of_rows is rows
        words = content_of(release)["mechanism"]["chain"]
        assert words.startswith(f"{record.chain.steps} steps of {record.chain.updates} ")
        mechanism = mechanism_of(certificate, public_of(certificate))
        assert isinstance(mechanism, Conditioned)
        law = mechanism.law
        table = Published(release).table.counts
        if rows:
            drawn = law(table).sample(SeededEntropy(1), 3)
            assert (drawn >= 0).all()
        else:  # it was not written whether the curator gave the moves
            with pytest.raises(GuaranteeError, match="ask for them"):
                law(table)


@pytest.mark.parametrize("name", [*ADDITIVE, *WITHIN])
def test_no_change_makes_the_verifier_fall_over(unpack: Unpack, name: str) -> None:
    release = unpack(name)
    written = content_of(release)
    chance = Random(name)
    estimate = [place for place in tried(written) if place[:3] == ("guarantee", "evidence", 5)]
    for place in [*chance.choices(tried(written), k=30), *estimate]:
        seal(release, {**changed(written, place, chance.choice(ABSURD)), "files": written["files"]})
        assert isinstance(verify(release), Verification)


def test_a_damaged_first_certificate_is_a_violation(unpack: Unpack) -> None:
    damages: list[tuple[str, dict[str, Any]]] = [
        ("conditioned-chain", {"chain": "some steps"}),
        ("conditioned-chain", {"chain": 5}),
        ("conditioned-inequalities", {"inequalities": "[[1, 2] y >= [0]"}),
        ("conditioned-inequalities", {"inequalities": "[[1, 'x']] y >= [0]"}),
        ("conditioned-inequalities", {"inequalities": "[[1]] y >= [0, 1]"}),
        ("conditioned-inequalities", {"inequalities": "none below 2"}),
        ("conditioned-inequalities", {"inequalities": f"{'[' * 100_000}] y >= [0]"}),
        ("conditioned-inequalities", {"inequalities": 7}),
        ("lattice-laplace", {"epsilon_per_unit": None}),
        ("lattice-laplace", {"name": "nothing"}),
    ]
    for name, damage in damages:
        release = unpack(name)
        content = content_of(release)
        seal(release, {**content, "mechanism": {**content["mechanism"], **damage}})
        verification = verify(release)
        assert failed(verification) == ["certificate"], damage
        assert "certificate.json is damaged" in verification.checks[-1].detail


def test_a_page_that_is_not_checked_is_told(unpack: Unpack) -> None:
    """Anyone can write a certificate in the first form: its page is not vouched for."""
    found = verify(unpack("lattice-laplace"))
    assert found.kept
    assert any("THE PAGE IS NOT CHECKED" in warning for warning in found.warnings)
    assert "page" not in found.derived


@pytest.mark.parametrize("name", ["k-norm", "conditioned-free", "conditioned-chain", "lattice-laplace"])
@pytest.mark.parametrize("change", ["perfect", "nothing assumed", "no caveats", "another caveat", "sampling"])
def test_words_of_the_first_form_claim_no_more_than_follows(unpack: Unpack, name: str, change: str) -> None:
    folder = unpack(name)
    content = content_of(folder)
    evidence = content["guarantee"]["evidence"]
    if change == "perfect":
        evidence[0]["claim"] = "nobody can learn anything at all"
    elif change == "nothing assumed":
        assert any(item["kind"] == "assumed" for item in evidence)
        content["guarantee"]["evidence"] = [item for item in evidence if item["kind"] != "assumed"]
    elif change == "no caveats":
        content["caveats"] = []
    elif change == "another caveat":
        content["caveats"].append("The invariants reveal nothing.")
    else:
        content["mechanism"]["sampling"] = ["by magic"]
    body = {key: value for key, value in content.items() if key != "digest"}
    text = canonical({**body, "digest": digest(body)})
    (folder / "certificate.json").write_text(text, encoding="utf-8")
    assert not verify(folder).kept
