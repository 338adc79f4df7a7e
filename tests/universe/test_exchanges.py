"""Counts that exchanges find are possible, and intervals that use them reveal the same cells."""

from itertools import product

import numpy as np
import pytest
from numpy.random import Generator, default_rng
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.universe.exchanges import ENOUGH, seen
from holdfast.universe.exposure import exposure
from holdfast.universe.universe import Universe

Margins = tuple[tuple[int, ...], ...]
SHAPES: tuple[tuple[int, ...], ...] = ((2, 3), (3, 3), (2, 2, 3), (3, 2, 2))
KEPT: tuple[Margins, ...] = ((), ((0,),), ((0,), (1,)), ((0, 1),))


def codes(shape: tuple[int, ...]) -> IntArray:
    return np.array(list(product(*map(range, shape))), dtype=np.int64).T


def rows(shape: tuple[int, ...], margins: Margins, random: Generator) -> csr_array:
    """Return the sums of margins, the total, and now and then of a selection."""
    cells, found = codes(shape), [np.ones(int(np.prod(shape)), dtype=np.int64)]
    for margin in margins:
        entries = product(*(range(shape[at]) for at in margin))
        found += [(np.array(one) == cells[list(margin)].T).all(axis=1).astype(np.int64) for one in entries]
    if random.random() < 0.5:
        found.append(((cells[0] == 0) & (cells[-1] == 1)).astype(np.int64))
    return csr_array(np.array(found))


@pytest.mark.parametrize("margins", KEPT)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_seen_is_possible_and_tells_which_cells_are_revealed(
    shape: tuple[int, ...], margins: Margins
) -> None:
    random = default_rng(len(shape) * 10 + len(margins))
    for _ in range(12):
        counts = random.integers(0, 4, int(np.prod(shape))) * (random.random(int(np.prod(shape))) < 0.6)
        matrix = rows(shape, margins, random)
        universe = Universe.of(matrix, matrix @ counts)
        whole, found = exposure(universe), seen(universe, counts, codes(shape))
        assert whole.exact.all()
        kind = universe.kinds.of_cell
        assert (found.low[kind] >= whole.low).all()
        assert (found.high[kind] <= whole.high).all()
        told = exposure(universe, found)
        few = whole.width < ENOUGH
        assert np.array_equal(told.width < ENOUGH, few)
        assert np.array_equal(told.low[few], whole.low[few])
        assert np.array_equal(told.high[few], whole.high[few])
        assert (told.low >= whole.low).all()
        assert (told.high <= whole.high).all()


def test_most_cells_of_a_large_table_need_no_program() -> None:
    shape = (6, 7, 8)
    random = default_rng(3)
    counts = random.integers(0, 9, int(np.prod(shape)))
    matrix = rows(shape, ((0, 1), (1, 2)), random)
    found = seen(Universe.of(matrix, matrix @ counts), counts, codes(shape))
    assert found.apart.mean() > 0.9


PAIRS: Margins = ((0, 1), (0, 2), (1, 2))


@pytest.mark.parametrize("shape", [(2, 2, 3), (3, 2, 2), (3, 3, 3)])
def test_two_exchanges_at_once_keep_every_pair(shape: tuple[int, ...]) -> None:
    """No single exchange keeps the margins of all pairs; what two of them find is possible."""
    random, found_any = default_rng(7), 0
    for _ in range(8):
        counts = random.integers(0, 4, int(np.prod(shape)))
        matrix = rows(shape, PAIRS, random)
        universe = Universe.of(matrix, matrix @ counts)
        whole, found = exposure(universe), seen(universe, counts, codes(shape))
        kind = universe.kinds.of_cell
        assert (found.low[kind] >= whole.low).all()
        assert (found.high[kind] <= whole.high).all()
        assert np.array_equal(exposure(universe, found).width < ENOUGH, whole.width < ENOUGH)
        found_any += int((found.high > found.low).sum())
    assert found_any


def test_cells_that_cannot_occur_are_left_out() -> None:
    shape = (3, 3)
    every = codes(shape)
    there = np.flatnonzero(every[0] != every[1])
    counts = np.array([2, 0, 1, 3, 0, 2])
    matrix = csr_array(rows(shape, ((0,), (1,)), default_rng(1))[:, there])
    universe = Universe.of(matrix, matrix @ counts)
    whole, told = exposure(universe), exposure(universe, seen(universe, counts, every[:, there]))
    assert np.array_equal(whole.determined, told.determined)
