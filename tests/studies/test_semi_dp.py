"""The study of semi-dp: its quick run agrees with `expected.json`, and a wrong number would be found."""

import io
import json
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from studies.semi_dp import data, figure_2, figure_3, numbers, power, real_tests, run
from studies.semi_dp.designs import both_margins, entropy, generator, model_table
from studies.semi_dp.numbers import Number, discrepancies

from holdfast.data.two_by_two import TwoByTwo
from holdfast.inference.count_test import CountLaw, p_values
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.privacy.intensity import Pure

EXPECTED = numbers.read_expected()
TWINS = TwoByTwo(2, 15, 10, 3)


def test_the_quick_study_is_as_expected_and_a_wrong_mechanism_would_be_found(tmp_path: Path) -> None:
    screen = io.StringIO()
    found = run.study(
        run.QUICK,
        seed=run.SEED,
        output=tmp_path / "output",
        folder=tmp_path,
        only=(),
        console=Console(file=screen, width=200),
    )
    assert discrepancies(found, EXPECTED) == []
    assert f"real tables: skipped, {tmp_path} has no {data.CLASSIC}" in screen.getvalue()
    assert {path.name for path in (tmp_path / "output").iterdir()} == {
        "figure_2.png",
        "figure_3.png",
        "power.png",
        "numbers.json",
    }
    assert len(json.loads((tmp_path / "output" / "numbers.json").read_text())) == len(found)

    measured = {(number.part, number.series, number.setting) for number in found}
    every = {(p, s, at) for p, parts in EXPECTED.items() for s, series in parts.items() for at in series}
    assert every <= measured

    for taken, meant in (
        ("semi, as printed", "semi, correct"),
        ("semi, correct", "semi, as printed"),
        ("naive, projected", "naive"),
        ("K-norm, as printed", "K-norm, correct"),
        ("K-norm, correct", "K-norm, as printed"),
        ("naive l2", "naive l1"),
        ("plug-in", "semi-private, simulated"),
        ("Fisher", "Fisher, randomised"),
        ("naive private", "semi-private"),
    ):
        wrong = [replace(number, series=meant) for number in found if number.series == taken]
        assert discrepancies(wrong, EXPECTED), (taken, meant)


def test_a_scale_that_is_off_by_a_tenth_is_found() -> None:
    costs = [
        Number(figure_2.PART, "semi, correct", f"k = {k}", "I", 1.1 * entry["value"], 120)
        for k in figure_2.SIZES
        for entry in [EXPECTED[figure_2.PART]["semi, correct"][f"k = {k}"]]
    ]
    assert discrepancies(costs, EXPECTED)


@pytest.mark.parametrize(("k", "mu", "loss"), [(2, 1.0, 1.0), (3, sqrt(6) / 2, 2.0), (4, sqrt(6) / 2, 2.0)])
def test_the_printed_mechanisms_fall_short_for_three_records(k: int, mu: float, loss: float) -> None:
    assert figure_2.true_mu(both_margins(model_table("I", k, 0))) == pytest.approx(mu)
    assert figure_3.true_loss(k) == loss


def test_the_tables_are_those_of_the_models() -> None:
    for k in (2, 10):
        for model in ("I", "II"):
            table = model_table(model, k, run.SEED)
            assert table.shape == (k, k)
            assert table.sum() == 500
            assert both_margins(table).semi_adjacency.worst_case == 3
    rising = np.sum([model_table("II", 4, seed) for seed in range(40)], axis=0).ravel()
    assert np.corrcoef(rising, np.arange(1, 17))[0, 1] > 0.98


def test_equal_margins_have_a_smaller_semi_adjacency_than_the_design() -> None:
    assert NoisyCount.calibrate([power.design(100)], Pure(Fraction(1))).guarantee.unit.distance == 3
    equal = TwoByTwo(25, 25, 25, 25).margins
    assert NoisyCount.calibrate([equal], Pure(Fraction(1))).guarantee.unit.distance == 2


def test_outcomes_on_a_table_are_those_of_simulated_releases() -> None:
    draws = 4000
    by_name = {outcome.series: outcome for outcome in real_tests.outcomes((TWINS,))}
    assert by_name["Fisher"].median == pytest.approx(2 * 0.00046518094336290503)
    mechanism = NoisyCount.calibrate([TWINS.margins], Pure(Fraction(1)))
    released = mechanism.law(np.array(TWINS)).sample(entropy(generator(3, "twins")), draws)[:, 0]
    p = p_values(released, CountLaw((TWINS.margins,)), mechanism.canonical, alternative="two-sided")
    semi, naive = by_name["semi-private, epsilon = 1"], by_name["naive, epsilon = 1"]
    for value, share in (
        (semi.low, 0.05),
        (semi.median, 0.5),
        (semi.high, 0.95),
        (real_tests.LEVEL, semi.rejects),
    ):
        assert abs(float((p <= value).mean()) - share) < 4.5 * sqrt(share * (1 - share) / draws)
    assert abs(float((p <= real_tests.LEVEL).mean()) - naive.rejects) > 0.5
    assert float((p <= naive.median).mean()) > 0.9


@pytest.mark.parametrize(("power_of_fisher", "code", "says"), [(1.0, 0, "all numbers"), (1.01, 1, "not as")])
def test_the_command_says_whether_all_is_as_expected(
    power_of_fisher: float,
    code: int,
    says: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setting = power.setting(100, Fraction(1), 2.0)
    value = EXPECTED[power.PART]["Fisher"][setting]["value"] * power_of_fisher
    monkeypatch.setattr(run, "study", lambda *_, **__: [Number(power.PART, "Fisher", setting, "", value)])
    assert run.main(["--quick"]) == code
    assert says in capsys.readouterr().out
