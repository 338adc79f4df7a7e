"""Small designs, built from the definition of a margin."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.universe.universe import Universe

IntArray = NDArray[np.int64]
Cliques = Sequence[Sequence[int]]
Design = Callable[..., Universe]
NAMES = "abcdef"


def margin_matrix(shape: Sequence[int], cliques: Cliques) -> IntArray:
    levels = np.indices(shape).reshape(len(shape), -1).T
    rows = []
    for clique in cliques:
        part = [tuple(record[list(clique)]) for record in levels]
        rows += [[int(value == level) for value in part] for level in sorted(set(part))]
    return np.array(rows, dtype=np.int64)


@pytest.fixture
def margins() -> Design:
    """Build the universe that keeps these margins of a table."""

    def build(table: object, cliques: Cliques, *, named: bool = True) -> Universe:
        counts = np.asarray(table, dtype=np.int64)
        matrix = margin_matrix(counts.shape, cliques)
        names = tuple(frozenset(NAMES[axis] for axis in clique) for clique in cliques)
        return Universe.of(csr_array(matrix), matrix @ counts.ravel(), names if named else None)

    return build


@pytest.fixture
def rows() -> Design:
    """Build the universe of a table and any integer rows."""

    def build(matrix: object, table: object) -> Universe:
        dense = np.asarray(matrix, dtype=np.int64)
        return Universe.of(csr_array(dense), dense @ np.asarray(table, dtype=np.int64))

    return build
