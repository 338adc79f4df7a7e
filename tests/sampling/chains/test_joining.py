"""Coupled pairs of rows: the order of the columns, and chains of larger tables that meet because of it."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.lattice.markov import markov_basis_two_way
from holdfast.sampling.chains import row_pairs
from holdfast.sampling.chains.coupling import meeting_times
from holdfast.sampling.chains.kernel import Kernel, LaplaceTarget, MarkovWalk, non_negative
from holdfast.sampling.chains.row_pairs import RowPairs, joining_order
from holdfast.sampling.entropy import SeededEntropy


def target(side: int, mean: int) -> LaplaceTarget:
    table = np.random.default_rng(7).poisson(mean, side * side)
    return LaplaceTarget(Fraction(1, 12), table, "l1", non_negative)


def waits(kernel: Kernel, most: int, runs: int = 100) -> NDArray[np.int64]:
    met = meeting_times(kernel, lag=10, runs=runs, max_iterations=most, entropy=SeededEntropy(1))
    return np.where(met.times < 0, most, met.times - met.lag)


def test_columns_that_differ_are_joined_first_and_in_turn() -> None:
    more = np.array([[0, 2, 0, -1, -3, 2, 0], [0, 0, 0, 0, 0, 0, 0], [1, -1, 0, 0, 0, 0, 0]])
    order = joining_order(more)
    assert np.take_along_axis(more, order, 1).tolist() == [
        [0, 0, 0, -1, 2, -3, 2],
        [0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, -1, 1],
    ]
    assert (np.sort(order, axis=1) == np.arange(7)).all()


@pytest.mark.parametrize(("side", "mean", "most"), [(4, 8, 60), (6, 2, 200), (6, 8, 200)])
def test_chains_of_larger_tables_meet(side: int, mean: int, most: int) -> None:
    cells = np.arange(side * side).reshape(side, side)
    found = waits(RowPairs(cells, target(side, mean)), most)
    assert found.max() < most - 10
    assert np.median(found) < most / 8


def test_walks_along_single_moves_do_not_meet_by_then() -> None:
    walk = MarkovWalk(markov_basis_two_way(6, 6), target(6, 2), Fraction(1, 3), updates=25)
    assert (waits(walk, 200, runs=20) == 200).all()


def test_the_order_is_what_makes_them_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = RowPairs(np.arange(64).reshape(8, 8), target(8, 2))
    ordered = waits(kernel, 150, runs=40)

    def as_it_is(more: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.tile(np.arange(more.shape[1]), (more.shape[0], 1))

    monkeypatch.setattr(row_pairs, "joining_order", as_it_is)
    assert np.median(waits(kernel, 150, runs=40)) > 1.5 * np.median(ordered)
