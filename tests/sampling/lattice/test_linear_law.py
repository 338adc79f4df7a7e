"""The closed forms agree with enumerated lattices, and are given only where they hold."""

from fractions import Fraction
from math import exp

import flint
import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.linear_law import MOST_VALUES, LinearLaws, MixedSumLaw, SumLaw
from holdfast.testing.goodness import lattice_law, two_way


def enumerated(matrix: np.ndarray, query: np.ndarray, kappa: Fraction, radius: int) -> dict[int, float]:
    law: dict[int, float] = {}
    for point, share in lattice_law(matrix, float(kappa), "l1", radius, rarest=0).items():
        value = int(np.dot(point, query))
        law[value] = law.get(value, 0.0) + share
    return law


@pytest.mark.parametrize("query", [(1, 0, 0, 0), (1, 1, 0, 0), (2, 2, 2, -1), (5, 5, 6, 6)])
@pytest.mark.parametrize("kappa", [Fraction(3, 2), Fraction(1)])
def test_one_total(query: tuple[int, ...], kappa: Fraction) -> None:
    matrix = np.ones((1, 4), dtype=np.int64)
    weights = np.array(query)
    cells = np.flatnonzero(weights)
    found = LinearLaws(LatticeLaplaceLaw(csr_array(matrix), kappa, "l1"), csr_array(matrix)).of(
        cells, weights[cells]
    )
    assert found is not None
    step, law = found
    assert isinstance(law, SumLaw)
    truth = enumerated(matrix, weights, kappa, 18)
    for value in range(-3, 4):
        assert float(law.probability(value)) == pytest.approx(truth[step * value], abs=1e-9)
    assert sum(truth.get(step * value, 0.0) for value in range(-9, 10)) == pytest.approx(1, abs=1e-4)
    for level in (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)):
        least = law.half_width(level)
        within = sum(share for value, share in truth.items() if abs(value) <= abs(step) * least)
        inner = sum(share for value, share in truth.items() if abs(value) < abs(step) * least)
        assert inner < level <= within


@pytest.mark.parametrize("count", [1, 2, 3])
def test_free_cells(count: int) -> None:
    kappa = Fraction(1)
    matrix = np.zeros((0, 3), dtype=np.int64)
    weights = np.array([1] * count + [0] * (3 - count))
    law = SumLaw(kappa, count, None)
    truth = enumerated(matrix, weights, kappa, 25)
    for value in range(-4, 5):
        assert float(law.probability(value)) == pytest.approx(truth[value], abs=1e-9)
    found = LinearLaws(LatticeLaplaceLaw(csr_array(matrix), kappa, "l1"), csr_array(matrix)).of(
        np.arange(count), np.full(count, 7)
    )
    assert found == (7, law)


def test_one_cell_is_double_geometric() -> None:
    a = exp(-0.25)
    law = SumLaw(Fraction(1, 4), 1, None)
    with flint.ctx.workprec(200):
        assert float(law.within(5)) == pytest.approx(1 - 2 * a**6 / (1 + a), rel=1e-12)
        assert float(law.within(-1)) == 0
        assert float(law.within(400)) == pytest.approx(1, abs=1e-12)


def test_the_share_of_the_outermost_values_makes_the_level() -> None:
    law, level = SumLaw(Fraction(1), 2, 3), Fraction(9, 10)
    least = law.half_width(level)
    covered = float(law.within(least - 1)) + law.share(least, level) * 2 * float(law.probability(least))
    assert covered == pytest.approx(0.9, rel=1e-12)


def test_spread_is_close_to_the_standard_deviation() -> None:
    law = SumLaw(Fraction(1, 3), 2, 6)
    variance = sum(2 * s * s * float(law.probability(s)) for s in range(1, 120))
    assert law.spread == pytest.approx(variance**0.5, rel=0.15)


def test_what_has_no_closed_form_is_left_to_simulation() -> None:
    kappa = Fraction(1)
    margins = csr_array(two_way(2, 3))
    crossing = LinearLaws(LatticeLaplaceLaw(margins, kappa, "l1"), margins)
    assert crossing.of(np.array([0]), np.array([1])) is None

    blocks = csr_array(np.array([[1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 2, 2, 0, 0]]))
    laws = LinearLaws(LatticeLaplaceLaw(blocks, kappa, "l1"), blocks)
    found = laws.of(np.array([0]), np.array([1]))
    assert found is not None
    assert abs(found[0]) == 1
    assert found[1] in (SumLaw(kappa, 1, 2), SumLaw(kappa, 2, 1))
    assert laws.of(np.array([0, 1]), np.array([1, 2])) is None  # three values
    assert laws.of(np.array([0, 3]), np.array([1, 1])) is None  # two blocks
    assert laws.of(np.array([0, 5]), np.array([1, 1])) is None  # a block and a free cell
    assert laws.of(np.array([0, 1, 2, 3, 4]), np.array([3, 3, 3, 1, 1])) == (0, None)
    even = laws.of(np.array([0, 1, 2, 5]), np.array([3, 3, 3, 1]))
    assert even == (1, SumLaw(kappa, 1, None))  # an even block adds nothing

    unequal = csr_array(np.array([[1, 2, 1]]))
    assert (
        LinearLaws(LatticeLaplaceLaw(unequal, kappa, "l1"), unequal).of(np.array([0]), np.array([1])) is None
    )
    total = csr_array(np.ones((1, 3), dtype=np.int64))
    assert LinearLaws(LatticeLaplaceLaw(total, kappa, "l2"), total).of(np.array([0]), np.array([1])) is None
    wide = LatticeLaplaceLaw(total, Fraction(1, 10**6), "l1")
    assert LinearLaws(wide, total).of(np.array([0]), np.array([1])) is None


@pytest.mark.parametrize(("inside", "outside"), [(160, None), (300, None), (10, 290), (150, 150)])
def test_sums_of_many_cells_are_told_at_the_precision_that_they_take(
    inside: int, outside: int | None
) -> None:
    """Their series are without an end at 128 bits: deviations, sizes and shares were no numbers there."""
    kappa, level = Fraction(1, 2), Fraction(19, 20)
    law = SumLaw(kappa, inside, outside)
    least = law.half_width(level)
    with flint.ctx.workprec(1_024):
        chances = np.array([float(law.probability(s)) * (2 if s else 1) for s in range(400)])
    assert law.deviation == pytest.approx(np.sqrt(chances @ np.arange(400) ** 2), rel=1e-8)
    assert law.mean_absolute == pytest.approx(chances @ np.arange(400), rel=1e-8)
    covered = chances[:least].sum() + law.share(least, level) * chances[least]
    assert covered == pytest.approx(0.95, rel=1e-12)
    if outside is None:
        a = exp(-0.5)
        assert law.deviation == pytest.approx(np.sqrt(inside * 2 * a) / (1 - a), rel=1e-8)


@pytest.mark.parametrize("weights", [[1] * 400, [2, -2, 2] * 150, [1, -3, 0, 2] * 90])
def test_any_sum_of_free_cells_has_its_law(weights: list[int]) -> None:
    """By exact convolutions: half widths are the least that cover, and deviations those of the sum."""
    kappa, level, w = Fraction(1, 2), Fraction(19, 20), np.array(weights)
    matrix = csr_array((0, w.size), dtype=np.int64)
    cells = np.flatnonzero(w)
    found = LinearLaws(LatticeLaplaceLaw(matrix, kappa, "l1"), matrix).of(cells, w[cells])
    assert found is not None
    step, law = found
    assert isinstance(law, MixedSumLaw)
    a = exp(-0.5)
    places = np.arange(-4096, 4096)
    logs = np.zeros(places.size)
    for size in np.abs(w[cells]).tolist():
        turns = np.cos(2 * np.pi * size * places / places.size)
        logs += np.log((1 - a) ** 2 / (1 - 2 * a * turns + a * a))
    chances = np.fft.fftshift(np.fft.ifft(np.fft.ifftshift(np.exp(logs))).real)
    half = step * law.half_width(level)
    assert chances[np.abs(places) <= half].sum() >= 0.95 > chances[np.abs(places) < half].sum()
    assert step * law.deviation == pytest.approx(np.sqrt(chances @ places**2), rel=1e-6)
    assert step * law.mean_absolute == pytest.approx(chances @ np.abs(places), rel=1e-6)


@pytest.mark.parametrize("places", range(1, 14))
def test_the_period_of_a_sum_is_known_however_wide_its_noise_is(places: int) -> None:
    """The moments of wide noise were beyond their digits, which ended the program."""
    law = MixedSumLaw(Fraction(1, 10**places), ((1, 7), (3, 2)))
    within = law.deviation * 12
    assert law.period > min(within, MOST_VALUES)
    assert law.period < within * 64 or law.period > MOST_VALUES
