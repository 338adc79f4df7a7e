from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.universe import sensitivity as module
from holdfast.universe.sensitivity import Sensitivity, sensitivity
from holdfast.universe.universe import Universe

Design = Callable[..., Universe]

DEMO = [[15, 1, 3, 1], [20, 10, 10, 15], [3, 10, 10, 2], [12, 14, 7, 2]]
TWO_WAY = [(0,), (1,)]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("table", "cliques", "adjacency", "norms"),
    [
        (DEMO, TWO_WAY, 3, (6, 6, 1)),
        (np.eye(3), TWO_WAY, 3, (6, 6, 1)),
        (np.full((2, 5), 2), TWO_WAY, 3, (4, 4, 1)),
        (np.full((2, 3), 2), [(0,)], 2, (4, 8, 2)),
        (np.eye(3), [(0,)], 2, (4, 4, 1)),
        ([4, 3, 2], [()], 1, (2, 2, 1)),
        (DEMO, TWO_WAY, 0, (0, 0, 0)),
        (DEMO, [(0, 1)], 3, (0, 0, 0)),
        (np.full((3, 3), 4), TWO_WAY, 4, (8, 16, 2)),
    ],
)
def test_known_values(
    margins: Design,
    table: object,
    cliques: object,
    adjacency: int,
    norms: tuple[int, int, int],
    *,
    named: bool,
) -> None:
    found = sensitivity(margins(table, cliques, named=named), adjacency)
    assert found == Sensitivity(*norms, exact=True)


designs = st.tuples(st.integers(1, 3), st.integers(2, 5)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.sampled_from([0, 0, 1, 1, 2])),
        arrays(np.int64, shape[1], elements=st.integers(0, 2)),
    )
)


@settings(max_examples=60, deadline=None)
@given(designs, st.integers(1, 4), st.booleans())
def test_any_rows_against_the_definition(
    design: tuple[IntArray, IntArray], adjacency: int, with_total: bool
) -> None:
    matrix, table = design
    if with_total or not matrix.any(axis=0).all():
        matrix = np.vstack([matrix, np.ones(table.size, dtype=np.int64)])
    while table.sum() > 5:  # keep the enumeration small
        table[np.argmax(table)] -= 1
    values = matrix @ table
    most = max(
        min(values[r] // matrix[r, j] for r in range(len(values)) if matrix[r, j]) for j in range(table.size)
    )
    grid = np.array(list(product(range(most + 1), repeat=table.size)))
    tables = grid[(grid @ matrix.T == values).all(axis=1)]
    u = (tables[:, None] - tables[None]).reshape(-1, table.size)
    u = u[(u.sum(axis=1) == 0) & (np.abs(u).sum(axis=1) <= 2 * adjacency)]
    expected = Sensitivity(
        int(np.abs(u).sum(axis=1).max()),
        int((u**2).sum(axis=1).max()),
        int(np.abs(u).max()),
        exact=True,
    )
    assert sensitivity(Universe.of(csr_array(matrix), values), adjacency) == expected


def test_beyond_reach_bounds_are_returned(margins: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLASSES", 0)
    monkeypatch.setattr(module, "UNARY", 0)
    found = sensitivity(margins(np.full((3, 3), 4), TWO_WAY, named=False), 4)
    assert found == Sensitivity(8, 32, 4, exact=False)
