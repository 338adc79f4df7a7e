"""Targets lead to a budget and back; errors are those of the plan; nothing confidential is used."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.example import written
from tests.studio.visitor import Visitor, words

import holdfast as hf
from holdfast.system.text import rational


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    changes = [
        ('standard = "pure" ', 'standard = "zcdp" '),
        ('epsilon = "1" ', 'rho = "1/2" '),
        ('name = "lattice-laplace"', 'name = "lattice-gaussian"'),
        ('norm = "l1"', '# norm = "l1"'),
        ('[[invariants]]\nmargin = ["education"]', '# [[invariants]]\n# margin = ["education"]'),
    ]
    return Visitor.at(written(tmp_path, *changes))


def settled(visitor: Visitor, path: str = "/accuracy", data: dict[str, str] | None = None) -> str:
    """Return the view once nothing is looked for any more."""
    for _ in range(400):
        answer = visitor.get(path) if data is None else visitor.post(path, data)
        if "Still working out" not in answer.text:
            return words(answer)
    raise AssertionError("it does not come to an end")


def values(visitor: Visitor) -> dict[str, Any]:
    return tomllib.loads((visitor.desk.place.folder / "holdfast.toml").read_text())


def choice(visitor: Visitor, name: str) -> str:
    text = visitor.get("/accuracy").text
    return text.partition(f">{name}</option>")[0].rpartition('value="')[2].rstrip('">')


def test_a_target_settles_the_least_budget_and_dropping_it_keeps_that(visitor: Visitor) -> None:
    settled(visitor)
    for name, within in (("education", "5"), ("county by education", "9")):
        answer = visitor.post(
            "/accuracy/target", {"of": choice(visitor, name), "within": within, "level": "95"}
        )
        assert answer.status_code == 200, words(answer)
    assert "rho" not in values(visitor)["privacy"]
    assert [one["within"] for one in values(visitor)["accuracy"]] == [5, 9]
    text = settled(visitor)
    budget = hf.prepare(visitor.desk.place.folder / "holdfast.toml").table.budget
    assert budget is not None
    assert text.count("this one binds") == 1
    assert f"The least budget for all of these is rho {rational(budget.value)}" in text
    for _ in range(2):
        assert visitor.post("/accuracy/drop", {"number": "0"}).status_code == 200
    assert "accuracy" not in values(visitor)
    assert "rho" in values(visitor)["privacy"]


def test_a_target_is_dragged_and_the_budget_follows(visitor: Visitor) -> None:
    settled(visitor)
    visitor.post("/accuracy/target", {"of": choice(visitor, "education"), "within": "5", "level": "95"})
    needs = []
    for within in ("5", "20", "2.5"):
        assert visitor.post("/accuracy/aim", {"number": "0", "within": within}).status_code == 200
        assert values(visitor)["accuracy"][0]["within"] == float(within)
        settled(visitor)
        budget = hf.prepare(visitor.desk.place.folder / "holdfast.toml").table.budget
        assert budget is not None
        needs.append(budget.value)
    assert needs[1] < needs[0] < needs[2]
    assert 'data-stops="1 2 2.5 3' in visitor.get("/accuracy").text  # its own is among those of the slider
    visitor.post("/accuracy/drop", {"number": "0"})
    assert values(visitor)["privacy"]["rho"] == str(needs[2])


def test_the_errors_of_the_slider_are_those_of_the_plan(visitor: Visitor) -> None:
    text = settled(visitor)
    plan = hf.plan(visitor.desk.asked.table, what_if={"rho": ["1/2"]}).parts["table"]
    for row in plan.what_if[0].expected:
        assert row.exact or f"± {row.within_95:.3g}" in text.replace("\u2009", " ")


def test_a_budget_is_taken(visitor: Visitor) -> None:
    assert visitor.post("/accuracy/budget", {"budget": "1/8"}).status_code == 200
    assert values(visitor)["privacy"]["rho"] == "1/8"


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/accuracy/budget", {"budget": "-1"}),
        ("/accuracy/budget", {"budget": "0"}),
        ("/accuracy/budget", {"budget": "x"}),
        ("/accuracy/budget", {}),
        ("/accuracy/target", {"of": "99", "within": "5", "level": "95"}),
        ("/accuracy/target", {"of": "0", "within": "0", "level": "95"}),
        ("/accuracy/target", {"of": "0", "within": "5", "level": "100"}),
        ("/accuracy/target", {"of": "0", "within": "nan", "level": "95"}),
        ("/accuracy/drop", {"number": "0"}),
        ("/accuracy/aim", {"number": "0", "within": "5"}),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(visitor: Visitor, path: str, data: dict[str, str]) -> None:
    before = values(visitor)
    answer = visitor.post(path, data)
    assert answer.status_code == 422, words(answer)
    assert values(visitor) == before


def test_possible_releases_are_of_invented_counts(visitor: Visitor) -> None:
    text = settled(visitor, "/accuracy/look", {"of": "0", "threshold": "50"})
    assert "Another one comes first in" in text
    assert "crosses 50 in" in text
    assert "Possible release 20" in text


def test_mechanisms_stand_beside_what_offices_do(visitor: Visitor) -> None:
    settled(visitor)
    visitor.post("/accuracy/compare")
    visitor.desk.jobs["compare"].wait()
    text = words(visitor.get("/accuracy"))
    for name in ("lattice-gaussian", "suppress below 5", "round to 5", "swap 5 %"):
        assert name in text
    assert "smallest that keeps all" in text
    for level in ("Low", "Medium", "High"):  # with these and its total the fourth of Alpha is revealed
        visitor.post("/exact/where", {"in_0": "Alpha", "in_1": level})
    settled(visitor)
    visitor.post("/accuracy/compare")
    visitor.desk.jobs["compare"].wait()
    row = words(visitor.get("/accuracy")).partition("smallest that keeps all")[2].partition("cells")[0]
    assert row.split()[-1] == "4"  # those that the exact numbers leave exposed
