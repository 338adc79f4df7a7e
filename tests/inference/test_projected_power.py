"""Powers of best tests, against linear programs, enumerated laws and simulation."""

from collections.abc import Iterator
from itertools import product
from math import comb, exp

import pytest
from scipy.optimize import linprog

from holdfast.inference.projected_power import ProjectionDesign, ProjectionNoise, projected_power
from holdfast.system.errors import SpecError

CASES: list[tuple[ProjectionDesign, ProjectionNoise, float]] = [
    ("bounds", "geometric", 0.1),
    ("bounds", "geometric", 2.0),
    ("bounds", "gaussian", 0.01),
    ("total", "geometric", 0.3),
    ("total", "gaussian", 0.2),
]


def listed(
    n: int, theta: float, rate: float, noise: ProjectionNoise, design: ProjectionDesign, reach: int
) -> Iterator[tuple[tuple[int, ...], int, float]]:
    """Yield values of Y, their projections and masses, one for each count and noise."""
    size = {z: abs(z) if noise == "geometric" else z * z / 2 for z in range(-reach, reach + 1)}
    whole = sum(exp(-rate * s) for s in size.values())
    for count in range(n + 1):
        chance = comb(n, count) * theta**count * (1 - theta) ** (n - count)
        if design == "bounds":
            for z, s in size.items():
                yield (count + z,), min(max(count + z, 0), n), chance * exp(-rate * s) / whole
        else:
            for (z, s), (w, r) in product(size.items(), repeat=2):
                one, other = count + z, n - count + w
                middle = min(max(round((one + n - other) / 2), 0), n)
                yield (one, other), middle, chance * exp(-rate * (s + r)) / whole**2


def best_power(base: dict[object, float], other: dict[object, float], level: float) -> float:
    """Return the power of the best test by a linear program over all randomised ones."""
    keys = list(base)
    found = linprog(
        [-other[key] for key in keys], A_ub=[[base[key] for key in keys]], b_ub=[level], bounds=(0, 1)
    )
    return -float(found.fun or 0)


@pytest.mark.parametrize(
    ("design", "noise"), [("bounds", "geometric"), ("bounds", "gaussian"), ("total", "geometric")]
)
def test_powers_are_those_of_linear_programs(design: ProjectionDesign, noise: ProjectionNoise) -> None:
    n, rate, null, theta, reach = 4, 1.5, 0.3, 0.6, 16 if design == "bounds" else 8
    laws: list[list[dict[object, float]]] = []
    for share in (null, theta):
        full: dict[object, float] = {}
        short: dict[object, float] = {}
        for value, projected, mass in listed(n, share, rate, noise, design, reach):
            full[value] = full.get(value, 0) + mass
            short[projected] = short.get(projected, 0) + mass
        laws.append([full, short])
    found = projected_power(n, rate, null, [theta], design=design, noise=noise).powers[0]
    assert found.released == pytest.approx(best_power(laws[0][0], laws[1][0], 0.05), abs=1e-4)
    assert found.projected == pytest.approx(best_power(laws[0][1], laws[1][1], 0.05), abs=1e-4)


@pytest.mark.parametrize(("design", "noise", "rate"), CASES)
def test_a_projection_is_never_more_powerful_and_simulations_agree(
    design: ProjectionDesign, noise: ProjectionNoise, rate: float
) -> None:
    """Six comparisons a case within 4.5 standard errors: a level of 5e-5 for each case."""
    report = projected_power(15, rate, 0.3, [0.4, 0.6, 0.8], design=design, noise=noise, draws=20_000, seed=9)
    for one in report.powers:
        assert one.lost > -1e-9
        assert one.simulated_released is not None
        assert one.simulated_projected is not None
        assert one.standard_error is not None
        assert abs(one.simulated_released - one.released) < 4.5 * one.standard_error
        assert abs(one.simulated_projected - one.projected) < 4.5 * one.standard_error
    wrong = projected_power(15, rate * 4, 0.3, [0.6], design=design, noise=noise).powers[0]
    middle = report.powers[1]
    if design == "total" or rate < 1:  # simulations would tell another rate
        assert abs((middle.simulated_released or 0) - wrong.released) > 4.5 * (middle.standard_error or 0)


def test_bounds_lose_nothing_of_geometric_noise() -> None:
    """Theorem 15 calls the loss strict wherever Y and Y* can differ; here they mostly do."""
    report = projected_power(15, 0.05, 0.3, [0.4, 0.6, 0.9], bounds=(3, 12))
    assert report.moved > 0.6
    assert max(abs(one.lost) for one in report.powers) < 1e-9


def test_bounds_lose_some_of_gaussian_noise_where_they_cut_the_best_test() -> None:
    assert projected_power(15, 0.005, 0.3, [0.8], noise="gaussian").powers[0].lost > 0.02
    clear = projected_power(15, 1.0, 0.3, [0.8], noise="gaussian")
    assert clear.moved > 0
    assert clear.powers[0].lost == pytest.approx(0, abs=1e-9)


def test_a_public_total_is_worth_more_than_an_average() -> None:
    powers = projected_power(20, 0.1, 0.3, [0.4, 0.5, 0.7], design="total").powers
    assert [round(one.released, 4) for one in powers] == [0.0754, 0.1127, 0.2385]
    assert [round(one.projected, 4) for one in powers] == [0.0683, 0.0920, 0.1592]


def test_the_level_is_kept() -> None:
    """Against an alternative that is hardly another hypothesis, the power is hardly above the level."""
    for design, noise, rate in CASES:
        one = projected_power(10, rate, 0.3, [0.3 + 1e-9], level=0.1, design=design, noise=noise).powers[0]
        assert one.released == pytest.approx(0.1, abs=1e-6)
        assert one.projected == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"n": 0}, "positive"),
        ({"rate": 0.0}, "positive"),
        ({"level": 1.0}, "no probability"),
        ({"alternatives": [0.2]}, "larger alternatives"),
        ({"alternatives": []}, "larger alternatives"),
        ({"bounds": (5, 5)}, "the lower one first"),
        ({"bounds": (1, 5), "design": "total"}, "only for the design"),
        ({"rate": 1e-9}, "too many releases"),
        ({"n": 5000, "bounds": (4000, 5000), "null": 1e-9}, "no chance"),
    ],
)
def test_questions_without_an_answer_are_refused(arguments: dict[str, object], complaint: str) -> None:
    asked = {"n": 10, "rate": 1.0, "null": 0.3, "alternatives": [0.5], **arguments}
    with pytest.raises(SpecError, match=complaint):
        projected_power(**asked)  # type: ignore[arg-type]
