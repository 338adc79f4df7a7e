"""Kernels on supports that can be enumerated, and their transition matrices, from first principles.

The proposal probabilities are written down here from the algorithms; only the acceptance comes from the
kernels. That the kernels propose as they should is tested by comparing their steps with these matrices.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from tests.goodness import lattice_points, two_way

from holdfast.lattice.markov import markov_basis, markov_basis_two_way
from holdfast.sampling.mcmc.gibbs_metropolis import GibbsMetropolis, lattice_basis
from holdfast.sampling.mcmc.independent import Independent, free_cells
from holdfast.sampling.mcmc.kernel import State
from holdfast.sampling.mcmc.markov_walk import MarkovWalk
from holdfast.sampling.mcmc.row_pairs import RowPairs
from holdfast.sampling.mcmc.target import LaplaceTarget, at_least, non_negative

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Small = GibbsMetropolis | Independent | MarkovWalk | RowPairs

TABLE = np.array([2, 1, 0, 1, 0, 2])
"""A 2 x 3 table; seven more share its margins."""
ODD = np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]])
"""Solving for the first three cells takes a determinant of 2."""

SQUARE = np.array([2, 0, 1, 0, 1, 1, 1, 1, 0])
"""A 3 x 3 table: of three rows one sits out."""
TALL = np.array([1, 1, 2, 0, 0, 2, 1, 1])
"""A 4 x 2 table: two pairs of rows at once."""


def truncated(epsilon: Fraction, table: Integers) -> LaplaceTarget:
    return LaplaceTarget(epsilon, table, constraint=non_negative)


def _joint() -> Small:
    return GibbsMetropolis(lattice_basis(two_way(2, 3)), truncated(Fraction(1, 2), TABLE), Fraction(1))


def _joint_smith_l2() -> Small:
    target = LaplaceTarget(Fraction(1), TABLE, "l2", non_negative)
    return GibbsMetropolis(lattice_basis(two_way(2, 3), "smith"), target, Fraction(3, 2))


def _walk() -> Small:
    return MarkovWalk(markov_basis_two_way(2, 3), truncated(Fraction(1, 2), TABLE), Fraction(1))


def _walk_of_three() -> Small:
    return MarkovWalk(markov_basis_two_way(2, 3), truncated(Fraction(1, 3), TABLE), Fraction(1), updates=3)


def _hierarchy() -> Small:
    matrix = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    return MarkovWalk(
        markov_basis(csr_array(matrix)), truncated(Fraction(1, 2), TABLE), Fraction(1), updates=2
    )


def _independent() -> Small:
    return Independent(free_cells(two_way(2, 3)), truncated(Fraction(1, 2), TABLE), Fraction(3, 5))


def _independent_given_cells() -> Small:
    # y >= 0 and the first cell at least the last but one
    matrix = np.concatenate([np.eye(6, dtype=np.int64), [[1, 0, 0, 0, -1, 0]]])
    target = LaplaceTarget(Fraction(1, 2), TABLE, "l1", at_least(matrix, np.zeros(7, dtype=np.int64)))
    return Independent(free_cells(two_way(2, 3), (1, 3)), target, Fraction(1, 2))


def _independent_determinant() -> Small:
    return Independent(free_cells(ODD), truncated(Fraction(1, 2), np.array([5, 5, 5, 3])), Fraction(1, 2))


def _three_rows() -> Small:
    return RowPairs(np.arange(9).reshape(3, 3), truncated(Fraction(1, 3), SQUARE))


def _three_columns() -> Small:
    return RowPairs(np.arange(9).reshape(3, 3).T, truncated(Fraction(1, 3), SQUARE))


def _four_rows() -> Small:
    return RowPairs(np.arange(8).reshape(4, 2), truncated(Fraction(1, 2), TALL))


SMALL: dict[str, tuple[Callable[[], Small], Integers]] = {
    "joint": (_joint, two_way(2, 3)),
    "joint, Smith, l2": (_joint_smith_l2, two_way(2, 3)),
    "walk": (_walk, two_way(2, 3)),
    "walk of three": (_walk_of_three, two_way(2, 3)),
    "hierarchy": (_hierarchy, np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]])),
    "independent": (_independent, two_way(2, 3)),
    "independent, given cells": (_independent_given_cells, two_way(2, 3)),
    "independent, determinant 2": (_independent_determinant, ODD),
    "three rows": (_three_rows, two_way(3, 3)),
    "three columns": (_three_columns, two_way(3, 3)),
    "four rows": (_four_rows, two_way(4, 2)),
}


def support(name: str) -> tuple[Small, Integers, Floats]:
    """Return a kernel, all points of its target, and their probabilities."""
    make, matrix = SMALL[name]
    kernel = make()
    target = kernel.target
    points = target.centre + lattice_points(matrix, {4: 12, 6: 6}.get(matrix.shape[1], 3))
    points = points[target.inside(points)]
    assert isinstance(target, LaplaceTarget)
    difference = (points - target.centre).astype(np.float64)
    weight = np.exp(
        -float(target.epsilon) * np.linalg.norm(difference, 1 if target.norm == "l1" else 2, axis=1)
    )
    return kernel, points, weight / weight.sum()


def at(kernel: Small, points: Integers) -> State:
    """Return the kernel's state at given points."""
    if isinstance(kernel, MarkovWalk | RowPairs):
        return kernel.init(points)
    difference = points - kernel.target.centre
    if isinstance(kernel, Independent):
        return kernel.init(difference[:, kernel.cells.free])
    return kernel.init(coordinates(difference, kernel.basis))


def coordinates(difference: Integers, basis: Integers) -> Integers:
    solved = np.rint(np.linalg.lstsq(basis.T.astype(float), difference.T, rcond=None)[0].T).astype(np.int64)
    assert (solved @ basis == difference).all()
    return np.asarray(solved)


def double_geometric(jumps: Integers, rate: Fraction) -> Floats:
    a = np.exp(-float(rate))
    return np.asarray((1 - a) / (1 + a) * a ** np.abs(jumps))


def transition(kernel: Small, points: Integers) -> Floats:
    """Return the matrix of one step between points that hold the whole support."""
    if isinstance(kernel, RowPairs):
        return _redrawn(kernel, points)
    chance = _proposals(kernel, points)
    size = points.shape[0]
    states = at(kernel, points)
    moved = np.zeros((size, size))
    for i in range(size):
        one = states.rows(np.full(size, i))
        moved[i] = chance[i] * np.exp(np.minimum(0, kernel.log_ratio(one, states)))
    np.fill_diagonal(moved, 0)
    np.fill_diagonal(moved, 1 - moved.sum(axis=1))
    assert moved.min() >= -1e-15
    return np.linalg.matrix_power(moved, kernel.updates)


def _proposals(kernel: GibbsMetropolis | Independent | MarkovWalk, points: Integers) -> Floats:
    """Return the probability that one update proposes to go from one point to another."""
    difference = points[None] - points[:, None]
    if isinstance(kernel, Independent):
        z = (points - kernel.target.centre)[:, kernel.cells.free]
        row = double_geometric(z, kernel.jump).prod(axis=1)
        return np.tile(row, (points.shape[0], 1))
    if isinstance(kernel, GibbsMetropolis):
        flat = coordinates(difference.reshape(-1, points.shape[1]), kernel.basis)
        return np.asarray(double_geometric(flat, kernel.jump).prod(axis=1).reshape(difference.shape[:2]))
    chance = np.zeros(difference.shape[:2])
    for move in kernel.moves:
        times = difference @ move // (move @ move)
        along = (difference == times[..., None] * move).all(axis=2)
        chance += np.where(along, double_geometric(times, kernel.jump), 0) / kernel.moves.shape[0]
    return chance


def _redrawn(kernel: RowPairs, points: Integers) -> Floats:
    """Average over all pairings the law given the rows that sit out and the column sums of each pair."""
    tables = points[:, kernel.cells]
    weight = np.exp(-float(kernel.target.epsilon) * np.abs(points - kernel.target.centre).sum(axis=1))
    pairings = {
        frozenset(frozenset(order[i : i + 2]) for i in range(0, len(order), 2))
        for order in permutations(range(tables.shape[1]))
    }
    found = np.zeros((points.shape[0], points.shape[0]))
    for pairing in pairings:
        fixed = np.concatenate([tables[:, list(rows)].sum(axis=1) for rows in pairing], axis=1)
        alike = (fixed[:, None] == fixed[None]).all(axis=2) * weight
        found += alike / alike.sum(axis=1, keepdims=True) / len(pairings)
    return found
