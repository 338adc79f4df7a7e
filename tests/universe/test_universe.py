from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.system.errors import InvariantError
from holdfast.universe import universe as module
from holdfast.universe.universe import Universe

Design = Callable[..., Universe]


def universe(rows: list[list[int]], values: list[int]) -> Universe:
    return Universe.of(csr_array(np.array(rows)), np.array(values))


def test_redundant_rows_are_dropped(margins: Design) -> None:
    two_way = margins([[15, 1, 3], [20, 10, 10]], [(0,), (1,), ()])
    assert (two_way.cells, two_way.rank, two_way.dimension) == (6, 4, 2)
    assert two_way.total == 59
    assert two_way.patterns.count == 6
    assert len(two_way.components) == 1


def test_a_row_without_cells_says_nothing() -> None:
    assert universe([[0, 0], [1, 1]], [0, 3]).rank == 1


def test_the_total_is_known_only_when_the_rows_add_up_to_it() -> None:
    assert universe([[1, 1, 0], [0, 0, 1]], [2, 5]).total == 7
    assert universe([[1, 1, 0]], [2]).total is None
    assert universe([[1, 2]], [4]).total is None
    assert universe([[2, 2]], [4]).total == 2
    assert universe([[1, 2, 1], [1, 0, 1]], [4, 2]).total == 3


def test_no_rows_leave_every_table() -> None:
    free = Universe.of(csr_array((0, 4), dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert (free.rank, free.dimension, free.total) == (0, 4, None)


def test_components_of_a_partition(margins: Design) -> None:
    partition = margins(np.ones((4, 3)), [(0,)])
    assert [block.cells.size for block in partition.components] == [3] * 4


@pytest.mark.parametrize(
    ("rows", "values", "row"),
    [
        ([[1, 1], [1, 1]], [2, 3], "row 1"),
        ([[0, 0]], [1], "row 0"),
        ([[1, 0], [0, 1], [1, 1]], [1, 1, 3], "row 2"),
    ],
)
def test_contradictions_name_the_row(rows: list[list[int]], values: list[int], row: str) -> None:
    with pytest.raises(InvariantError, match=row):
        universe(rows, values)


@pytest.mark.parametrize(
    ("rows", "values"),
    [
        ([[1, 1]], [-1]),
        ([[2, 2]], [3]),
        ([[1, 1, 0], [1, 0, 0]], [1, 2]),
        ([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1, 1, 1]),
    ],
)
def test_values_that_no_table_has_are_refused(rows: list[list[int]], values: list[int]) -> None:
    with pytest.raises(InvariantError):
        universe(rows, values)


def test_values_of_a_table_need_no_solver(margins: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.array([[2, 0, 1], [1, 1, 1]])
    asked = margins(table, [(0,), (1,)])

    def program(*_: object, **__: object) -> None:
        raise AssertionError("a table is known")

    monkeypatch.setattr(module, "Program", program)
    known = Universe.of(asked.matrix, asked.values, asked.cliques, occupied=True)
    assert known.matrix.toarray().tolist() == asked.matrix.toarray().tolist()
    assert (known.rank, known.total) == (asked.rank, asked.total)
    with pytest.raises(InvariantError, match="row 1"):
        Universe.of(csr_array(np.ones((2, 2))), np.array([2, 3]), occupied=True)
    Universe.of(asked.matrix, asked.values)  # counts of features are dealt out
    with pytest.raises(AssertionError, match="known"):
        Universe.of(csr_array(np.array([[1, 2, 0], [0, 1, 1]])), np.array([3, 2]))
