from itertools import combinations_with_replacement

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from holdfast.lattice.arrays import IntArray
from holdfast.universe.space import Compensators

columns = arrays(np.int64, (5, 2), elements=st.integers(0, 2))


@settings(deadline=None)
@given(columns, st.integers(0, 4), st.integers(0, 4), st.integers(1, 3))
def test_exactly_the_sets_whose_sum_can_be_made_up_are_found(
    vectors: IntArray, x: int, y: int, size: int
) -> None:
    every = list(combinations_with_replacement(range(5), size))
    sums = {tuple(vectors[list(chosen)].sum(axis=0)) for chosen in every}
    expected = {
        chosen
        for chosen in every
        if tuple(vectors[list(chosen)].sum(axis=0) + vectors[x] - vectors[y]) in sums
    }
    compensators = Compensators(vectors)
    found = compensators.blocking(x, y, size)
    assert {tuple(map(int, row)) for row in found} == expected
    assert len(found) == len(expected)
    assert compensators.count(size) == len(every)
