from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.rows import check_consistent, independent_rows, ones_combination

matrices = st.tuples(st.integers(1, 5), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-2, 2))
)


def rank(rows: list[list[int]]) -> int:
    """Gaussian elimination in fractions."""
    work = [[Fraction(int(entry)) for entry in row] for row in rows]
    done = 0
    for column in range(len(work[0]) if work else 0):
        pivot = next((i for i in range(done, len(work)) if work[i][column]), None)
        if pivot is None:
            continue
        work[done], work[pivot] = work[pivot], work[done]
        for i in range(done + 1, len(work)):
            factor = work[i][column] / work[done][column]
            work[i] = [a - factor * b for a, b in zip(work[i], work[done], strict=True)]
        done += 1
    return done


@settings(deadline=None)
@given(matrices)
def test_a_row_is_kept_exactly_when_earlier_rows_do_not_span_it(dense: IntArray) -> None:
    rows = dense.tolist()
    expected = [i for i in range(len(rows)) if rank(rows[: i + 1]) > rank(rows[:i])]
    assert independent_rows(csr_array(dense)).tolist() == expected


@settings(deadline=None)
@given(matrices, st.data())
def test_values_of_a_real_table_are_consistent(dense: IntArray, data: st.DataObject) -> None:
    table = data.draw(arrays(np.int64, dense.shape[1], elements=st.integers(-5, 5)))
    assert check_consistent(csr_array(dense), dense @ table).size == 0


@settings(deadline=None)
@given(matrices, st.data())
def test_a_wrong_value_is_reported_exactly_at_dependent_rows(dense: IntArray, data: st.DataObject) -> None:
    values = data.draw(arrays(np.int64, dense.shape[0], elements=st.integers(-2, 2)))
    kept = independent_rows(csr_array(dense))
    wrong = check_consistent(csr_array(dense), values)
    joined = np.hstack([dense, values[:, None]])
    solvable = rank(joined.tolist()) == rank(dense.tolist())
    assert (wrong.size == 0) == solvable
    assert not set(wrong.tolist()) & set(kept.tolist())


@settings(deadline=None)
@given(matrices)
def test_weights_of_the_total(dense: IntArray) -> None:
    weights = ones_combination(csr_array(dense))
    ones = [[1] * dense.shape[1]]
    assert (weights is not None) == (rank(dense.tolist() + ones) == rank(dense.tolist()))
    if weights is not None:
        for column in dense.T:
            assert sum(weight * int(column[row]) for row, weight in weights.items()) == 1


def test_large_weights_do_not_overflow() -> None:
    large = 1 << 40
    dense = np.array([[large, 0, 3, 1], [0, large, 3, 1], [large, large, 6, 2], [1, 0, 0, 0]])
    assert independent_rows(csr_array(dense)).tolist() == [0, 1, 3]
    assert check_consistent(csr_array(dense), dense @ np.ones(4, dtype=np.int64)).size == 0
