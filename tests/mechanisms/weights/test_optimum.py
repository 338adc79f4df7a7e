"""Weights of least variance, and of least budget: against a solver that knows nothing of their structure."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from holdfast.lattice.arrays import FloatArray
from holdfast.lattice.margins import LevelledAxis, MarginStrategy, Reading
from holdfast.mechanisms.weights.optimum import WeightProgram, bound_of, least_budget, least_variance
from holdfast.mechanisms.weights.spaces import Spaces


def spaces_of(seed: int) -> tuple[Spaces, list[Reading], np.random.Generator]:
    """Return the spaces of a random table, every other one with a geography of unequal nodes, and margins."""
    rng = np.random.default_rng(seed)
    axes = [LevelledAxis.of(int(d), []) for d in rng.choice([2, 3, 5, 58], 2 + seed % 2)]
    if seed % 8 == 1:
        county = np.repeat(np.arange(6), rng.integers(1, 6, 6))
        axes[-1] = LevelledAxis.of(county.size, [county, county // 3])
    known = tuple(axis for axis in axes if axis is not None)
    every = list(product(*(range(axis.depth + 1) for axis in known)))
    kept = [every[int(rng.integers(len(every) - 1))]] if seed % 3 else []
    spaces = Spaces.of(MarginStrategy(known, tuple(kept), ()))
    able = [each for each in every if not spaces.margins.is_kept(each)]
    return spaces, [each for each in able if rng.random() < 0.5] or able[-1:], rng


def slow(program: WeightProgram, rows: FloatArray) -> float:
    """Return the least of the largest row by SLSQP, over logarithms of weights."""
    A, g, least = program.moves, program.variances.at, program.floors > 0

    def room(x: FloatArray) -> FloatArray:
        k = np.exp(x[:-1])
        return np.concatenate([1 - A @ k, (k - program.floors)[least], x[-1] - np.log(rows @ g(k)[0])])

    def slopes(x: FloatArray) -> FloatArray:
        k = np.exp(x[:-1])
        variances, D = g(k)
        steep = rows @ D * k / (rows @ variances)[:, None]
        by_weight = np.concatenate([-A * k, np.diag(k)[least], -steep])
        by_top = np.r_[np.zeros(len(A) + least.sum()), np.ones(len(rows))]
        return np.concatenate([by_weight, by_top[:, None]], axis=1)

    start = np.append(np.log(program.start), np.log(rows @ g(program.start)[0]).max() + 0.1)
    minimise: Any = minimize
    found = minimise(
        lambda x: x[-1],
        start,
        jac=lambda x: np.append(np.zeros(x.size - 1), 1.0),
        constraints={"type": "ineq", "fun": room, "jac": slopes},
        bounds=[(-25, 25)] * (start.size - 1) + [(-80, 80)],
        method="SLSQP",
        options={"maxiter": 300, "ftol": 1e-9},
    )
    return float(np.exp(found.x[-1]))


@pytest.mark.parametrize("seed", range(30))
def test_the_optimum_is_that_of_another_solver(seed: int) -> None:
    spaces, wanted, rng = spaces_of(seed)
    sums = np.array([spaces.sums(each) for each in wanted])
    program = spaces.program(sums)
    shares = rng.uniform(0.1, 3, len(sums))
    least = least_variance(program, sums, shares)
    assert 0 <= least.gap <= 1e-6
    assert (program.moves @ least.weights).max() == pytest.approx(1)
    assert (least.weights >= program.floors * (1 - 1e-9)).all()
    assert shares @ sums @ program.variances.at(least.weights)[0] == pytest.approx(least.value)
    other = slow(program, (shares @ sums)[None])
    assert least.value <= other * (1 + 1e-6)
    assert least.value == pytest.approx(other, rel=2e-3)  # what another solver reaches in floats

    most = sums @ program.variances.at(program.start)[0] * rng.uniform(0.1, 1, len(sums))
    budget = least_budget(program, sums, most)
    assert 0 <= budget.gap <= 1e-6
    reached = sums @ program.variances.at(budget.weights)[0]
    assert (reached <= most * (1 + 1e-9)).all()
    assert reached[budget.prices > 0.01] == pytest.approx(most[budget.prices > 0.01], rel=1e-4)
    assert (program.moves @ budget.weights).max() == pytest.approx(budget.value)
    assert budget.value == pytest.approx(slow(program, sums / most[:, None]), rel=2e-3)


def test_a_bound_is_proved_by_prices_and_losses_alone() -> None:
    """Whatever they are, it is below the value of all weights that may be; and 0 where they prove nothing."""
    spaces, wanted, rng = spaces_of(5)
    sums = np.array([spaces.sums(each) for each in wanted])
    program = spaces.program(sums)
    least = least_variance(program, sums, np.ones(len(sums)))
    rows = sums.sum(axis=0)[None]
    one = np.ones(1)
    assert bound_of(program, rows, least.weights, one, least.losses) == pytest.approx(least.bound)
    for _ in range(50):
        k = least.weights * rng.uniform(0.2, 5, least.weights.size)
        losses = least.losses * rng.uniform(0.2, 5, least.losses.size)
        assert bound_of(program, rows, k, one, losses) <= least.value
    assert bound_of(program, rows, least.weights, one, -least.losses) == 0
    assert bound_of(program, rows, least.weights, one, 0 * least.losses) == 0


def test_by_sex_and_age_in_counties_that_are_kept() -> None:
    """The gains that theory 13 tells of, at weights by how large the variance is without queries."""
    axes = tuple(axis for axis in (LevelledAxis.of(d, []) for d in (58, 2, 23)) if axis is not None)
    spaces = Spaces.of(MarginStrategy(axes, ((1, 0, 0),), ()))
    sums = np.array([spaces.sums(each) for each in product((0, 1), repeat=3) if any(each[1:])])
    program = spaces.program(sums)
    even = sums @ program.variances.at(np.full(sums.shape[1], 1 / (program.moves.sum(axis=1)).max()))[0]
    found = least_variance(program, sums, 1 / even)
    gain = even / (sums @ program.variances.at(found.weights)[0])
    assert gain == pytest.approx([7.6877, 21.6017, 5.8594, 1.0161, 2.8551, 0.7744], rel=1e-3)
