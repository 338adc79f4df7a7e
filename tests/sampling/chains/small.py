"""The package's kernels on small supports."""

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations

import numpy as np
from scipy.sparse import csr_array
from tests.sampling.chains.cases import (
    TABLE,
    Case,
    Floats,
    Integers,
    double_geometric,
    metropolis,
    support,
    truncated,
)

from holdfast.lattice.markov import markov_basis, markov_basis_two_way
from holdfast.sampling.chains.kernel import MarkovWalk
from holdfast.sampling.chains.row_pairs import RowPairs
from holdfast.testing.goodness import two_way

SQUARE = np.array([2, 0, 1, 0, 1, 1, 1, 1, 0])
"""A 3 x 3 table: of three rows one sits out."""
TALL = np.array([1, 1, 2, 0, 0, 2, 1, 1])
"""A 4 x 2 table: two pairs of rows at once."""
NESTED = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]])


def walk(matrix: Integers, moves: Integers, epsilon: Fraction, updates: int = 1) -> Case:
    target = truncated(epsilon, TABLE)
    points, law = support(target, matrix)
    kernel = MarkovWalk(moves, target, Fraction(1), updates)
    difference = points[None] - points[:, None]
    chance = np.zeros(difference.shape[:2])
    for move in moves:
        times = difference @ move // (move @ move)
        along = (difference == times[..., None] * move).all(axis=2)
        chance += np.where(along, double_geometric(times, Fraction(1)), 0) / moves.shape[0]
    return Case(kernel, kernel.init, points, law, metropolis(kernel, kernel.init(points), chance))


def heat_bath(cells: Integers, table: Integers, epsilon: Fraction) -> Case:
    target = truncated(epsilon, table)
    points, law = support(target, two_way(*cells.shape))
    kernel = RowPairs(cells, target)
    return Case(kernel, kernel.init, points, law, _redrawn(points[:, cells], law))


def _redrawn(tables: Integers, weight: Floats) -> Floats:
    """Average over all pairings the law given the rows that sit out and the column sums of each pair."""
    pairings = {
        frozenset(frozenset(order[i : i + 2]) for i in range(0, len(order), 2))
        for order in permutations(range(tables.shape[1]))
    }
    found = np.zeros((tables.shape[0], tables.shape[0]))
    for pairing in pairings:
        fixed = np.concatenate([tables[:, list(rows)].sum(axis=1) for rows in pairing], axis=1)
        alike = (fixed[:, None] == fixed[None]).all(axis=2) * weight
        found += alike / alike.sum(axis=1, keepdims=True) / len(pairings)
    return found


NINE = np.arange(9).reshape(3, 3)
SMALL: dict[str, Callable[[], Case]] = {
    "walk": lambda: walk(two_way(2, 3), markov_basis_two_way(2, 3), Fraction(1, 2)),
    "walk of three": lambda: walk(two_way(2, 3), markov_basis_two_way(2, 3), Fraction(1, 3), updates=3),
    "hierarchy": lambda: walk(NESTED, markov_basis(csr_array(NESTED)), Fraction(1, 2), updates=2),
    "three rows": lambda: heat_bath(NINE, SQUARE, Fraction(1, 3)),
    "three columns": lambda: heat_bath(NINE.T, SQUARE, Fraction(1, 3)),
    "four rows": lambda: heat_bath(np.arange(8).reshape(4, 2), TALL, Fraction(1, 2)),
}
