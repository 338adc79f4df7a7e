"""Children from a detailed and a total query: the optimum of another solver, and a certificate of its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from tests.estimation.hierarchy.families import children
from tests.estimation.hierarchy.independent import optimum

from holdfast.estimation.hierarchy.level import LevelQuery
from holdfast.programs.quadratic.squares import BoundedEstimate

Table = NDArray[np.int64]


def good(found: BoundedEstimate, digits: float = 1e-9) -> bool:
    """Whether the certificate says that nothing is better."""
    return found.gap <= digits * max(1.0, found.objective) and found.off <= digits * max(
        1.0, found.counts.max()
    )


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("bounded", [False, True])
def test_the_optimum_is_that_of_another_solver(known: bool, bounded: bool) -> None:
    generator = np.random.default_rng(int(known) + 2 * int(bounded))
    for _ in range(15):
        count, cells = int(generator.integers(1, 7)), int(generator.integers(2, 7))
        table = generator.poisson(generator.choice([0.3, 3, 30]), (count, cells))
        spread = float(generator.choice([1, 5, 20]))
        detailed = np.rint(generator.normal(table, spread))
        measured = np.rint(generator.normal(table.sum(axis=1), spread))
        weight, total_weight = (float(each) for each in generator.choice([0.01, 1.0, 100.0], 2))
        low = high = None
        if bounded:
            low = np.maximum(table - generator.integers(0, 3, table.shape), 0)
            high = (table + generator.integers(0, 3, table.shape)).astype(np.float64)
        totals = table.sum(axis=1) if known else None
        found = children(
            detailed,
            table.sum(axis=0),
            weight=weight,
            measured=measured,
            total_weight=total_weight,
            totals=totals,
            low=low,
            high=high,
        )
        one = csr_array(np.ones((1, cells)))
        best = optimum(
            [
                (LevelQuery(csr_array(eye_array(cells)), weight), detailed),
                (LevelQuery(one, total_weight), measured[:, None]),
            ],
            table.sum(axis=0),
            invariants=one if known else None,
            values=table.sum(axis=1)[:, None] if known else None,
            low=low,
            high=high,
        )
        assert good(found)
        assert found.objective == pytest.approx(best, rel=1e-7, abs=1e-7)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 30),
    st.integers(1, 20),
    st.sampled_from([0.05, 1.0, 1000.0]),
    st.sampled_from([0.0, 1e-6, 1.0, 30.0]),
    st.booleans(),
)
def test_certified_whatever_was_measured(
    seed: int, count: int, cells: int, mean: float, ratio: float, known: bool
) -> None:
    generator = np.random.default_rng(seed)
    table = generator.poisson(mean, (count, cells))
    detailed = table + generator.normal(generator.choice([-1000, 0]), generator.choice([1, 300]), table.shape)
    found = children(
        detailed,
        table.sum(axis=0),
        measured=table.sum(axis=1) + generator.normal(0, 50, count),
        total_weight=ratio,
        totals=table.sum(axis=1) if known else None,
    )
    assert good(found, 1e-7)
    assert (found.counts >= 0).all()


def test_one_child_is_its_parent() -> None:
    parent = np.array([5, 0, 7])
    found = children(np.array([[-9.0, 4.0, 100.0]]), parent, measured=np.array([3.0]), total_weight=2.0)
    assert found.counts[0] == pytest.approx([5.0, 0.0, 7.0], rel=1e-13)
    assert found.objective == pytest.approx(14**2 + 4**2 + 93**2 + 2 * 9**2)


def test_empty_cells_and_children_stay_empty() -> None:
    found = children(
        np.array([[4.0, 3.0], [9.0, 2.0], [1.0, 1.0]]), np.array([0, 6]), totals=np.array([6, 0, 0])
    )
    assert found.counts.tolist() == [[0.0, 6.0], [0.0, 0.0], [0.0, 0.0]]
    assert found.gap == 0


def test_without_totals_every_cell_is_a_projection_onto_a_simplex() -> None:
    found = children(np.array([[-4.0], [0.0], [5.0], [7.0]]), np.array([10]))
    assert found.counts[:, 0] == pytest.approx([0, 0, 4, 6])


def test_totals_pull_children() -> None:
    detailed, parent = np.full((2, 2), 5.0), np.array([10, 10])
    for weight, expected in ((1e-9, 5.0), (1e9, 8.0)):
        found = children(detailed, parent, measured=np.array([16.0, 4.0]), total_weight=weight)
        assert found.counts[0] == pytest.approx([expected, expected], abs=1e-5)
        assert good(found)


def test_sums_out_of_reach_are_off() -> None:
    found = children(np.ones((2, 2)), np.array([3, 3]), totals=np.array([9, 9]))
    assert found.off > 1
    found = children(np.ones((2, 2)), np.array([3, 3]), high=np.ones((2, 2)))
    assert found.off == 1
