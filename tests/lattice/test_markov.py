"""Markov bases connect every fibre that is enumerated here; a basis of the lattice does not."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.kernel import integer_kernel, reduced_basis
from holdfast.lattice.markov import (
    markov_basis,
    markov_basis_decomposable,
    markov_basis_partition,
    markov_basis_two_way,
    read_moves,
)
from holdfast.system.errors import DataError, SamplingError
from holdfast.testing.goodness import two_way


def margins(shape: Sequence[int], cliques: Sequence[Sequence[int]]) -> IntArray:
    levels = np.indices(shape).reshape(len(shape), -1).T
    rows = []
    for clique in cliques:
        part = [tuple(record[list(clique)]) for record in levels]
        rows += [[int(value == level) for value in part] for level in sorted(set(part))]
    return np.array(rows, dtype=np.int64)


def tables(cells: int, total: int) -> IntArray:
    """Return all non-negative tables with a given total."""
    if cells == 1:
        return np.array([[total]])
    return np.concatenate(
        [np.insert(tables(cells - 1, total - first), 0, first, axis=1) for first in range(total + 1)]
    )


def fibres(matrix: IntArray, total: int) -> list[list[tuple[int, ...]]]:
    """Return all non-negative tables with a total, grouped by what the matrix says of them."""
    groups: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for table in tables(matrix.shape[1], total):
        groups.setdefault(tuple((matrix @ table).tolist()), []).append(tuple(table.tolist()))
    return list(groups.values())


def connects(moves: IntArray, fibre: list[tuple[int, ...]]) -> bool:
    """Search the graph of a fibre: an edge where one move leads from one table to another."""
    left = set(fibre[1:])
    queue = [fibre[0]]
    both = np.concatenate([moves, -moves])
    while queue:
        for neighbour in map(tuple, (np.array(queue.pop()) + both).tolist()):
            if neighbour in left:
                left.remove(neighbour)
                queue.append(neighbour)
    return not left


CHAIN = ((0, 1), (1, 2))
DECOMPOSABLE: dict[str, tuple[tuple[int, ...], tuple[tuple[int, ...], ...], int]] = {
    "2 x 3": ((2, 3), ((0,), (1,)), 5),
    "3 x 3": ((3, 3), ((0,), (1,)), 5),
    "2 x 2 x 2, independence": ((2, 2, 2), ((0,), (1,), (2,)), 4),
    "2 x 2 x 3, one pair": ((2, 2, 3), ((0, 1), (2,)), 3),
    "2 x 3 x 2, conditional independence": ((2, 3, 2), CHAIN, 3),
    "2 x 2 x 2 x 2, a path": ((2, 2, 2, 2), ((0, 1), (1, 2), (2, 3)), 3),
    "2 x 2 x 2 x 2, a star": ((2, 2, 2, 2), ((0, 1), (0, 2), (0, 3)), 3),
    "rows only": ((2, 3), ((0,),), 4),
    "grand total": ((2, 3), ((),), 3),
    "a free axis": ((2, 2, 2), ((0,), (2,)), 4),
    "a margin within another": ((2, 2, 2), ((0, 1), (0,), (2,)), 4),
    "everything": ((2, 2), ((0, 1),), 3),
}


@pytest.mark.parametrize("name", DECOMPOSABLE)
def test_decomposable_moves_connect_every_fibre(name: str) -> None:
    shape, cliques, total = DECOMPOSABLE[name]
    matrix, moves = margins(shape, cliques), markov_basis_decomposable(shape, cliques)
    assert not (matrix @ moves.T).any()
    for records in range(1, total + 1):
        assert all(connects(moves, fibre) for fibre in fibres(matrix, records))


def test_two_way_moves_are_the_basic_ones() -> None:
    assert markov_basis_two_way(2, 2).tolist() == [[1, -1, -1, 1]]
    moves = markov_basis_two_way(3, 4)
    assert moves.shape == (3 * 6, 12)
    assert (np.abs(moves).sum(axis=1) == 4).all()
    assert markov_basis_two_way(1, 5).shape == (0, 5)


def test_group_moves_connect_a_hierarchy() -> None:
    # country = state A (cells 0, 1, 2) + state B (cells 3, 4); the total is kept at both levels
    matrix = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    moves = markov_basis(csr_array(matrix))
    assert moves.tolist() == markov_basis_partition([0, 0, 0, 1, 1]).tolist()
    assert len(moves) == 3 + 1
    assert all(connects(moves, fibre) for n in range(6) for fibre in fibres(matrix, n))


def test_a_lattice_basis_fails_to_connect_some_tables() -> None:
    matrix = two_way(3, 3)
    broken = [fibre for n in range(1, 5) for fibre in fibres(matrix, n)]
    assert all(connects(markov_basis_two_way(3, 3), fibre) for fibre in broken)
    for basis in (integer_kernel(matrix), reduced_basis(matrix)):
        assert not all(connects(basis, fibre) for fibre in broken)


def test_margins_without_a_junction_tree_are_refused() -> None:
    cycle = ((0, 1), (1, 2), (0, 2))
    with pytest.raises(SamplingError, match="not decomposable"):
        markov_basis_decomposable((2, 2, 2), cycle)
    with pytest.raises(SamplingError, match="not decomposable"):
        markov_basis_decomposable((2, 2, 2, 2), ((0, 1), (1, 2), (2, 3), (3, 0)))
    with pytest.raises(SamplingError, match="no Markov basis is known"):
        markov_basis(csr_array(margins((2, 2, 2), cycle)))
    with pytest.raises(ValueError, match="at least one margin"):
        markov_basis_decomposable((2, 2), ())


RECOGNISED = {
    "2 x 3": (margins((2, 3), ((0,), (1,))), 5),
    "independence": (margins((2, 2, 2), ((0,), (1,), (2,))), 4),
    "conditional independence": (margins((2, 3, 2), CHAIN), 3),
    "conditional independence, unequal": (margins((3, 2, 2), CHAIN), 4),
    "a star of one leaf each": (margins((2, 2, 2, 2), ((0, 1), (0, 2), (0, 3))), 3),
    "a free axis": (margins((2, 2, 2), ((0,), (2,))), 4),
    "only independent rows": (margins((2, 3, 2), CHAIN)[[0, 1, 2, 4, 5, 6, 7, 8, 9]], 3),
    "a hierarchy beside a table": (
        np.array(
            [[1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0], [1, 0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1]]
        ),
        4,
    ),
    "weights that fix the total of each kind": (np.array([[1, 1, 1], [0, 2, 2]]), 5),
}


@pytest.mark.parametrize("name", RECOGNISED)
def test_blocks_of_features_are_recognised_and_connected(name: str) -> None:
    matrix, total = RECOGNISED[name]
    moves = markov_basis(csr_array(matrix))
    assert not (matrix @ moves.T).any()
    assert (np.abs(moves).sum(axis=1) <= 4).all()
    for records in range(1, total + 1):
        assert all(connects(moves, fibre) for fibre in fibres(matrix, records))


def test_a_move_less_does_not_connect() -> None:
    matrix, total = RECOGNISED["conditional independence"]
    moves = markov_basis(csr_array(matrix))
    for left_out in range(len(moves)):
        fewer = np.delete(moves, left_out, axis=0)
        assert not all(connects(fewer, fibre) for fibre in fibres(matrix, total))


def test_longer_trees_are_found_by_their_cliques() -> None:
    path = ((0, 1), (1, 2), (2, 3))
    matrix = csr_array(margins((2, 2, 2, 2), path))
    expected = markov_basis_decomposable((2, 2, 2, 2), path)
    assert markov_basis(matrix, (2, 2, 2, 2), path).tolist() == expected.tolist()
    with pytest.raises(SamplingError, match="no Markov basis is known"):
        markov_basis(matrix)
    with pytest.raises(SamplingError, match="no Markov basis is known"):
        markov_basis(csr_array(np.array([[1, 1, 0]])))  # nothing holds the last cell


def test_too_many_moves_are_refused() -> None:
    with pytest.raises(SamplingError, match="too many"):
        markov_basis_two_way(200, 200)
    with pytest.raises(SamplingError, match="too many"):
        markov_basis_partition([0] * 2000)


def test_moves_are_read_and_checked(tmp_path: Path) -> None:
    # no three-way interaction on 2 x 2 x 2: one move, which no formula here gives
    cycle = csr_array(margins((2, 2, 2), ((0, 1), (1, 2), (0, 2))))
    signs = [(-1) ** (i + j + k) for i, j, k in product(range(2), repeat=3)]
    file = tmp_path / "moves.mar"
    file.write_text("1 8\n" + " ".join(map(str, signs)))
    moves = read_moves(file, cycle)
    assert all(connects(moves, fibre) for fibre in fibres(cycle.toarray(), 4))

    for text, message in {
        "1 8\n2 -2 -2 2 -2 2 2 -2": "do not span",
        "1 8\n1 0 0 0 0 0 0 -1": "does not keep",
        "0 8\n": "do not span",
        "1 4\n1 -1 -1 1": "does not keep",
        "2 8\n1": "no matrix",
        "one": "no matrix",
        "": "no matrix",
    }.items():
        file.write_text(text)
        with pytest.raises(DataError, match=message):
            read_moves(file, cycle)
    with pytest.raises(DataError, match="no matrix"):
        read_moves(tmp_path / "missing", cycle)
