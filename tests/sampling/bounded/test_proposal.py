"""Proposals of counts with totals: moments under orders, tilts that meet totals, and pivots."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.bounded.losses import SumLoss
from holdfast.sampling.bounded.proposal import CellWeights, CountProposal, DrawOrder, pivots_of, tilts_for
from holdfast.sampling.bounded.separable import SeparableLaw
from holdfast.sampling.bounded.totals import Totals
from holdfast.sampling.entropy import SeededEntropy

ONE = Fraction(1)
CENTRE = np.array([9, 6, 3, 3])
ROWS = np.array([[1, -1, 0, 0], [0, 0, 1, -1]])


def ordered(high: int | None = None) -> Totals:
    """Cases and deaths of two counties, with both totals."""
    matrix = np.array([[1, 0, 1, 0], [0, 1, 0, 1]])
    found = Totals.of(
        csr_array(matrix), matrix @ CENTRE, low=[0] * 4, high=[high] * 4, rows=ROWS, least=np.zeros(2, int)
    )
    assert found is not None
    return found


def weights_of(centre: IntArray) -> CellWeights:
    return CellWeights(tuple(centre.tolist()), (ONE,) * centre.size, (Fraction(1, 2),) * centre.size)


def test_moments_are_those_of_all_counts_that_keep_their_orders() -> None:
    """Means, variances and covariances, and how often orders are kept by chance, against a list."""
    totals = ordered()
    tilts = np.array([0.125, -0.25])
    found = CountProposal(DrawOrder.of(totals, ()), weights_of(CENTRE), tilts).moments
    points = np.array(list(product(*(range(int(h or 0) + 1) for h in totals.high))))
    z = points - CENTRE
    logs = -0.5 * np.abs(z).sum(axis=1) + z @ np.array([0.125, -0.25, 0.125, -0.25])
    weights = np.exp(logs - logs.max())
    inside = (points @ ROWS.T >= 0).all(axis=1)
    kept = weights[inside] / weights[inside].sum()
    mean = kept @ points[inside]
    assert np.allclose(found.mean, mean, rtol=1e-6)
    covariance = np.einsum("i,ij,ik->jk", kept, points[inside] - mean, points[inside] - mean)
    assert np.allclose(found.variance, np.diag(covariance), rtol=1e-6)
    ties = {(one, other): 0.0 for one, other, _ in found.ties}
    for one, other, value in found.ties:
        ties[one, other] += value
    assert ties == {(0, 1): pytest.approx(covariance[0, 1] + covariance[2, 3], rel=1e-6)}
    first = points[:, 0] >= points[:, 1]
    assert abs(found.kept[1] - weights[first].sum() / weights.sum()) < 1e-6


def test_tilts_meet_the_totals_where_orders_bind() -> None:
    """Deaths are most of the cases, more than they would be alone in some counties."""
    rng = np.random.default_rng(3)
    cases = rng.integers(0, 400, 40)
    deaths = cases * rng.integers(4, 9, 40) // 10
    centre = np.stack([cases, deaths], axis=1).ravel()
    matrix = np.tile(np.eye(2, dtype=np.int64), 40)
    rows = np.zeros((40, 80), dtype=np.int64)
    rows[np.arange(40), 2 * np.arange(40)], rows[np.arange(40), 2 * np.arange(40) + 1] = 1, -1
    totals = Totals.of(csr_array(matrix), matrix @ centre, low=[0] * 80, rows=rows, least=np.zeros(40, int))
    assert totals is not None
    weights = CellWeights(tuple(centre.tolist()), (ONE,) * 80, (Fraction(1, 50),) * 80)
    _, moments = tilts_for(totals, weights, np.zeros(2))
    for number in range(2):
        cells = totals.members(number)
        spread = moments.variance[cells].sum() ** 0.5
        assert abs(moments.mean[cells].sum() - totals.sums[number]) < spread
    assert all(totals.group[pivot] == number for number, pivot in enumerate(pivots_of(totals, moments)))
    law = SeparableLaw(totals, centre, SumLoss(Fraction(1, 50)))
    assert law.acceptance > 1e-3
    drawn = law.sample(SeededEntropy(1), 20)
    assert totals.inside(drawn).all()


def test_a_pivot_is_not_where_its_order_is_hardly_ever_kept() -> None:
    """Of two deaths the one that varies more is tied to few cases: the other makes up the total."""
    centre = np.array([200, 20, 20, 20])
    matrix = np.array([[1, 0, 1, 0], [0, 1, 0, 1]])
    totals = Totals.of(
        csr_array(matrix), matrix @ centre, low=[0] * 4, rows=ROWS, least=np.zeros(2, dtype=np.int64)
    )
    assert totals is not None
    pseudo = (Fraction(100), ONE, Fraction(1, 10), ONE)
    weights = CellWeights(tuple(centre.tolist()), pseudo, (Fraction(1, 100),) * 4)
    _, moments = tilts_for(totals, weights, np.zeros(2))
    assert moments.kept[3] < moments.kept[1]
    assert pivots_of(totals, moments)[1] == 1
