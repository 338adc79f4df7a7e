"""Half of the cells at a time: the enumerated law, given sums, and totals over a million cells."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.sampling.sums import check_sums, gaussian_sum, laplace_sum, product

from holdfast.sampling.entropy import SeededEntropy, SystemEntropy
from holdfast.sampling.lattice import cell_sums
from holdfast.sampling.lattice.by_halves import ByHalves, given_sums
from holdfast.sampling.lattice.cell_sums import CellSums, GaussianSums, LaplaceSums
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, p_value

GAUSSIAN, LAPLACE = GaussianSums(Fraction(3, 2)), LaplaceSums(Fraction(5, 4))
NARROW = GaussianSums(Fraction(1, 3))


def enumerated(law: CellSums, cells: int, total: int, wrong: float = 1.0) -> dict[tuple[int, ...], float]:
    """Return the law of cells with a given sum, of a rate that is wrong by a factor."""
    reach = 12
    grid = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * (cells - 1), indexing="ij"), axis=-1)
    free = grid.reshape(-1, cells - 1)
    points = np.column_stack([free, total - free.sum(axis=1)])
    if isinstance(law, LaplaceSums):
        weight = np.exp(-1.25 * wrong * np.abs(points).sum(axis=1))
    else:
        weight = np.exp(-wrong * (points**2).sum(axis=1) / (3 if law is GAUSSIAN else 2 / 3))
    return dict(zip(map(tuple, points.tolist()), (weight / weight.sum()).tolist(), strict=True))


@pytest.mark.parametrize("law", [GAUSSIAN, NARROW, LAPLACE], ids=["gaussian", "narrow", "laplace"])
@pytest.mark.parametrize(("cells", "total"), [(2, 0), (3, 0), (4, 0), (2, 3), (3, -4), (4, 5)])
def test_cells_with_a_given_sum_have_their_law(law: CellSums, cells: int, total: int) -> None:
    size = 40_000
    drawn = given_sums(np.full(size, total), np.full(size, cells), law, SeededEntropy(cells))
    draws = drawn.reshape(size, cells)
    assert (draws.sum(axis=1) == total).all()
    assert p_value(draws, enumerated(law, cells, total)) > LEVEL
    if law is not NARROW and cells > 2:
        for wrong in (0.94, 1.06):
            assert p_value(draws, enumerated(law, cells, total, wrong)) < LEVEL


@pytest.mark.parametrize("law", [GAUSSIAN, LAPLACE], ids=["gaussian", "laplace"])
def test_enclosures_decide_as_floats_do(law: CellSums, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.sampling.lattice.by_halves.TOGETHER", 1)  # no try in vain
    sampler = ByHalves(np.array([9, 3]), law)
    clear = sampler.sample(SeededEntropy(6), 3)
    monkeypatch.setattr(cell_sums, "BAND", 2.0)
    assert np.array_equal(sampler.sample(SeededEntropy(6), 3), clear)


@pytest.mark.parametrize("law", [GAUSSIAN, LAPLACE], ids=["gaussian", "laplace"])
def test_totals_of_different_sizes_are_drawn_apart(law: CellSums) -> None:
    draws = ByHalves(np.array([3, 1, 2, 3]), law).sample(SeededEntropy(1), 40_000)
    parts = np.split(draws, [3, 4, 6], axis=1)
    assert not any(part.sum(axis=1).any() for part in parts)
    for part in (parts[0], parts[2], parts[3]):
        assert p_value(part, enumerated(law, part.shape[1], 0)) > LEVEL
    # independent blocks: the first cells of two of them have no covariance (level: 4.5 standard errors)
    one, other = parts[0][:, 0].astype(float), parts[3][:, 0].astype(float)
    assert abs((one * other).mean()) < 4.5 * one.std() * other.std() / 200


def test_rows_are_drawn_in_several_goes_with_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.sampling.lattice.by_halves.AT_ONCE", 700)
    draws = ByHalves(np.array([3]), GAUSSIAN).sample(SeededEntropy(2), 20_000)
    assert p_value(draws, enumerated(GAUSSIAN, 3, 0)) > LEVEL


LARGE = [
    (1000, Fraction(1, 4)),
    (1001, Fraction(4)),
    (6_000, Fraction(1)),
    (6_000, Fraction(1, 8)),
    (1_000, Fraction(10**6)),
]


@pytest.mark.parametrize(("cells", "variance"), LARGE)
def test_the_sum_of_a_part_of_a_large_gaussian_total(cells: int, variance: Fraction) -> None:
    draws = ByHalves(np.array([cells]), GaussianSums(variance)).sample(SeededEntropy(cells), 600)
    assert not draws.sum(axis=1).any()
    third = cells // 3  # no half of the sampler

    def part(scale: float) -> NDArray[np.float64]:
        sigma = scale * float(variance) ** 0.5
        return product(gaussian_sum(third, sigma), gaussian_sum(cells - third, sigma))

    for some in (slice(third), slice(cells - third, None)):
        check_sums(draws[:, some].sum(axis=1), part, 2 * len(LARGE))


WIDE = [(2_000, Fraction(1)), (2_000, Fraction(1, 100)), (6_000, Fraction(1, 4)), (60, Fraction(1, 10**6))]


@pytest.mark.parametrize(("cells", "epsilon"), WIDE)
def test_the_sum_of_a_part_of_a_large_laplace_total(cells: int, epsilon: Fraction) -> None:
    draws = ByHalves(np.array([cells]), LaplaceSums(epsilon)).sample(SeededEntropy(cells), 600)
    assert not draws.sum(axis=1).any()
    third = cells // 3
    # sums of very wide cells are told in units of many: their law is as good as one of a wider grid
    unit = max(1, int(1 / (100 * epsilon)))

    def part(scale: float) -> NDArray[np.float64]:
        rate = scale * float(epsilon) * unit
        return product(laplace_sum(third, rate), laplace_sum(cells - third, rate))

    check_sums(np.rint(draws[:, :third].sum(axis=1) / unit).astype(np.int64), part, len(WIDE))


@pytest.mark.parametrize(
    "law",
    [
        GaussianSums(Fraction(1)),
        GaussianSums(Fraction(1, 50)),
        GaussianSums(Fraction(1 << 40)),
        LaplaceSums(Fraction(1, 4)),
        LaplaceSums(Fraction(10)),
        LaplaceSums(Fraction(1, 1 << 20)),
    ],
)
def test_a_total_over_more_than_a_million_cells(law: CellSums) -> None:
    cells = 1_584_672
    draw = ByHalves(np.array([cells]), law).sample(SystemEntropy(), 1)[0]
    assert draw.sum() == 0
    once = law.cell.sample(SeededEntropy(0), 100_000).astype(float)
    # free cells and those under one large total are alike (level: 5 standard errors, and rare noise is rare)
    truth, spread = (once**2).mean(), (once**2).std() / once.size**0.5
    assert abs((draw.astype(float) ** 2).mean() - truth) < 5 * spread + 1e-4


def test_noise_that_is_too_wide_for_64_bits_is_refused() -> None:
    with pytest.raises(SamplingError, match="ask for less noise"):
        ByHalves(np.array([10**8]), GaussianSums(Fraction(1 << 80)))
