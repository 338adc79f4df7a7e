import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lattice.kernel import solve_in_order
from holdfast.testing.goodness import two_way


@given(rows=st.integers(2, 4), columns=st.integers(2, 4), seed=st.integers(0, 10**6))
def test_closing_cells_follow_from_the_free_ones(rows: int, columns: int, seed: int) -> None:
    system = two_way(rows, columns)
    generator = np.random.default_rng(seed)
    orders = np.stack([generator.permutation(system.shape[1]) for _ in range(3)])
    solved = solve_in_order(system, orders)
    assert solved is not None
    for order, closing, free, matrix in zip(orders, *solved, strict=True):
        z = np.zeros(system.shape[1], dtype=np.int64)
        z[free] = generator.integers(-9, 10, free.size)
        z[closing] = -matrix.astype(np.int64) @ z[free]
        assert not (system @ z).any()
        # greedy: the closing cells are the first independent ones of the order
        place = np.argsort(order)
        for cell in free:
            before = closing[place[closing] < place[cell]]
            rank = np.linalg.matrix_rank(system[:, before]) if before.size else 0
            assert np.linalg.matrix_rank(system[:, [*before, cell]]) == rank
        assert np.all(np.diff(place[free]) > 0)


def test_pivots_other_than_one_are_not_taken() -> None:
    assert solve_in_order(np.array([[2, 3, 4]]), np.array([[0, 1, 2]])) is None
    solved = solve_in_order(np.array([[2, 1, 4]]), np.array([[0, 1, 2]]))
    assert solved is not None
    assert solved.closing.tolist() == [[1]]
