"""Goodness of fit against an enumerated law, at a stated level."""

from collections import Counter
from collections.abc import Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import stats

LEVEL = 1e-3
"""A test with a fixed seed fails at this level; a wrong law must fail far below it."""

Point = tuple[int, ...]
One = tuple[int]


def p_value(draws: NDArray[np.int64], law: Mapping[Point, float] | Mapping[One, float]) -> float:
    """Return the chi-square p-value of draws (one a row) under a law, rare points pooled.

    Points with fewer than eight expected draws, and all that the law does not list, share one class.
    """
    size = draws.shape[0]
    counts = Counter(map(tuple, draws.tolist()))
    common = {point: share * size for point, share in law.items() if share * size >= 8}
    observed = np.array([counts.pop(point, 0) for point in common] + [0.0])
    observed[-1] = counts.total()
    expected = np.array([*common.values(), size - sum(common.values())])
    if expected[-1] < 8:
        observed[-2:-1] += observed[-1]
        expected[-2:-1] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    return float(stats.chisquare(observed, expected).pvalue)


def lattice_law(matrix: NDArray[np.int64], epsilon: float, norm: str, radius: int) -> dict[Point, float]:
    """Enumerate q(z) prop. to exp(-epsilon ||z||) on {z : A z = 0, |z_i| <= radius}, normalised.

    The norm is l1, l2, or the squared l2 norm.
    """
    points = lattice_points(matrix, radius)
    squares = (points**2).sum(axis=1)
    size = {"l1": np.abs(points).sum(axis=1), "l2": np.sqrt(squares), "squared": squares}[norm]
    weight = np.exp(-epsilon * size)
    weight /= weight.sum()
    return dict(zip(map(tuple, points.tolist()), weight.tolist(), strict=True))


def lattice_points(matrix: NDArray[np.int64], radius: int) -> NDArray[np.int64]:
    """Return all z with A z = 0 and |z_i| <= radius, by trying every value cell by cell."""
    rows, cells = matrix.shape
    reach = np.zeros((cells + 1, rows), dtype=np.int64)
    for i in reversed(range(cells)):
        reach[i] = reach[i + 1] + radius * np.abs(matrix[:, i])
    points = np.zeros((1, 0), dtype=np.int64)
    values = np.arange(-radius, radius + 1)
    for i in range(cells):
        points = np.column_stack([np.repeat(points, values.size, axis=0), np.tile(values, points.shape[0])])
        partial = points @ matrix[:, : i + 1].T
        points = points[(np.abs(partial) <= reach[i + 1]).all(axis=1)]
    return points


def two_way(rows: int, columns: int) -> NDArray[np.int64]:
    """Return the margins of a table as an independent system: all rows, all columns but the last."""
    cells = list(product(range(rows), range(columns)))
    by_row = [[int(i == r) for i, _ in cells] for r in range(rows)]
    by_column = [[int(j == c) for _, j in cells] for c in range(columns - 1)]
    return np.array(by_row + by_column, dtype=np.int64)
