"""Indices of segregation by their definitions."""

import numpy as np
import pytest

from holdfast.comparison.segregation import dissimilarity, entropy


def slow_dissimilarity(table: np.ndarray) -> float:
    """Return the index of two groups as it is usually written."""
    first, second = table.T / table.sum(axis=0)[:, None]
    return float(np.abs(first - second).sum() / 2)


def slow_entropy(table: np.ndarray) -> float:
    def of(counts: np.ndarray) -> float:
        shares = counts[counts > 0] / counts.sum()
        return float(-(shares * np.log(shares)).sum())

    whole = of(table.sum(axis=0))
    return float(sum(row.sum() / table.sum() * (whole - of(row)) for row in table if row.sum()) / whole)


@pytest.mark.parametrize("seed", range(5))
def test_of_two_groups_they_are_the_usual_ones(seed: int) -> None:
    table = np.random.default_rng(seed).integers(0, 40, size=(9, 2))
    table[3] = 0
    assert dissimilarity(table) == pytest.approx(slow_dissimilarity(table))
    assert entropy(table) == pytest.approx(slow_entropy(table))


def test_several_groups() -> None:
    table = np.random.default_rng(1).integers(0, 40, size=(9, 4))
    assert 0 < dissimilarity(table) < 1
    assert entropy(table) == pytest.approx(slow_entropy(table))
    apart, even = np.diag([3, 5, 2]), np.outer([1, 4, 2], [2, 3, 1])
    assert (dissimilarity(apart), entropy(apart)) == pytest.approx((1, 1))
    assert (dissimilarity(even), entropy(even)) == pytest.approx((0, 0), abs=1e-12)


@pytest.mark.parametrize("table", [[[0, 0], [0, 0]], [[3, 0], [5, 0]]])
def test_without_two_groups_there_is_none(table: list[list[int]]) -> None:
    assert np.isnan(dissimilarity(np.array(table)))
    assert np.isnan(entropy(np.array(table)))
