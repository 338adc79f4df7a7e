"""What all tables share: the unit, the publication, nested attributes, and how the file is read."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.releases.test_several import seal

import holdfast
from holdfast import audit
from holdfast.certificate.quick import PAGE
from holdfast.derivation.several import verified
from holdfast.releases.several import prepare_tables
from holdfast.spec.load import read_any_spec
from holdfast.spec.tables import TablesSpec
from holdfast.verification.verify import verify

COUNTY = {"t1": "A", "t2": "A", "t3": "B", "t4": "B", "t5": "B"}
RECORDS = [
    (tract, county, "fm"[i % 2], ("young", "old")[i % 3 % 2])
    for i, (tract, county) in enumerate([*COUNTY.items()] * 6)
]
SPEC = """
[data]
path = "people.csv"
{data}
within = {{ tract = "county" }}

[privacy]
epsilon = "2"
unit = "household"
records_per_unit = 2

[publication]
title = "People of <A>"
publisher = "Office"

[[tables]]
name = "by tract"
cells = ["county", "tract", "sex"]

[[tables.invariants]]
margin = ["tract"]

[[tables]]
name = "ages"
cells = ["county", "age"]

[[tables.invariants]]
margin = ["county"]
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    rows = "".join(",".join(record) + "\n" for record in RECORDS)
    (tmp_path / "people.csv").write_text("tract,county,sex,age\n" + rows)
    path = tmp_path / "tables.toml"
    path.write_text(SPEC.format(data=""))
    return path


def test_the_unit_is_told_of_all_tables(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    guarantee = holdfast.release(spec, out).certificate.guarantee
    assert (guarantee.unit.name, guarantee.unit.distance, guarantee.unit.records_per_unit) == (
        "household",
        4,
        2,
    )
    assert verify(out).kept
    page = (out / PAGE).read_text(encoding="utf-8")
    assert "any one household&rsquo;s data" in page
    assert not re.search(r"one person", page)


def test_the_publication_stands_once_on_top(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    holdfast.release(spec, out)
    page = (out / PAGE).read_text(encoding="utf-8")
    assert page.count("About this publication") == 1
    assert "<h1><bdi>People of &lt;A&gt;</bdi></h1>" in page
    assert page.index("About this publication") < page.index('<article class="chapter"')


@pytest.mark.parametrize("parquet", [False, True])
def test_links_lead_to_the_files(spec: Path, tmp_path: Path, *, parquet: bool) -> None:
    out = tmp_path / "out"
    holdfast.release(spec, out, parquet=parquet)
    links = set(re.findall(r'href="([^"#:]*)"', (out / PAGE).read_text(encoding="utf-8")))
    kind = "parquet" if parquet else "csv"
    assert links == {f"by%20tract.{kind}", f"ages.{kind}"}
    assert {link.replace("%20", " ") for link in links} < {path.name for path in out.iterdir()}
    assert verify(out).kept


def test_kept_tracts_keep_their_counties(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shared = holdfast.release(spec, out).certificate.joined
    assert shared is not None
    assert [(item.attributes, item.exact, item.noisy) for item in shared.shared] == [
        (("county",), ("by tract", "ages"), ())
    ]
    tracts, ages = pl.read_csv(out / "by tract.csv"), pl.read_csv(out / "ages.csv")
    assert tracts.height == 10  # real cells alone
    counts = [
        table.group_by("county").agg(pl.col("count").sum()).sort("county").rows() for table in (tracts, ages)
    ]
    assert counts[0] == counts[1] == [("A", 12), ("B", 18)]
    assert "county agrees in by tract and ages" in [
        check.name for check in verify(out, quick=True).checks if check.holds
    ]


def test_each_table_adds_up_the_rows_of_a_file_of_counts(spec: Path, tmp_path: Path) -> None:
    frame = pl.DataFrame(RECORDS, schema=["tract", "county", "sex", "age"], orient="row")
    several = read_any_spec(spec)
    assert isinstance(several, TablesSpec)
    records = prepare_tables(several).scope.publics
    frame.group_by(frame.columns, maintain_order=True).len("n").write_csv(tmp_path / "people.csv")
    spec.write_text(SPEC.format(data='count = "n"'))
    counted = read_any_spec(spec)
    assert isinstance(counted, TablesSpec)
    for name, public in prepare_tables(counted).scope.publics.items():
        values = [held.values.tolist() for held in public.invariants]
        assert values == [held.values.tolist() for held in records[name].invariants]
    holdfast.release(spec, tmp_path / "out")
    assert verify(tmp_path / "out").kept


def test_tables_that_agree_no_more_are_found(spec: Path, tmp_path: Path) -> None:
    """One record is moved to another county in one table: its chapter, forged along, does not agree."""
    out = tmp_path / "out"
    holdfast.release(spec, out)
    content = json.loads((out / "certificate.json").read_text())
    ages = content["parts"][1]["invariants"][0]
    ages["values"] = [ages["values"][0] - 1, ages["values"][1] + 1]
    table = pl.read_csv(out / "ages.csv")
    moved = pl.Series("count", [-1, 0, 1, 0])
    table.with_columns(pl.col("count") + moved).write_csv(out / "ages.csv")
    seal(content, out)
    found = [check.name for check in verify(out, quick=True).checks if not check.holds]
    assert found == ["county agrees in by tract and ages"]


def test_plan_and_audit_tell_of_the_unit(spec: Path) -> None:
    told = audit.universe(spec).to_dict()
    assert (told["semi_adjacency"], told["distance"], told["records_per_unit"]) == (2, 4, 2)
    plan: dict[str, Any] = holdfast.plan(spec).to_dict()
    assert {name: one["part"] for name, one in plan["tables"].items()} == {
        "by tract": {"epsilon": "1"},
        "ages": {"epsilon": "1"},
    }
    assert all(one["costs"]["memory_bytes"] > 0 for one in plan["tables"].values())


def test_a_table_is_used_without_its_page(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    holdfast.release(spec, out)
    (out / PAGE).unlink()
    assert int(verified(out, "ages").table.counts.sum()) == len(RECORDS)
    assert not verify(out).kept


def test_what_a_curator_should_look_at_is_told_once(tmp_path: Path, spec: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text(people.read_text().replace("t5,B", "t5,b"))
    written = holdfast.release(spec, tmp_path / "out")
    assert len(written.warnings) == 1  # both tables are by county
    assert "county has the levels 'B', 'b'" in written.warnings[0]
    assert written.to_dict()["warnings"] == holdfast.plan(spec).to_dict()["warnings"] == [*written.warnings]
