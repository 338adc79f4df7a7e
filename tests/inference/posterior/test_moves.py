"""Moves keep what is public, and reach every table, seen by listing all of them."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from tests.inference.posterior.small import AREAS, PARTLY, THREE, TOTAL

from holdfast.inference.posterior.moves import connecting_moves
from holdfast.inference.posterior.table_constraints import TableConstraints
from holdfast.lattice.rows import independent_rows
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import two_way

Ints = NDArray[np.int64]
CROSSED = np.array([[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]])
ZERO = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1], [1, 0, 0, 1, 0], [0, 1, 0, 0, 1]])
"""Both margins of a 2 x 3 table with a structural zero."""
WEIGHTS = np.array([[1, 1, 1], [1, 2, 1]])

FACTS: dict[str, tuple[Ints, list[int], Ints | None, list[int]]] = {
    "a total": (TOTAL, [2, 0, 1, 3], None, []),
    "areas": (AREAS, [2, 0, 1, 3], None, []),
    "both margins": (two_way(3, 3), [1, 0, 2, 0, 1, 1, 2, 0, 0], None, []),
    "three features": (THREE, [1, 0, 0, 1, 1, 0, 0, 2], None, []),
    "a structural zero": (ZERO, [1, 2, 0, 1, 2], None, []),
    "weights": (WEIGHTS, [2, 1, 1], None, []),
    "crossed selections": (CROSSED, [1, 2, 1, 1], None, []),
    "nested floors": (TOTAL, [2, 0, 1, 3], np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]]), [2, 1, 1]),
    "comparisons": (AREAS, [3, 1, 2, 0], np.array([[1, 0, -1, 0], [0, 1, 0, -1]]), [0, 1]),
    "a chain of comparisons": (TOTAL, [4, 3, 1, 0], np.array([[1, -1, 0, 0], [0, 1, -1, 0]]), [0, 1]),
    "comparisons within one total": (TOTAL, [3, 2, 1, 0], np.array([[1, 0, -1, 0], [0, 1, 0, -1]]), [0, 0]),
    "floors under both margins": (
        two_way(3, 3),
        [1, 0, 2, 0, 1, 1, 2, 0, 1],
        np.eye(9, dtype=np.int64)[[0, 2, 4]],
        [1, 1, -3],
    ),
    "crossing floors": (TOTAL, [2, 1, 1, 2], np.array([[1, 1, 0, 0], [0, 1, 1, 0]]), [2, 2]),
    "nested floors and ceilings": (
        TOTAL,
        [2, 1, 1, 2],
        np.array([[1, 1, 0, 0], [-1, -1, 0, 0], [-1, 0, 0, 0], [0, 0, -1, 0]]),
        [2, -4, -2, -1],
    ),
    "a ceiling": (TOTAL, [2, 1, 1, 2], np.array([[-1, 0, 0, 0], [-1, -2, 0, 0]]), [-2, -5]),
}


def constraints(name: str) -> TableConstraints:
    matrix, table, rows, least = FACTS[name]
    x = np.array(table, dtype=np.int64)
    if rows is None:
        return TableConstraints.of(csr_array(matrix), matrix @ x)
    return TableConstraints.of(
        csr_array(matrix), matrix @ x, csr_array(rows), np.array(least, dtype=np.int64)
    )


@pytest.mark.parametrize("name", FACTS)
def test_moves_keep_the_facts_and_reach_all_tables(name: str) -> None:
    of = constraints(name)
    moves = connecting_moves(of)
    steps = moves.listing(of.cells).toarray()
    assert not (of.matrix @ steps.T).any()
    if moves.listed.shape[1] > of.cells:  # slacks move along
        listed = moves.listed.toarray()
        assert (listed[:, of.cells :] == listed[:, : of.cells] @ of.joint[0].T).all()
    every = of.tables(50_000)
    assert every is not None
    assert len(every) > 1
    known = {tuple(table) for table in every.tolist()}
    reached, edge = {tuple(every[0].tolist())}, [every[0]]
    while edge:
        table = edge.pop()
        for step in np.concatenate([steps, -steps]):
            other = tuple((table + step).tolist())
            if other in known and other not in reached:
                reached.add(other)
                edge.append(np.array(other))
    assert reached == known


def test_decomposable_margins_along_a_tree() -> None:
    """[a, b], [b, c], [c, d] fall into no blocks: the basis of the design is listed."""
    shape, cliques = (2, 2, 2, 2), ((0, 1), (1, 2), (2, 3))
    cells = np.arange(16).reshape(shape)
    rows = []
    for clique in cliques:
        for levels in np.ndindex(2, 2):
            at: list[Any] = [slice(None)] * 4
            at[clique[0]], at[clique[1]] = levels
            rows.append(np.isin(np.arange(16), cells[tuple(at)]).astype(np.int64))
    matrix = csr_array(np.array(rows))
    kept = csr_array(matrix[independent_rows(matrix)])
    table = np.random.default_rng(1).integers(0, 2, 16)
    of = TableConstraints.of(kept, np.asarray(kept @ table), design=(shape, cliques))
    steps = connecting_moves(of).listing(16).toarray()
    assert len(steps) > 10
    assert not (matrix @ steps.T).any()


def test_cells_in_no_invariant_move_alone() -> None:
    of = TableConstraints.of(csr_array(PARTLY), PARTLY @ np.array([1, 2, 3, 4]))
    moves = connecting_moves(of)
    assert moves.alone.tolist() == [3]
    assert sorted(moves.paired.tolist()) == [0, 1, 2]


def test_large_designs_are_not_listed() -> None:
    one = np.ones((1, 100_000), dtype=np.int64)
    moves = connecting_moves(TableConstraints.of(csr_array(one), np.array([5])))
    assert moves.paired.size == 100_000
    assert moves.listed.shape[0] == 0
    margins = two_way(60, 40)
    moves = connecting_moves(TableConstraints.of(csr_array(margins), margins @ np.ones(2400, dtype=np.int64)))
    assert moves.table.shape == (40, 60)
    with pytest.raises(SamplingError, match="more than"):
        moves.listing(2400)


def test_what_is_not_known_is_refused() -> None:
    cells = 30
    total = np.ones((1, cells), dtype=np.int64)
    rows = np.zeros((2, cells), dtype=np.int64)
    rows[0, :20], rows[1, 10:] = 1, 1
    of = TableConstraints.of(csr_array(total), np.array([100]), csr_array(rows), np.array([10, 10]))
    with pytest.raises(SamplingError, match="no moves are known"):
        connecting_moves(of)


def test_facts_find_a_table_or_say_that_there_is_none() -> None:
    of = constraints("nested floors")
    found = of.nearest(np.array([-5, 9, 2, -1]))
    assert of.hold(found[None]).all()
    none = TableConstraints.of(
        csr_array(TOTAL), np.array([3]), csr_array(np.array([[1, 1, 0, 0]])), np.array([4])
    )
    assert not none.possible
    assert of.possible
    fewer = of.without(np.array([False, True, False, False]))
    assert fewer.cells == 3
    assert fewer.possible


def test_few_pairs_of_a_large_group_connect_it() -> None:
    """Neighbours in a circle, and in another order of cells: all of one group, and nothing of another."""
    order = np.random.default_rng(1).permutation(90)
    rows = np.zeros((2, 90), dtype=np.int64)
    rows[0, :50], rows[1, 50:] = 1, 1
    of = TableConstraints.of(csr_array(rows), np.array([3, 4]))
    steps = connecting_moves(of).listing(90, order=order)
    assert not (of.matrix @ steps.T).toarray().any()
    assert steps.shape[0] < 90 * 20
    pairs = steps.indices.reshape(-1, 2)
    graph = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(90, 90))
    assert connected_components(graph, directed=False)[0] == 2
    beside = {
        frozenset(pair) for pair in np.argsort(order)[np.argsort(order) < 50][[[0, 1], [1, 2]]].tolist()
    }
    assert beside <= {frozenset(pair) for pair in pairs.tolist()}
