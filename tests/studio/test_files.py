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
    assert visitor.post("/exact/total", {"table": "none"}).status_code == 422


def test_exact_numbers_of_each_table_are_clicked(visitor: Visitor) -> None:
    path = visitor.desk.place.folder / "holdfast.toml"
    for table, place, level in (("units", 1, "county"), ("people", 0, "tract")):
        for number in (2, 1):  # it is kept, and no longer
            answer = visitor.post("/exact/level", {"table": table, "level": level})
            assert answer.status_code == 200, words(answer)
            values = tomllib.loads(path.read_text())
            assert len(values["tables"][place]["invariants"]) == number
            assert f"The table {table}" in words(answer)
    assert "# who lives there" in path.read_text()
    assert path.read_text() == SPEC
    assert visitor.post("/exact/drop", {"table": "units", "number": "1"}).status_code == 422
    freed = words(visitor.post("/exact/without", {"table": "units"}))
    assert "What each would give back" in freed


def test_each_table_tells_how_far_its_counts_are_off(visitor: Visitor) -> None:
    text = settled(visitor, {"table": "units"})
    plan = hf.plan(visitor.desk.place.folder / "holdfast.toml").parts["units"]
    assert plan.expected is not None
    for row in plan.expected:
        assert row.exact or f"± {row.within_95:.3g}" in text.replace("\u2009", " ")
    assert "At rho 0.1 (1/10) (this spec)" in text
    assert visitor.post("/accuracy/budget", {"table": "units", "budget": "1"}).status_code == 422


def settled(visitor: Visitor, fields: dict[str, str]) -> str:
    for _ in range(400):
        answer = visitor.post("/accuracy/look", fields)
        if "Still working out" not in answer.text:
            return words(answer)
    raise AssertionError("it does not come to an end")


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
