"""The study of partially private data: its quick run comes to the expected numbers, other laws do not."""

import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from math import comb, sqrt
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console
from scipy.stats import chisquare
from studies.command import STAND_IN
from studies.expected import violations
from studies.outcome import Number
from studies.partially_private import dependence, methods, run, synthesis
from studies.partially_private.counties import COUNTIES, FATAL, FILE, MONTHS, Counties, invented, read
from studies.partially_private.methods import (
    BOUNDED,
    CONGENIAL,
    METHODS,
    NAIVE,
    PRIOR,
    PROCESSED,
    SETTINGS,
    Setting,
)
from studies.partially_private.workers import FEW, spread
from tests.mechanisms.wasserstein.mass import log_mass

from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.wasserstein.measure import pseudo_counts

T = TypeVar("T")
PARTS = ("synthesis", "dependence", "power", "asymptotics")
LEVEL = 1e-4
TINY = Counties(
    "Tiny",
    ("a", "b", "c"),
    np.array([10, 20, 30]),
    ("2020-03", "2020-04"),
    np.array([[3, 0, 1], [2, 1, 1]]),
    np.array([[0, 0, 1], [1, 0, 1]]),
)


def silent(things: Iterable[T], what: str) -> Iterator[T]:
    yield from things


def off(part: str, numbers: dict[str, Number]) -> set[str]:
    found = violations(run.EXPECTED, part, numbers, "quick")
    return {name for name in numbers if any(f"{part}: {name} is" in line for line in found)}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    folder = tmp_path_factory.mktemp("partially_private")
    given = ["--quick", "--part", *PARTS, "--output", str(folder), "--data", str(folder / "nowhere")]
    return run.main(given), folder


def told(quick: tuple[int, Path], part: str) -> dict[str, Number]:
    numbers = json.loads((quick[1] / "numbers.json").read_text())["parts"][part]["numbers"]
    return {name: Number(**number) for name, number in numbers.items()}


def test_without_data_the_stand_in_runs_and_comes_to_the_expected_numbers(quick: tuple[int, Path]) -> None:
    code, folder = quick
    for part in ("synthesis_stand_in", "dependence", "power", "asymptotics"):
        assert violations(run.EXPECTED, part, told(quick, part), "quick") == []
    assert code == 0
    assert {path.stem for path in folder.glob("*.png")} == {
        "synthesis_stand_in_figure_2",
        "synthesis_stand_in_figure_3",
        "figure_4",
        "power",
        "asymptotics",
    }


def test_expected_has_every_part_and_its_stand_in() -> None:
    parts = json.loads(run.EXPECTED.read_text())["parts"]
    assert set(parts) == {*run.COMPUTED, *(name + end for name in run.REAL for end in ("", STAND_IN))}


def test_a_missing_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run.main(["--quick", "--part", "dependence", "--output", str(tmp_path), "--data", str(tmp_path)])
    assert FILE not in capsys.readouterr().out
    assert list(tmp_path.glob("*.png")) == [tmp_path / "figure_4.png"]
    asked = run._parser().parse_args(["--quick", "--part", "synthesis", "--data", str(tmp_path)])
    parts = list(run._asked(asked, Console(soft_wrap=True)))
    assert [(part.name, part.title) for part in parts] == [("synthesis_stand_in", synthesis.STAND_IN)]
    assert f"There is no {FILE} in {tmp_path}: a stand-in runs instead." in capsys.readouterr().out


def test_errors_are_ordered_as_the_paper_says_where_little_may_be_told(quick: tuple[int, Path]) -> None:
    numbers = told(quick, "synthesis_stand_in")
    tail, every = "95th percentile of relative errors", (PROCESSED, NAIVE, CONGENIAL)
    claims = {"|error| of cases": every, "median relative error, percent": every, tail: every[1:]}
    for norm, (what, others) in product(("l1", "l2"), claims.items()):
        least, *more = (
            numbers[f"{norm}, epsilon 0.01, 2020-06, {method}: {what}"] for method in (PRIOR, *others)
        )
        for other in more:
            assert other.value - least.value > 4 * sqrt(other.error**2 + least.error**2)


def test_post_processing_is_nearer_than_congenial_weights_where_much_may_be_told(
    quick: tuple[int, Path],
) -> None:
    """The normaliser takes half of epsilon, and projecting is free: the paper finds them alike."""
    numbers = told(quick, "synthesis_stand_in")
    for norm in ("l1", "l2"):
        processed, congenial = (
            numbers[f"{norm}, epsilon 1, 2020-06, {method}: |error| of cases"]
            for method in (PROCESSED, CONGENIAL)
        )
        assert congenial.value - processed.value > 4 * sqrt(congenial.error**2 + processed.error**2)


def test_small_counties_are_contracted_more_often(quick: tuple[int, Path]) -> None:
    numbers = told(quick, "synthesis_stand_in")
    for norm, effect in product(("l1", "l2"), ("cases at 0", "deaths at 0", "all cases dead")):
        least, most = (
            numbers[f"{norm}, epsilon 1, 2020-06, {PROCESSED}: {effect}, {group}"]
            for group in synthesis.GROUPS
        )
        assert least.value - most.value > 4 * sqrt(least.error**2 + most.error**2)


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_release_keeps_what_is_public_and_a_broken_one_is_told(setting: Setting) -> None:
    seconds: dict[str, float] = {}
    releases = synthesis.Releases.of(
        [synthesis.drawn(TINY, 50, synthesis.Task(month, setting)) for month in (0, 1)], setting
    )
    assert set(releases.by_method) == set(METHODS)
    assert releases.by_method[PRIOR].shape == (50, 2, 2, 3)
    assert set(synthesis.violated(releases, TINY).values()) == {0}
    releases.by_method[CONGENIAL][7, 1] = [[4, 1, -1], [-1, 2, 0]]
    assert synthesis.violated(releases, TINY) == {
        "releases with another sum of cases": 0,
        "counts with more deaths than cases": 2,
        "counts below 0": 1,
    }
    releases.by_method[PROCESSED][7, 1, 0, 0] += 1
    assert synthesis.violated(releases, TINY)["releases with another sum of cases"] == 1
    assert methods.month_of(TINY, 1, setting, 2, seconds)
    assert set(seconds) == {NAIVE, CONGENIAL, PRIOR}


def tables(total: int, most: int) -> IntArray:
    """All cases with a total and deaths that are no more, of three counties; deaths up to ``most``."""
    found = [
        (*cases, *deaths)
        for cases in product(range(total + 1), repeat=3)
        if sum(cases) == total
        for deaths in product(*(range(min(c, most) + 1) for c in cases))
    ]
    return np.array(found)


def chances(setting: Setting, method: str) -> tuple[IntArray, NDArray[np.float64]]:
    """Enumerate the law of a release of TINY's second month, as the paper writes it."""
    every = tables(4, 4)
    apart = np.abs(every - TINY.table(1)).astype(float)
    loss = apart.sum(axis=1) if setting.norm == "l1" else np.sqrt((apart**2).sum(axis=1))
    pseudo = pseudo_counts(TINY.cases[0], Fraction(1), methods.FLOOR)
    logs = np.array([log_mass(each[:3], pseudo) if method == PRIOR else 0.0 for each in every])
    sigma = 2 if setting.norm == "l2" else 4
    weights = np.exp(logs - float(setting.epsilon) / (2 * sigma) * loss)
    return every, weights / weights.sum()


def p_value(setting: Setting, method: str, releases: IntArray) -> float:
    every, law = chances(setting, method)
    place = {tuple(each): number for number, each in enumerate(every.tolist())}
    seen = np.bincount([place[tuple(each)] for each in releases.tolist()], minlength=len(every))
    order = np.argsort(law)
    groups = np.minimum(np.cumsum(law[order]) * 40, 39).astype(int)
    expected = np.bincount(groups, weights=law[order])
    observed = np.bincount(groups, weights=seen[order], minlength=expected.size)
    some = expected > 0
    return float(chisquare(observed[some], expected[some] * len(releases)).pvalue)


@pytest.mark.parametrize("method", [CONGENIAL, PRIOR])
@pytest.mark.parametrize("norm", methods.NORMS)
def test_releases_have_the_printed_law_with_the_right_mass(norm: methods.Norm, method: str) -> None:
    setting = Setting(norm, Fraction(1))
    releases = methods.released(TINY, 1, setting, method, 4_000)
    assert p_value(setting, method, releases) > LEVEL
    wrong = Setting(norm, Fraction(4))
    assert p_value(wrong, method, releases) < LEVEL
    assert p_value(setting, PRIOR if method == CONGENIAL else CONGENIAL, releases) < LEVEL


def test_sigma_is_how_far_one_person_moves_the_counts() -> None:
    move = np.array([1, -1, 1, -1])  # of two counties, as a case and as a death
    assert {"l1": np.abs(move).sum(), "l2": sqrt((move**2).sum())} == methods.SIGMA
    assert Setting("l2", Fraction(1)).kappa(NAIVE) == Fraction(1, 2)
    assert Setting("l2", Fraction(1)).kappa(PRIOR) == Fraction(1, 4)
    assert Setting("l1", Fraction(1, 100)).kappa(CONGENIAL) == Fraction(1, 800)


def test_half_the_noise_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "SIGMA", {"l2": 1, "l1": 2})
    setting = Setting("l1", Fraction(1))
    counties = invented()
    drawn = synthesis.drawn(counties, 25, synthesis.Task(synthesis.ONE, setting))
    found = synthesis.numbers_of(synthesis.Releases.of([drawn], setting), counties)
    wrong = off("synthesis_stand_in", {f"{setting.title}, 2020-06, {k}": n for k, n in found.items()})
    assert {f"l1, epsilon 1, 2020-06, {method}: |error| of cases" for method in METHODS} <= wrong


def test_a_release_at_the_truth_is_contracted_nowhere() -> None:
    truth = np.stack([TINY.cases, TINY.deaths], axis=1)[None]
    moved = truth.copy()
    moved[0, 0, 0] = [2, 1, 1]
    releases = synthesis.Releases((0, 1), dict.fromkeys(METHODS, truth) | {NAIVE: moved})
    for method in (CONGENIAL, PRIOR):
        assert set(synthesis.at_bounds(releases, method, TINY).counts().values()) == {0}
    found = synthesis.at_bounds(releases, PROCESSED, TINY).counts()
    assert found == {"contracted_case_zeros": 1, "contracted_death_zeros": 0, "contracted_rates": 0}
    assert set(synthesis.relative(releases, PRIOR, TINY).ravel()) == {0.0}
    assert set(BOUNDED) == set(METHODS) - {NAIVE}


def test_invented_counties_are_as_many_and_never_have_more_deaths_than_cases(tmp_path: Path) -> None:
    counties = invented()
    assert counties.cases.shape == counties.deaths.shape == (MONTHS, COUNTIES)
    assert (counties.deaths <= counties.cases).all()
    assert abs(counties.deaths.sum() / counties.cases.sum() - FATAL) < 0.001
    assert (counties.past(0) == 0).all()
    assert (counties.past(5) == counties.cases[4]).all()
    lines = ["county,population,month,cases,deaths"]
    for month, place in product(range(MONTHS), reversed(range(COUNTIES))):
        row = (counties.cases[month, place], counties.deaths[month, place])
        lines.append(
            f"{counties.names[place]},{counties.people[place]},{counties.months[month]},{row[0]},{row[1]}"
        )
    (tmp_path / FILE).write_text("\n".join(lines))
    again = read(tmp_path)
    assert again.title == "Pennsylvania"
    assert (again.cases == counties.cases).all()
    assert (again.people == counties.people).all()
    assert again.months == counties.months


def gap(n: int, z0: Fraction, z1: Fraction) -> int:
    """W_infinity by the largest gap of quantiles, at every level of both laws."""

    def levels(z: Fraction, more: int) -> list[tuple[Fraction, int]]:
        total, found = Fraction(0), []
        for k in range(n):
            mass = comb(n - 1, k) * z**k * (1 - z) ** (n - 1 - k)
            total += mass
            if mass:
                found.append((total, k + more))
        return found

    lower, upper = levels(z0, 0), levels(z1, 1)
    every = [level for level, _ in (*lower, *upper)]

    def quantile(law: list[tuple[Fraction, int]], level: Fraction) -> int:
        return next(k for total, k in law if total >= level)

    return max(abs(quantile(lower, level) - quantile(upper, level)) for level in every)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_delta_is_the_largest_gap_of_quantiles(n: int) -> None:
    for one, other in product(range(6), repeat=2):
        if one <= other:
            z0, z1 = Fraction(one, 5), Fraction(other, 5)
            assert dependence.delta(n, z0, z1) == gap(n, z0, z1)


def test_delta_grows_with_dependence_and_is_everybody_at_its_ends() -> None:
    found = dependence.table(30, 10)
    assert (np.diff(found[1:, 1:], axis=1)[np.triu_indices(9)] >= 0).all()
    assert np.nanmax(np.diff(found, axis=0)) <= 0
    assert set(np.diag(found)) == {1.0}
    assert set(found[0, 1:]) == {30.0}


def test_projection_costs_power_or_not(quick: tuple[int, Path]) -> None:
    numbers = told(quick, "power")
    lost = numbers["total, geometric 0.1: power at 0.5, released"].value
    lost -= numbers["total, geometric 0.1: power at 0.5, projected"].value
    assert lost > 0.05
    assert numbers["bounds, geometric 0.1: chance that the projection moves"].value > 0.1
    assert numbers["largest loss of one count with geometric noise"].value < 1e-9
    gaussian = [name for name in numbers if name.startswith("bounds, gaussian") and "power at 0.7" in name]
    released, projected = (
        next(numbers[name].value for name in gaussian if name.endswith(end) and "simulated" not in name)
        for end in ("released", "projected")
    )
    assert released - projected > 0.01


def test_work_comes_back_in_order_from_one_processor_and_from_many() -> None:
    for number in (FEW, FEW + 1):
        assert spread(abs, range(-number, 0), silent, "") == list(range(number, 0, -1))
