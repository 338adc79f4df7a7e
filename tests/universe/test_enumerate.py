from collections.abc import Callable
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import GuaranteeError
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

Design = Callable[..., Universe]

designs = st.tuples(st.integers(1, 3), st.integers(1, 5)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.integers(-1, 2)),
        arrays(np.int64, shape[1], elements=st.integers(0, 2)),
    )
)


@settings(deadline=None)
@given(designs)
def test_every_table_is_found_once(design: tuple[IntArray, IntArray]) -> None:
    matrix, table = design
    while table.sum() > 4:
        table[np.argmax(table)] -= 1
    matrix = np.vstack([matrix, np.ones(table.size, dtype=np.int64)])
    universe = Universe.of(csr_array(matrix), matrix @ table)
    grid = product(range(int(table.sum()) + 1), repeat=table.size)
    values = matrix @ table
    tables = np.array(list(grid))
    kept = tables[(tables @ matrix.T == values).all(axis=1)]
    expected = {tuple(map(int, x)) for x in kept}
    found = [tuple(map(int, row)) for row in conforming_tables(universe, 10**6)]
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_two_way_tables_are_counted(margins: Design) -> None:
    assert len(conforming_tables(margins(np.ones((3, 3)), [(0,), (1,)]), 100)) == 55


def test_tables_of_a_total_are_counted(margins: Design) -> None:
    assert len(conforming_tables(margins([1, 2, 3, 0], [()]), 100)) == comb(9, 3)


def test_too_many_tables_are_refused(margins: Design) -> None:
    with pytest.raises(GuaranteeError, match="more than 54"):
        conforming_tables(margins(np.ones((3, 3)), [(0,), (1,)]), 54)


def test_an_infinite_universe_is_refused(rows: Design) -> None:
    with pytest.raises(GuaranteeError, match="cell 2"):
        conforming_tables(rows([[1, 1, 0]], [1, 1, 1]), 100)
