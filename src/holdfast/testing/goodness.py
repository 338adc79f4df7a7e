"""Goodness of fit against an enumerated law, at a stated level."""

from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import prod

import numpy as np
from scipy import stats

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.points import lattice_points

LEVEL = 1e-3
"""A test with a fixed seed fails at this level; a wrong law must fail far below it."""
RARE = 1e-7
"""Points that are rarer share a class in every test: no test takes so many draws that eight are expected."""

Point = tuple[int, ...]
One = tuple[int]


def p_value(draws: IntArray, law: Mapping[Point, float] | Mapping[One, float]) -> float:
    """Return the chi-square p-value of draws (one a row) under a law, rare points pooled.

    Points with fewer than eight expected draws, and all that the law does not list, share one class.
    """
    size = draws.shape[0]
    counts = _tally(draws)
    common = {point: share * size for point, share in law.items() if share * size >= 8}
    observed = np.array([counts.pop(point, 0) for point in common] + [0.0])
    observed[-1] = counts.total()
    expected = np.array([*common.values(), size - sum(common.values())])
    if expected[-1] < 8:
        observed[-2:-1] += observed[-1]
        expected[-2:-1] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    return float(stats.chisquare(observed, expected).pvalue)


def _tally(draws: IntArray) -> Counter[Point]:
    """Count equal rows, by numbers that stand for them where these are few enough."""
    if draws.shape[0] and np.issubdtype(draws.dtype, np.integer):
        low = draws.min(axis=0)
        spans = (draws.max(axis=0) - low + 1).tolist()
        if prod(spans) < 2**62:
            strides = np.array([prod(spans[i + 1 :]) for i in range(len(spans))], dtype=np.int64)
            numbers = (draws - low) @ strides
            _, first, times = np.unique(numbers, return_index=True, return_counts=True)
            return Counter(dict(zip(map(tuple, draws[first].tolist()), times.tolist(), strict=True)))
    return Counter(map(tuple, draws.tolist()))


def lattice_law(
    matrix: IntArray, epsilon: float, norm: str, radius: int, *, rarest: float = RARE
) -> dict[Point, float]:
    """Enumerate q(z) prop. to exp(-epsilon ||z||) on {z : A z = 0, |z_i| <= radius}, normalised.

    The norm is l1, l2, or the squared l2 norm. Points rarer than ``rarest`` are left out.
    """
    points = lattice_points(matrix, radius)
    squares = (points**2).sum(axis=1)
    size = {"l1": np.abs(points).sum(axis=1), "l2": np.sqrt(squares), "squared": squares}[norm]
    weight = np.exp(-epsilon * size)
    weight /= weight.sum()
    some = weight >= rarest
    return dict(zip(map(tuple, points[some].tolist()), weight[some].tolist(), strict=True))


def two_way(rows: int, columns: int) -> IntArray:
    """Return the margins of a table as an independent system: all rows, all columns but the last."""
    cells = list(product(range(rows), range(columns)))
    by_row = [[int(i == r) for i, _ in cells] for r in range(rows)]
    by_column = [[int(j == c) for _, j in cells] for c in range(columns - 1)]
    return np.array(by_row + by_column, dtype=np.int64)
