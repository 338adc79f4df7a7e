from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from holdfast.lattice.anchors import Anchors, NoAnchorsError, anchors
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.kernel import integer_kernel, to_flint
from holdfast.lattice.product import AxisMargins
from holdfast.lattice.rows import independent_rows


def margin(shape: tuple[int, ...], axes: tuple[int, ...]) -> csr_array:
    codes = np.indices(shape).reshape(len(shape), -1)
    sizes = [shape[axis] for axis in axes]
    place = np.ravel_multi_index([codes[axis] for axis in axes], sizes) if axes else np.zeros_like(codes[0])
    entries = np.ones(place.size, dtype=np.int64), (place, np.arange(place.size))
    return csr_array(entries, shape=(int(np.prod(sizes)), place.size))


def independent(rows: csr_array | IntArray) -> csr_array:
    every = csr_array(rows)
    return csr_array(every[independent_rows(every)])


def require_right(matrix: csr_array, found: Anchors) -> None:
    """Anchors and free cells span the kernel over the integers: N is whole, and nothing is missing."""
    cells, rank = matrix.shape[1], matrix.shape[0]
    assert np.array_equal(np.sort(np.concatenate([found.cells, found.free])), np.arange(cells))
    assert found.cells.size == rank
    basis = np.zeros((found.free.size, cells), dtype=np.int64)
    basis[:, found.free] = np.eye(found.free.size, dtype=np.int64)
    basis[:, found.cells] = -found.closing.toarray().T
    assert not (matrix @ basis.T).any()
    kernel = integer_kernel(matrix.toarray())
    assert kernel.shape == basis.shape  # and any kernel vector is a whole combination, by its free cells
    if kernel.size:
        assert abs(int(to_flint(kernel[:, found.free]).det())) == 1


MARGINS = [
    ((4,), [()]),
    ((2, 2), [(0,), (1,)]),
    ((3, 4), [(0,), (1,)]),
    ((3, 2, 2), [(0,), (0, 1)]),
    ((2, 3, 2), [(0, 1), (1, 2)]),
    ((2, 3, 2), [(0,), (1,), (2,)]),
    ((3, 2, 3), [(0, 1), (1, 2), (0, 2)]),
    ((2, 2, 2, 3), [(0, 1), (1, 2), (2, 3), (0, 3)]),
    ((3, 3, 2), [(0, 1), (2,)]),
]


@pytest.mark.parametrize(("shape", "sets"), MARGINS, ids=str)
@pytest.mark.parametrize("known", [True, False])
def test_anchors_of_margins_span_the_lattice(
    shape: tuple[int, ...], sets: list[tuple[int, ...]], known: bool
) -> None:
    matrix = independent(vstack([margin(shape, axes) for axes in sets]))
    weight = np.random.default_rng(0).random(matrix.shape[1])
    axes = AxisMargins(shape, tuple(map(frozenset, sets))) if known else None
    require_right(matrix, anchors(matrix, weight, axes))


def test_structural_zeros_and_nested_totals_beside_a_margin() -> None:
    """Rows of two families, some of whose cells are in one of them or in none."""
    generator = np.random.default_rng(1)
    for _ in range(30):
        rows, columns = margin((5, 6), (0,)).toarray(), margin((5, 6), (1,)).toarray()
        outer = rows[:2].sum(axis=0, keepdims=True)
        cells = generator.random(30) < 0.7
        some = np.vstack([rows, outer, columns[: generator.integers(1, 7)]])[:, cells]
        matrix = independent(some[some.any(axis=1)])
        require_right(matrix, anchors(matrix, generator.random(matrix.shape[1])))


def test_a_forest_is_a_basis_of_largest_weight() -> None:
    matrix = independent(vstack([margin((2, 3), (0,)), margin((2, 3), (1,))]))
    for weight in np.random.default_rng(2).random((20, 6)):
        found = anchors(matrix, weight)
        bases = (
            np.flatnonzero(some)
            for some in product((0, 1), repeat=6)
            if sum(some) == matrix.shape[0]
            and np.linalg.matrix_rank(matrix.toarray()[:, np.flatnonzero(some)]) == matrix.shape[0]
        )
        assert weight[found.cells].sum() == pytest.approx(max(weight[basis].sum() for basis in bases))


def test_weights_are_closed_by_elimination_or_refused() -> None:
    for row in ((1, 2, 1), (2, 2, 2), (0, 2, 3)):
        matrix = independent(np.array([[1, 1, 1], row], dtype=np.int64))
        require_right(matrix, anchors(matrix, np.arange(3.0)))
    with pytest.raises(NoAnchorsError, match="in whole numbers"):
        anchors(independent(np.array([[1, 1, 1], [0, 2, 5]])), np.arange(3.0))


def test_what_anchors_mirror_bounds_what_free_cells_move() -> None:
    """||u_J||_1 <= ||u||_1 / (1 + c) for all u of the lattice, and some u has it in 2 x k tables."""
    for shape, c in (((2, 2), 3), ((2, 4), 1), ((3, 3), 0)):
        matrix = independent(vstack([margin(shape, (0,)), margin(shape, (1,))]))
        found = anchors(matrix, np.arange(float(np.prod(shape))))
        assert found.mirrored == c
        free = np.array(list(product((-1, 0, 1), repeat=found.free.size)), dtype=np.int64)
        sizes = np.abs(free).sum(axis=1)
        every = sizes + np.abs(found.closing @ free.T).sum(axis=0)
        assert ((1 + c) * sizes <= every).all()
        assert ((1 + c) * sizes == every)[sizes > 0].any()
