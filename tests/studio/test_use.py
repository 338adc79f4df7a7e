"""What is clicked is answered as the commands answer it, beside the naive answer and what not to say."""

import json
from fractions import Fraction
from html import unescape
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.example import written
from tests.studio.visitor import Visitor, words

import holdfast as hf
from holdfast.inference.posterior.infer import infer
from holdfast.studio.answers import DRAWS, MODEL, Question, belief, ranges, said, told


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    hf.release(written(folder), folder / "out", seed=7)
    return folder


@pytest.fixture
def visitor(place: Path) -> Visitor:
    visitor = Visitor.at(place / "out")
    asked(visitor)
    return visitor


def asked(visitor: Visitor, path: str = "/use/ask", **data: str) -> str:
    """Return the view once it is settled."""
    while True:
        answer = visitor.post(path, data)
        assert answer.status_code == 200, words(answer)
        if "Working it out" not in answer.text and "under-way" not in answer.text:
            return answer.text
        for job in list(visitor.desk.jobs.values()):
            job.wait()


def said_of(text: str) -> list[str]:
    """Return the numbers of the answer."""
    table = text.partition('<table class="answers">')[2].partition("</table>")[0]
    return [unescape(part.partition("<")[0]) for part in table.split('<td class="value">')[1:]]


CELL = {"pick": "yes", "down_level": "Alpha", "across_level": "Low"}


def test_a_cell_a_margin_and_two_places_are_those_of_the_commands(visitor: Visitor, place: Path) -> None:
    reading = hf.read(place / "out")
    one = reading.interval("county=Alpha,education=Low", level=0.95)
    text = asked(visitor, **CELL, kind="count", level="0.95")
    assert said_of(text)[:3] == [said(one.estimate), said(one.low), said(one.high)]
    naive = reading.table.filter(pl.col("county") == "Alpha", pl.col("education") == "Low")["children"][0]
    assert said_of(text)[3] == said(int(naive))
    assert f"Do not say: there are {said(one.estimate)}" in text
    first = json.dumps({"county": ["Alpha"], "education": ["Low"]})
    for kind in ("difference", "ratio"):
        more = {"pick": "yes", "down_level": "Beta", "across_level": "Low", "kind": kind, "first": first}
        text = asked(visitor, **more)
        two = getattr(reading, kind)("county=Alpha,education=Low", "county=Beta,education=Low")
        assert said_of(text)[:3] == list(told(two.estimate, two.low, two.high))
        assert "Alpha, Low" in text
        assert "Do not say" in text
        command = (
            f"holdfast intervals out --{kind} county=Alpha,education=Low --{kind} county=Beta,education=Low"
        )
        assert command in unescape(text)
    by = reading.interval("education=Low", margin=("county",))
    text = asked(visitor, pick="yes", across_level="Low", kind="count", by="county")
    flat = [value for row in by.rows for value in told(row.estimate, row.low, row.high)]
    assert said_of(text) == flat


def test_what_is_exact_is_told_as_such(visitor: Visitor) -> None:
    text = asked(visitor, pick="yes", down_level="Alpha", kind="count")
    assert "It is exact and nothing protects it" in text
    assert "Draw the posterior" not in text
    assert "exact and nothing protects it" in asked(visitor)  # the total, before anything is clicked


def test_the_second_click_is_the_other_one(visitor: Visitor) -> None:
    text = asked(visitor, **CELL, kind="ratio")
    assert "Click the second one" in text
    first = json.dumps({"county": ["Alpha"], "education": ["Low"]})
    again = {"first": first, "second": json.dumps({"county": ["Beta"]}), "kind": "ratio"}
    assert "Click the second one" in asked(visitor, **CELL, **again)  # the third begins anew
    assert "has the same selection twice" in asked(visitor, **CELL, kind="ratio", first=first)


def test_the_posterior_is_that_of_infer(visitor: Visitor, place: Path) -> None:
    assert "Draw the posterior" in asked(visitor, **CELL)
    visitor.post("/use/posterior", CELL)
    visitor.desk.jobs["posterior"].wait()
    posterior = visitor.desk.jobs["posterior"].result
    text = asked(visitor, **CELL)
    question = Question("count", {"county": ("Alpha",), "education": ("Low",)}, None, Fraction(9, 10))
    found = belief(question, posterior)
    own = hf.read(place / "out").interval("county=Alpha,education=Low")
    assert said_of(text)[3:6] == list(told(found.mean, found.low, found.high, own.high - own.low))
    seeded = infer(place / "out", MODEL, draws=DRAWS, seed=1)
    cell = seeded.quantities[1].named.levels.index(("Alpha", "Low"))
    summary = seeded.summaries["count"]
    other = belief(question, seeded)
    assert (other.mean, other.low, other.high) == pytest.approx(
        [float(summary[name][cell]) for name in ("mean", "low", "high")], abs=1
    )


@pytest.mark.parametrize(
    "data",
    [
        {"first": "{"},
        {"first": "[]"},
        {"first": '{"county": "Alpha"}'},
        {"first": '{"county": ["Nowhere"]}'},
        {"first": '{"nothing": ["Alpha"]}'},
        {"first": "[" * 10_000},
        {"pick": "yes", "down_level": "<script>"},
        {"table": "none"},
    ],
)
def test_what_cannot_be_asked_is_one_sentence(visitor: Visitor, data: dict[str, str]) -> None:
    answer = visitor.post("/use/ask", data)
    for job in list(visitor.desk.jobs.values()):
        job.wait()
    answer = visitor.post("/use/ask", data)
    assert answer.status_code == 422 or "leave out" in words(answer)
    assert "Traceback" not in answer.text
    assert "<script>" not in answer.text


def test_several_tables_are_chosen_among_and_cells_that_cannot_be_are_no_buttons(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"a": ["x", "x", "y"], "b": ["<b>", "q", "<b>"], "c": ["1", "2", "1"], "n": [9, 8, 7]}
    )
    frame.write_csv(tmp_path / "t.csv")
    (tmp_path / "s.toml").write_text(
        '[data]\npath = "t.csv"\ncount = "n"\n[privacy]\nunit = "record"\nepsilon = "1"\n'
        '[[tables]]\nname = "one"\ncells = ["a", "b"]\n'
        '[[tables.constraints.structural_zeros]]\na = "y"\nb = "q"\n'
        '[[tables]]\nname = "two"\ncells = ["b", "c"]\n'
    )
    hf.release(tmp_path / "s.toml", tmp_path / "out")
    visitor = Visitor.at(tmp_path / "out")
    assert "choose one" in asked(visitor)
    text = asked(visitor, table="one")
    assert text.count('class="cell never"') == 1
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    assert "--table one" in text


def test_places_that_were_measured_are_asked_each(tmp_path: Path) -> None:
    rows = [
        f"0101{tract}{block},{age},{(tract * 29 + block * 13) % 40}"
        for tract in (1, 2)
        for block in (1, 2)
        for age in ("adult", "minor")
    ]
    (tmp_path / "blocks.csv").write_text("\n".join(["block,age,n", *rows]) + "\n")
    (tmp_path / "s.toml").write_text(
        '[data]\npath = "blocks.csv"\ncells = ["age"]\ncount = "n"\n'
        '[data.geography]\ncolumn = "block"\nprefixes = { county = 4, tract = 5, block = 6 }\n'
        '[privacy]\nunit = "person"\nstandard = "zcdp"\nrho = "1/2"\nadjacency = "unit"\n'
        '[mechanism]\nname = "topdown"\n'
    )
    hf.release(tmp_path / "s.toml", tmp_path / "out")
    visitor = Visitor.at(tmp_path / "out")
    text = asked(visitor)
    assert 'id="head-2"' in text  # tracts down, ages across
    assert "01011" in text
    text = asked(visitor, pick="yes", across_level="adult", by="tract")
    report = hf.read(tmp_path / "out").interval("age=adult", place="tract")
    flat = [value for row in report.rows for value in told(row.estimate, row.low, row.high)]
    assert said_of(text) == flat
    assert "holdfast intervals out --term age=adult --level tract" in unescape(text)


def test_a_release_that_was_changed_is_not_used(visitor: Visitor, place: Path, tmp_path: Path) -> None:
    del visitor
    (tmp_path / "out").mkdir()
    for path in (place / "out").iterdir():
        content = path.read_bytes()
        (tmp_path / "out" / path.name).write_bytes(content.replace(b"Alpha,Low,", b"Alpha,Low,1"))
    text = asked(Visitor.at(tmp_path / "out"))
    assert "is not the certified release" in text
    assert "table-of" not in text


def test_ranges_share_an_axis_and_what_has_no_bound_ends_with_it() -> None:
    one, two = ranges([(2.0, 0.0, 4.0), (3.0, 1.0, float("inf"))])
    assert one.left < two.left
    assert two.left + two.width == pytest.approx(100)
    assert one.point is not None
    assert two.point is not None
    assert one.point < two.point


@given(st.floats(1e-3, 1e9), st.floats(1e-6, 0.5), st.floats(0, 1))
def test_ends_round_outwards_and_differ(low: float, share: float, between: float) -> None:
    high = low * (1 + share)
    texts = told(low + between * (high - low), low, high)
    middle, first, last = (float(text.replace(",", "")) for text in texts)
    assert first <= low * (1 + 1e-12)
    assert last >= high * (1 - 1e-12)
    assert first < last
    assert first <= middle <= last
    assert last - first <= 1.5 * (high - low)
