"""Pairs of rows: pairings are uniform, margins stay, every table is reached, and designs are recognised."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array
from tests.sampling.chains.cases import truncated
from tests.sampling.chains.small import SMALL, SQUARE

from holdfast.sampling.chains.kernel import LaplaceTarget, non_negative, run
from holdfast.sampling.chains.row_pairs import RowPairs, two_way_cells
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, two_way
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe


def test_pairings_are_uniform() -> None:
    kernel = RowPairs(np.arange(10).reshape(5, 2), truncated(Fraction(1), np.ones(10, dtype=np.int64)))
    upper, lower = kernel.paired(6000, SeededEntropy(1))
    rows = (np.stack([upper, lower], axis=1)[..., 0] // 2).reshape(6000, 2, 2)
    seen = Counter(frozenset(frozenset(pair) for pair in chain) for chain in rows.tolist())
    assert len(seen) == 15
    assert stats.chisquare(list(seen.values())).pvalue > LEVEL
    assert (upper % 2 == [0, 1]).all()
    assert (lower % 2 == [0, 1]).all()


def test_margins_are_kept() -> None:
    table = np.random.default_rng(0).poisson(3, 35)
    kernel = RowPairs(np.arange(35).reshape(5, 7), truncated(Fraction(1, 8), table))
    after = run(kernel, kernel.start(50, SeededEntropy(2)), 10, SeededEntropy(3)).points
    assert (after @ two_way(5, 7).T == two_way(5, 7) @ table).all()
    assert (after >= 0).all()
    assert (after != table).any(axis=1).all()


def test_every_table_is_reached_from_every_other() -> None:
    # all permutation matrices of four things: no two rows alone can move without the other two
    identity = np.eye(4, dtype=np.int64).ravel()
    tables = conforming_tables(Universe.of(csr_array(two_way(4, 4)), two_way(4, 4) @ identity), 100)
    kernel = RowPairs(np.arange(16).reshape(4, 4), truncated(Fraction(1, 10), identity))
    entropy = SeededEntropy(4)
    number = {tuple(table): i for i, table in enumerate(tables.tolist())}
    assert len(number) == 24
    next_to = np.zeros((24, 24), dtype=np.int64)
    for table, i in number.items():
        after, _ = kernel.step(kernel.init(np.tile(table, (400, 1))), entropy)
        next_to[i, [number[tuple(row)] for row in after.points.tolist()]] = 1
    assert (np.linalg.matrix_power(next_to, 3) > 0).all()
    assert not (next_to > 0).all()


def test_two_rows_are_drawn_by_one_step() -> None:
    table = np.array([2, 1, 0, 1, 0, 2])
    kernel = RowPairs(np.arange(6).reshape(2, 3), truncated(Fraction(1, 2), table))
    once, far = (run(kernel, kernel.start(20_000, SeededEntropy(5)), n, SeededEntropy(n)) for n in (1, 4))
    assert stats.ks_2samp(once.statistic, far.statistic).pvalue > LEVEL
    assert (kernel.log_ratio(once, far) == 0).all()


@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (4, 3), (2, 9), (5, 5)])
def test_two_way_designs_are_recognised(shape: tuple[int, int]) -> None:
    cells = two_way_cells(csr_array(two_way(*shape)))
    assert cells is not None
    assert cells.shape == (min(shape), max(shape))
    table = np.arange(shape[0] * shape[1]).reshape(shape)
    assert (cells == (table if shape[0] <= shape[1] else table.T)).all()
    mixed = np.cumsum(two_way(*shape), axis=0)  # the same space, other rows
    assert two_way_cells(csr_array(mixed)) is not None


def test_other_designs_are_not() -> None:
    assert two_way_cells(csr_array(np.ones((1, 6), dtype=np.int64))) is None
    assert two_way_cells(csr_array(two_way(3, 4)[:-1])) is None
    assert two_way_cells(csr_array(two_way(3, 4)[:, np.random.default_rng(1).permutation(12)])) is None


def test_what_it_cannot_draw_is_refused() -> None:
    cells = np.arange(9).reshape(3, 3)
    for target in (
        LaplaceTarget(Fraction(1), SQUARE, "l2", non_negative),
        LaplaceTarget(Fraction(1), SQUARE),
    ):
        with pytest.raises(SamplingError, match="Markov basis"):
            RowPairs(cells, target)
    for wrong in (cells[:2], cells.ravel(), cells[:, :1], cells * 0):
        with pytest.raises(ValueError, match="cell"):
            RowPairs(wrong, truncated(Fraction(1), SQUARE))
    case = SMALL["three rows"]()
    with pytest.raises(ValueError, match="outside the support"):
        case.at(case.points - 5)
