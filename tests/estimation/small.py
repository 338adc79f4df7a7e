"""Small sets of conforming tables, listed, to compare optima with."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.estimation.conforming import Conforming
from holdfast.testing.goodness import two_way

SYSTEMS: dict[str, NDArray[np.int64]] = {
    "total": np.ones((1, 4), dtype=np.int64),
    "margins": two_way(2, 3),
    "two totals and a free cell": np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0]]),
    "weights": np.array([[1, 2, 3, 0], [0, 1, 1, 1]]),
    "a triangle": np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]]),  # not totally unimodular
}


def listed(conforming: Conforming, most: int) -> NDArray[np.int64]:
    """Return every conforming table with counts of at most ``most``, one a row."""
    points = np.stack(np.meshgrid(*[np.arange(most + 1)] * conforming.cells), axis=-1)
    points = points.reshape(-1, conforming.cells)
    sums = np.asarray(conforming.rows @ points.T).T
    kept = (sums >= conforming.low).all(axis=1) & (sums <= conforming.high).all(axis=1)
    return points[kept & (points >= conforming.least).all(axis=1) & (points <= conforming.most).all(axis=1)]


@st.composite
def problems(draw: st.DrawFn, largest: int = 3) -> tuple[str, Conforming, NDArray[np.int64]]:
    """Draw a system, the values of a table in it, and noisy counts."""
    name = draw(st.sampled_from(sorted(SYSTEMS)))
    matrix = SYSTEMS[name]
    cells = matrix.shape[1]
    table = np.array(draw(st.lists(st.integers(0, largest), min_size=cells, max_size=cells)))
    noise = np.array(draw(st.lists(st.integers(-4, 4), min_size=cells, max_size=cells)))
    return name, Conforming.of(csr_array(matrix), matrix @ table), table + noise
