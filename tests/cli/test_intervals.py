"""`holdfast intervals`: estimates with intervals, from the folder of a release alone."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.test_errors import sentence


@pytest.fixture
def release(run: Run, example: Path) -> Path:
    out = example.parent / "out"
    assert run("release", example, "--out", out).code == 0
    (example.parent / "children.csv").unlink()  # nothing confidential is needed from here on
    example.unlink()
    return out


def test_every_cell_has_an_interval_around_its_release(run: Run, release: Path) -> None:
    outcome = run("intervals", release, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    report = json.loads(outcome.out)
    lines = [line.split(",") for line in (release / "table.csv").read_text().splitlines()[1:]]
    assert [row["estimate"] for row in report["rows"]] == [int(line[-1]) for line in lines]
    assert [list(row["cell"].values()) for row in report["rows"]] == [line[:-1] for line in lines]
    assert all(row["low"] < row["estimate"] < row["high"] for row in report["rows"])
    assert not any(row["kept_exactly"] for row in report["rows"])
    assert (report["level"], report["simultaneous"]) == ("9/10", False)


def test_margins_that_are_kept_are_points(run: Run, release: Path) -> None:
    report = json.loads(run("intervals", release, "--margin", "county", "--json").out)
    assert all(row["kept_exactly"] and row["low"] == row["high"] for row in report["rows"])
    assert [row["estimate"] for row in report["rows"]] == [20, 55, 25, 35]
    shown = run("intervals", release, "--margin", "county").out
    assert shown.count("kept exactly") == 4


BLOCKS = """[data]
path = "blocks.csv"
cells = ["sex"]
count = "people"
geography = { column = "block", prefixes = { state = 1, county = 2, block = 3 } }

[privacy]
unit = "person"
standard = "zcdp"
rho = "1"
adjacency = "unit"

[mechanism]
name = "topdown"
"""


def test_what_rounds_to_nothing_has_no_sign(run: Run, tmp_path: Path) -> None:
    rows = [f"9{county}{block},{sex},3" for county in "12" for block in "1234" for sex in "fm"]
    (tmp_path / "blocks.csv").write_text("\n".join(["block,sex,people", *rows]) + "\n")
    (tmp_path / "spec.toml").write_text(BLOCKS)
    out = tmp_path / "out"
    assert run("release", tmp_path / "spec.toml", "--out", out, "--seed", "2").code == 0
    found = json.loads(run("intervals", out, "--level", "block", "--json").out)["rows"]
    assert any(-0.05 < row["low"] < 0 for row in found)
    shown = run("intervals", out, "--level", "block").out.split()
    assert "0.0" in shown
    assert "-0.0" not in shown


def test_a_selection_and_a_level(run: Run, release: Path) -> None:
    asked = ("--where", "county=Alpha", "--where", "county=Beta", "--where", "education=Low")
    narrow, wide = (
        json.loads(run("intervals", release, *asked, "--level", level, "--json").out)["rows"][0]
        for level in ("0.5", "0.99")
    )
    assert wide["low"] < narrow["low"] <= narrow["high"] < wide["high"]
    counts = [line.split(",") for line in (release / "table.csv").read_text().splitlines()[1:]]
    chosen = [int(n) for county, education, n in counts if county in ("Alpha", "Beta") and education == "Low"]
    assert narrow["estimate"] == sum(chosen)
    within = run("intervals", release, "--margin", "education", "--where", "county=Alpha")
    assert within.out.startswith("Where county = Alpha:")


def test_simultaneous_intervals_are_wider(run: Run, release: Path) -> None:
    alone = json.loads(run("intervals", release, "--json").out)["rows"]
    outcome = run("intervals", release, "--simultaneous", "--json")
    together = json.loads(outcome.out)["rows"]
    assert all(b["high"] > a["high"] for a, b in zip(alone, together, strict=True))
    assert "All intervals together" in run("intervals", release, "--simultaneous").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--margin", "conty"), "did you mean 'county'"),
        (("--margin", "county,county"), "twice"),
        (("--where", "county"), "write it as"),
        (("--where", "county=Alpa"), "did you mean 'Alpha'"),
        (("--where", "conty=Alpha"), "did you mean 'county'"),
        (("--level", "1"), "below 1"),
        (("--difference", "county=Alpha"), "takes two selections"),
        (("--difference", "county=Alpha", "county=Alpha"), "the same selection twice"),
        (("--difference", "county", "county=Beta"), "write it as"),
        (("--ratio", "conty=Alpha", "total"), "did you mean 'county'"),
        (("--ratio", "education=Low", "county=Alpa"), "did you mean 'Alpha'"),
        (("--ratio", "county=Alpha", "county=Beta", "--margin", "county"), "both name 'county'"),
        (("--ratio", "county=Alpha", "county=Beta", "--geography", "1"), "--geography"),
        (("--term", "x * county=Alpha"), "begins with no number"),
        (("--term", "0 * county=Alpha"), "times 0"),
        (("--term", "county=Alpha", "--term", "-1 * county=Alpha"), "whatever the counts are"),
        (("--level", "0"), "positive"),
        (("--level", "often"), "--level"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    run: Run, release: Path, arguments: tuple[str, ...], words: str
) -> None:
    outcome = run("intervals", release, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in sentence(outcome.err)


def test_differences_ratios_and_sums_by_labels(run: Run, release: Path, tmp_path: Path) -> None:
    asked = ["--difference", "county=Alpha,education=Low", "county=Beta,education=Low"]
    asked += [
        "--ratio",
        "county=Alpha,education=Low|Medium",
        "total",
        "--ratio",
        "county=Beta",
        "county=Alpha",
    ]
    asked += ["--term", "1/2 * county=Alpha,education=Low", "--term", "-1 * county=Beta"]
    rows = json.loads(run("intervals", release, *asked, "--json").out)["rows"]
    lines = [line.split(",") for line in (release / "table.csv").read_text().splitlines()[1:]]
    counts = {(county, education): int(n) for county, education, n in lines}
    alpha, beta = counts["Alpha", "Low"], counts["Beta", "Low"]
    low = alpha + counts["Alpha", "Medium"]
    assert [row["estimate"] for row in rows] == [alpha - beta, low / 135, 55 / 20, alpha / 2 - 55]
    assert [row["kept_exactly"] for row in rows] == [False, False, True, False]
    assert [row["low"] < row["high"] for row in rows] == [True, True, False, True]
    assert rows[2]["low"] == rows[2]["high"] == 2.75
    out = tmp_path / "differences.csv"
    by = ("--difference", "county=Alpha", "county=Beta", "--margin", "education", "--simultaneous")
    shown = run("intervals", release, *by, "--out", out).out
    assert shown.startswith(" " * 26)
    assert "All intervals together cover" in shown
    assert out.read_text().splitlines()[1].startswith("county=Alpha - county=Beta,Low,")


def test_a_ratio_over_nothing_is_refused(run: Run, example: Path) -> None:
    table = example.parent / "children.csv"
    table.write_text(re.sub(r"(Delta,.*),\d+", r"\1,0", table.read_text()))
    assert run("release", example, "--out", example.parent / "out").code == 0
    outcome = run("intervals", example.parent / "out", "--ratio", "county=Alpha", "county=Delta")
    assert (outcome.code, outcome.out) == (2, "")
    assert "which is exactly 0" in sentence(outcome.err)


def test_what_does_not_verify_is_refused(run: Run, release: Path, tmp_path: Path) -> None:
    assert run("intervals", tmp_path / "none").code == 2
    table = release / "table.csv"
    table.write_text(table.read_text().replace("Alpha,Low,", "Alpha,Low,1"))
    outcome = run("intervals", release)
    assert outcome.code == 1
    assert "VIOLATED table.csv unchanged" in outcome.out
    assert "estimate" not in outcome.out
    report = json.loads(run("intervals", release, "--json").out)
    assert report["kept"] is False
