from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import GuaranteeError
from holdfast.universe import vacuous as module
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.sensitivity import least_distance, sensitivity
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe
from holdfast.universe.vacuous import one_table, refuse_one_table, refuse_vacuous

Design = Callable[..., Universe]

# the kernel is spanned by (2, 1, -3): two tables, three records apart
WEIGHTS = [[1, 1, 1], [1, 7, 3]]


def distances(tables: list[IntArray]) -> list[int]:
    """Return how many records every two tables of equal size are apart, from the definition."""
    found: list[int] = []
    for at, x in enumerate(tables):
        others = np.array(tables[at + 1 :]).reshape(-1, x.size)
        same = others[others.sum(axis=1) == x.sum()]
        found += (np.abs(same - x).sum(axis=1) // 2).tolist()
    return found


def test_weights_whose_tables_are_three_records_apart(rows: Design) -> None:
    universe = rows(WEIGHTS, [1, 3, 5])
    assert conforming_tables(universe, 10).tolist() == [[3, 4, 2], [1, 3, 5]]
    assert semi_adjacency(universe).worst_case == 2  # two people exchange their values
    assert sensitivity(universe, 2).l1 == 0
    assert least_distance(universe) == least_distance(universe, above=2) == 3
    assert sensitivity(universe, 3).l1 == 6
    assert not one_table(universe)
    with pytest.raises(GuaranteeError, match=r"at most 2 .* at least 3 records .* distance=3 or adjacency"):
        refuse_vacuous(universe, 2, sensitivity(universe, 2))
    refuse_vacuous(universe, 3, sensitivity(universe, 3))


def test_a_distance_that_is_not_known_is_not_offered(rows: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    universe = rows(WEIGHTS, [1, 3, 5])
    monkeypatch.setattr(module, "least_distance", lambda *_, **__: None)
    with pytest.raises(GuaranteeError, match=r"are more than 2 records apart: set adjacency") as raised:
        refuse_vacuous(universe, 2, sensitivity(universe, 2))
    assert "distance =" not in str(raised.value)


@pytest.mark.parametrize(
    ("matrix", "table", "words"),
    [
        (WEIGHTS, [1, 0, 1], "leave one possible table,"),
        ([[1, 2]], [2, 1], "one possible table of each size,"),  # (4, 0), (2, 1) and (0, 2)
        ([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]], [3, 0, 0, 0], "leave one possible table,"),
        ([[1, 0], [0, 1]], [3, 1], "leave one possible table,"),
        ([[1, 1]], [0, 0], "leave one possible table,"),
        ([[1, 0, 0], [0, 1, 0]], [2, 1, 5], "one possible table of each size,"),  # one cell is free
    ],
)
def test_one_table_is_refused_at_any_distance(
    rows: Design, matrix: list[list[int]], table: list[int], words: str
) -> None:
    universe = rows(matrix, table)
    with pytest.raises(GuaranteeError, match=words):
        refuse_one_table(universe)
    for distance in range(4):
        with pytest.raises(GuaranteeError, match=words):
            refuse_vacuous(universe, distance, sensitivity(universe, distance))


@pytest.mark.parametrize(
    ("matrix", "table"),
    [
        ([[1, 1]], [1, 0]),
        ([[1, 0, 0]], [2, 0, 0]),  # two cells are free
        ([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]], [1, 0, 0, 1]),
        ([[1, 2, 0]], [2, 0, 1]),  # 1 + 1 + free is 2 + 2 free
        ([[1, -1, 0], [0, 1, -1]], [1, 1, 1]),
    ],
)
def test_two_tables_of_equal_size(rows: Design, matrix: list[list[int]], table: list[int]) -> None:
    sizes = [
        sum(x)
        for x in product(range(5), repeat=len(table))
        if (np.array(matrix) @ x == np.array(matrix) @ table).all()
    ]
    two = len(sizes) > len(set(sizes))
    universe = rows(matrix, table)
    assert one_table(universe) is not two
    if two:
        refuse_one_table(universe)


def test_blocks_are_decided_one_by_one(margins: Design, rows: Design) -> None:
    # six blocks of a 2 x 2 table with both margins: one exchange in the last is enough
    still, moving = [2, 0, 0, 0], [1, 0, 0, 1]
    block = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]])
    matrix = np.kron(np.eye(6, dtype=np.int64), block)
    assert one_table(rows(matrix, still * 6))
    assert not one_table(rows(matrix, still * 5 + moving))
    assert least_distance(rows(matrix, still * 5 + moving)) == 2
    assert least_distance(rows(matrix, still * 6)) is None
    assert not one_table(margins(np.ones((40, 40)), [(0,), (1,)]))  # in closed form


def test_beyond_the_limit_nothing_is_refused(rows: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATTERNS", 2)
    assert not one_table(rows(WEIGHTS, [1, 0, 1]))


designs = st.tuples(st.integers(1, 3), st.integers(2, 5)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.sampled_from([0, 0, 1, 1, 2, 5])),
        arrays(np.int64, shape[1], elements=st.integers(0, 3)),
    )
)


@settings(max_examples=40, deadline=None)
@given(designs, st.booleans())
def test_against_the_definition(design: tuple[IntArray, IntArray], with_total: bool) -> None:
    matrix, table = design
    if with_total or not matrix.any(axis=0).all():
        matrix = np.vstack([matrix, np.ones(table.size, dtype=np.int64)])
    universe = Universe.of(csr_array(matrix), matrix @ table)
    found = distances(list(conforming_tables(universe, 5_000)))
    assert one_table(universe) is not any(found)
    nearest = min(found, default=0)
    assert least_distance(universe) == (nearest if 0 < nearest <= 12 else None)
    for above in range(1, nearest):
        assert least_distance(universe, above) == (nearest if nearest <= 12 else None)
        assert sensitivity(universe, above).l1 == 0
        with pytest.raises(GuaranteeError, match="vacuous"):
            refuse_vacuous(universe, above, sensitivity(universe, above))
    if nearest:
        refuse_vacuous(universe, nearest, sensitivity(universe, nearest))
