"""Clicks on the picture edit the spec, and the figures are those of the commands."""

import tomllib
from itertools import combinations
from pathlib import Path
from threading import Event

import polars as pl
import pytest
from tests.example import written
from tests.studio.visitor import Visitor, words

from holdfast import audit
from holdfast.audit.universes import UniverseReport
from holdfast.spec.example import EXAMPLE_SPEC
from holdfast.studio.figures import EXPOSED, NEARLY, figures, revealed
from holdfast.studio.freed import freed
from holdfast.studio.views.exact import choices_of
from holdfast.system.progress import look


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    return Visitor.at(written(tmp_path))


def asked(visitor: Visitor) -> list[dict[str, object]]:
    found = tomllib.loads((visitor.desk.place.folder / "holdfast.toml").read_text()).get("invariants", [])
    return list(found)


def comments(text: str) -> list[str]:
    return sorted(line.partition("#")[2] for line in text.splitlines() if "#" in line)


def test_clicking_and_clicking_again_leaves_the_spec_as_it_was(visitor: Visitor) -> None:
    clicks: tuple[tuple[str, dict[str, object]], ...] = (
        ("/exact/margin", {"names": ["county", "education"]}),
        ("/exact/total", {}),
        ("/exact/where", {"in_0": "Alpha", "in_1": "Low"}),
    )
    for path, data in clicks:
        assert visitor.post(path, data).status_code == 200
        assert len(asked(visitor)) == 3
        assert visitor.post(path, data).status_code == 200
        assert (visitor.desk.place.folder / "holdfast.toml").read_text().count("[[invariants]]") == 2
    assert asked(visitor) == tomllib.loads(EXAMPLE_SPEC)["invariants"]
    visitor.post("/exact/margin", {"names": "county"})
    text = (visitor.desk.place.folder / "holdfast.toml").read_text()
    gone = set(comments(EXAMPLE_SPEC)) - set(comments(text))
    assert gone == {" the number of children in each county"}  # that of the line itself


def test_the_figures_are_those_of_the_commands(visitor: Visitor) -> None:
    for step in ({}, {"in_0": "Alpha", "in_1": "Medium"}, {"in_0": "Alpha", "in_1": "Very High"}):
        if step:
            assert visitor.post("/exact/where", step).status_code == 200
        spec = visitor.desk.asked.table
        report, exposed = audit.universe(spec), audit.exposure(spec)
        assert isinstance(report, UniverseReport)
        found, seen = figures(visitor.desk, spec), revealed(visitor.desk, spec, 60)
        assert seen is not None
        assert (found.dimension, found.apart) == (report.dimension, report.labelled.worst_case)
        schema = visitor.desk.public(spec).schema
        names = [schema.in_words(i) for i in range(16) if seen.paint[i] == EXPOSED]
        told = [", ".join(f"{a} = {b!r}" for a, b in cell.cell.items()) for cell in exposed.determined]
        assert sorted(names) == sorted(told)
        assert int((seen.paint == NEARLY).sum()) == len(exposed.nearly_revealed)
        text = words(visitor.get("/exact"))
        assert f"{report.dimension} numbers are left open" in text or f"{report.dimension} number" in text
        assert f"moves {report.labelled.worst_case} record" in text


def test_what_is_revealed_is_named_with_what_would_free_it(visitor: Visitor) -> None:
    for level in ("Low", "Medium", "High"):
        visitor.post("/exact/where", {"in_0": "Alpha", "in_1": level})
    while "still looked for" in (text := words(visitor.get("/exact"))):
        pass
    assert "4 cells can be worked out from the exact numbers alone" in text
    freed = words(visitor.post("/exact/without"))
    assert "county = 'Alpha', education = 'Very High'" in freed


def test_where_no_single_number_frees_a_cell_those_are_told_that_do_together(visitor: Visitor) -> None:
    cell = {"county": "Alpha", "education": "Low"}
    for step in ({"in_1": "Low"}, {"in_1": ["Medium", "High", "Very High"]}):
        assert visitor.post("/exact/where", {"in_0": "Alpha", **step}).status_code == 200
    spec, desk = visitor.desk.asked.table, visitor.desk
    schema = desk.public(spec).schema
    place = next(i for i in range(16) if dict(zip(schema.names, schema.cell(i), strict=True)) == cell)

    def free(*dropped: int) -> bool:
        kept = tuple(one for number, one in enumerate(spec.invariants) if number not in dropped)
        seen = revealed(desk, spec.model_copy(update={"invariants": kept}), 60)
        assert seen is not None
        return bool(seen.paint[place] != EXPOSED)

    assert not any(free(one) for one in range(4))
    pairs = [pair for pair in combinations(range(4), 2) if free(*pair)]
    rows = freed(desk, spec, choices_of(spec, desk.public(spec)))["rows"]
    names = [one.name for one in choices_of(spec, desk.public(spec))]
    assert [row.names for row in rows[:4]] == [(name,) for name in names]
    assert tuple(names.index(name) for name in rows[4].names) in pairs
    assert place in rows[4].freed
    assert " together 9 3 1 cell: county = 'Alpha', education = 'Low'" in words(
        visitor.post("/exact/without")
    )


def test_a_table_of_one_attribute_is_a_strip_of_cells(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sex,n\nf,3\nm,4\nx,5\n")
    spec = '[data]\npath = "t.csv"\ncells = ["sex"]\ncount = "n"\n[privacy]\nunit = "record"\nepsilon = "1"\n'
    (tmp_path / "holdfast.toml").write_text(spec)
    visitor = Visitor.at(tmp_path)
    for level in ("f", "m"):
        text = visitor.post("/exact/where", {"in_0": level}).text
    assert text.count('<li><button id="cell-') == 3
    assert 'id="cell-1" class="exposed" aria-pressed="true"' in text
    assert 'id="cell-3" class="free" aria-pressed="false"' in text
    text = visitor.post("/exact/total").text
    while "still looked for" in text:
        text = visitor.post("/exact/look").text
    assert 'id="cell-3" class="exposed"' in text  # it follows from the others
    assert "there is one possible table" in text
    for level in ("f", "m"):
        visitor.post("/exact/where", {"in_0": level})
    visitor.post("/exact/margin", {"names": "sex"})
    assert "exact, as one of all" in visitor.get("/exact").text


def test_counts_are_hidden_until_they_are_asked_for(tmp_path: Path) -> None:
    secret = [48271, 69621, 16807, 40014]
    pl.DataFrame({"sex": ["f", "f", "m", "m"], "age": ["a", "b"] * 2, "n": secret}).write_csv(
        tmp_path / "t.csv"
    )
    (tmp_path / "holdfast.toml").write_text(
        '[data]\npath = "t.csv"\ncells = ["sex", "age"]\ncount = "n"\n'
        '[privacy]\nunit = "record"\nepsilon = "1"\n'
    )
    visitor = Visitor.at(tmp_path)
    seen = [visitor.get(path).text for path in ("/data", "/exact")]
    seen += [visitor.post("/exact/margin", {"names": "sex"}).text, visitor.post("/exact/without").text]
    assert not [text for text in seen for one in secret if str(one) in text or f"{one:,}" in text]
    assert "48,271" in visitor.post("/exact/counts", {"counts": "yes"}).text
    assert "48,271" in visitor.post("/data/counts", {"show": "yes"}).text


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/exact/margin", {"names": "nothing"}),
        ("/exact/margin", {}),
        ("/exact/where", {}),
        ("/exact/where", {"in_0": "Nowhere"}),
        ("/exact/level", {"level": "county"}),
        ("/exact/drop", {"number": "7"}),
        ("/exact/drop", {"number": "-1"}),
        ("/exact/drop", {"number": "<script>"}),
    ],
)
def test_what_cannot_be_is_one_sentence_and_changes_nothing(
    visitor: Visitor, path: str, data: dict[str, str]
) -> None:
    before = (visitor.desk.place.folder / "holdfast.toml").read_text()
    answer = visitor.post(path, data)
    assert answer.status_code == 422
    assert answer.headers["hx-retarget"] == "#trouble"
    assert "Traceback" not in answer.text
    assert "<script>" not in answer.text
    assert (visitor.desk.place.folder / "holdfast.toml").read_text() == before


def test_what_nobody_asks_any_more_is_ended(visitor: Visitor) -> None:
    desk, at, go = visitor.desk, Event(), Event()

    def search() -> str:
        at.set()
        go.wait(60)
        look()  # as before each program
        return "found"

    assert desk.soon("search", search, 0.0) is None
    at.wait(60)
    desk.soon("another", lambda: "of the same spec", 60)
    path = desk.place.folder / "holdfast.toml"
    path.write_text(path.read_text() + "# other\n")
    assert desk.soon("of another spec", lambda: "there", 60) == "there"
    job = desk._soon["search"][1]
    go.set()
    job.wait()
    assert job.ended
    assert desk.soon("search", search, 60) == "found"  # asked again, it is made


def test_a_tab_sees_what_another_did_and_so_does_an_editor(visitor: Visitor) -> None:
    path = visitor.desk.place.folder / "holdfast.toml"
    seen = {"seen": visitor.desk.asked.digest}
    assert "hx-trigger" not in visitor.post("/spec/watch", seen).headers
    path.write_text(path.read_text().replace('margin = ["county"]', "total = true"))
    assert visitor.post("/spec/watch", seen).headers["hx-trigger"] == "specmoved"
    assert 'id="total" aria-pressed="true"' in visitor.get("/exact").text
    assert visitor.post("/spec", {"text": path.read_text() + "\n# mine\n"}).status_code == 204
    assert path.read_text().endswith("# mine\n")
    assert visitor.post("/spec", {"text": "[data\n"}).status_code == 422
    assert path.read_text().endswith("# mine\n")
    assert visitor.post("/spec/undo").status_code == 204
    assert "# mine" not in path.read_text()


def test_names_and_levels_are_shown_and_never_obeyed(tmp_path: Path) -> None:
    wild = ['<script>alert("1")</script>', "=cmd()", "\u202eevil", 'O\'Neil & "sons"', "a\tb"]
    frame = pl.DataFrame({"<b>": wild * 2, "x": ["a"] * 5 + ["b"] * 5, "n": list(range(1, 11))})
    frame.write_csv(tmp_path / "wild.csv")
    visitor = Visitor.at(tmp_path)
    assert visitor.post("/data/choose", {"file": "wild.csv"}).status_code == 200
    for level in wild:
        answer = visitor.post("/exact/where", {"in_0": level, "in_1": "a"})
        assert answer.status_code == 200, words(answer)
        page = answer.text + visitor.get("/exact").text
        assert "<script>alert" not in page
        assert "<b>" not in page
        assert "\u202e" not in page.partition("<textarea")[0]
    assert len(asked(visitor)) == 5
