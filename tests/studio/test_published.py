"""What published tables and cell keys give away is told as by the commands, and remedies are tried."""

from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.studio.visitor import Visitor, words

from holdfast import audit
from holdfast.publication.report import PublicationReport, audited
from holdfast.publication.spec import rule_of
from holdfast.publication.tables import read_publication

TABLE = (
    "village,age,people\nAlder,young,40\nAlder,old,<10\nBirch,young,<10\n"
    "Birch,old,25\nCedar,young,33\nCedar,old,18\n"
)
VILLAGES = "village,people\nAlder,44\nBirch,31\nCedar,51\n"
KEYS = "i;j;p;v\n0;0;1;0\n1;0;0.5;-1\n1;2;0.5;1\n2;1;0.4;-1\n2;2;0.2;0\n2;3;0.4;1\n"
BOTH: dict[str, object] = {
    "use": ["table.csv", "villages.csv"],
    "rule:table.csv": "suppressed:10",
    "symbol:table.csv": "<10",
    "rule:villages.csv": "exact",
}


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    for name, text in (("table.csv", TABLE), ("villages.csv", VILLAGES), ("keys.csv", KEYS)):
        (tmp_path / name).write_text(text)
    return Visitor.at(tmp_path)


def looked(visitor: Visitor, data: dict[str, object]) -> httpx.Response:
    """Return the view once it is settled."""
    while True:
        answer = visitor.post("/audits/published", data)
        if "under-way" not in answer.text:
            return answer
        visitor.desk.jobs["publication"].wait()


def report(visitor: Visitor) -> PublicationReport:
    found = visitor.desk.jobs["publication"].result[0]
    assert isinstance(found, PublicationReport)
    return found


def test_one_table_is_told_as_by_the_command(visitor: Visitor) -> None:
    data = {**BOTH, "use": ["table.csv"]}
    text = words(looked(visitor, data))
    rule = rule_of("suppressed:10") | {"symbol": "<10"}
    found = audit.publication(visitor.desk.place.folder / "table.csv", rule=rule)
    assert f"{len(found.determined)} of 6 cells are determined" in text
    assert found.to_dict()["determined"] == report(visitor).to_dict()["determined"]
    assert f"tables have all of these numbers {found.tables_left.least}" in text
    assert "holdfast audit publication table.csv --rule suppressed:10 --symbol '<10'" in text
    assert text.count("1\u20139") == 2


def test_determined_cells_are_painted_and_remedies_tried_and_taken_back(visitor: Visitor) -> None:
    page = looked(visitor, BOTH).text
    assert page.count('class="cell exposed"') == 6
    assert "would undo 6 findings" in page
    for field in ("drop_table", "off_table"):
        text = words(looked(visitor, {**BOTH, field: "0"}))
        assert "left out table.csv" in text
        assert "0\u201344" in text
    back = looked(visitor, {**BOTH, "off_table": "0", "back_table": "0"}).text
    assert back.count('class="cell exposed"') == 6
    one = report(visitor).undone[-1]
    assert one.number is not None
    without = looked(visitor, {**BOTH, "drop_number": str(one.number)}).text
    assert without.count('class="cell exposed"') == 6 - one.findings
    assert f'name="off_number" value="{one.number}"' in without
    again = report(visitor).undone
    assert all(each.number is None or each.number < report(visitor).publication.table.size for each in again)


def test_what_is_left_out_is_as_if_it_had_not_been_published(visitor: Visitor) -> None:
    looked(visitor, BOTH)
    whole = read_publication(report(visitor).publication.spec)
    for number in range(whole.table.size):
        kept = [each for each in range(whole.table.size) if each != number]
        expected = audited(whole.some(np.array(kept)), remedied=False)
        looked(visitor, {**BOTH, "off_number": str(number)})
        assert report(visitor).known.low.tolist() == expected.known.low.tolist()
        assert report(visitor).known.high.tolist() == expected.known.high.tolist()


def test_numbers_that_contradict_each_other_are_named(visitor: Visitor) -> None:
    (visitor.desk.place.folder / "villages.csv").write_text(VILLAGES.replace("44", "30"))
    text = words(looked(visitor, BOTH))
    assert "No population has all these numbers" in text
    assert "villages.csv, row 2 (village Alder: 30)" in text


def test_a_spec_of_publications_is_taken_as_it_is(visitor: Visitor) -> None:
    (visitor.desk.place.folder / "out.toml").write_text(
        '[[published]]\npath = "table.csv"\nrule = "suppressed"\nbelow = 10\nsymbol = "<10"\n'
        '[[published]]\npath = "villages.csv"\n'
    )
    page = looked(visitor, {"spec": "out.toml"}).text
    assert page.count('class="cell exposed"') == 6
    assert "holdfast audit publication out.toml" in page


@pytest.mark.parametrize(
    "data",
    [
        {"use": "table.csv", "rule:table.csv": "no rule"},
        {"spec": "../x.toml"},
        {"spec": "none.toml"},
        {**BOTH, "off_table": "x"},
        {**BOTH, "drop_number": "-1"},
    ],
)
def test_what_cannot_be_asked_is_one_sentence(visitor: Visitor, data: dict[str, object]) -> None:
    assert visitor.post("/audits/published", data).status_code == 422


def test_a_file_that_is_no_table_is_one_sentence(visitor: Visitor) -> None:
    text = looked(visitor, {"use": ["table.csv"], "rule:table.csv": "exact"}).text
    assert 'role="alert"' in text
    assert "&lt;10" in text
    assert "nothing is published any more" in looked(visitor, {**BOTH, "off_table": ["0", "1"]}).text.lower()


def test_published_tables_are_dropped_and_names_are_shown_and_never_run(visitor: Visitor) -> None:
    wild = "<b>,n\n<script>alert(1)</script>,4\n\u202eevil,7\n".encode()
    answer = visitor.post("/audits/published/upload", files=[("upload", ("<i>.csv", wild))])
    assert answer.status_code == 200
    text = looked(visitor, {"use": ["<i>.csv"]}).text
    for sign in ("<script>alert", "<b>", "<i>", "\u202e"):
        assert sign not in text
    assert visitor.post("/audits/published/upload", files=[("upload", ("", b""))]).status_code == 422


def test_cell_keys_are_read_as_by_the_command(visitor: Visitor) -> None:
    data = {"file": "keys.csv", "epsilons": "1/2, 2", "levels": "10, 20"}
    text = words(visitor.post("/audits/keys", data))
    found = audit.cell_key(visitor.desk.place.folder / "keys.csv", [1, 2], [(10, 20)])  # type: ignore[list-item]
    assert found.certain.delta == pytest.approx(0.8)
    assert "With a probability of 0.8 what is published of 1 or 2" in text
    assert f"{found.averaging[0].combined:.3g} with all its margins" in text
    for wrong in ({"levels": "x"}, {"epsilons": "-1"}, {"file": "table.csv"}, {"file": "../x"}):
        assert visitor.post("/audits/keys", {**data, **wrong}).status_code == 422
    dropped = visitor.post("/audits/keys/upload", files=[("upload", ("more.csv", KEYS.encode()))])
    assert "more.csv" in words(dropped)
    assert "With a probability of 0.8" in words(dropped)
