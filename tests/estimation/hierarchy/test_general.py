"""Children from any queries: the optimum of another formulation, certified."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from tests.estimation.hierarchy.families import estimate
from tests.estimation.hierarchy.independent import optimum

from holdfast.estimation.hierarchy.level import LevelQuery

Real = NDArray[np.float64]
DETAILED = csr_array(eye_array(6))
ONE = csr_array(np.ones((1, 6)))
ROWS = csr_array(np.kron(np.eye(2), np.ones((1, 3))))
COLUMNS = csr_array(np.kron(np.ones((1, 2)), np.eye(3)))
SETS = {
    "detailed and total": (DETAILED, ONE),
    "all margins": (DETAILED, ROWS, COLUMNS, ONE),
    "margins only": (ROWS, COLUMNS, ONE),
    "two of the same": (DETAILED, DETAILED, ROWS),
}


@pytest.mark.parametrize("name", SETS)
def test_the_optimum_is_that_of_another_formulation(name: str) -> None:
    generator = np.random.default_rng(sorted(SETS).index(name))
    for trial in range(15):
        count = int(generator.integers(1, 6))
        table = generator.poisson(generator.choice([0.3, 3, 30]), (count, 6))
        queries: list[tuple[LevelQuery, Real]] = [
            (
                LevelQuery(each, float(generator.choice([0.1, 1.0, 10.0]))),
                1.0 * table @ each.toarray().T + np.rint(generator.normal(0, 5, (count, each.shape[0]))),
            )
            for each in SETS[name]
        ]
        invariants = ROWS if trial % 2 else None
        values = np.rint(table @ ROWS.toarray().T).astype(np.int64) if trial % 2 else None
        low = high = None
        if trial % 3 == 0:
            low = np.maximum(table - generator.integers(0, 3, table.shape), 0)
            high = (table + generator.integers(0, 4, table.shape)).astype(np.float64)
        parent = table.sum(axis=0)
        found = estimate(queries, parent, invariants=invariants, values=values, low=low, high=high)
        best = optimum(queries, parent, invariants=invariants, values=values, low=low, high=high)
        assert found.objective == pytest.approx(best, rel=1e-7, abs=1e-7)
        assert found.gap <= 1e-7 * max(1.0, best)
        assert found.off <= 1e-7 * max(1, parent.max())
        assert (found.counts >= (0 if low is None else low)).all()


def test_what_no_counts_keep_is_off() -> None:
    found = estimate(
        [(LevelQuery(DETAILED, 1.0), np.ones((2, 6)))],
        np.full(6, 2),
        invariants=ROWS,
        values=np.array([[9, 9], [9, 9]]),
    )
    assert found.off > 1
