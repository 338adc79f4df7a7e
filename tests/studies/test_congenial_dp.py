"""The study of congenial privacy: its quick run comes to the expected numbers, and wrong laws do not."""

import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from scipy.sparse import csr_array
from studies.congenial_dp import california, density, distances, run, sampler, table_1, two_bins
from studies.congenial_dp.design import CELLS, COLUMNS, CONFIDENTIAL, FREE, MATRIX, conditional_law
from studies.expected import violations
from studies.outcome import Number
from tests.sampling.replayed import ReplayedEntropy

from holdfast.estimation.conforming import Conforming
from holdfast.estimation.integers import integers_l1
from holdfast.estimation.l2 import nonnegative_l2
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import DataError

T = TypeVar("T")


def silent(things: Iterable[T], what: str) -> Iterator[T]:
    yield from things


def test_the_quick_run_comes_to_the_expected_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run.main(["--quick", "--parts", "1", "2", "3", "4", "--output", str(tmp_path)])
    printed = capsys.readouterr().out
    assert code == 0, printed
    names = ("table_1", "figure_1", "figure_2", "figure_3", "table_2", "density_a1")
    assert sorted(p.stem for p in tmp_path.glob("*.png")) == sorted(names)
    parts = json.loads((tmp_path / "numbers.json").read_text())["parts"]
    assert set(parts) == set(run.SIMULATED)
    assert "OFF" not in printed


def test_the_acceptance_of_the_paper_is_one_that_chains_of_its_length_have() -> None:
    expected = json.loads(run.EXPECTED.read_text())["parts"]["sampler"]
    mean = expected["acceptance at rate 0.6 of chains from the table, 10,000 steps"]["value"]
    spread = expected["spread of that acceptance between chains"]["value"]
    assert abs(sampler.ACCEPTANCE - mean) < spread


def off(part: str, numbers: dict[str, Number]) -> set[str]:
    found = violations(run.EXPECTED, part, numbers, "quick")
    return {name for name in numbers if any(f"{part}: {name} is" in line for line in found)}


def test_noise_of_another_parameter_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_1, "EPSILON", Fraction(51, 100))
    assert {"L1", "L2", "unchanged cells"} <= off("table_1", table_1.study(table_1.QUICK, silent).numbers)
    monkeypatch.setattr(two_bins, "EPSILON", Fraction(51, 50))
    numbers = two_bins.study(two_bins.QUICK, silent).numbers
    assert {"Var m1, conditioned", "Var m1, L2", "Var m1, L1, beta 1"} <= off("two_bins", numbers)
    monkeypatch.setattr(distances, "HALF", Fraction(11, 20))
    numbers = distances.study(distances.QUICK, silent).numbers
    assert {"L1, conditioned, 1/2", "L1, raw, 1/2", "gamma at 1/2, at most"} <= off("distances", numbers)


@pytest.mark.parametrize("wrong", ["nothing", "bounds", "rate"])
def test_another_sampler_accepts_otherwise(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if wrong == "bounds":
        monkeypatch.setattr(sampler, "non_negative", lambda points: np.ones(points.shape[0], dtype=np.bool_))
    rate = Fraction(11, 20) if wrong == "rate" else sampler.RATE
    draws = sampler.BATCHES * sampler.QUICK.draws
    exact = conditional_law(CONFIDENTIAL, sampler.EPSILON).sample(SeededEntropy(9), draws)
    chain = sampler.kernel(CONFIDENTIAL, sampler.EPSILON, rate)
    number = {"acceptance at rate 0.6": sampler.acceptance(chain, exact, SeededEntropy(10))}
    assert off("sampler", number) == (set() if wrong == "nothing" else set(number))


def test_the_expectation_as_the_paper_prints_it_is_off() -> None:
    assert off("two_bins", {"E m1, L2": Number(sum(two_bins.BINS) / 2)}) == {"E m1, L2"}


def test_a_density_with_another_weight_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    right = density.cdf
    monkeypatch.setattr(density, "cdf", lambda u, beta: right(u, min(beta + 0.06, 1)))
    found = off("density", density.study(density.QUICK, silent).numbers)
    assert "Kolmogorov distance, beta 3/4" in found


def test_a_number_that_is_missing_or_not_expected_is_told() -> None:
    assert "two_bins: E m1, L2 was not made" in violations(run.EXPECTED, "two_bins", {}, "quick")
    assert violations(run.EXPECTED, "nothing", {"one": Number(1)}, "quick") == [
        "nothing: one is not in expected.json"
    ]


def test_projections_are_those_of_the_package() -> None:
    noisy = np.array([[75.25, 22.5], [66.0, 37.0], [70.0, 30.0]])
    conforming = Conforming.of(two_bins.TOTAL, np.array([100]))
    for row, found in zip(noisy, two_bins.project_l2(noisy, 100), strict=True):
        assert nonnegative_l2(row, conforming).values == pytest.approx(found, abs=2e-6)
    nearest = integers_l1(noisy[1], conforming)
    for beta in (0, 0.5, 1):
        found = two_bins.project_l1(noisy, 100, beta)
        assert found.sum(axis=1) == pytest.approx(100)
        assert np.abs(found[1] - noisy[1]).sum() == pytest.approx(np.abs(nearest - noisy[1]).sum())


def test_the_density_integrates_to_its_distribution_function() -> None:
    grid = np.linspace(-30, 3, 330_001)
    for beta in map(float, density.BETAS):
        mass = np.trapezoid(np.exp(density.log_density(grid, beta)), grid)
        ends = density.cdf(np.array([-30.0, 3.0]), beta)
        assert mass == pytest.approx(ends[1] - ends[0], abs=1e-8)
        assert density.log_density(grid[:3], beta) == pytest.approx(density.log_density(grid[:3], 1 - beta))


def test_all_pairs_are_averaged() -> None:
    chain = sampler.kernel(CONFIDENTIAL, Fraction(1, 2), Fraction(3, 5))
    noise = conditional_law(CONFIDENTIAL, Fraction(1, 2)).sample(SeededEntropy(1), 60)
    words = SeededEntropy(2).words(60 * len(FREE))
    proposed = chain.completed(
        chain.law.sample(ReplayedEntropy(words, SeededEntropy(3)), words.size).reshape(60, -1)
    )
    to, at = chain.log_weight(proposed), chain.log_weight(chain.init(noise[:, chain.cells.free]))
    plain = np.exp(np.minimum(to[None, :] - at[:, None], 0)).mean()
    assert plain > 0
    assert sampler._all_pairs(chain, noise, ReplayedEntropy(words, SeededEntropy(3))) == pytest.approx(plain)


def csv(folder: Path, counties: dict[str, int]) -> None:
    lines = ["fips,county,sex,age_index,age,count,das_demonstration_2022"]
    for name, base in counties.items():
        lines += [
            f"6,{name},{sex},{age},a,{base + age + (100 if sex == 'Male' else 0)},7"
            for sex in ("Male", "Female")
            for age in range(COLUMNS)
        ]
    (folder / california.FILE).write_text("\n".join(lines) + "\n")


def test_counties_are_read_women_first_and_smallest_first(tmp_path: Path) -> None:
    csv(tmp_path, {"Los Angeles County": 900, "B County": 50, "Alpine County": 1, "C County": 60})
    counties = california.read(tmp_path)
    assert [c.name for c in counties] == ["Alpine County", "B County", "C County", "Los Angeles County"]
    assert counties[0].counts.tolist() == [*range(1, 24), *range(101, 124)]
    assert counties[0].bureau.tolist() == [7] * CELLS
    assert [c.name for c in california.chosen(counties, 1)] == [
        "Alpine County",
        "B County",
        "Los Angeles County",
    ]
    text = (tmp_path / california.FILE).read_text().splitlines()
    (tmp_path / california.FILE).write_text("\n".join(text[:-1]) + "\n")
    with pytest.raises(DataError, match="C County"):
        california.read(tmp_path)


def test_a_county_is_released_by_every_method() -> None:
    counts = np.arange(CELLS)
    found = distances.Releases(counts, 3, distances.equal_parameter(), SeededEntropy(1))
    kept = (distances.PROJECTED, distances.CONDITIONED, distances.EQUAL, distances.TOTALS)
    for method in kept:
        assert np.abs(csr_array(MATRIX) @ found.errors[method].T).max() < 1e-9
    for method in kept[:3]:
        assert (counts + found.errors[method] > -1e-9).all()


def test_missing_data_is_said_and_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--quick", "--parts", "5", "--output", str(tmp_path), "--data", str(tmp_path / "nowhere")]
    assert run.main(arguments) == 0
    assert "Skipped: California" in capsys.readouterr().out
