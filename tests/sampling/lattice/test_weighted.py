"""Weighted queries: the coordinates give the form, and draws follow the enumerated law and no other."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from holdfast.lattice.forms import Form
from holdfast.lattice.margins import LevelledAxis, MarginStrategy, Reading
from holdfast.lattice.points import lattice_points
from holdfast.lattice.rows import independent_rows
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice import gaussian
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.klein import log_acceptance, log_chance
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.weighted import DenseForm, WeightedGrid, kernel_basis
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, p_value

Measured = dict[Reading, str | int]


def strategy(axes: tuple[LevelledAxis, ...], kept: list[Reading], measured: Measured) -> MarginStrategy:
    return MarginStrategy(axes, tuple(kept), tuple((r, Fraction(c)) for r, c in measured.items()))


def plain(*shape: int) -> tuple[LevelledAxis, ...]:
    return tuple(LevelledAxis(size, (np.arange(size),) if size > 1 else ()) for size in shape)


def tree(*parts: list[int]) -> LevelledAxis:
    found = LevelledAxis.of(len(parts[0]), [np.array(part) for part in parts])
    assert found is not None
    return found


def kept_rows(margins: MarginStrategy) -> csr_array:
    cells = int(np.prod(margins.shape))
    rows = [csr_array((0, cells), dtype=np.int64), *map(margins.rows, margins.kept)]
    matrix = csr_array(vstack(rows, format="csr"))
    return csr_array(matrix[independent_rows(matrix)])


GEOGRAPHY = tree([0, 1, 1, 1, 0, 2, 2], [0, 1, 1, 2, 0, 3, 3])
"""Seven blocks in four tracts in three counties, not in order and of unequal sizes."""


@pytest.mark.parametrize("group", [1, 3, 8, None])
@pytest.mark.parametrize(
    "margins",
    [
        strategy(plain(5, 4), [(0, 0)], {(1, 1): "1/3", (1, 0): 2, (0, 1): "1/7"}),
        strategy(plain(5, 4), [(1, 0), (0, 1)], {(1, 1): "1/3", (1, 0): 2}),
        strategy(plain(5, 4, 3), [(1, 0, 0)], {(1, 1, 1): 1, (0, 1, 1): 3, (0, 0, 1): 5, (0, 0, 0): 1}),
        strategy(plain(5, 4, 3), [(1, 1, 0), (0, 0, 1)], {(1, 1, 1): 1, (1, 0, 1): 3}),
        strategy(plain(5, 1, 3), [], {(1, 0, 1): 1, (1, 0, 0): 3, (0, 0, 0): 2}),
        strategy(plain(9), [(0,)], {(1,): "2/3"}),
        strategy((GEOGRAPHY, *plain(3)), [], {(3, 1): 1, (2, 1): 2, (1, 0): 3, (0, 1): "1/2", (0, 0): 7}),
        strategy((GEOGRAPHY, *plain(3)), [(1, 0)], {(3, 1): 1, (2, 1): 2, (2, 0): 3, (0, 1): "1/2"}),
        strategy((GEOGRAPHY, *plain(3)), [(2, 1)], {(3, 1): 1, (3, 0): 4}),
        strategy((*plain(2), GEOGRAPHY, *plain(3)), [(1, 1, 0), (0, 0, 1)], {(1, 3, 1): 1, (1, 1, 1): 2}),
    ],
)
def test_coordinates_give_the_form_and_keep_the_margins(margins: MarginStrategy, group: int | None) -> None:
    form, matrix, sigma = Form.of(margins), kept_rows(margins), 3.0
    assert form.measures(matrix)
    for shape in (WeightedGrid(margins, group), DenseForm(matrix, form)):
        proposed, proposal = shape.propose(np.full(50, sigma), SeededEntropy(2))
        assert proposal.coordinates.shape[1] == matrix.shape[1] - matrix.shape[0]
        assert not (matrix @ proposed.T).any()
        assert np.allclose(proposal.widths[0], shape.shapes * sigma, rtol=1e-14)
        exponent = form.squares(proposed) / (2 * sigma**2)
        dense = isinstance(shape, DenseForm)  # whose widths are stretched by what rounding may do
        assert np.allclose(exponent, proposal.squares, rtol=1e-4 if dense else 1e-9)
        assert exponent[0] == pytest.approx(float(form.exact(proposed[0])) / (2 * sigma**2), rel=1e-14)
        log_chance(proposal, exponent)
    chance = log_chance(proposal, exponent)[0]
    assert chance.mean() == pytest.approx(log_acceptance(shape.shapes, sigma), abs=0.05)


def enumerated(
    matrix: csr_array, form: Form, rate: float, norm: str, radius: int
) -> dict[tuple[int, ...], float]:
    points = lattice_points(matrix.toarray(), radius)
    square = form.squares(points)
    weight = np.exp(-rate * (np.sqrt(square) if norm == "l2" else square))
    weight /= weight.sum()
    some = weight >= 1e-7
    return dict(zip(map(tuple, points[some].tolist()), weight[some].tolist(), strict=True))


SMALL = [
    (strategy(plain(2, 3), [(0, 0)], {(1, 1): "1/2", (1, 0): "1/5", (0, 1): 1}), (0, 1)),
    (strategy(plain(2, 3), [(1, 0)], {(1, 1): "3/4", (0, 1): "1/2"}), (0, 1)),
    (strategy(plain(2, 2), [], {(1, 1): 1, (1, 0): "1/2", (0, 0): 2}), (0, 0)),
    (strategy((tree([0, 1, 1]), *plain(2)), [(0, 0)], {(2, 1): "1/2", (1, 0): 1, (2, 0): "1/4"}), (1, 0)),
    (strategy((tree([0, 1, 1, 0]),), [(0,)], {(2,): "1/2", (1,): 1}), (1,)),
    (strategy((tree([0, 0, 1, 1, 1], [0, 0, 1, 2, 2]),), [(1,)], {(3,): "1/2", (2,): 1}), (2,)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("margins", "alike"),
    [
        (strategy(plain(5, 4), [(1, 0)], {(1, 1): 1, (0, 1): 2}), [1]),  # columns add up across rows
        (strategy(plain(5, 4), [], {(1, 1): 1, (0, 0): 2}), [1]),
        (strategy(plain(5, 4, 3), [(1, 0, 0)], {(1, 1, 1): 1, (1, 1, 0): 3, (1, 0, 1): "1/5"}), [5]),
        (strategy(plain(5, 4, 3), [(1, 0, 0), (0, 0, 0)], {(1, 1, 1): 1, (1, 0, 0): 3}), [5]),
        (strategy(plain(5, 4, 3), [(1, 0, 1)], {(1, 1, 1): 1, (1, 1, 0): 3}), [5]),
        (strategy(plain(5, 4), [], {(1, 1): 1, (1, 0): 2}), [5]),
        (strategy((GEOGRAPHY, *plain(3)), [(1, 0)], {(3, 1): 1, (2, 1): 2, (1, 1): 3}), [1, 2]),
        (strategy((GEOGRAPHY, *plain(3)), [(2, 0)], {(3, 1): 1, (2, 1): 2}), [1, 3]),
        (strategy((GEOGRAPHY, *plain(3)), [(2, 1)], {(3, 1): 1}), [9]),  # one tract is one block: fixed
    ],
)
def test_parts_that_nothing_adds_up_across_are_drawn_apart(margins: MarginStrategy, alike: list[int]) -> None:
    parts = list(margins.apart())
    assert sorted(cells.shape[0] for cells, _ in parts) == alike
    law = LatticeGaussianLaw(kept_rows(margins), Fraction(4), form=Form.of(margins))
    assert [block.cells.tolist() for block in law.plan.blocks] == [cells.all().tolist() for cells, _ in parts]
    draws = law.sample(SeededEntropy(1), 20)
    assert not (law.matrix @ draws.T).any()
    free = sum(cells.shape[0] * (cells.shape[1] - kept_rows(part).shape[0]) for cells, part in parts)
    assert free == law.matrix.shape[1] - law.matrix.shape[0]
    within = [Form.of(part).squares(draws[:, each]) for cells, part in parts for each in cells.all()]
    assert np.allclose(sum(within), Form.of(margins).squares(draws))
    found = np.full(law.matrix.shape[1], 99)
    for cells, noise in law.parts(SeededEntropy(1)):  # the same, part by part
        found[cells] = noise
    drawn = np.sort(np.concatenate([cells.all().ravel() for cells, _ in parts]))
    assert np.flatnonzero(found != 99).tolist() == drawn.tolist()
    found[found == 99] = 0
    assert not (law.matrix @ found).any()


def test_what_draws_large_parts_is_made_anew_for_each_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    margins = strategy((GEOGRAPHY, *plain(3)), [(1, 0)], {(3, 1): 1, (2, 1): 2, (1, 1): 3})
    known = LatticeGaussianLaw(kept_rows(margins), Fraction(4), form=Form.of(margins))
    monkeypatch.setattr(gaussian, "LARGE", 0)
    law = LatticeGaussianLaw(kept_rows(margins), Fraction(4), form=Form.of(margins))
    assert all(isinstance(block.sampler, gaussian.RemadeTree) for block in law.plan.blocks)
    assert law.work == known.work
    assert np.array_equal(law.sample(SeededEntropy(1), 20), known.sample(SeededEntropy(1), 20))


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(("margins", "of"), SMALL)
def test_gaussian_draws_follow_the_enumerated_law(
    margins: MarginStrategy, of: Reading, *, dense: bool
) -> None:
    form, matrix = Form.of(margins), kept_rows(margins)
    law = LatticeGaussianLaw(matrix, Fraction(4, 5), form=Form(form.parts) if dense else form)
    draws = law.sample(SeededEntropy(3), 30_000)
    known = enumerated(matrix, form, 5 / 8, "squared", 7)
    assert p_value(draws, known) > LEVEL
    points = np.array(list(known))
    logs = law.log_prob(points)
    assert np.allclose(logs - logs[0], np.log(list(known.values())) - np.log(known[tuple(points[0])]))
    # a strength that is a third larger, and the same one of all: both are told apart
    other = MarginStrategy(
        margins.axes,
        margins.kept,
        tuple((r, c * (Fraction(4, 3) if r == of else 1)) for r, c in margins.measured),
    )
    assert p_value(draws, enumerated(matrix, Form.of(other), 5 / 8, "squared", 7)) < LEVEL / 1000
    plainly = strategy(margins.axes, [], {tuple(axis.depth for axis in margins.axes): 1})
    assert p_value(draws, enumerated(matrix, Form.of(plainly), 5 / 8, "squared", 7)) < LEVEL / 1000


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(("margins", "of"), SMALL[1:4])
def test_laplace_draws_follow_the_enumerated_law(
    margins: MarginStrategy, of: Reading, *, dense: bool
) -> None:
    form, matrix = Form.of(margins), kept_rows(margins)
    law = LatticeLaplaceLaw(matrix, Fraction(7, 2), "l2", form=Form(form.parts) if dense else form)
    draws = law.sample(SeededEntropy(4), 30_000)
    assert p_value(draws, enumerated(matrix, form, 3.5, "l2", 8)) > LEVEL
    other = MarginStrategy(
        margins.axes,
        margins.kept,
        tuple((r, c * (Fraction(3, 2) if r == of else 1)) for r, c in margins.measured),
    )
    assert p_value(draws, enumerated(matrix, Form.of(other), 3.5, "l2", 8)) < LEVEL / 1000


def test_any_rows_are_drawn_by_dense_algebra() -> None:
    """Weights and selections, on a lattice that has no free cells: pivots are not 1 alone."""
    matrix = csr_array(np.array([[2, 3, 5, 1]]))
    rows = csr_array(np.array([[1, 0, 2, 0], [0, 1, -1, 0], [0, 0, 1, 3]]))
    form = Form(((rows, Fraction(1, 3)), (csr_array(np.eye(4, dtype=np.int64)), Fraction(1, 2))))
    draws = LatticeGaussianLaw(matrix, Fraction(1), form=form).sample(SeededEntropy(5), 30_000)
    assert p_value(draws, enumerated(matrix, form, 0.5, "squared", 9)) > LEVEL
    other = Form((form.parts[0], (form.parts[1][0], Fraction(2, 3))))
    assert p_value(draws, enumerated(matrix, other, 0.5, "squared", 9)) < LEVEL / 1000


def test_variances_are_those_of_the_residual_spaces() -> None:
    """12 x 5 x 2 with the first margin kept, and unequal nodes of a tree: variances of every margin.

    They are the diagonal of the inverse of F on the kernel, here by dense algebra in floats.
    """
    areas = tree([0] * 5 + [1] * 4 + [2] * 3)
    margins = strategy(
        (areas, *plain(5, 2)), [(1, 0, 0)], {(2, 1, 1): "1/4", (1, 1, 0): 1, (0, 1, 1): 2, (0, 0, 1): 1}
    )
    form, matrix, sigma_squared = Form.of(margins), kept_rows(margins), Fraction(9)
    draws = LatticeGaussianLaw(matrix, sigma_squared, form=form).sample(SeededEntropy(6), 4000)
    basis = kernel_basis(matrix.toarray()).astype(np.float64)
    seen = form.rows @ basis
    inner = seen.T @ (seen * np.array([float(c) for c in form.strengths])[:, None])
    covariance = 9 * basis @ np.linalg.inv(inner) @ basis.T
    for reading in product(range(3), range(2), range(2)):
        rows = margins.rows(reading)
        if margins.is_kept(reading):
            continue
        sums = np.asarray(rows @ draws.T, dtype=np.float64)
        wanted = np.einsum("rc,rc->r", rows @ covariance, rows.toarray())
        assert (sums**2).mean() == pytest.approx(wanted.mean(), rel=0.1)
        assert (sums**2).mean(axis=1) == pytest.approx(wanted, rel=0.15, abs=1e-9)


def test_two_trees_are_dense_and_large_ones_refused() -> None:
    both = (tree([0, 1, 1]), tree([0, 0, 1]))
    margins = strategy(both, [(0, 0)], {(2, 2): 1, (1, 1): 2})
    form, matrix = Form.of(margins), kept_rows(margins)
    law = LatticeGaussianLaw(matrix, Fraction(1), form=form)
    assert law.steps[0].method == "weighted-by-coordinates"
    assert not (matrix @ law.sample(SeededEntropy(7), 100).T).any()
    large = tree([k // 2 for k in range(60)])
    wide = strategy((large, large), [(0, 0)], {(2, 2): 1, (1, 1): 2})
    with pytest.raises(SamplingError, match=r"at most, and this table has 3,600: ask for whole margins"):
        _ = LatticeGaussianLaw(kept_rows(wide), Fraction(1), form=Form.of(wide)).plan


def test_shapes_are_told_at_variance_one() -> None:
    shape = WeightedGrid(strategy(plain(3, 2), [(0, 0)], {(1, 1): 4}), 1)
    alike = WeightedGrid(strategy(plain(3, 2), [(0, 0)], {(1, 1): 1}), 1)
    assert np.allclose(2 * shape.shapes, alike.shapes)
