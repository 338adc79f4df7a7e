"""The account in the page is that of the commands: its picture, its verdict, its export."""

import csv
import io
import json
import shutil
import sqlite3
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from tests.example import written
from tests.studio.visitor import Visitor, words

import holdfast as hf
from holdfast.ledger import ledger_report
from holdfast.studio.views.account import MOST_BARS, MOST_LANES, lanes_of


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    """Return one whose account has two releases of a file and one of another, of other exact numbers."""
    spec = written(tmp_path)
    text = spec.read_text()
    (tmp_path / "other.toml").write_text(text.replace('[[invariants]]\nmargin = ["education"]', ""))
    rows = (tmp_path / "children.csv").read_text()
    (tmp_path / "more.csv").write_text(rows.replace(",1\n", ",2\n").replace(",5\n", ",6\n"))
    (tmp_path / "third.toml").write_text(
        text.replace("children.csv", "more.csv").replace('epsilon = "1"', 'epsilon = "1/2"')
    )
    ledger = hf.Ledger.create(tmp_path / "a.ledger", standard="pure", budget=Fraction(5))
    for name in ("holdfast", "other", "third"):
        hf.release(tmp_path / f"{name}.toml", tmp_path / f"out-{name}", ledger=ledger.path)
    return Visitor.at(spec)


def test_the_picture_is_what_each_release_added_by_population(visitor: Visitor) -> None:
    report = ledger_report(visitor.desk.place.folder / "a.ledger")
    lanes = lanes_of(report)
    assert [lane.rows for lane in lanes] == [2, 1]
    assert sum(lane.added for lane in lanes) == report.spent
    ends = sorted((one.left, one.left + one.width) for lane in lanes for one in lane.segments)
    totals = [0, *(float(row.total / 5 * 100) for row in report.rows)]
    flat = [end for pair in pairwise(totals) for end in pair]
    assert [end for pair in ends for end in pair] == pytest.approx(flat)
    text = words(visitor.get("/account"))
    assert "epsilon is the budget, for good 5" in text
    for folder in ("out-holdfast", "out-other", "out-third"):
        assert folder in text


def test_many_rows_and_populations_stay_a_picture(visitor: Visitor) -> None:
    report = ledger_report(visitor.desk.place.folder / "a.ledger")
    row = report.rows[0]
    many = [
        type(row)(**{**vars(row), "index": 1 + place, "total": Fraction(1 + place, 1000)})
        for place in range(MOST_BARS + 50)
    ]
    few = type(report)(report.opening, tuple(many))
    (lane,) = lanes_of(few)
    assert len(lane.segments) == MOST_BARS + 1
    assert lane.added == many[-1].total
    charges = [
        type(row.charge)(**{**vars(row.charge), "dataset": f"{place:064x}"[::-1]}) for place in range(50)
    ]
    apart = [type(row)(**{**vars(one), "charge": charge}) for one, charge in zip(many, charges, strict=False)]
    lanes = lanes_of(type(report)(report.opening, tuple(apart)))
    assert len(lanes) == MOST_LANES
    assert (lanes[-1].name, lanes[-1].rows) == ("31 more", 31)
    assert sum(lane.added for lane in lanes) == apart[-1].total


def verified(visitor: Visitor, *releases: str) -> str:
    visitor.post("/account/verify", {"account": "a.ledger", "release": list(releases)})
    visitor.desk.jobs["account"].wait()
    return words(visitor.get("/account"))


def test_it_is_verified_with_the_releases_of_the_folder(visitor: Visitor) -> None:
    folder = visitor.desk.place.folder
    assert "3 releases of the folder are what their rows say" in verified(
        visitor, "out-holdfast", "out-other", "out-third"
    )
    page = visitor.get("/account").text
    assert page.count('name="release"') == page.count(" checked>") == 3
    (folder / "out-other" / "table.csv").write_text("county,education,children\n")
    text = verified(visitor, "out-other")
    assert "This is not the account as it was kept" in text
    assert (
        hf.verify_ledger(folder / "a.ledger", releases=[folder / "out-other"]).problems[0].rpartition(": ")[2]
        in text
    )


def test_a_damaged_account_is_told_and_can_be_verified(visitor: Visitor) -> None:
    path = visitor.desk.place.folder / "a.ledger"
    with sqlite3.connect(path) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        table = next(
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if "total" in [column[1] for column in connection.execute(f'PRAGMA table_info("{name}")')]
        )
        connection.execute(f"UPDATE \"{table}\" SET total = '1/4'")
    text = words(visitor.get("/account"))
    assert "Is it as it was kept?" in text
    assert "is left" not in text
    assert "This is not the account as it was kept" in verified(visitor)


def test_the_export_is_that_of_the_command(visitor: Visitor) -> None:
    path = visitor.desk.place.folder / "a.ledger"
    found = visitor.get("/account/export/json")
    assert found.json() == json.loads(json.dumps(hf.ledger.export(path)))
    assert "attachment" in found.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(visitor.get("/account/export/csv").text)))
    assert len(rows) == 4
    assert visitor.get("/account/export/xml").status_code == 404


def test_an_account_is_opened_and_another_chosen(visitor: Visitor) -> None:
    answer = visitor.post("/account/open", {"name": "b", "budget": "2"})
    assert (answer.status_code, "No release is charged yet" in words(answer)) == (200, True)
    assert "out-third" in words(visitor.post("/account/choose", {"account": "a.ledger"}))
    shutil.copy(visitor.desk.place.folder / "a.ledger", visitor.desk.place.folder.parent / "x.ledger")
    for name in ("../x.ledger", "", "none.ledger", "children.csv"):
        assert visitor.post("/account/choose", {"account": name}).status_code == 422
    for data in (
        {"name": "../b", "budget": "1"},
        {"name": "c", "budget": "-1"},
        {"name": "c", "budget": "x"},
    ):
        assert visitor.post("/account/open", data).status_code == 422
    for data in ({"account": "../x.ledger"}, {"account": "a.ledger", "release": "../out"}):
        assert visitor.post("/account/verify", data).status_code == 422


def test_without_an_account_one_is_offered(tmp_path: Path) -> None:
    visitor = Visitor.at(tmp_path)
    assert "There is no account in the folder yet" in words(visitor.get("/account"))
