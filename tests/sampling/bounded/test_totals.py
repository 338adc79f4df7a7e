"""Systems of totals, bounds and orders: what follows from them, against lists."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.bounded.totals import Order, Totals
from holdfast.system.errors import SamplingError

POINTS = np.array(list(product(range(5), repeat=4)))


@st.composite
def systems(draw: st.DrawFn) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Draw a system of nested or disjoint totals with inequalities, and a table that conforms."""
    matrix = draw(
        st.sampled_from(
            [np.array([[1, 1, 1, 1]]), np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), np.array([[1, 0, 1, 0]])]
        )
    )
    table = np.array(draw(st.lists(st.integers(0, 4), min_size=4, max_size=4)))
    rows = np.array(
        draw(st.lists(st.lists(st.integers(-2, 2), min_size=4, max_size=4), min_size=1, max_size=3))
    )
    slack = np.array(draw(st.lists(st.integers(0, 3), min_size=rows.shape[0], max_size=rows.shape[0])))
    return matrix, table, rows, rows @ table - slack


@settings(deadline=None, max_examples=150)
@given(systems())
def test_nothing_is_lost_and_nothing_is_added(system: tuple[IntArray, IntArray, IntArray, IntArray]) -> None:
    """What is inside is what satisfies the system, and bounds that are derived hold of all of it."""
    matrix, table, rows, least = system
    totals = Totals.of(csr_array(matrix), matrix @ table, low=[0] * 4, rows=rows, least=least)
    assert totals is not None
    sums, more = POINTS @ matrix.T, POINTS @ rows.T
    kept = (sums == matrix @ table).all(axis=1) & (more >= least).all(axis=1)
    assert np.array_equal(totals.inside(POINTS), kept)
    for cell in range(4):
        low, high = totals.low[cell], totals.high[cell]
        assert low is not None
        assert (POINTS[kept, cell] >= low).all()
        assert high is None or (POINTS[kept, cell] <= high).all()


def test_parts_near_and_without() -> None:
    rows = np.array([[1, -1, 0, 0], [0, 0, 1, 1]])
    totals = Totals.of(
        csr_array(np.array([[1, 0, 0, 0]])), np.array([3]), low=[0] * 4, rows=rows, least=np.array([1, 2])
    )
    assert totals is not None
    assert totals.orders == (Order(0, 1, 1),)
    assert totals.high[:2] == (3, 2)
    part = totals.part(np.array([0, 1]))
    assert part.cells == 2
    assert part.orders == (Order(0, 1, 1),)
    assert not part.rows.size
    near = totals.near(np.array([3, 2, 1, 1]), 1)
    assert near is not None
    assert near.low == (3, 1, 0, 0)
    assert near.bounded
    assert totals.near(np.array([9, 2, 1, 1]), 1) is None
    assert totals.without([1]).high[1] == 0
    with pytest.raises(SamplingError, match="no release is within these bounds"):
        totals.without([0])
