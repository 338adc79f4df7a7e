from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.product import AxisMargins
from holdfast.universe.spread import spread
from holdfast.universe.universe import Universe

Design = Callable[..., Universe]


@pytest.mark.parametrize("named", ["axes", "cliques", "neither"])
@pytest.mark.parametrize(
    ("shape", "cliques", "value"),
    [
        ((4, 4), [(0,), (1,)], Fraction(1)),
        ((2, 5), [(0,), (1,)], Fraction(1)),
        ((3, 3, 3), [(0, 1), (1, 2), (0, 2)], Fraction(1, 2)),
        ((3, 2, 4), [(0, 1), (0, 2)], Fraction(1)),
        ((2, 3, 2, 3), [(0, 1), (1, 2), (2, 3)], Fraction(1)),
        ((2, 3, 3), [(0, 1), (1, 2), (0, 2)], Fraction(1, 2)),
        ((2, 2, 3), [(0,), (1, 2)], Fraction(1)),
        ((3, 2), [(0,)], Fraction(2)),
        ((3, 2), [()], Fraction(2)),
        ((3, 2), [(0, 1)], Fraction(0)),
    ],
)
def test_known_values(
    margins: Design,
    shape: tuple[int, ...],
    cliques: list[tuple[int, ...]],
    value: Fraction,
    named: str,
) -> None:
    universe = margins(np.ones(shape, dtype=np.int64), cliques, named=named != "neither")
    if named == "axes":
        universe = replace(universe, margins=AxisMargins(shape, tuple(map(frozenset, cliques))))
    assert spread(universe) == value


def test_large_margins_with_a_shared_attribute_are_answered(margins: Design) -> None:
    shape, sets = (40, 20, 3), (frozenset({0, 1}), frozenset({0, 2}))
    universe = margins(np.ones(shape, dtype=np.int64), [(0, 1), (0, 2)])
    assert spread(replace(universe, margins=AxisMargins(shape, sets))) == 1


designs = st.tuples(st.integers(1, 3), st.integers(2, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 2))
)


@settings(deadline=None)
@given(designs)
def test_no_lattice_element_exceeds_it(matrix: IntArray) -> None:
    cells = matrix.shape[1]
    universe = Universe.of(csr_array(matrix), matrix @ np.ones(cells, dtype=np.int64))
    bound = spread(universe)
    assert 0 <= bound <= 2
    grid = np.array(list(product(range(-2, 3), repeat=cells)))
    inside = (grid @ matrix.T == 0).all(axis=1) & (grid.sum(axis=1) == 0) & grid.any(axis=1)
    for u in grid[inside]:
        assert Fraction(4 * int((u**2).sum()), int(np.abs(u).sum()) ** 2) <= bound
