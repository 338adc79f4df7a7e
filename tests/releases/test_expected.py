"""What a plan tells of errors: from public values alone, and at other budgets."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from tests.mechanisms.errors.test_laws import SIZES, of_sizes

import holdfast as hf
from holdfast.comparison.tables import Comparison
from holdfast.mechanisms.errors.counts import Counts
from holdfast.releases.prepare import prepare
from holdfast.system.errors import GuaranteeError, SamplingError, SpecError
from holdfast.system.text import plain_number


def test_tables_with_the_same_invariants_have_the_same_report() -> None:
    counts = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7]
    other = [number for at in range(0, 30, 6) for number in reversed(counts[at : at + 6])]
    assert counts != other
    reports = []
    for each in (counts, other):
        prepared = of_sizes(SIZES, [["a"]], {"name": "lattice-laplace"}, counts=each, epsilon="1")
        report = prepared.plan(what_if={"epsilon": ["1/2"]}).to_dict()
        reports.append(json.dumps([report["expected_error"], report["what_if"]]))
    assert reports[0] == reports[1]


def test_every_margin_up_to_two_attributes_and_cells_are_told(example: Path) -> None:
    report = hf.plan(example).to_dict()["expected_error"]
    assert [row["of"] for row in report] == [[], ["county"], ["education"], ["county", "education"]]
    assert [row["exact"] for row in report] == [True, True, True, False]
    assert report[0] == {
        "of": [],
        "standard_deviation": 0.0,
        "mean_absolute": 0.0,
        "within_95": 0.0,
        "exact": True,
        "draws": None,
    }
    assert 0 < report[3]["mean_absolute"] < report[3]["standard_deviation"] < report[3]["within_95"]


def test_errors_shrink_as_the_budget_grows(example: Path) -> None:
    found = hf.plan(example, what_if={"epsilon": ["1/2", 1, Fraction(2)]}).to_dict()
    assert [each["epsilon"] for each in found["what_if"]] == ["1/2", "1", "2"]
    assert found["what_if"][1]["expected_error"] == found["expected_error"]
    sizes = [each["expected_error"][-1]["standard_deviation"] for each in found["what_if"]]
    assert sizes[0] > 1.8 * sizes[1] > 3.2 * sizes[2] > 0


@pytest.mark.parametrize(
    ("what_if", "said"),
    [
        ({"rho": ["1"]}, "is of 'rho', and the budget of the standard 'pure' is epsilon"),
        ({}, "is of nothing"),
        ({"epsilon": []}, "has 0 budgets"),
        ({"epsilon": ["x"]}, "epsilon is 'x', which is not a number"),
        ({"epsilon": ["0"]}, "epsilon is 0"),
        ({"epsilon": ["1e9"]}, "out of reach"),
    ],
)
def test_budgets_that_are_none_are_refused(what_if: dict[str, list[str]], said: str, example: Path) -> None:
    with pytest.raises(SpecError, match=said):
        prepare(example).plan(what_if=what_if)


def test_noise_that_no_budget_gave_has_no_other(example: Path) -> None:
    text = example.read_text().replace('epsilon = "1"', "").replace('norm = "l1"', 'epsilon_per_unit = "1/9"')
    example.write_text(text)
    assert hf.plan(example).to_dict()["expected_error"]
    with pytest.raises(SpecError, match="and not from a budget"):
        hf.plan(example, what_if={"epsilon": ["1"]})


def test_noise_that_cannot_be_drawn_is_refused_with_what_the_ways_out_cost() -> None:
    sizes = {"a": 40, "b": 30}
    with pytest.raises(SamplingError, match='name="anchored-laplace"') as refused:
        of_sizes(sizes, [["a"], ["b"]], {"name": "lattice-laplace"}, epsilon="1")
    found = [float(each) for each in re.findall(r"a cell is off by ([\d.]+)", str(refused.value))]
    assert len(found) == 2
    assert found == sorted(found)
    for number, options in enumerate(
        ({"name": "anchored-laplace"}, {"name": "lattice-laplace", "norm": "l2"})
    ):
        prepared = of_sizes(sizes, [["a"], ["b"]], options, epsilon="1")  # what is advised is accepted
        (error,) = prepared.mechanism.errors(prepared.public, [Counts(("a", "b"))])
        assert error.mean_absolute == pytest.approx(found[number], rel=0.01)


def test_noise_within_bounds_that_cannot_be_drawn_is_refused_with_what_noise_without_them_costs() -> None:
    sizes, bounds = {"a": 9, "b": 9}, {"nonnegative": True}
    with pytest.raises(
        SamplingError, match=r"leave out constraints\.nonnegative, set in mechanism"
    ) as refused:
        of_sizes(sizes, [["a"], ["b"]], {"name": "conditioned"}, constraints=bounds, epsilon="1")
    said = str(refused.value)
    assert "holdfast.postprocess, or ask for a chain (chain=True), or keep fewer" in said
    found = [float(each) for each in re.findall(r"a cell is off by ([\d.]+)", said)]
    assert len(found) > 1
    assert found == sorted(found)
    prepared = of_sizes(sizes, [["a"], ["b"]], {"name": "anchored-laplace"}, epsilon="1")
    (error,) = prepared.mechanism.errors(prepared.public, [Counts(("a", "b"))])
    assert error is not None
    assert f'"anchored-laplace" (a cell is off by {plain_number(error.mean_absolute)} on average' in said


def test_differences_that_cannot_be_listed_lead_to_other_noise_without_a_long_search() -> None:
    with pytest.raises(GuaranteeError, match=r"k-norm noise needs them: in mechanism set") as refused:
        of_sizes({"a": 14, "b": 14}, [["a"], ["b"]], {"name": "k-norm"}, epsilon="1")
    told = re.findall(r'name="([a-z-]+)"[^(]*\(a cell is off by ([\d.]+) on average', str(refused.value))
    assert {name for name, _ in told} == {"anchored-laplace", "lattice-laplace"}
    prepared = of_sizes({"a": 14, "b": 14}, [["a"], ["b"]], {"name": "anchored-laplace"}, epsilon="1")
    (error,) = prepared.mechanism.errors(prepared.public, [Counts(("a", "b"))])
    assert error is not None
    assert dict(told)["anchored-laplace"] == plain_number(error.mean_absolute)


def test_other_noise_is_named_without_its_errors_where_these_take_a_long_search() -> None:
    """Three crossing margins: no formula tells how far one person's change reaches."""
    margins = [["a", "b"], ["b", "c"], ["a", "c"]]
    with pytest.raises(GuaranteeError, match=r"k-norm noise needs? .*: set name=|them: set name=") as refused:
        of_sizes({"a": 30, "b": 2, "c": 12}, margins, {"name": "k-norm"}, epsilon="1")
    assert "is off by" not in str(refused.value)


def test_noise_too_narrow_to_be_drawn_is_refused_with_pure_noise_that_implies_the_target() -> None:
    margins = [["a"], ["b"]]
    with pytest.raises(
        SamplingError, match=r"epsilon 8\.944 in privacy, which implies the target"
    ) as refused:
        of_sizes({"a": 60, "b": 50}, margins, {"name": "lattice-gaussian"}, standard="zcdp", rho="40")
    assert "times smaller" in str(refused.value)
    assert re.search(r'name="anchored-laplace" \(a cell is off by [\d.]+ on average', str(refused.value))


def test_a_comparison_tries_what_is_drawn_where_the_usual_law_is_not(tmp_path: Path) -> None:
    rows = "".join(f"c{i},a{j},{i + j}\n" for i in range(40) for j in range(30))
    (tmp_path / "big.csv").write_text("c,a,n\n" + rows)
    spec = {
        "data": {"path": "big.csv", "cells": ["c", "a"], "count": "n"},
        "invariants": [{"margin": ["c"]}, {"margin": ["a"]}],
        "privacy": {"epsilon": "1"},
    }
    found = hf.compare(hf.Spec.of(spec, folder=tmp_path), ["lattice-laplace"], draws=20)
    assert isinstance(found, Comparison)
    assert [row.name for row in found.rows] == ['lattice-laplace, norm = "l2"', "lattice-laplace"]
    assert found.choice == found.rows[0].name
