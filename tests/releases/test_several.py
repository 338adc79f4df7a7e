"""Releases of several tables: files, ledger, resume, signature, and certificates that were changed."""

import contextlib
import json
import shutil
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from tests.certificate.falsify import forgeries
from tests.releases.several_tables import SPEC, write_people

import holdfast
import holdfast.releases.handover
from holdfast.certificate.page import render
from holdfast.certificate.quick import PAGE
from holdfast.certificate.read import certificate_of, read_certificate
from holdfast.certificate.sign import generate_keys
from holdfast.certificate.text import canonical, digest
from holdfast.certificate.write import sha256
from holdfast.inference.released_intervals import intervals
from holdfast.ledger.account import Ledger
from holdfast.ledger.verify import verify_ledger
from holdfast.releases.resume import ChargedError
from holdfast.system.drafts import Draft
from holdfast.system.errors import HoldfastError, ReleaseError
from holdfast.verification.verify import verify


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return write_people(tmp_path)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "account.db", standard="pure", budget=Fraction(4))


def refused(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("parquet", [False, True])
def test_one_folder_holds_all_tables(spec: Path, tmp_path: Path, *, parquet: bool) -> None:
    out = tmp_path / "out"
    done = holdfast.release(spec, out, parquet=parquet)
    kind = "parquet" if parquet else "csv"
    names = {f"age_by_county.{kind}", f"sex_by_county.{kind}", "certificate.json", "certificate.html"}
    assert {path.name for path in out.iterdir()} == names
    found = verify(out)
    assert found.kept
    assert "county agrees in age_by_county and sex_by_county" in [check.name for check in found.checks]
    assert verify(out, quick=True).kept
    read = pl.read_parquet if parquet else pl.read_csv
    counties = [
        read(out / f"{name}.{kind}").group_by("county").agg(pl.col("count").sum()).sort("county").rows()
        for name in ("age_by_county", "sex_by_county")
    ]
    assert counties[0] == counties[1] == [("A", 20), ("B", 20), ("C", 20)]
    assert done.certificate.guarantee.intensity == {"epsilon": 1}
    page = (out / PAGE).read_text(encoding="utf-8")
    assert page.count('<article class="chapter"') == 2
    assert "this release is more than" not in page
    marks = [part.partition('"')[0] for part in page.split(' id="')[1:]]
    assert len(marks) == len(set(marks))


def test_one_mu_is_divided_charged_and_derived_again(tmp_path: Path) -> None:
    text = SPEC.replace('epsilon = "1"', 'standard = "gaussian"\nmu = "1/3"')
    spec = write_people(tmp_path, text + '\n[mechanism]\nname = "lattice-gaussian"\n')
    out = tmp_path / "out"
    account = Ledger.create(tmp_path / "mu.db", standard="gaussian", budget=Fraction(1))
    done = holdfast.release(spec, out, ledger=account)
    assert verify(out).kept
    assert verify_ledger(tmp_path / "mu.db", releases=[out]).kept
    mu = done.certificate.guarantee.intensity["mu"]
    assert Fraction(1, 3) - Fraction(1, 10**11) < mu <= Fraction(1, 3)
    assert account.rows()[0].charge.intensity == mu
    tables = ("age_by_county", "sex_by_county")
    shares = [done.certificate.alone(name).target.mu for name in tables]
    assert [float(share or 0) for share in shares] == pytest.approx([18**-0.5] * 2)


def test_a_table_that_was_changed_is_found(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    holdfast.release(spec, out)
    path = out / "sex_by_county.csv"
    rows = path.read_text().splitlines()
    levels, _, count = rows[1].rpartition(",")
    rows[1] = f"{levels},{int(count) + 1}"
    path.write_text("\n".join(rows) + "\n")
    wrong = {check.name for check in verify(out).checks if not check.holds}
    assert "sex_by_county.csv unchanged" in wrong
    assert "sex_by_county: invariant county" in wrong


def test_tables_with_other_counts_of_what_they_share_are_found(spec: Path, tmp_path: Path) -> None:
    """A forger who makes every hash and every invariant of a chapter right is found by the other table."""
    out = tmp_path / "out"
    holdfast.release(spec, out)
    content = json.loads((out / "certificate.json").read_text())
    path = out / "sex_by_county.csv"
    rows = path.read_text().splitlines()
    levels, _, count = rows[1].rpartition(",")
    rows[1] = f"{levels},{int(count) + 1}"
    path.write_text("\n".join(rows) + "\n")
    content["parts"][1]["invariants"][0]["values"][0] += 1
    seal(content, out)
    wrong = {check.name for check in verify(out, quick=True).checks if not check.holds}
    assert wrong == {"county agrees in age_by_county and sex_by_county"}


def seal(content: dict[str, Any], out: Path) -> None:
    """Make the page and every hash right again, as a forger would."""
    with contextlib.suppress(HoldfastError, ArithmeticError, LookupError, ValueError, TypeError):
        (out / PAGE).write_text(render(certificate_of(content, "")), encoding="utf-8")
    for name in content["files"]:
        content["files"][name] = sha256(out / name)
    content["digest"] = digest({key: value for key, value in content.items() if key != "digest"})
    (out / "certificate.json").write_text(canonical(content), encoding="utf-8")


def test_what_joins_the_tables_cannot_be_changed(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    holdfast.release(spec, out)
    content = json.loads((out / "certificate.json").read_text())
    for number, forged in enumerate(forgeries(content, Random(3), 120)):
        if forged.name in ("quoted_formulas", "ledger", "software.version", "created"):
            continue
        copy = tmp_path / f"forged-{number}"
        shutil.copytree(out, copy)
        seal(forged.content, copy)
        assert not verify(copy).kept or forged.name.startswith("publication"), (forged.place, forged.what)
        shutil.rmtree(copy)


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda c: c["parts"].reverse(), "all tables"),
        (lambda c: c["parts"][0].update(name="other"), "shared"),
        (lambda c: c["parts"][0].update(outputs=["other"]), "files"),
        (lambda c: c["parts"][0].pop("alone"), "certificate"),
        (lambda c: c["parts"].pop(), "shared"),
        (lambda c: c.pop("joined"), "certificate"),
        (lambda c: c["parts"][0]["alone"]["target"].update(epsilon="1/3"), "target"),
        (lambda c: c["joined"]["budget"]["shares"][0].update(weight="2"), "joint guarantee"),
        (lambda c: c["guarantee"]["intensity"].update(epsilon="1/2"), "all tables: guarantee"),
        (lambda c: c["joined"]["shared"].pop(), "all tables: joined"),
        (lambda c: c["verdict"].update(level="moderate"), "all tables: verdict"),
        (lambda c: c["guarantee"]["unit"].update(name="household"), "all tables: guarantee"),
        (lambda c: c["guarantee"]["unit"].update(records_per_unit=2), "all tables: guarantee"),
    ],
)
def test_falsified(spec: Path, tmp_path: Path, change: Any, check: str) -> None:
    out = tmp_path / "out"
    holdfast.release(spec, out)
    content = json.loads((out / "certificate.json").read_text())
    change(content)
    seal(content, out)
    found = [one.name for one in verify(out).checks if not one.holds]
    assert any(check in name for name in found), found


def test_one_row_of_a_ledger_holds_all_tables(spec: Path, ledger: Ledger, tmp_path: Path) -> None:
    done = holdfast.release(spec, tmp_path / "out", ledger=ledger)
    assert done.row is not None
    assert (done.row.index, done.row.total, done.left) == (1, Fraction(1), Fraction(3))
    assert len(ledger.rows()) == 1
    holdfast.release(spec, tmp_path / "again", ledger=ledger)
    assert ledger.spent() == 2  # two releases of the same designs, from the checkpoint
    folders = [tmp_path / "out", tmp_path / "again"]
    assert verify_ledger(ledger.path, releases=folders).kept
    content = (tmp_path / "out" / "certificate.json").read_text()
    (tmp_path / "again" / "certificate.json").write_text(content)
    assert not verify_ledger(ledger.path, releases=folders).kept


def test_a_row_of_several_tables_composes_with_one_of_a_single_table(
    spec: Path, ledger: Ledger, tmp_path: Path
) -> None:
    holdfast.release(spec, tmp_path / "out", ledger=ledger)
    # with sex kept beside county one change takes 3 records: age_by_county and the new table, calibrated for
    # 2, cost half more; sex_by_county does not, since both margins are known of its two columns
    single = tmp_path / "single.toml"
    single.write_text(
        '[data]\npath = "people.csv"\ncells = ["age", "sex"]\n[privacy]\nepsilon = "1"\n'
        '[[invariants]]\nmargin = ["sex"]\n'
    )
    holdfast.release(single, tmp_path / "one", ledger=ledger)
    assert ledger.spent() == Fraction(3, 4) + Fraction(1, 2) + Fraction(3, 2)
    releases = [tmp_path / "out", tmp_path / "one"]
    assert verify_ledger(ledger.path, releases=releases).kept
    holdfast.release(spec, tmp_path / "more", ledger=ledger)
    assert ledger.spent() == Fraction(11, 4) + Fraction(5, 4)
    assert verify_ledger(ledger.path, releases=[*releases, tmp_path / "more"]).kept


def test_a_failure_after_the_charge_is_resumed(spec: Path, ledger: Ledger, tmp_path: Path) -> None:
    for place, step in ((holdfast.releases.handover, "write_outputs"), (Draft, "publish")):
        row = len(ledger.rows()) + 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(place, step, refused)
            with pytest.raises(ChargedError, match=rf"row {row} of .* resume={row}"):
                holdfast.release(spec, tmp_path / step, ledger=ledger)
        assert not (tmp_path / step).exists()
        done = holdfast.release(spec, tmp_path / step, ledger=ledger, resume=row)
        assert done.row == ledger.row(row)
        assert ledger.spent() == row
        assert verify(tmp_path / step).kept
    with pytest.raises(ReleaseError, match="was released on"):
        holdfast.release(spec, tmp_path / "late", ledger=ledger, resume=1)
    assert verify_ledger(ledger.path, releases=[tmp_path / "write_outputs", tmp_path / "publish"]).kept


def test_another_spec_does_not_take_a_row(spec: Path, ledger: Ledger, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(holdfast.releases.handover, "write_outputs", refused)
        with pytest.raises(ChargedError):
            holdfast.release(spec, tmp_path / "out", ledger=ledger)
    spec.write_text(
        SPEC.replace('division = "equal"', 'division = "weights"').replace(
            'name = "age', 'weight = 2\nname = "age'
        )
    )
    with pytest.raises(HoldfastError, match="charged for another release"):
        holdfast.release(spec, tmp_path / "out", ledger=ledger, resume=1)


def test_over_budget_nothing_is_charged_or_written(spec: Path, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "small.db", standard="pure", budget=Fraction(1, 2))
    with pytest.raises(HoldfastError, match="is not enough"):
        holdfast.release(spec, tmp_path / "out", ledger=ledger)
    assert ledger.spent() == 0
    assert not (tmp_path / "out").exists()


def test_signed(spec: Path, tmp_path: Path) -> None:
    private, public = generate_keys(tmp_path / "key")
    _, other = generate_keys(tmp_path / "other")
    holdfast.release(spec, tmp_path / "out", key=private)
    assert verify(tmp_path / "out", public_key=public).kept
    assert not verify(tmp_path / "out", public_key=other).kept


def test_intervals_of_one_table(spec: Path, tmp_path: Path) -> None:
    holdfast.release(spec, tmp_path / "out")
    found = intervals(tmp_path / "out", table="sex_by_county", margin=["county"])
    assert found.found.determined.all()
    assert found.found.estimate.tolist() == [20, 20, 20]
    with pytest.raises(ReleaseError, match="name one with the argument table, of age_by_county, sex_by"):
        intervals(tmp_path / "out")
    with pytest.raises(ReleaseError, match="has no table 'sex'"):
        intervals(tmp_path / "out", table="sex")


def test_a_seed_repeats_all_tables_with_noise_of_their_own(spec: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        holdfast.release(spec, tmp_path / name, seed=5)
    tables = [(tmp_path / name / "age_by_county.csv").read_text() for name in ("one", "two")]
    assert tables[0] == tables[1]
    assert any("PROTECTS NOBODY" in warning for warning in verify(tmp_path / "one").warnings)
    assert "not private" in (tmp_path / "one" / PAGE).read_text()


def test_names_that_a_spreadsheet_would_run_are_quoted(tmp_path: Path) -> None:
    spec = write_people(tmp_path)
    data = tmp_path / "people.csv"
    data.write_text(data.read_text().replace("young", "=1+1"))
    holdfast.release(spec, tmp_path / "out", quote_formulas=True)
    assert "'=1+1" in (tmp_path / "out" / "age_by_county.csv").read_text()
    assert verify(tmp_path / "out").kept
    assert intervals(tmp_path / "out", table="age_by_county").names == ("county", "age")


def test_nothing_confidential_stands_in_the_record(spec: Path, tmp_path: Path) -> None:
    holdfast.release(spec, tmp_path / "out")
    record = read_certificate(tmp_path / "out")
    values = [part["invariants"] for part in record.to_dict()["parts"]]
    assert [block["values"] for blocks in values for block in blocks] == [[20, 20, 20]] * 2
