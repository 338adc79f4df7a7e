"""Whatever is changed in a release is found, and no certificate makes the verifier fall over."""

import json
import os
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.certificate.places import ABSURD, changed, content_of, put, tried
from tests.small_releases import KINDS, released

from holdfast.certificate.certify import certify
from holdfast.certificate.model import Certificate
from holdfast.certificate.text import digest
from holdfast.certificate.write import sha256
from holdfast.derivation import derive
from holdfast.system.checks import Verification
from holdfast.system.errors import ReleaseError
from holdfast.verification.verify import verify

WHOLE = "lattice-laplace, zeros and weights"
ORDER = os.environ.get("HOLDFAST_TEST_ORDER", "")
CHANGES = 60 if ORDER else 8
"""Of a certificate of each kind."""


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return released(WHOLE).write(tmp_path / "out")


def seal(release: Path, content: dict[str, Any]) -> None:
    """Write a record with a digest that is right."""
    body = {name: value for name, value in content.items() if name != "digest"}
    put(release, {**body, "digest": digest(body)})


def reseal(release: Path) -> None:
    """Do what a forger would: take the hashes anew, and seal it again."""
    content = content_of(release)
    seal(release, {**content, "files": {name: sha256(release / name) for name in content["files"]}})


def add(release: Path, **changes: int) -> None:
    """Add to some cells of the table: f_young=1."""
    rows = [line.split(",") for line in (release / "table.csv").read_text().splitlines()]
    for row in rows[1:]:
        row[2] = str(int(row[2]) + changes.get(f"{row[0]}_{row[1]}", 0))
    (release / "table.csv").write_text("".join(",".join(row) + "\n" for row in rows))


def failed(verification: Verification) -> list[str]:
    assert verification.kept == all(check.holds for check in verification.checks)
    return [check.name for check in verification.checks if not check.holds]


def test_a_release_is_kept_wherever_it_stands(release: Path) -> None:
    assert failed(verify(release)) == []
    assert failed(verify(str(release))) == []
    reseal(release)
    assert failed(verify(release)) == []


def test_one_changed_cell_breaks_the_hash_and_the_invariants(release: Path) -> None:
    add(release, f_young=1)
    assert failed(verify(release)) == [
        "table.csv unchanged",
        "invariant sex",
        "invariant age",
        "invariant weighted",
    ]


def test_a_change_that_keeps_every_margin_breaks_the_hash(release: Path) -> None:
    add(release, f_young=1, f_middle=-1, m_young=-1, m_middle=1)
    assert failed(verify(release)) == ["table.csv unchanged"]


def test_a_forger_with_new_hashes_still_breaks_the_invariants(release: Path) -> None:
    add(release, f_young=1, m_young=-1)
    reseal(release)
    verification = verify(release)
    assert failed(verification) == ["invariant sex", "invariant weighted"]
    details = {check.name: check.detail for check in verification.checks}
    assert details["invariant sex"] == "sex = f is 13, not 12 (and 1 more)"
    assert details["invariant weighted"] == "a is 26, not 24"


def test_a_changed_page_breaks_its_hash(release: Path) -> None:
    with (release / "certificate.html").open("a") as page:
        page.write(" ")
    assert failed(verify(release)) == ["certificate.html unchanged"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("f,old,", "f,ancient,", "row 4 is not that of sex = 'f', age = 'old'"),
        ("sex,age,n", "sex,years,n", "does not begin with the row 'sex,age,n'"),
        ("m,old,0\n", "", "sex = 'm', age = 'old'"),
        ("m,old,0", "m,old,0.5", "not a whole number"),
        ("m,old,0", "m,old,", "not a whole number"),
        ("m,old,0", "f,old,0", "sex = 'm', age = 'old'"),
        ("sex,age,n\n", "", "does not begin"),
    ],
)
def test_a_table_of_another_form_breaks_the_schema_even_with_new_hashes(
    release: Path, old: str, new: str, words: str
) -> None:
    table = release / "table.csv"
    assert old in table.read_text()
    table.write_text(table.read_text().replace(old, new))
    assert failed(verify(release)) == ["table.csv unchanged", "schema"]
    reseal(release)
    verification = verify(release)
    assert failed(verification) == ["schema"]
    assert words in next(check.detail for check in verification.checks if not check.holds)


@pytest.mark.parametrize("content", [b"", b"\x00", b"\xff\xfe\x00", b"PAR1", b"a"])
def test_a_table_of_garbage_is_a_violation(release: Path, content: bytes) -> None:
    (release / "table.csv").write_bytes(content)
    assert failed(verify(release)) == ["table.csv unchanged", "schema"]


def test_a_folder_for_a_table_is_a_violation(release: Path) -> None:
    (release / "table.csv").unlink()
    assert failed(verify(release)) == ["table.csv unchanged", "schema"]
    (release / "table.csv").mkdir()
    assert failed(verify(release)) == ["table.csv unchanged", "schema"]


def test_a_changed_record_breaks_its_seal(release: Path) -> None:
    path = release / "certificate.json"
    text = path.read_text()
    content = json.loads(text)
    for key in content.keys() - {"format", "digest", "files", "created", "ledger", "quoted_formulas"}:
        for damaged in ({**content, key: "something else"}, {k: v for k, v in content.items() if k != key}):
            put(release, damaged)
            verification = verify(release)
            files = ["files"] if key == "parts" else []
            assert failed(verification) == ["certificate unchanged", *files, "certificate"], key
            (detail,) = (check.detail for check in verification.checks if check.name == "certificate")
            assert detail.startswith(f"certificate.json is damaged ({key}: "), detail
    put(release, {**content, "created": "something else"})
    assert failed(verify(release)) == ["certificate unchanged"]
    path.write_text(text.replace('"epsilon": "1"', '"epsilon": "1/9"'))
    assert failed(verify(release)) == ["certificate unchanged"]


def test_a_changed_value_breaks_the_seal_and_its_invariant(release: Path) -> None:
    content = content_of(release)
    content["parts"][0]["invariants"][1]["values"][0] += 1
    put(release, content)
    assert failed(verify(release)) == ["certificate unchanged", "invariant age"]


def test_absurd_records_are_violations_and_never_crashes(release: Path) -> None:
    """Every place, each with another value; other seeds try other pairs of them."""
    written = content_of(release)
    values = cycle(Random(ORDER).sample(ABSURD, len(ABSURD)))
    for place, absurd in zip(tried(written), values, strict=False):
        content = changed(written, place, absurd)
        # Without a new seal, it is a violation whatever else holds.
        put(release, content)
        assert verify(release).kept == (json.dumps(content) == json.dumps(written)), place
        seal(release, content)
        assert isinstance(verify(release), Verification)


@pytest.mark.parametrize("kind", KINDS)
def test_no_change_of_a_certificate_makes_the_verifier_fall_over(kind: str, tmp_path: Path) -> None:
    """Single values of certificates of every kind, at random places; a forger seals it anew."""
    release = released(kind).write(tmp_path / "out")
    assert failed(verify(release)) == []
    written = content_of(release)
    chance = Random(f"{kind}{ORDER}")
    for place in chance.choices(tried(written), k=CHANGES):
        seal(release, changed(written, place, chance.choice(ABSURD)))
        for check in verify(release).checks:
            assert check.holds or (check.detail and "\n" not in check.detail), place


@pytest.mark.parametrize(
    "name", ["table.csv/..", "../table.csv", "table.\0.csv", "table." + "x" * 300, "table.", "/"]
)
def test_the_verifier_stays_in_the_folder(release: Path, name: str) -> None:
    (release.parent / "table.csv").write_text("elsewhere")
    content = content_of(release)
    seal(release, {**content, "files": {**content["files"], name: "0" * 64}})
    assert not verify(release).kept


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "1", '"x"', "{}", '{"format": "holdfast-certificate/0"}', "[" * 100_000]
)
def test_what_is_no_certificate_is_an_error(release: Path, text: str) -> None:
    (release / "certificate.json").write_text(text)
    with pytest.raises(ReleaseError, match=r"certificate\.json is (not|nested) .*: restore it"):
        verify(release)


def test_no_release_is_an_error(release: Path) -> None:
    (release / "certificate.json").unlink()
    with pytest.raises(ReleaseError, match="cannot be read"):
        verify(release)
    with pytest.raises(ReleaseError, match="is not a folder"):
        verify(release / "none")


def test_a_parquet_release_is_verified_as_well(tmp_path: Path) -> None:
    out = released(WHOLE).write(tmp_path / "out", parquet=True)
    assert failed(verify(out)) == []
    whole = (out / "table.parquet").read_bytes()
    for place in range(0, len(whole), 29):
        (out / "table.parquet").write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        assert "table.parquet unchanged" in failed(verify(out))
    (out / "table.parquet").write_bytes(whole[:-9])
    assert failed(verify(out)) == ["table.parquet unchanged", "schema"]


OTHERS: list[object] = ["holdfast-certificate/1", "holdfast-certificate/2", [], {}, None, 3, "", True]


@pytest.mark.parametrize("form", OTHERS)
def test_there_is_one_form(release: Path, form: object) -> None:
    """A release that calls itself another form would lose its verdict and warnings."""
    kept = {name: value for name, value in content_of(release).items() if name != "verdict"}
    seal(release, {**kept, "format": form})
    for quick in (True, False):
        with pytest.raises(ReleaseError, match="not a certificate of the form holdfast-certificate/4"):
            verify(release, quick=quick)


def test_the_work_of_a_verification_is_done_once(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate is read once, and what follows from its facts is made once."""
    work: list[str] = []
    bytes_of = Path.read_bytes

    def certified(*facts: Any, **how: Any) -> Certificate:
        work.append("certify")
        return certify(*facts, **how)

    def read(path: Path) -> bytes:
        work.append(path.name)
        return bytes_of(path)

    monkeypatch.setattr(derive, "certify", certified)
    monkeypatch.setattr(Path, "read_bytes", read)
    assert verify(release).kept
    assert (work.count("certify"), work.count("certificate.json")) == (1, 1)
