"""Halving every axis: the coordinates are those of the lattice, and the law is the enumerated one."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.lattice.product import AxisMargins
from holdfast.lattice.rows import independent_rows
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.grid import HalvedAxis, HalvedGrid, grid_of
from holdfast.sampling.lattice.klein import log_acceptance, log_chance
from holdfast.sampling.lattice.laplace import CrossingsError, LatticeLaplaceLaw
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, lattice_law, p_value, two_way

Sets = list[frozenset[int]]


def grid(shape: tuple[int, ...], kept: Sets, group: int) -> HalvedGrid:
    axes = tuple(HalvedAxis(np.ones(size, dtype=np.int64), group) for size in shape)
    return HalvedGrid(axes, kept, np.arange(int(np.prod(shape))))


@pytest.mark.parametrize("group", [1, 3, 8])
@pytest.mark.parametrize(
    ("shape", "kept", "free"),
    [
        ((5, 4), [{0}, {1}], 12),
        ((5, 4, 3), [{0}, {1}, {2}], 60 - 1 - 4 - 3 - 2),
        ((5, 4, 3), [{0, 1}, {1, 2}, {0, 2}], 4 * 3 * 2),
        ((5, 4, 3), [{0, 1}, {2}], 60 - 20 - 2),
        ((5, 4, 3), [{0}, {1}], 60 - 8),
        ((2, 3, 2, 2), [{0, 1}, {1, 2}, {2, 3}], 24 - 6 - 3 - 2),
    ],
)
def test_any_margins_are_kept_and_the_form_is_the_sum_of_squares(
    shape: tuple[int, ...], kept: list[set[int]], free: int, group: int
) -> None:
    sets = [frozenset(axes) for axes in kept]
    sampler, sigma = grid(shape, sets, group), 3.0
    draws, proposal = sampler.propose(np.full(50, sigma), SeededEntropy(2))
    assert proposal.coordinates.shape[1] == free
    assert np.allclose(proposal.widths[0], sampler.shapes * sigma, rtol=1e-14)
    tables = draws.reshape(50, *shape)
    for axes in sets:
        assert not tables.sum(axis=tuple(1 + k for k in range(len(shape)) if k not in axes)).any()
    exponent = (draws.astype(np.float64) ** 2).sum(axis=1) / (2 * sigma**2)
    assert np.allclose(exponent, proposal.squares, rtol=1e-9)
    chance, _ = log_chance(proposal, exponent)
    assert chance.mean() == pytest.approx(log_acceptance(sampler.shapes, sigma), abs=0.02)


def features(shape: tuple[int, ...], copies: tuple[int, ...] = ()) -> csr_array:
    """Return the independent rows of one-way margins, levels of the first axis with so many cells each."""
    cells = [cell for cell in product(*map(range, shape)) for _ in range(copies[cell[0]] if copies else 1)]
    rows = [
        [int(cell[k] == level) for cell in cells] for k, size in enumerate(shape) for level in range(size)
    ]
    matrix = csr_array(np.array(rows))
    return csr_array(matrix[independent_rows(matrix)])


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(3, 2)])
@pytest.mark.parametrize(
    "system",
    [features((2, 3)), features((2, 2, 2)), features((2, 2), (1, 2)), features((3, 3))],
    ids=["2 x 3", "2 x 2 x 2", "unequal cells", "3 x 3"],
)
def test_the_law(system: csr_array, variance: Fraction) -> None:
    assert grid_of(system, 1.0) is not None
    draws = LatticeGaussianLaw(system, variance).sample(SeededEntropy(5), 40_000)
    assert not (system @ draws.T).any()
    matrix, rate = system.toarray(), 1 / (2 * float(variance))
    assert p_value(draws, lattice_law(matrix, rate, "squared", 7)) > LEVEL
    if variance > 1:
        assert p_value(draws, lattice_law(matrix, rate / 1.03**2, "squared", 7)) < LEVEL


def test_what_is_no_product_is_left_to_others() -> None:
    assert grid_of(csr_array(np.array([[1, 2, 1, 0], [1, 1, 1, 1]])), 1.0) is None
    zeros = two_way(3, 3)[:, 1:]  # a cell that cannot occur
    assert grid_of(csr_array(zeros), 1.0) is None
    odd = features((2, 2), (1, 2)).toarray()[:, 1:]  # one cell less: sizes 0, 1, 2, 2
    assert grid_of(csr_array(odd), 1.0) is None


@pytest.mark.parametrize("norm", ["l2", "gaussian"])
def test_a_large_table_is_drawn(norm: str) -> None:
    rows, columns = 300, 46
    cells = np.arange(rows * columns)
    ones = np.ones(cells.size, dtype=np.int64)
    matrix = csr_array(
        (np.tile(ones, 2), (np.concatenate([cells // columns, rows + cells % columns]), np.tile(cells, 2)))
    )
    matrix = csr_array(matrix[:-1])
    law = (
        LatticeLaplaceLaw(matrix, Fraction(1), "l2")
        if norm == "l2"
        else LatticeGaussianLaw(matrix, Fraction(4))
    )
    draw = law.sample(SeededEntropy(1), 1)
    assert not np.asarray(matrix @ draw.T).any()
    if norm == "gaussian":
        assert np.var(draw) == pytest.approx(4 * 299 * 45 / cells.size, rel=0.05)
    with pytest.raises(CrossingsError, match="noise of the l1 norm is drawn exactly for tables of about"):
        _ = LatticeLaplaceLaw(matrix, Fraction(1), "l1").plan


def test_nested_totals_are_blocks_of_their_own() -> None:
    total, adults = np.ones(9000, dtype=np.int64), (np.arange(9000) > 4000).astype(np.int64)
    matrix = csr_array(np.stack([total, adults]))
    law = LatticeGaussianLaw(matrix, Fraction(4))
    assert [block.cells.shape for block in law.plan.blocks] == [(1, 4001), (1, 4999)]
    assert not (matrix @ law.sample(SeededEntropy(1), 3).T).any()


def test_margins_that_are_no_product_are_drawn_where_their_axes_are_known() -> None:
    sets = [(0, 1), (1, 2), (0, 2)]
    small, large = (2, 2, 3), (12, 10, 15)
    for shape in (small, large):
        index = np.indices(shape).reshape(3, -1)
        rows = []
        for axes in sets:
            code = np.ravel_multi_index(
                tuple(index[k] for k in sorted(axes)), [shape[k] for k in sorted(axes)]
            )
            rows.append(np.arange(code.max() + 1)[:, None] == code)
        matrix = csr_array(np.concatenate(rows).astype(np.int64))
        matrix = csr_array(matrix[independent_rows(matrix)])
        margins = AxisMargins(shape, tuple(frozenset(axes) for axes in sets))
        law = LatticeGaussianLaw(matrix, Fraction(3, 2), margins)
        draws = law.sample(SeededEntropy(4), 40_000 if shape == small else 2)
        assert not np.asarray(matrix @ draws.T).any()
        assert draws.any()
        if shape == small:
            expected = lattice_law(matrix.toarray(), 1 / 3, "squared", 7)
            assert p_value(draws, expected) > LEVEL
        else:
            with pytest.raises(SamplingError, match="whole margins"):
                _ = LatticeGaussianLaw(matrix, Fraction(3, 2)).plan
