"""Totals over cells that are read by distinct columns are drawn by the law of all their cells."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array
from scipy.stats import chi2_contingency
from tests.lattice.test_spread import spreads

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.spread import SpreadCells, SpreadColumns
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice import by_halves, plan
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.plan import Planned, groups, listed

NESTED = SpreadColumns(csr_array(np.array([[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0]])), np.array([2, 3, 1]))
"""Two runs of two cells each under a total, the first of them under one of its own, and free cells."""
LEVEL = 1e-3


def apart(given: csr_array | SpreadColumns) -> Counter[tuple[int, frozenset[int]]]:
    """Return what is drawn together: with how many rows, and which cells."""
    found: Counter[tuple[int, frozenset[int]]] = Counter()
    for system, cells in groups(given):
        rows = listed(cells)
        each = rows if system.shape[0] else rows.reshape(1, -1)
        found.update((int(system.shape[0]), frozenset(one.tolist())) for one in each)
    return found


@given(spreads())
def test_components_are_those_of_the_whole_matrix(spread: SpreadColumns) -> None:
    assert apart(spread) == apart(spread.expanded)


def test_nested_totals_are_read_by_columns() -> None:
    assert all(isinstance(cells, SpreadCells) for _, cells in groups(NESTED))
    assert sorted(len(cells) for _, cells in apart(NESTED)) == [2, 4, 6]


def drawn_in_parts(law: Planned, seed: int) -> list[int]:
    """Return one draw, put together from its parts."""
    found = np.zeros(12, dtype=np.int64)
    for cells, noise in law.parts(SeededEntropy(seed)):
        found[cells] += noise
    return found.tolist()


def law_of(kind: str, given: csr_array | SpreadColumns, times: int = 1) -> Planned:
    """Return noise, or noise that is several times as wide."""
    if kind == "gaussian":
        return LatticeGaussianLaw(given, Fraction(times**2, 2))
    return LatticeLaplaceLaw(given, Fraction(2, times), "l1")


def alike(one: IntArray, other: IntArray) -> float:
    """Return how likely two samples of a cell are so far apart, where their laws are the same."""
    seen = np.stack([np.bincount(np.clip(each, -2, 2) + 2, minlength=5) for each in (one, other)])
    return float(chi2_contingency(seen[:, seen.sum(axis=0) > 10]).pvalue)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("together", [1 << 22, 3])
def test_parts_have_the_law_of_the_whole(kind: str, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "TOGETHER", together)
    monkeypatch.setattr(by_halves, "AT_ONCE", together)
    monkeypatch.setattr(by_halves, "TOGETHER", min(by_halves.TOGETHER, together))
    draws = 600
    expected = law_of(kind, NESTED.expanded).sample(SeededEntropy(1), draws)
    law, twice = law_of(kind, NESTED), law_of(kind, NESTED, 2)
    found = np.array([drawn_in_parts(law, 10 + seed) for seed in range(draws)])
    assert not (NESTED.expanded @ found.T).any()
    for cell in (0, 5, 11):
        assert alike(found[:, cell], expected[:, cell]) > LEVEL
    wider = np.array([drawn_in_parts(twice, seed) for seed in range(draws)])
    assert alike(wider[:, 0], expected[:, 0]) < LEVEL


def test_many_totals_of_many_sizes_are_one_block() -> None:
    times = np.arange(2, 14)
    spread = SpreadColumns(csr_array(np.eye(times.size, dtype=np.int64)), times)
    (block,) = LatticeGaussianLaw(spread, Fraction(3)).plan.blocks
    assert isinstance(block.places, SpreadCells)
    assert np.array_equal(np.sort(block.cells.ravel()), np.arange(times.sum()))
    found = np.zeros(times.sum(), dtype=np.int64)
    for cells, noise in block.parts(SeededEntropy(3)):
        found[cells] = noise
    assert found.any()
    assert not (spread.expanded @ found).any()
