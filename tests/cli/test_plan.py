import json
from pathlib import Path

from tests.cli.conftest import Run


def test_the_plan_names_method_reason_and_time(run: Run, example: Path) -> None:
    text = run("plan", example).out
    assert "crossing invariants, one after the other" in text
    assert "Why:" in text
    report = json.loads(run("plan", example, "--json").out)
    assert report["kind"] == "exact"
    assert report["epsilon_per_unit"] == "1/6"
    assert 0 < report["steps"][0]["acceptance"] < 1
    assert report["work"] >= 16


def test_a_plan_draws_and_writes_nothing(run: Run, example: Path) -> None:
    before = sorted(example.parent.iterdir())
    assert run("plan", example).code == 0
    assert sorted(example.parent.iterdir()) == before


def test_l2_is_drawn_by_gaussians(run: Run, example: Path) -> None:
    example.write_text(example.read_text().replace('norm = "l1"', 'norm = "l2"'))
    assert "Gaussians of many widths" in run("plan", example).out
    assert 0 < json.loads(run("plan", example, "--json").out)["steps"][0]["acceptance"] < 1


def test_expected_errors_are_told_at_several_budgets(run: Run, example: Path) -> None:
    text = run("plan", example).out
    assert "Kept exactly: total, county, education." in text
    assert "95 % within" in text
    text = run("plan", example, "--what-if", "epsilon=1/2,1").out
    assert "epsilon 0.5 (1/2)  epsilon 1" in text
    found = json.loads(run("plan", example, "--what-if", "epsilon=1/2,1", "--json").out)
    assert [each["epsilon"] for each in found["what_if"]] == ["1/2", "1"]
    refused = run("plan", example, "--what-if", "rho=1")
    assert refused.code == 2
    assert "--what-if is of 'rho'" in refused.err


def test_a_plan_names_the_passes_of_each_table(run: Run, tmp_path: Path) -> None:
    assert run("init", "--topdown", "small", tmp_path).code == 0
    spec = tmp_path / "topdown.toml"
    persons, units = run("plan", spec).out.split("\nunits, with")
    assert "Estimated one pass after another, and what a pass found stays: total, then cenrace and" in persons
    assert "Estimated from all of these at once: the spec names no passes." in units
