"""Posterior rates of the study of partially private data: intervals hold the truth as often as they say."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from studies.expected import violations
from studies.outcome import Number
from studies.partially_private import rates, run
from studies.partially_private.counties import invented
from studies.partially_private.rates import Inferred, held, interval, lengths, worlds

from holdfast import SeededEntropy
from holdfast.inference.posterior.gibbs import gibbs
from holdfast.inference.posterior.table_constraints import TableConstraints


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    folder = tmp_path_factory.mktemp("rates")
    given = ["--quick", "--part", "rates", "--output", str(folder), "--data", str(folder / "nowhere")]
    return run.main(given), folder


def told(quick: tuple[int, Path]) -> dict[str, Number]:
    numbers = json.loads((quick[1] / "numbers.json").read_text())["parts"]["rates_stand_in"]["numbers"]
    return {name: Number(**number) for name, number in numbers.items()}


def test_the_stand_in_comes_to_the_expected_numbers(quick: tuple[int, Path]) -> None:
    assert violations(run.EXPECTED, "rates_stand_in", told(quick), "quick") == []
    assert quick[0] == 0
    assert {path.stem for path in quick[1].glob("*.png")} == {"rates_stand_in", "rates_stand_in_coverage"}


def test_the_naive_analysis_holds_far_fewer_truths_where_noise_is_large(quick: tuple[int, Path]) -> None:
    numbers = told(quick)
    for kind in ("simulated", "real"):
        naive = numbers[
            f"67 counties, with the sum, epsilon 0.01: naive analysis, coverage at 0.9 of {kind} rates"
        ]
        posterior = numbers[
            f"67 counties, with the sum, epsilon 0.01: posterior, coverage at 0.9 of {kind} rates"
        ]
        assert naive.value < 0.3
        assert posterior.value > 0.75


def test_full_runs_held_simulated_rates_as_often_as_their_level_says() -> None:
    parts = json.loads(run.EXPECTED.read_text())["parts"]
    for part in ("rates", "rates_stand_in"):
        shares = {name: one for name, one in parts[part].items() if "posterior, coverage" in name}
        simulated = {name: one for name, one in shares.items() if name.endswith("simulated rates")}
        assert len(simulated) == 2 * len(worlds(invented()))
        assert {one["value"] for one in simulated.values()} == set(rates.LEVELS)
        assert {one["source"] for one in simulated.values()} == {"formula"}
        assert all(one["tolerance"]["full"] < 0.15 for one in simulated.values())


def test_intervals_have_equal_tails() -> None:
    draws = np.arange(1, 100, dtype=float).reshape(1, 99, 1) * [1.0, 10.0]
    low, high = interval(draws, 0.9)
    assert low.tolist() == pytest.approx([5, 50])
    assert high.tolist() == pytest.approx([95, 950])
    assert held(draws, np.array([4.0, 950.0]), 0.9) == 0.5
    assert lengths(draws, 0.9) == pytest.approx((90 + 900) / 2)


def test_the_posterior_of_another_law_holds_too_few() -> None:
    """Noise of epsilon 1/100 that is taken for itself, and for that of epsilon 1."""
    world = worlds(invented())[0]
    generator = np.random.default_rng(3)
    shares: dict[Fraction, list[float]] = {Fraction(1, 100): [], Fraction(1): []}
    for seed in range(3):
        truth = generator.gamma(3, 0.001 / 3, world.people.size)
        cases = generator.poisson(truth * world.people)
        release = world.prepared(cases).sample(SeededEntropy(seed), 1)[0]
        for epsilon, found in shares.items():
            taken = world._replace(epsilon=epsilon)
            problem = taken.problem(taken.prepared(cases), release)
            drawn = gibbs(problem, draws=400, warmup=100, chains=2, seed=seed)
            found.append(held(drawn.parameters, truth, rates.LEVEL))
    right, wrong = (np.mean(found) for found in shares.values())
    assert right > 0.8
    assert wrong < 0.65


def test_every_drawn_table_is_as_public_as_the_total_and_others_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counties = invented()
    world = worlds(counties)[3]
    cases = world.cases
    ready = world.prepared(cases)
    assert (ready.counts == cases).all()
    assert cases.tolist() == [counties.cases[rates.MONTH][counties.names.index(name)] for name in world.names]
    found = Inferred.of(world, ready, 1, 100)
    assert (found.posterior.tables.sum(axis=2) == cases.sum()).all()
    assert (found.posterior.tables >= 0).all()
    monkeypatch.setattr(TableConstraints, "hold", lambda self, tables: np.zeros(len(tables), dtype=bool))
    with pytest.raises(AssertionError, match="contradicts what is public"):
        Inferred.of(world, ready, 1, 100)


def test_a_truth_without_cases_is_left_out() -> None:
    world = worlds(invented())[3]._replace(people=np.ones(rates.SMALLEST, dtype=np.int64))
    assert rates.simulated(world, 50, 0) is None
