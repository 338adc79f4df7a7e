"""Several tables of one file: each is clicked on, and tells its errors at its share of the budget."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.studio.browser.worlds import world
from tests.studio.visitor import Visitor, words

import holdfast as hf
from holdfast.system.text import rational


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    return Visitor.at(world("several")(tmp_path))


def invariants(visitor: Visitor) -> list[Any]:
    values = tomllib.loads((visitor.desk.place.folder / "holdfast.toml").read_text())
    return [one.get("invariants") for one in values["tables"]]


def test_each_is_clicked_on_by_itself(visitor: Visitor) -> None:
    path = visitor.desk.place.folder / "holdfast.toml"
    before = path.read_text()
    assert visitor.post("/exact/margin", {"table": "ages", "names": "age"}).status_code == 200
    assert invariants(visitor) == [[{"margin": ["sex"]}, {"margin": ["age"]}], None]
    text = words(visitor.post("/exact/total", {"table": "places"}))
    assert "The table places" in text
    while "still looked for" in text:
        text = words(visitor.post("/exact/look", {"table": "places"}))
    assert "101 numbers are left open, and one person's change moves 1 person; no cell is revealed" in text
    assert invariants(visitor)[1] == [{"total": True}]
    visitor.post("/exact/margin", {"table": "ages", "names": "age"})
    assert visitor.desk.asked.problem == ""
    visitor.post("/spec/undo")
    visitor.post("/spec/undo")
    visitor.post("/spec/undo")
    assert path.read_text() == before


def test_the_guarantee_is_that_of_all_tables_together(visitor: Visitor) -> None:
    """One person's change takes what the exact numbers of all tables make of it, as a release is made for."""
    visitor.post("/exact/total", {"table": "places"})
    together = hf.prepare(visitor.desk.place.folder / "holdfast.toml").guarantee.unit.distance
    for _ in range(400):
        text = words(visitor.post("/exact/look", {"table": "places"}))
        if "still looked for" not in text:
            break
    people = "1 person" if together == 1 else f"{together} people"
    assert f"under the exact numbers of all, one person's change moves {people}" in text
    told, epsilon = (
        text.split("What the guarantee becomes")[1],
        int(visitor.desk.asked.values["privacy"]["epsilon"]),
    )
    assert f"as is usual, for one record epsilon {epsilon} epsilon {epsilon * together}" in told


def test_errors_are_those_of_its_share(visitor: Visitor) -> None:
    plan = hf.plan(visitor.desk.place.folder / "holdfast.toml", what_if={"epsilon": [4]})
    for name, share in (("ages", "3/4"), ("places", "1/4")):
        text = settled(visitor, name)
        assert share in text
        rows = plan.parts[name].what_if[0].expected
        assert all(row.exact or f"± {row.within_95:.3g}" in text for row in rows)
    assert visitor.post("/accuracy/budget", {"budget": "1/2"}).status_code == 200
    assert visitor.desk.asked.values["privacy"]["epsilon"] == "1/2"


def targets(visitor: Visitor) -> list[Any]:
    return [one.get("accuracy", []) for one in visitor.desk.asked.values["tables"]]


def place_of(visitor: Visitor, table: str, words_of: str) -> str:
    """Return the choice of some counts as the form sends it."""
    text = visitor.post("/accuracy/look", {"table": table}).text
    found = re.findall(rf'<option value="(\d+)">{words_of}</option>', text)
    return str(found[0])


def test_targets_of_several_tables_lead_to_one_budget_and_tell_what_binds(visitor: Visitor) -> None:
    path = visitor.desk.place.folder / "holdfast.toml"
    for table, counts in (("ages", "age"), ("places", "county")):
        settled(visitor, table)
        asked = {"table": table, "of": place_of(visitor, table, counts), "within": "9", "level": "90"}
        assert visitor.post("/accuracy/target", asked).status_code == 200
    assert [len(each) for each in targets(visitor)] == [1, 1]
    assert "epsilon" not in visitor.desk.asked.values["privacy"]
    budget = hf.plan(path).budget
    assert budget is not None
    least, other = rational(budget.value), "ages" if budget.table == "places" else "places"
    assert "this one binds" in settled(visitor, budget.table)
    text = settled(visitor, other)
    assert f"The least budget for all that the tables are asked is epsilon {least}" in text
    assert f"What binds is asked of {budget.table}" in text
    assert "this one binds" not in text
    nearer = {"table": other, "number": "0", "within": "1"}
    assert visitor.post("/accuracy/aim", nearer).status_code == 200
    after = hf.plan(path).budget
    assert after is not None
    assert after.table == other
    assert after.value > budget.value
    assert targets(visitor)[("ages", "places").index(other)][0]["within"] == 1
    settled(visitor, other)
    visitor.post("/accuracy/drop", {"table": other, "number": "0"})
    settled(visitor, other)
    visitor.post("/accuracy/drop", {"table": budget.table, "number": "0"})
    assert targets(visitor) == [[], []]
    assert visitor.desk.asked.values["privacy"]["epsilon"] == str(budget.tables[budget.table].value)


def test_one_is_compared_at_its_share(visitor: Visitor) -> None:
    settled(visitor, "ages")
    visitor.post("/accuracy/compare", {"table": "ages"})
    visitor.desk.jobs["compare"].wait()
    text = words(visitor.post("/accuracy/look", {"table": "ages"}))
    assert "meet pure epsilon 1.5" in text
    assert "suppress below 5" in text
    assert "suppress below 5" not in words(visitor.post("/accuracy/look", {"table": "places"}))


def settled(visitor: Visitor, table: str) -> str:
    for _ in range(400):
        answer = visitor.post("/accuracy/look", {"table": table})
        if "Still working out" not in answer.text:
            return words(answer).replace("\u2009", " ")
    raise AssertionError("it does not come to an end")


def test_records_tell_what_stays_exact_and_what_the_swap_is_worth(tmp_path: Path) -> None:
    visitor = Visitor.at(world("microdata")(tmp_path))
    for view in ("/exact/look", "/accuracy/look"):
        for _ in range(400):
            text = words(visitor.post(view))
            if "Looking through" not in text and "Still working out" not in text:
                break
        assert "Kept by the swap state and size by town" in text
        assert "one household" in text.lower()
    visitor.post("/accuracy/compare")
    visitor.desk.jobs["compare"].wait()
    assert "They were not compared: holdfast.toml, [data] cells is missing" in words(visitor.get("/accuracy"))
    path = visitor.desk.place.folder / "holdfast.toml"
    path.write_text(path.read_text().replace("[data]", '[data]\ncells = ["town", "tenure"]'))
    visitor.post("/accuracy/compare")
    visitor.desk.jobs["compare"].wait()
    text = words(visitor.get("/accuracy"))
    assert "For the curator's eyes only" in text
    assert "top-down measurements" in text
