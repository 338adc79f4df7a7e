"""The nearest whole table: nearest among all, conforming with exact equality, and always the same one."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.sparse import csr_array
from tests.estimation.small import SYSTEMS, listed, problems

from holdfast.estimation.conforming import Conforming
from holdfast.estimation.integers import integers_l1, tie_weights
from holdfast.system.errors import DataError
from holdfast.testing.goodness import two_way


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("whole", [True, False])
def test_nothing_is_nearer_and_ties_go_to_the_least_weight(name: str, whole: bool) -> None:
    matrix = SYSTEMS[name]
    generator = np.random.default_rng(sorted(SYSTEMS).index(name))
    for _ in range(5):
        table = generator.integers(0, 3, matrix.shape[1])
        conforming = Conforming.of(csr_array(matrix), matrix @ table)
        quarters = generator.integers(-12, 13, matrix.shape[1])  # so that distances are exact in floats
        target = table + np.asarray(quarters // 4 if whole else quarters / 4, dtype=np.float64)
        found = integers_l1(target, conforming)
        assert conforming.holds(found)
        tied = matrix.any(axis=0)  # a free cell has nothing to do with the others
        values = matrix @ table  # no cell exceeds the largest value
        every = listed(Conforming.of(csr_array(matrix[:, tied]), values), int(values.max()))
        target, here, weights = target[tied], found[tied], tie_weights(target)[tied]
        distance = np.abs(every - target).sum(axis=1)
        assert np.abs(here - target).sum() == distance.min()
        assert here @ weights == (every[distance == distance.min()] @ weights).min()


@settings(max_examples=30, deadline=None)
@given(problems())
def test_what_is_returned_conforms_exactly(problem: tuple[str, Conforming, NDArray[np.int64]]) -> None:
    _, conforming, noisy = problem
    found = integers_l1(noisy, conforming)
    assert found.dtype == np.int64
    assert (conforming.rows @ found == conforming.low).all()
    assert (found >= 0).all()
    assert integers_l1(noisy.astype(np.float64), conforming).tolist() == found.tolist()


def test_a_conforming_table_stays() -> None:
    matrix = csr_array(two_way(4, 5))
    table = np.random.default_rng(1).poisson(2, 20)
    conforming = Conforming.of(matrix, np.asarray(matrix @ table))
    assert integers_l1(table, conforming).tolist() == table.tolist()


def test_bounds_zeros_and_inequalities_are_kept() -> None:
    matrix = csr_array(np.ones((1, 4), dtype=np.int64))
    conforming = Conforming.of(
        matrix,
        np.array([10]),
        least=np.array([1, 0, 0, 0]),
        most=np.array([9, 3, 0, 9]),
        rows=csr_array(np.array([[0, 1, 0, -1]])),  # the second is at least the fourth
        at_least=np.array([0]),
    )
    found = integers_l1(np.array([-2, 5, 4, 6]), conforming)
    every = listed(conforming, 9)
    assert conforming.holds(found)
    assert np.abs(found - [-2, 5, 4, 6]).sum() == np.abs(every - [-2, 5, 4, 6]).sum(axis=1).min()
    assert found[2] == 0
    assert found[1] >= found[3]


def test_ties_follow_the_counts_and_nothing_else() -> None:
    matrix = csr_array(np.ones((1, 6), dtype=np.int64))
    conforming = Conforming.of(matrix, np.array([30]))
    counts = np.array([-3, 6, 6, 6, 7, 8])
    once = integers_l1(counts, conforming)
    assert all(integers_l1(counts, conforming).tolist() == once.tolist() for _ in range(3))
    others = {tuple(np.argsort(tie_weights(counts + float(shift)))) for shift in range(20)}
    assert len(others) > 15  # another release, another order


@pytest.mark.parametrize(
    ("values", "extra"),
    [
        ([-1], {}),
        ([9], {"most": np.array([2, 2, 2])}),
        ([1], {"least": np.array([1, 1, 1])}),
        ([1], {"least": np.array([1, 0, 0]), "most": np.array([0, 9, 9])}),
        ([1], {"rows": csr_array(np.array([[1, 1, 1]])), "at_least": np.array([2])}),
        ([1], {"rows": csr_array((1, 3), dtype=np.int64), "at_least": np.array([1])}),
    ],
)
def test_what_no_table_can_keep_is_one_sentence(
    values: list[int], extra: dict[str, NDArray[np.int64]]
) -> None:
    conforming = Conforming.of(csr_array(np.ones((1, 3), dtype=np.int64)), np.array(values), **extra)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"^no table keeps all the invariants.*\.$"):
        integers_l1(np.array([1, 1, 1]), conforming)


def test_parity_that_only_fractions_satisfy_is_refused() -> None:
    triangle = csr_array(SYSTEMS["a triangle"])
    with pytest.raises(DataError, match="no table keeps"):
        integers_l1(np.array([0, 0, 0]), Conforming.of(triangle, np.array([1, 1, 1])))


def test_shapes_and_sizes_are_checked() -> None:
    matrix = csr_array(np.ones((1, 3), dtype=np.int64))
    with pytest.raises(DataError, match="not over the 3 cells"):
        Conforming.of(matrix, np.array([1]), most=np.array([1]))
    with pytest.raises(DataError, match="do not fit"):
        integers_l1(np.array([2**60, 0, 0]), Conforming.of(matrix, np.array([5])))
