from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from holdfast.lattice import nested
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.nested import is_totally_unimodular

matrices = st.tuples(st.integers(1, 4), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 1))
)
binary = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 1))
)


def determinant(square: list[list[int]]) -> int:
    """Expand along the first row."""
    if not square:
        return 1
    return sum(
        (-1) ** j * entry * determinant([row[:j] + row[j + 1 :] for row in square[1:]])
        for j, entry in enumerate(square[0])
        if entry
    )


def by_minors(dense: IntArray) -> bool:
    rows, columns = dense.shape
    return all(
        abs(determinant(dense[np.ix_(some, others)].tolist())) <= 1
        for k in range(1, min(rows, columns) + 1)
        for some in combinations(range(rows), k)
        for others in combinations(range(columns), k)
    )


@settings(deadline=None)
@given(matrices)
def test_small_matrices_are_decided(dense: IntArray) -> None:
    assert is_totally_unimodular(csr_array(dense)) is by_minors(dense)


@settings(deadline=None)
@given(binary)
def test_two_laminar_families_are_never_claimed_wrongly(dense: IntArray) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nested, "MINORS", -1)
        claimed = is_totally_unimodular(csr_array(dense))
    assert claimed in (True, None)
    assert claimed is None or by_minors(dense)


def one_way(shape: tuple[int, ...]) -> IntArray:
    records = list(product(*map(range, shape)))
    return np.array(
        [
            [int(record[axis] == level) for record in records]
            for axis, size in enumerate(shape)
            for level in range(size)
        ]
    )


def test_one_way_margins_of_two_features_are_unimodular() -> None:
    assert is_totally_unimodular(csr_array(one_way((30, 20)))) is True


def test_one_way_margins_of_three_features_are_not() -> None:
    assert is_totally_unimodular(csr_array(one_way((2, 2, 2)))) is not True


def test_weights_are_not() -> None:
    assert is_totally_unimodular(csr_array(np.array([[1, 2]]))) is False
