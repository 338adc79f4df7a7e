"""Solving for dependent cells, and how fast the independent sampler converges."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from tests.lab.small import ODD, SMALL
from tests.sampling.chains.cases import TABLE, truncated

from holdfast.lab.independent import IndependentChain, free_cells
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import two_way


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
        state = IndependentChain(cells, target, Fraction(1)).completed(drawn)
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


def test_below_epsilon_the_distance_shrinks_as_rejection_fails() -> None:
    # kappa = epsilon: d_TV(n) <= (1 - E_q[w])^n with w = exp(-epsilon ||z_solved||_1) inside
    case = SMALL["independent, given cells"]()
    centre = int(np.flatnonzero((case.points == TABLE).all(axis=1))[0])
    # E_q[w] = q(centre) / p(centre)
    a = exp(-0.5)
    rate = ((1 - a) / (1 + a)) ** 2 / case.law[centre]
    now = np.eye(len(case.points))[centre]
    for n in range(1, 40):
        now = now @ case.matrix
        assert 0.5 * np.abs(now - case.law).sum() <= (1 - rate) ** n + 1e-12
