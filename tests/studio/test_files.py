"""Tables of several files go through all views: units stated apart, one release, one account."""

import tomllib
from pathlib import Path

import pytest
from tests.releases import people_and_units
from tests.studio.visitor import Visitor, words

import holdfast as hf
from holdfast import audit
from holdfast.audit.universes import UniverseReports

SPEC = """\
[data.geography]
column = "block"
prefixes = { state = 1, county = 2, tract = 3, block = 4 }

[privacy]
standard = "zcdp"
adjacency = "unit"

[mechanism]
name = "topdown"

[[tables]]
name = "people"
cells = ["place", "age"]
data = { path = "people.csv", count = "people" }
[tables.privacy]
unit = "person"   # who lives there
rho = "1"
[[tables.invariants]]
total = true
level = "state"

[[tables]]
name = "units"
cells = ["kind"]
data = { path = "units.csv", count = "units" }
[tables.privacy]
unit = "household"
rho = "1/10"
[[tables.invariants]]
margin = ["kind"]
where = { kind = ["dorm", "home"] }
level = "block"

[[constraints.across]]
name = "people where facilities are"
level = "block"
left = { table = "people", margin = ["place"], where = { place = ["dorm", "home"] } }
sense = ">="
right = { table = "units", margin = ["kind"], where = { kind = ["dorm", "home"] } }
zero = true
"""


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    (tmp_path / "people.csv").write_text(people_and_units.people())
    (tmp_path / "units.csv").write_text(people_and_units.units())
    (tmp_path / "holdfast.toml").write_text(SPEC)
    return Visitor.at(tmp_path)


def test_the_spec_is_that_of_the_files(visitor: Visitor) -> None:
    values = tomllib.loads(SPEC)
    assert {key: values[key] for key in ("data", "privacy", "mechanism", "constraints")} == {
        key: value for key, value in people_and_units.asked().items() if key != "tables"
    }
    assert visitor.desk.asked.problem == ""


def test_each_table_has_its_view_and_its_unit(visitor: Visitor) -> None:
    text = words(visitor.get("/data"))
    for word in ("The table people", "The table units", "In people", "In units"):
        assert word in text
    answer = visitor.post("/data/unit", {"table": "units", "unit": "home", "records": "2"})
    assert answer.status_code == 200, words(answer)
    found = visitor.desk.asked
    assert [one["privacy"]["unit"] for one in found.values["tables"]] == ["person", "home"]
    assert found.values["privacy"]["records_per_unit"] == 2  # which is one for all
    assert "# who lives there" in found.text
    assert visitor.post("/data/unit", {"table": "none", "unit": "home"}).status_code == 422


def test_nobody_is_named_until_every_table_says_whom(visitor: Visitor) -> None:
    path = visitor.desk.place.folder / "holdfast.toml"
    path.write_text(SPEC.replace('unit = "household"', 'unit = ""'))
    assert visitor.desk.asked.no_unit
    assert "Nobody is named" in words(visitor.get("/release"))
    assert visitor.post("/data/unit", {"table": "units", "unit": "household"}).status_code == 200
    assert not visitor.desk.asked.no_unit


def test_exact_numbers_are_those_of_the_audit(visitor: Visitor) -> None:
    text = words(visitor.get("/exact"))
    found = audit.universe(visitor.desk.place.folder / "holdfast.toml")
    assert isinstance(found, UniverseReports)
    for name, one in found.tables.items():
        assert f"{name} {one.cells:,} {one.dimension:,}" in text
    assert "people where facilities are" in text
    assert visitor.get("/accuracy").status_code == 200
    assert visitor.post("/exact/total").status_code == 422  # of one table


def test_they_are_released_charged_and_used(visitor: Visitor) -> None:
    assert visitor.post("/release/ledger", {"name": "a", "budget": "3"}).status_code == 200
    answer = visitor.post("/release/look", {"out": "out", "ledger": "a.ledger"})
    assert answer.status_code == 200, words(answer)
    visitor.desk.jobs["look"].wait()
    text = words(visitor.get("/release"))
    assert "is charged to a.ledger" in text, text
    visitor.post("/release/draw", {"nonce": visitor.desk.nonce})
    visitor.desk.jobs["release"].wait()
    assert "It is released: out" in words(visitor.get("/release"))
    out = visitor.desk.place.folder / "out"
    assert hf.verify(out).kept
    account = hf.Ledger.open(visitor.desk.place.folder / "a.ledger")
    assert len(account.rows()) == 1
    assert "out" in words(visitor.get("/account"))
    for _ in range(2):
        text = words(visitor.post("/use/ask", {"table": "units"}))
        visitor.desk.jobs["use"].wait()
    assert "The released counts" in text
