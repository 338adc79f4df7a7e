"""Drawing constraint by constraint, and by plain rejection, against the enumerated law."""

from fractions import Fraction

import numpy as np
import pytest

from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice import laplace_total
from holdfast.sampling.lattice.cascade import Cascade, best_order, orders, predicted_work
from holdfast.sampling.lattice.laplace_total import OffsetTotal
from holdfast.sampling.lattice.rejection import Rejection, splits
from holdfast.testing.goodness import LEVEL, lattice_law, p_value, two_way

EPSILON = Fraction(5, 4)
SYSTEMS = {
    "2 x 3": two_way(2, 3),
    "3 x 3": two_way(3, 3),
    "crossing": np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]),
    "nested": np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]),
    "with a free cell": np.array([[1, 1, 1, 0, 0], [0, 1, 1, 1, 0]]),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_order_gives_the_same_law(name: str) -> None:
    system = SYSTEMS[name]
    law = lattice_law(system, float(EPSILON), "l1", 12)
    found = list(orders(system))
    assert found
    for i, order in enumerate(found):
        draws = Cascade(system.shape[1], order, EPSILON).sample(SeededEntropy(i), 20_000)
        assert not (draws @ system.T).any()
        assert p_value(draws, law) > LEVEL / len(found)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_split_gives_the_same_law(name: str) -> None:
    system = SYSTEMS[name]
    law = lattice_law(system, float(EPSILON), "l1", 12)
    found = list(splits(system))
    assert found
    for i, split in enumerate(found):
        draws = Rejection(split, EPSILON).sample(SeededEntropy(i), 20_000)
        assert p_value(draws, law) > LEVEL / len(found)


def test_a_wrong_scale_is_rejected() -> None:
    order = best_order(two_way(3, 3), EPSILON)
    assert order is not None
    draws = Cascade(9, order, EPSILON).sample(SeededEntropy(1), 200_000)
    for wrong in (0.97, 1.03):
        assert p_value(draws, lattice_law(two_way(3, 3), 1.25 * wrong, "l1", 12)) < LEVEL


def test_orders_own_every_constrained_cell_once() -> None:
    for system in SYSTEMS.values():
        found = list(orders(system))
        assert found
        for order in found:
            owned = [cell for layer in order for step in layer for cell in step.own.tolist()]
            assert sorted(owned) == np.flatnonzero(system.any(axis=0)).tolist()
            assert sum(len(layer) for layer in order) == system.shape[0]


def test_systems_with_weights_have_no_order() -> None:
    assert best_order(np.array([[1, 2, 1]]), EPSILON) is None


def test_the_predicted_work_ranks_orders_roughly_as_pilots_do() -> None:
    system = two_way(5, 5)
    found = list(orders(system))
    best = best_order(system, EPSILON)
    assert best is not None
    assert predicted_work(best, EPSILON) == min(predicted_work(order, EPSILON) for order in found)
    measured = [Cascade(25, order, EPSILON).work for order in found]
    assert Cascade(25, best, EPSILON).work < 3 * min(measured)


def test_the_predicted_acceptance_is_met() -> None:
    order = best_order(two_way(4, 4), EPSILON)
    assert order is not None
    cascade = Cascade(16, order, EPSILON)
    kept = sum(cascade._attempt(SeededEntropy(i), 4000).shape[0] for i in range(10)) / 40_000
    assert 0.8 * kept < cascade.acceptance < 1.25 * kept


def given_sum(cells: int, total: int, epsilon: float) -> tuple[dict[tuple[int, ...], float], float]:
    """Enumerate a^||z||_1 over z with a sum, normalised, and its weight."""
    radius = 20
    grid = np.stack(
        np.meshgrid(*[np.arange(-radius, radius + 1)] * (cells - 1), indexing="ij"), axis=-1
    ).reshape(-1, cells - 1)
    points = np.column_stack([grid, total - grid.sum(axis=1)])
    weight = np.exp(-epsilon * np.abs(points).sum(axis=1))
    law = dict(zip(map(tuple, points.tolist()), (weight / weight.sum()).tolist(), strict=True))
    return law, float(weight.sum())


# a band of 2 sends every word to the enclosures
@pytest.mark.parametrize("band", [laplace_total.BAND, 2.0])
@pytest.mark.parametrize("cells", [2, 3])
@pytest.mark.parametrize("total", [0, 1, -3, 5])
def test_cells_with_a_given_sum_have_their_law(
    cells: int, total: int, band: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(laplace_total, "BAND", band)
    law, _ = given_sum(cells, total, 1.25)
    draws = OffsetTotal(cells, EPSILON).draw(np.full(20_000, total), SeededEntropy(total + 9))
    assert (draws.sum(axis=1) == total).all()
    assert p_value(draws, law) > LEVEL


def test_floats_and_enclosures_decide_the_same_words_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = np.arange(-30, 31).repeat(30)
    law = OffsetTotal(4, Fraction(1, 5))
    quick = law.draw(sums, SeededEntropy(3)), law.toss(sums, SeededEntropy(4))
    monkeypatch.setattr(laplace_total, "BAND", 2.0)
    assert np.array_equal(quick[0], law.draw(sums, SeededEntropy(3)))
    assert np.array_equal(quick[1], law.toss(sums, SeededEntropy(4)))


@pytest.mark.parametrize(
    ("cells", "epsilon"), [(7, Fraction(1, 20)), (400, Fraction(1, 2)), (4096, Fraction(1))]
)
def test_the_floats_are_far_more_precise_than_the_band(cells: int, epsilon: Fraction) -> None:
    law = OffsetTotal(cells, epsilon)
    table, shares = law._tabulated
    for s in (0, 3, shares.size // 3, shares.size - 1):
        places = range(0, table.shape[1], table.shape[1] // 40)
        exact = [law._law(s).cdf(m, 64)[0] / 2**64 for m in places]
        assert np.abs(table[s, list(places)] - s - exact).max() < laplace_total.BAND / 50
        share = law._share(s)(64)[0] / 2**64
        assert abs(shares[s] - share) < laplace_total.BAND / 50


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_coins_for_sums_have_their_share(cells: int) -> None:
    coin = OffsetTotal(cells, EPSILON)
    for total in (0, 1, -2, 4):
        if cells == 1:
            share = float(np.exp(-1.25 * abs(total)))
        else:
            share = given_sum(cells, total, 1.25)[1] / given_sum(cells, 0, 1.25)[1]
        heads = coin.toss(np.full(40_000, total), SeededEntropy(abs(total))).sum()
        # Level: 4.5 standard deviations; a sure coin always comes up.
        assert abs(heads - 40_000 * share) <= 4.5 * (40_000 * share * (1 - share)) ** 0.5


def test_a_table_of_sums_that_is_not_finite_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace_total, "lgamma", lambda _: np.nan)
    with pytest.raises(ArithmeticError, match="not finite"):
        OffsetTotal(4, EPSILON).toss(np.arange(8), SeededEntropy(0))
