from itertools import product

import numpy as np
from flint import fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.kernel import from_flint, integer_kernel, reduced_basis, to_flint

matrices = st.tuples(st.integers(1, 3), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-3, 3))
)


def in_lattice(basis: IntArray, vector: tuple[int, ...]) -> bool:
    """Adding a member to the basis leaves the Hermite form as it is, but for a zero row."""
    joined = fmpz_mat([*basis.tolist(), list(vector)]).hnf()
    before = fmpz_mat([*basis.tolist(), [0] * len(vector)]).hnf()
    return bool(joined == before)


@settings(deadline=None)
@given(matrices)
def test_the_kernel_holds_every_small_solution(A: IntArray) -> None:
    basis = integer_kernel(A)
    assert not (A @ basis.T).any()
    assert basis.shape[0] == A.shape[1] - np.linalg.matrix_rank(A)
    for vector in product(range(-2, 3), repeat=A.shape[1]):
        if not (A @ np.array(vector)).any():
            assert in_lattice(basis, vector)


@settings(deadline=None)
@given(matrices)
def test_the_reduced_basis_spans_the_same_lattice(A: IntArray) -> None:
    basis, reduced = integer_kernel(A), reduced_basis(A)
    assert reduced.shape == basis.shape
    if basis.size:
        assert to_flint(reduced).hnf() == to_flint(basis).hnf()


def test_the_reduced_basis_of_a_two_way_table_is_made_of_basic_moves() -> None:
    levels = [(i, j) for i in range(3) for j in range(3)]
    A = np.array(
        [[int(i == k) for i, _ in levels] for k in range(3)]
        + [[int(j == k) for _, j in levels] for k in range(3)]
    )
    reduced = reduced_basis(A)
    assert reduced.shape == (4, 9)
    assert np.abs(reduced).sum(axis=1).tolist() == [4] * 4


def test_no_rows_leave_everything_free() -> None:
    assert integer_kernel(np.zeros((0, 3), dtype=np.int64)).tolist() == np.eye(3).tolist()


def test_exact_integers_come_back() -> None:
    matrix = np.array([[2**62, -1], [0, 5]])
    assert np.array_equal(from_flint(to_flint(matrix)), matrix)
