"""Solving for dependent cells, tuning, and the paper's own example."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from tests.goodness import two_way
from tests.sampling.mcmc.small import ODD, TABLE, double_geometric, support, transition, truncated

from holdfast.errors import SamplingError
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.mcmc.independent import Independent, free_cells, tuned
from holdfast.sampling.mcmc.kernel import run
from holdfast.sampling.mcmc.target import at_least


def test_solved_cells_keep_the_invariants() -> None:
    for matrix in (
        two_way(3, 4),
        ODD,
        np.array([[1, 2, 1, 0], [0, 1, 0, 3]]),
        np.zeros((0, 3), dtype=np.int64),
    ):
        cells = free_cells(matrix)
        drawn = np.random.default_rng(0).integers(-9, 10, size=(500, cells.free.size))
        target = truncated(Fraction(1), np.full(matrix.shape[1], 1000))
        state = Independent(cells, target, Fraction(1)).completed(drawn)
        assert not ((state.points[state.inside] - 1000) @ matrix.T).any()
        assert state.inside.any()
        assert state.inside.all() == (abs(cells.determinant) == 1)


def test_redundant_rows_change_nothing() -> None:
    twice = np.concatenate([two_way(2, 3), two_way(2, 3)])
    assert free_cells(twice).free.tolist() == free_cells(two_way(2, 3)).free.tolist()


def test_cells_that_do_not_determine_the_rest_are_refused() -> None:
    with pytest.raises(SamplingError, match="choose others"):
        free_cells(two_way(2, 2), (0, 1))
    with pytest.raises(SamplingError, match="choose others"):
        free_cells(np.array([[1, 1, 0], [0, 0, 1]]), (2,))


def test_tuning_predicts_the_acceptance() -> None:
    # Level: the pilot and the chains are off by less than 0.01 at these sizes.
    cells, public = free_cells(two_way(2, 3)), truncated(Fraction(1, 2), TABLE)
    grid = [Fraction(k, 10) for k in (2, 5, 8, 12)]
    tuning = tuned(cells, public, grid, SeededEntropy(1))
    assert tuning.jump == grid[int(np.argmax(tuning.sample_size))]
    entropy = SeededEntropy(2)
    kernel = Independent(cells, public, tuning.jump)
    state = run(kernel, kernel.start(40_000, entropy), 30, entropy)
    _, info = kernel.step(state, entropy)
    assert abs(info.accepted.mean() - tuning.acceptance[grid.index(tuning.jump)]) < 0.01
    # the exact sample size, by summation over the support
    _, points, law = support("independent")
    for jump, found in zip(grid, tuning.sample_size, strict=True):
        q = double_geometric((points - TABLE)[:, cells.free], jump).prod(axis=1)
        assert found == pytest.approx(1 / (law**2 / q).sum(), rel=0.05)


def test_a_grid_without_any_proposal_inside_is_refused() -> None:
    # the centre is the only point allowed, and a rate of 1/1000 does not propose it
    only = at_least(np.array([[1, 0, 0, 0, 0, 0], [-1, 0, 0, 0, 0, 0]]), np.array([2, -2]))
    target = truncated(Fraction(1), TABLE)
    target = type(target)(
        target.epsilon, target.centre, "l1", lambda y: only(y) & (np.abs(y - TABLE).sum(1) == 0)
    )
    with pytest.raises(SamplingError, match="no rate"):
        tuned(free_cells(two_way(2, 3)), target, [Fraction(1, 1000)], SeededEntropy(0), draws=100)


def test_below_epsilon_the_distance_shrinks_as_rejection_fails() -> None:
    # kappa = epsilon: d_TV(n) <= (1 - E_q[w])^n with w = exp(-epsilon ||z_solved||_1) inside
    kernel, points, law = support("independent, given cells")
    matrix = transition(kernel, points)
    assert isinstance(kernel, Independent)
    centre = int(np.flatnonzero((points == TABLE).all(axis=1))[0])
    # E_q[w] = q(centre) / p(centre)
    a = exp(-0.5)
    rate = ((1 - a) / (1 + a)) ** 2 / law[centre]
    now = np.eye(len(points))[centre]
    for n in range(1, 40):
        now = now @ matrix
        assert 0.5 * np.abs(now - law).sum() <= (1 - rate) ** n + 1e-12


FEMALE = [8, 6, 3, 6, 4, 4, 4, 8, 5, 7, 7, 6, 1, 5, 4, 4, 9, 6, 2, 8, 8, 8, 7]
MALE = [3, 4, 5, 8, 6, 4, 5, 5, 5, 6, 10, 7, 3, 2, 5, 11, 6, 4, 7, 4, 5, 3, 8]


def test_the_example_of_congenial_privacy() -> None:
    """[congenial-dp, Section 3]: 2 x 23 cells, epsilon 1/2; the paper finds 1.68 % at its best rate, 0.6."""
    table = np.array(FEMALE + MALE)
    adult = np.tile(np.arange(23) >= 4, 2).astype(np.int64)
    women = np.repeat([1, 0], 23)
    matrix = np.stack([np.ones(46, dtype=np.int64), women, adult])
    # free are 2..22 and 24..45 of 1..46
    free = [*range(1, 22), *range(23, 45)]
    cells = free_cells(matrix, free)
    assert cells.solved.tolist() == [0, 22, 45]
    grid = [Fraction(k, 20) for k in (10, 12, 14)]
    tuning = tuned(
        cells, truncated(Fraction(1, 2), table), grid, SeededEntropy(4), by="acceptance", draws=50_000
    )
    assert tuning.jump == Fraction(3, 5)
    assert 0.01 < max(tuning.acceptance) < 0.025
