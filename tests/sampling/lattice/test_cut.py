"""Draws within a bound follow the law that is cut off, and no other."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.points import lattice_points
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.cut import CutLaw
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.testing.goodness import LEVEL, p_value, two_way

DRAWS = 20_000
ROW = np.ones((1, 3), dtype=np.int64)


def exact(law: CutLaw, matrix: IntArray, bound: int) -> dict[tuple[int, ...], float]:
    """Return the law by its list."""
    points = lattice_points(matrix, bound)
    weights = np.exp(law.log_prob(points))
    return dict(zip(map(tuple, points.tolist()), (weights / weights.sum()).tolist(), strict=True))


@pytest.mark.parametrize("bound", [1, 2, 4])
@pytest.mark.parametrize(
    "matrix", [ROW, two_way(2, 2), np.zeros((0, 2), dtype=np.int64)], ids=["total", "margins", "free"]
)
@pytest.mark.parametrize("kind", ["gaussian", "l1", "l2"])
def test_draws_follow_the_law(kind: str, matrix: IntArray, bound: int) -> None:
    system = csr_array(matrix)
    if kind == "gaussian":
        whole = LatticeGaussianLaw(system, Fraction(20))
    else:
        whole = LatticeLaplaceLaw(system, Fraction(1, 5), "l1" if kind == "l1" else "l2")  # type: ignore[assignment]
    law = CutLaw(whole, bound, [0.05] * len(whole.plan.blocks))
    draws = law.sample(SeededEntropy(5), DRAWS)
    assert int(np.abs(draws).max()) == bound
    assert p_value(draws, exact(law, matrix, bound)) > LEVEL
    if bound > 1:
        other = CutLaw(whole, bound - 1, [0.05] * len(whole.plan.blocks))
        assert p_value(draws, exact(other, matrix, bound)) < LEVEL / 1000


def test_totals_of_many_sizes_are_inside_one_by_one() -> None:
    """Their components share one row, and each is drawn until it is inside."""
    sizes = list(range(2, 14))
    matrix = csr_array(block_diag([np.ones((1, size), dtype=np.int64) for size in sizes], format="csr"))
    whole = LatticeGaussianLaw(matrix, Fraction(4))
    law = CutLaw(whole, 3, [0.1] * len(whole.plan.blocks))
    assert whole.plan.blocks[0].sizes is not None
    draws = law.sample(SeededEntropy(6), DRAWS)
    assert int(np.abs(draws).max()) == 3
    assert not (matrix @ draws.T).any()
    first = next(place for place in range(matrix.shape[1]) if matrix[0, place])
    pair = draws[:, [first, first + 1]]
    small = CutLaw(LatticeGaussianLaw(csr_array(np.ones((1, 2), dtype=np.int64)), Fraction(4)), 3, [0.1])
    assert p_value(pair, exact(small, np.ones((1, 2), dtype=np.int64), 3)) > LEVEL
