"""Noise over a geography and its invariants: nested totals at several levels, alone or with crossing margins.

Small trees are enumerated; large ones are checked by E[q(z + u) / q(z)] = 1 for short u, by the law of the
sum of a part of the cells from Fourier inversion, and by every invariant with equality.
"""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from tests.sampling.sums import check_identity, check_sums, gaussian_sum, laplace_sum, product

from holdfast.lattice.components import patterns
from holdfast.lattice.rows import independent_rows
from holdfast.sampling.decisions import toss_coins
from holdfast.sampling.entropy import SeededEntropy, SystemEntropy
from holdfast.sampling.lattice import kernel_gaussian
from holdfast.sampling.lattice.cell_sums import GaussianSums
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.kernel_gaussian import KernelGaussian
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.sum_shape import crossing
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, lattice_law, p_value

Integers = NDArray[np.int64]


def sums(*codes: Integers) -> csr_array:
    """Return the independent rows of margins, each given by the level of every cell, -1 for none."""
    rows = []
    for code in codes:
        cells = np.flatnonzero(code >= 0)
        ones = np.ones(cells.size, dtype=np.int64)
        rows.append(csr_array((ones, (code[cells], cells)), shape=(int(code.max()) + 1, code.size)))
    stacked = csr_array(vstack(rows, format="csr"))
    return csr_array(stacked[independent_rows(stacked)])


STATE, COUNTY, TRACT = (
    np.zeros(7, dtype=np.int64),
    np.array([0, 0, 0, 0, 1, 1, 1]),
    np.array([0, 0, 1, 1, 2, 2, 2]),
)
SEX, LEAF = np.tile([0, 0, 1, 1], 2), np.repeat([0, 1], 4)
TREES = {
    "two levels": sums(STATE, COUNTY),
    "three levels": sums(STATE, COUNTY, TRACT),
    "the finest level first": sums(TRACT, COUNTY, STATE),
    "a total and one tract": sums(STATE, np.where(TRACT == 1, 0, -1)),
    "one county and a tract in it": sums(np.where(COUNTY == 0, 0, -1), np.where(TRACT == 0, 0, -1)),
    "counties and sex": sums(LEAF, SEX),
    "counties and sex, unequal": sums(LEAF[:7], SEX[:7]),
    "a selection that crosses": sums(COUNTY, np.where(np.isin(np.arange(7), [1, 2, 4]), 0, -1)),
}


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(4, 5)])
@pytest.mark.parametrize("name", TREES)
def test_the_gaussian_law(name: str, variance: Fraction) -> None:
    matrix = TREES[name]
    draws = LatticeGaussianLaw(matrix, variance).sample(SeededEntropy(4), 40_000)
    assert not (matrix @ draws.T).any()
    dense, rate = matrix.toarray(), 1 / (2 * float(variance))
    assert p_value(draws, lattice_law(dense, rate, "squared", 4)) > LEVEL
    if variance > Fraction(1, 2):  # standard deviations wrong by three percent
        for wrong in (0.97, 1.03):
            assert p_value(draws, lattice_law(dense, rate / wrong**2, "squared", 4)) < LEVEL


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", TREES)
def test_the_laplace_laws(name: str, norm: str) -> None:
    matrix, epsilon = TREES[name], Fraction(3)
    draws = LatticeLaplaceLaw(matrix, epsilon, "l1" if norm == "l1" else "l2").sample(
        SeededEntropy(5), 40_000
    )
    assert not (matrix @ draws.T).any()
    assert p_value(draws, lattice_law(matrix.toarray(), 3.0, norm, 3)) > LEVEL
    for wrong in (0.95, 1.05):
        assert p_value(draws, lattice_law(matrix.toarray(), 3 * wrong, norm, 3)) < LEVEL


@pytest.mark.parametrize(
    "name", ["counties and sex", "counties and sex, unequal", "a selection that crosses"]
)
def test_enclosures_decide_as_floats_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    law = LatticeGaussianLaw(TREES[name], Fraction(1, 3))
    clear = law.sample(SeededEntropy(8), 20)

    def toss(log_chance, margin, exact, entropy):  # type: ignore[no-untyped-def]
        return toss_coins(log_chance, np.ones(log_chance.size), exact, entropy)

    monkeypatch.setattr(kernel_gaussian, "toss_coins", toss)
    assert np.array_equal(law.sample(SeededEntropy(8), 20), clear)


def test_sums_without_unit_pivots_are_drawn_on_a_reduced_basis() -> None:
    matrix = csr_array(np.array([[2, 2, 3, 4]]))  # the first two cells have one column
    kinds = crossing(matrix)
    assert kinds.sizes.tolist() == [2, 1, 1]
    variance = Fraction(3, 2)
    draws = KernelGaussian(kinds, variance, GaussianSums(variance)).sample(SeededEntropy(3), 40_000)
    assert p_value(draws, lattice_law(matrix.toarray(), 1 / 3, "squared", 7)) > LEVEL
    assert p_value(draws, lattice_law(matrix.toarray(), 1 / (3 * 1.03**2), "squared", 7)) < LEVEL


def test_too_many_kinds_of_cells_are_refused() -> None:
    generator = np.random.default_rng(0)
    codes = [generator.integers(0, 40, 6000) for _ in range(3)]
    matrix = sums(*codes)
    assert patterns(matrix).count > 1500
    with pytest.raises(SamplingError, match="in other ways than whole margins do"):
        _ = LatticeGaussianLaw(matrix, Fraction(1)).plan


class Geography:
    """Leaves of 16 cells in tracts of many sizes, in counties."""

    def __init__(self, leaves: int) -> None:
        generator = np.random.default_rng(leaves)
        cut = np.sort(generator.choice(np.arange(1, leaves), leaves // 40, replace=False))
        tract_of_leaf = np.searchsorted(cut, np.arange(leaves), side="right")
        self.leaf = np.repeat(np.arange(leaves), 16)
        self.tract = tract_of_leaf[self.leaf]
        self.county = self.tract // 8
        self.state = np.zeros_like(self.leaf)
        self.kind = np.tile(np.arange(16), leaves)


LARGE = Geography(640)  # 10,240 cells


def part_of_a_tract(draws: Integers, law: "object") -> None:
    """Check the sums of a third of the largest tracts against Fourier inversion."""
    sizes = np.bincount(LARGE.tract)
    for tract in np.argsort(-sizes)[:3].tolist():
        cells = np.flatnonzero(LARGE.tract == tract)
        third = cells.size // 3

        def part(scale: float, n: int = cells.size, m: int = third) -> NDArray[np.float64]:
            return product(law(m, scale), law(n - m, scale))  # type: ignore[operator]

        check_sums(draws[:, cells[:third]].sum(axis=1), part, 6)


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(4)])
def test_nested_totals_over_many_cells_gaussian(variance: Fraction) -> None:
    matrix = sums(LARGE.state, LARGE.county, LARGE.tract)
    law = LatticeGaussianLaw(matrix, variance)
    tracts = np.bincount(LARGE.tract)
    (block,) = law.steps
    assert block.components == (tracts.size, tracts.min(), tracts.max())
    assert block.method == "total-by-halving"
    draws = law.sample(SeededEntropy(1), 600)
    assert not np.asarray(matrix @ draws.T).any()
    part_of_a_tract(draws, lambda cells, scale: gaussian_sum(cells, scale * float(variance) ** 0.5))
    check_identity(draws[:150], within_tracts(40), law.log_prob, 2)


def test_nested_totals_over_many_cells_laplace() -> None:
    matrix, epsilon = sums(LARGE.state, LARGE.county, LARGE.tract), Fraction(1, 2)
    law = LatticeLaplaceLaw(matrix, epsilon, "l1")
    draws = law.sample(SeededEntropy(2), 600)
    assert not np.asarray(matrix @ draws.T).any()
    part_of_a_tract(draws, lambda cells, scale: laplace_sum(cells, scale * 0.5))
    check_identity(draws[:150], within_tracts(40), law.log_prob, 2)


def within_tracts(count: int) -> Integers:
    """Return moves of one unit between two cells of a tract."""
    generator = np.random.default_rng(count)
    moves = np.zeros((count, LARGE.leaf.size), dtype=np.int64)
    for move in moves:
        inside = np.flatnonzero(LARGE.tract == LARGE.tract[generator.integers(LARGE.leaf.size)])
        move[generator.choice(inside, 2, replace=False)] = 1, -1
    return moves


def across_counties(count: int) -> Integers:
    """Return moves that keep the total of each county and that of each kind of cell."""
    generator = np.random.default_rng(count)
    moves = np.zeros((count, LARGE.leaf.size), dtype=np.int64)
    for move in moves:
        one, other = generator.choice(LARGE.county.max() + 1, 2, replace=False)
        kinds = generator.choice(16, 2, replace=False)
        for county, sign in ((one, 1), (other, -1)):
            leaf = generator.choice(np.unique(LARGE.leaf[LARGE.county == county]))
            move[leaf * 16 + kinds] += sign * np.array([1, -1])
    return moves


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(9)])
def test_county_totals_and_a_margin_of_the_state(variance: Fraction) -> None:
    """They cross in few sums, so that noise of any width is drawn, whatever the number of cells."""
    matrix = sums(LARGE.county, LARGE.kind)
    law = LatticeGaussianLaw(matrix, variance)
    draws = law.sample(SeededEntropy(3), 400)
    assert not np.asarray(matrix @ draws.T).any()
    check_identity(draws, across_counties(40), law.log_prob, 4)
    check_identity(draws, np.array([pair_of_one_kind(k) for k in range(40)]), law.log_prob, 4)


def pair_of_one_kind(seed: int) -> Integers:
    """Return a move between two leaves of one county, of one kind of cell."""
    generator = np.random.default_rng(seed)
    county = generator.integers(LARGE.county.max() + 1)
    leaves = generator.choice(np.unique(LARGE.leaf[LARGE.county == county]), 2, replace=False)
    move = np.zeros(LARGE.leaf.size, dtype=np.int64)
    move[leaves * 16 + generator.integers(16)] = 1, -1
    return move


def test_every_invariant_holds_over_a_hundred_thousand_cells() -> None:
    large = Geography(6_250)
    state = large.state
    for matrix in (
        sums(state, large.county, large.tract, large.leaf),
        sums(large.county, large.kind),
        sums(large.tract, large.county * 16 + large.kind),
    ):
        draw = LatticeGaussianLaw(matrix, Fraction(1)).sample(SystemEntropy(), 1)[0]
        assert draw.any()
        assert (np.asarray(matrix @ draw) == 0).all()
    matrix = sums(state, large.county, large.tract)
    draw = LatticeLaplaceLaw(matrix, Fraction(1, 4), "l1").sample(SystemEntropy(), 1)[0]
    assert draw.any()
    assert (np.asarray(matrix @ draw) == 0).all()
