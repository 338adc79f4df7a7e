"""Every sampler at the limits of size and rate up to which the plan chooses it.

The laws of sums come from Fourier inversion (sums.py), which shares nothing with the samplers. Where no such
law is at hand, E[q(z + u) / q(z)] = 1 for lattice vectors u needs no normaliser [theory, 6]. Each test states
its level by how many grid points it is one of, and rejects rates wrong by a quarter or so, from both sides.
"""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array
from tests.sampling.sums import bounded_halves, check_identity, check_sums, gaussian_sum, laplace_sum, product

from holdfast.sampling.bounded.truncated import TruncatedLaw
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.k_norm import KNormLaw
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.laplace_total import OffsetTotal, fits
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, two_way
from holdfast.universe.hull import moves as hull
from holdfast.universe.hull.norm import HullNorm

Integers = NDArray[np.int64]


def three_groups(size: int) -> Integers:
    """Two counts that share a third of the cells: the sums of the thirds are -t, t and -t."""
    groups = np.repeat(np.eye(3, dtype=np.int64), size, axis=1)
    return np.stack([groups[0] + groups[1], groups[1] + groups[2]])


def basic_moves(rows: int, columns: int, scale: int, count: int) -> Integers:
    """Return some moves that add and subtract ``scale`` at the corners of rectangles."""
    generator = np.random.default_rng(rows * columns)
    moves = np.zeros((count, rows, columns), dtype=np.int64)
    for move in moves:
        i, j = generator.choice(rows, 2, replace=False), generator.choice(columns, 2, replace=False)
        move[np.ix_(i, j)] = scale * np.array([[1, -1], [-1, 1]])
    return moves.reshape(count, -1)


OFFSETS = [
    (2, Fraction(1, 100)),
    (20, Fraction(1, 60)),
    (80, Fraction(1, 40)),
    (160, Fraction(1, 10)),
    (400, Fraction(1, 2)),
    (800, Fraction(1)),
    (2000, Fraction(1, 2)),
    (4096, Fraction(2)),
    (4096, Fraction(6)),
]


@pytest.mark.parametrize(("cells", "epsilon"), OFFSETS)
def test_cells_with_given_sums(cells: int, epsilon: Fraction) -> None:
    assert fits(cells, epsilon)
    law, rate = OffsetTotal(cells, epsilon), float(epsilon)
    whole = laplace_sum(cells, rate)
    deviation = int(np.sqrt((whole * np.arange(-whole.size // 2, whole.size // 2) ** 2).sum()))
    for s in (0, deviation + 1):
        share = whole[whole.size // 2 + s] / whole[whole.size // 2]
        heads = law.toss(np.full(20_000, s), SeededEntropy(s)).mean()
        # level: that of two coins in each grid point; a sure coin always comes up
        limit = float(stats.norm.isf(LEVEL / len(OFFSETS) / 4))
        assert abs(heads - share) <= limit * np.sqrt(share * (1 - share) / 20_000)

        def half(scale: float, s: int = s) -> NDArray[np.float64]:
            """P(t) is prop. to P(first half = t) P(second half = s - t), and both are symmetric."""
            first, second = (laplace_sum(n, scale * rate) for n in (cells // 2, cells - cells // 2))
            return product(first, np.roll(second, s))

        size = max(200, min(2000, 2_000_000 // cells))
        draws = law.draw(np.full(size, s), SeededEntropy(s + 1))
        assert (draws.sum(axis=1) == s).all()
        check_sums(draws[:, : cells // 2].sum(axis=1), half, 2 * len(OFFSETS))


@pytest.mark.parametrize(
    ("cells", "epsilon"),
    [
        (4097, Fraction(10)),
        (400_000, Fraction(100)),
        (2000, Fraction(1, 3)),
        (100, Fraction(1, 100)),
        (2, Fraction(1, 10**4)),
    ],
)
def test_sums_that_do_not_fit_a_table_are_not_tabulated(cells: int, epsilon: Fraction) -> None:
    assert not fits(cells, epsilon)


GROUPS = [
    (400, Fraction(1, 2)),
    (410, Fraction(7, 16)),
    (900, Fraction(1)),
    (1365, Fraction(2)),
    (150, Fraction(1, 8)),
    (12, Fraction(1, 40)),
]


@pytest.mark.parametrize(("size", "epsilon"), GROUPS)
def test_two_overlapping_counts(size: int, epsilon: Fraction) -> None:
    system = three_groups(size)
    law = LatticeLaplaceLaw(csr_array(system), epsilon, "l1")
    draws = law.sample(SeededEntropy(size), max(300, min(2000, 1_000_000 // size)))
    assert not (draws @ system.T).any()

    def overlap(scale: float) -> NDArray[np.float64]:
        return product(*[laplace_sum(size, scale * float(epsilon))] * 3)

    check_sums(draws[:, size : 2 * size].sum(axis=1), overlap, len(GROUPS))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1)])
def test_a_total_and_a_part_of_it_over_many_cells(epsilon: Fraction) -> None:
    system = np.ones((2, 1200), dtype=np.int64)
    system[1, 600:] = 0
    draws = LatticeLaplaceLaw(csr_array(system), epsilon, "l1").sample(SeededEntropy(1), 1000)
    quarter = partial(laplace_sum, 300)
    check_sums(
        draws[:, :300].sum(axis=1),
        lambda c: product(quarter(c * float(epsilon)), quarter(c * float(epsilon))),
        2,
    )


TOTALS = [
    (2, Fraction(1, 1000)),
    (3, Fraction(20)),
    (40, Fraction(1, 60)),
    (199, Fraction(1, 20)),
    (199, Fraction(6)),
    (200, Fraction(1, 100)),
    (5_000, Fraction(1, 20)),
    (20_000, Fraction(3)),
]


@pytest.mark.parametrize(("cells", "epsilon"), TOTALS)
def test_one_total(cells: int, epsilon: Fraction) -> None:
    law = LatticeLaplaceLaw(csr_array(np.ones((1, cells), dtype=np.int64)), epsilon, "l1")
    draws = law.sample(
        SeededEntropy(cells), 20_000 if cells < 10 else max(300, min(2000, 2_000_000 // cells))
    )
    assert not draws.sum(axis=1).any()

    def half(scale: float) -> NDArray[np.float64]:
        rate = scale * float(epsilon)
        return product(laplace_sum(cells // 2, rate), laplace_sum(cells - cells // 2, rate))

    if epsilon < 20:
        check_sums(draws[:, : cells // 2].sum(axis=1), half, len(TOTALS))
    else:
        assert not draws.any()


def test_one_total_too_wide_for_a_table() -> None:
    """At 2^-40 the law is as good as its limit: n - 1 free coordinates and a gamma norm."""
    law = LatticeLaplaceLaw(csr_array(np.ones((1, 4), dtype=np.int64)), Fraction(1, 2**40), "l1")
    norms = np.abs(law.sample(SeededEntropy(3), 2000)).sum(axis=1) / 2.0**40
    assert stats.kstest(norms, stats.gamma(3).cdf).pvalue > LEVEL
    for wrong in (0.9, 1.1):
        assert stats.kstest(norms, stats.gamma(3, scale=wrong).cdf).pvalue < LEVEL


TWO_ROWS = [(30, Fraction(1, 10**4)), (30, Fraction(1, 10)), (60, Fraction(1, 100)), (40, Fraction(2))]


@pytest.mark.parametrize(("columns", "epsilon"), TWO_ROWS)
def test_tables_of_two_rows(columns: int, epsilon: Fraction) -> None:
    """The second row is minus the first, so the first is one total at twice the rate."""
    law = LatticeLaplaceLaw(csr_array(two_way(2, columns)), epsilon, "l1")
    draws = law.sample(SeededEntropy(columns), 1500)

    def half(scale: float) -> NDArray[np.float64]:
        rate = 2 * scale * float(epsilon)
        return product(laplace_sum(columns // 2, rate), laplace_sum(columns - columns // 2, rate))

    check_sums(draws[:, : columns // 2].sum(axis=1), half, len(TWO_ROWS))


TABLES = [
    (3, 40, Fraction(1, 50), "l1"),
    (5, 8, Fraction(1, 10**4), "l1"),
    (9, 9, Fraction(1, 4), "l1"),
    (7, 12, Fraction(1, 1000), "l1"),
    (6, 6, Fraction(1), "l1"),
    (20, 20, Fraction(1, 8), "l2"),
    (4, 60, Fraction(1, 10**6), "l2"),
    (3, 4, Fraction(2), "l2"),
]


@pytest.mark.parametrize(("rows", "columns", "epsilon", "norm"), TABLES)
def test_tables_with_both_margins(rows: int, columns: int, epsilon: Fraction, norm: str) -> None:
    law = LatticeLaplaceLaw(csr_array(two_way(rows, columns)), epsilon, "l1" if norm == "l1" else "l2")
    draws = law.sample(SeededEntropy(rows), 1000)
    # about one unit of loss a move: the ratio varies, and not too much
    scale = max(1, int(1 / (2 * epsilon))) * (
        1 if norm == "l1" else max(1, int((rows * columns) ** 0.5) // 2)
    )
    check_identity(draws, basic_moves(rows, columns, scale, 100), law.log_prob, len(TABLES))


GAUSSIAN = [(2, 3.0), (1000, 0.8), (5000, 3.0), (3000, 1.0)]


@pytest.mark.parametrize(("cells", "sigma"), GAUSSIAN)
def test_a_gaussian_total(cells: int, sigma: float) -> None:
    law = LatticeGaussianLaw(csr_array(np.ones((1, cells), dtype=np.int64)), Fraction(sigma) ** 2)
    draws = law.sample(SeededEntropy(cells), 4000 if cells < 10 else max(400, min(1000, 3_000_000 // cells)))

    def half(scale: float) -> NDArray[np.float64]:
        return product(
            gaussian_sum(cells // 2, scale * sigma), gaussian_sum(cells - cells // 2, scale * sigma)
        )

    check_sums(draws[:, : cells // 2].sum(axis=1), half, len(GAUSSIAN))


@pytest.mark.parametrize("system", [np.ones((1, 300), dtype=np.int64), two_way(6, 50)])
@pytest.mark.parametrize("bits", [20, 40])
def test_a_wide_gaussian_is_as_good_as_its_limit(system: Integers, bits: int) -> None:
    """||z||^2 / sigma^2 is a chi-square variable of the lattice's dimension, up to exp(-sigma^2)."""
    dimension = system.shape[1] - system.shape[0]
    draws = LatticeGaussianLaw(csr_array(system), Fraction(4**bits)).sample(SeededEntropy(bits), 200)
    assert not (draws @ system.T).any()
    size = ((draws / 2.0**bits) ** 2).sum(axis=1)
    assert stats.kstest(size, stats.chi2(dimension).cdf).pvalue > LEVEL / 4
    for wrong in (0.9, 1.1):
        assert stats.kstest(size / wrong, stats.chi2(dimension).cdf).pvalue < LEVEL / 4


RADIAL = [
    (two_way(8, 8), 3),
    (two_way(3, 200), 20),
    (np.ones((1, 2000), dtype=np.int64), 10),
    (two_way(4, 4), 38),
]


@pytest.mark.parametrize(("system", "bits"), RADIAL)
def test_wide_l2_noise_has_a_gamma_radius(system: Integers, bits: int) -> None:
    dimension = system.shape[1] - system.shape[0]
    draws = LatticeLaplaceLaw(csr_array(system), Fraction(1, 2**bits), "l2").sample(SeededEntropy(bits), 200)
    assert not (draws @ system.T).any()
    radius = np.sqrt(((draws / 2.0**bits) ** 2).sum(axis=1))
    assert stats.kstest(radius, stats.gamma(dimension).cdf).pvalue > LEVEL / len(RADIAL)
    for wrong in (0.8, 1.25):
        assert stats.kstest(radius / wrong, stats.gamma(dimension).cdf).pvalue < LEVEL / len(RADIAL)
    assert (draws % 2).any(), "draws beyond the integers of floats would all be even"


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**15), Fraction(1, 10**18), Fraction(10**18)])
def test_rates_beyond_64_bit_integers_are_refused(norm: str, epsilon: Fraction) -> None:
    with pytest.raises(SamplingError, match=r"ask for a .* epsilon"):
        LatticeLaplaceLaw(csr_array(two_way(3, 3)), epsilon, "l1" if norm == "l1" else "l2")


def test_an_l2_radius_too_wide_for_its_many_cells_is_refused() -> None:
    system = csr_array(np.ones((1, 1_000_000), dtype=np.int64))
    with pytest.raises(SamplingError, match="ask for less noise"):
        LatticeLaplaceLaw(system, Fraction(1, 2**40), "l2").sample(SeededEntropy(0), 1)


BOUNDED = [(12, Fraction(1, 60)), (40, Fraction(1, 30)), (400, Fraction(1, 5)), (3000, Fraction(1))]


@pytest.mark.parametrize(("cells", "epsilon"), BOUNDED)
def test_one_total_within_bounds(cells: int, epsilon: Fraction) -> None:
    x = np.arange(cells) % 4 * int(2 / epsilon)
    law = TruncatedLaw(csr_array(np.ones((1, cells), dtype=np.int64)), low=-x, epsilon=epsilon)
    draws = law.sample(SeededEntropy(cells), 1500)
    assert (draws >= -x).all()
    assert not draws.sum(axis=1).any()

    halves = draws[:, : cells // 2].sum(axis=1)
    check_sums(halves, lambda scale: bounded_halves(-x, scale * float(epsilon)), len(BOUNDED))


@pytest.mark.parametrize(("size", "epsilon"), [(3, Fraction(1, 1000)), (4, Fraction(1, 4)), (5, Fraction(2))])
def test_the_norm_of_the_sensitivity_space(size: int, epsilon: Fraction) -> None:
    law = KNormLaw(csr_array(two_way(size, size)), epsilon, HullNorm(hull.basic_moves(size, size)))
    draws = law.sample(SeededEntropy(size), 300)
    moves = basic_moves(size, size, max(1, int(2 / epsilon)), 6)
    check_identity(draws, moves, law.log_prob, 3)
