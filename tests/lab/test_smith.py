import itertools

import numpy as np
from flint import fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from holdfast.lab.smith import ExactArray, smith_normal_form
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.kernel import integer_kernel, to_flint

matrices = st.tuples(st.integers(1, 4), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-6, 6))
)


def exact(matrix: ExactArray) -> fmpz_mat:
    rows, columns = matrix.shape
    return fmpz_mat(rows, columns, [int(entry) for entry in matrix.ravel()])


@settings(deadline=None)
@given(matrices)
def test_the_transformations_are_unimodular_and_give_the_form(A: IntArray) -> None:
    smith = smith_normal_form(A)
    assert exact(smith.U) * to_flint(A) * exact(smith.V) == exact(smith.D)
    assert abs(int(exact(smith.U).det())) == 1
    assert abs(int(exact(smith.V).det())) == 1
    assert exact(smith.D) == to_flint(A).snf()


@settings(deadline=None)
@given(matrices)
def test_each_entry_divides_the_next(A: IntArray) -> None:
    D = smith_normal_form(A).D
    diagonal = [int(D[i, i]) for i in range(min(D.shape))]
    assert all(entry >= 0 for entry in diagonal)
    assert all(b == 0 or (a != 0 and b % a == 0) for a, b in itertools.pairwise(diagonal))


@settings(deadline=None)
@given(matrices)
def test_the_kernel_is_the_integer_kernel(A: IntArray) -> None:
    kernel, basis = smith_normal_form(A).kernel, integer_kernel(A)
    assert kernel.shape == basis.T.shape
    if basis.size:
        assert exact(kernel).transpose().hnf() == to_flint(basis).hnf()


def test_a_known_form() -> None:
    smith = smith_normal_form(np.array([[2, 4, 4], [-6, 6, 12], [10, 4, 16]]))
    assert [int(smith.D[i, i]) for i in range(3)] == [2, 2, 156]
    assert smith.rank == 3
