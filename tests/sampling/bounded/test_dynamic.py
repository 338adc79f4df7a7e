"""Draws by dynamic programming against enumerated laws, jointly, and against a program in floats."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array

from holdfast.lattice.points import lattice_points
from holdfast.sampling.bounded import circuit_law, dynamic
from holdfast.sampling.bounded.circuit_law import CircuitLaw
from holdfast.sampling.bounded.dynamic import DynamicLaw
from holdfast.sampling.bounded.series_parallel import Sum, take_apart
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.lattice.laplace_total import OneTotal
from holdfast.system.errors import SamplingError
from holdfast.testing.goodness import LEVEL, Point, p_value, two_way

Array = NDArray[np.int64]
RADIUS = 12
DRAWS = 60_000
SYSTEMS: dict[str, tuple[Array, list[int]]] = {
    "one total": (np.ones((1, 4), dtype=np.int64), [0, 1, 3, 1]),
    "2 x 2": (two_way(2, 2), [2, 0, 1, 3]),
    "2 x 3": (two_way(2, 3), [2, 0, 1, 3, 1, 1]),
    "3 x 3": (two_way(3, 3), [1, 0, 1, 0, 2, 1, 1, 1, 0]),
    "partition": (np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]), [1, 2, 0, 3, 1]),
    "crossing": (np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]]), [1, 2, 0, 3, 1]),
    "four groups": (
        np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0]]),
        [1, 2, 0, 3, 1, 1],
    ),
    "weights": (np.array([[1, 2, 1, 0], [0, 1, 0, 3]]), [4, 6, 2, 5]),
    "weighted total": (np.array([[1, 2, 3]]), [3, 1, 2]),
    "opposite": (np.array([[1, -1, 1, -1], [0, 0, 0, 0]])[:1], [1, 0, 2, 2]),
    "determinant 2": (np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]]), [2, 3, 2, 6]),
    "a free cell": (np.array([[1, 1, 0]]), [1, 3, 2]),
    "fixed": (np.array([[1, 0, 0], [0, 1, 1]]), [1, 3, 2]),
}
F = [8, 6, 3, 6, 4, 4, 4, 8, 5, 7, 7, 6, 1, 5, 4, 4, 9, 6, 2, 8, 8, 8, 7]
M = [3, 4, 5, 8, 6, 4, 5, 5, 5, 6, 10, 7, 3, 2, 5, 11, 6, 4, 7, 4, 5, 3, 8]


def truncated(system: Array, low: Array | None, *, linear: float) -> dict[Point, float]:
    points = lattice_points(system, 3 if system.shape[1] == 9 else RADIUS)  # 3 x 3: totals of at most 3
    if low is not None:
        points = points[(points >= low).all(axis=1)]
    weight = np.exp(-linear * np.abs(points).sum(axis=1))
    return dict(zip(map(tuple, points.tolist()), (weight / weight.sum()).tolist(), strict=True))


def laplace(name: str, scale: float = 1.0) -> Mapping[Point, float]:
    system, x = SYSTEMS[name]
    return truncated(system, -np.array(x), linear=1.25 * scale)


def check(draws: Array, system: Array, low: Array) -> None:
    assert not (draws @ system.T).any()
    assert (draws >= low).all()


@pytest.mark.parametrize("name", SYSTEMS)
def test_truncated_laplace_draws_follow_the_enumerated_law(name: str) -> None:
    system, x = SYSTEMS[name]
    law = DynamicLaw(system, epsilon=Fraction(5, 4), low=-np.array(x))
    draws = law.sample(SeededEntropy(11), DRAWS)
    check(draws, system, -np.array(x))
    assert p_value(draws, laplace(name)) > LEVEL


@pytest.mark.parametrize("name", ["one total", "2 x 2", "2 x 3", "crossing", "four groups", "weights"])
def test_unbounded_draws_follow_the_enumerated_law(name: str) -> None:
    system, _ = SYSTEMS[name]
    draws = DynamicLaw(csr_array(system), epsilon=Fraction(5, 4)).sample(SeededEntropy(13), DRAWS)
    assert p_value(draws, truncated(system, None, linear=1.25)) > LEVEL


@pytest.mark.parametrize("name", ["one total", "2 x 2", "2 x 3", "3 x 3", "partition", "four groups"])
def test_a_scale_off_by_three_percent_is_rejected(name: str) -> None:
    system, x = SYSTEMS[name]
    draws = DynamicLaw(system, epsilon=Fraction(5, 4), low=-np.array(x)).sample(SeededEntropy(14), 4 * DRAWS)
    for wrong in (0.97, 1.03):
        assert p_value(draws, laplace(name, wrong)) < LEVEL


@pytest.mark.parametrize("bits", [3, 5, 9])
@pytest.mark.parametrize("name", ["one total", "2 x 3", "3 x 3", "four groups", "a free cell"])
def test_few_bits_give_the_same_law_through_refinement(
    name: str, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With few spare bits the first tables are short as well: values beyond them come by refinement.
    monkeypatch.setattr(circuit_law, "SPARE_BITS", 1)
    system, x = SYSTEMS[name]
    law = DynamicLaw(system, epsilon=Fraction(5, 4), low=-np.array(x), bits=bits)
    draws = law.sample(SeededEntropy(15), 6_000)
    check(draws, system, -np.array(x))
    assert p_value(draws, laplace(name)) > LEVEL


def test_bounds_away_from_zero_are_kept() -> None:
    system = np.ones((1, 3), dtype=np.int64)
    low = np.array([1, -60, -2])
    law = DynamicLaw(system, epsilon=Fraction(1, 3), low=low)
    points = lattice_points(system, 62)  # no cell can be further from 0
    points = points[(points >= low).all(axis=1)]
    weight = np.exp(-np.abs(points).sum(axis=1) / 3)
    draws = law.sample(SeededEntropy(1), DRAWS)
    expected = dict(zip(map(tuple, points.tolist()), (weight / weight.sum()).tolist(), strict=True))
    assert p_value(draws, expected) > LEVEL
    assert abs(law.log_constant - np.log(weight.sum())) < 1e-9
    assert law.log_prob(np.array([[2, -2, 0], [0, -2, 2], [2, -2, 1]])).tolist() == [
        pytest.approx(-4 / 3 - law.log_constant),
        -np.inf,
        -np.inf,
    ]


@pytest.mark.parametrize("name", SYSTEMS)
def test_probabilities_of_all_vectors_sum_to_one(name: str) -> None:
    system, x = SYSTEMS[name]
    points = lattice_points(system, 3 if name == "3 x 3" else RADIUS)
    law = DynamicLaw(system, epsilon=Fraction(3), low=-np.array(x))
    assert abs(np.exp(law.log_prob(points)).sum() - 1) < 1e-9


def test_far_conditions_raise_the_precision() -> None:
    # The second cell must be -150 or less: mass exp(-300) of the free law.
    law = DynamicLaw(np.ones((1, 2), dtype=np.int64), epsilon=Fraction(1), low=np.array([150, -1000]))
    draws = law.sample(SeededEntropy(0), 20_000)
    excess = draws[:, 0] - 150
    shares = {(k,): float((1 - np.exp(-2)) * np.exp(-2 * k)) for k in range(30)}
    assert p_value(excess[:, None], shares) > LEVEL


def float_program(sizes: list[list[int]], epsilon: float) -> tuple[Array, list[NDArray[np.float64]]]:
    """Return the law of the first cell of each group of the 2 x 23 table, by convolutions of floats."""
    values = np.arange(-150, 151)

    def group(cells: list[int]) -> NDArray[np.float64]:
        total: NDArray[np.float64] = (values == 0).astype(np.float64)
        for x in cells:
            total = np.asarray(np.convolve(total, np.exp(-epsilon * np.abs(values)) * (values >= -x), "same"))
        return total

    laws = [group(cells) for cells in sizes]
    # Females, males and non-voting ages keep their totals: the groups move by t, -t, -t, t.
    marginals = []
    for g, cells in enumerate(sizes):
        cell = np.exp(-epsilon * np.abs(values)) * (values >= -cells[0])
        rest, others = group(cells[1:]), np.ones(values.size)
        for h, law in enumerate(laws):
            others = others * (1 if h == g else law if (h in (0, 3)) == (g in (0, 3)) else law[::-1])
        marginal = cell * np.convolve(others[::-1], rest, "same")[::-1]
        marginals.append(marginal / marginal.sum())
    return values, marginals


def test_the_table_of_2_x_23_cells_agrees_with_floats() -> None:
    x = np.array(F + M)
    system = np.zeros((3, 46), dtype=np.int64)
    system[0, :23] = system[1, 23:] = system[2, :4] = system[2, 23:27] = 1
    law = DynamicLaw(system, epsilon=Fraction(1, 2), low=-x)
    draws = law.sample(SeededEntropy(2), 100_000)
    check(draws, system, -x)
    values, marginals = float_program([F[:4], F[4:], M[:4], M[4:]], 0.5)
    _, wrong = float_program([F[:4], F[4:], M[:4], M[4:]], 0.485)
    for cell, right, other in zip((0, 4, 23, 27), marginals, wrong, strict=True):
        expected = {(int(v),): float(p) for v, p in zip(values, right, strict=True)}
        assert p_value(draws[:, [cell]], expected) > LEVEL
        expected = {(int(v),): float(p) for v, p in zip(values, other, strict=True)}
        assert p_value(draws[:, [cell]], expected) < LEVEL


def same_law(a: Array, b: Array) -> float:
    """Return the p-value of a chi-square test that two samples of integers have one law."""
    edges = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0, 1, 41)))
    counts = [np.histogram(sample, edges)[0] for sample in (a, b)]
    return float(stats.chi2_contingency(np.array(counts)).pvalue)


def test_one_total_agrees_with_compositions() -> None:
    ours = DynamicLaw(np.ones((1, 40), dtype=np.int64), epsilon=Fraction(1, 4)).sample(
        SeededEntropy(3), 20_000
    )
    theirs = OneTotal(40, Fraction(1, 4)).sample(SeededEntropy(4), 20_000)
    assert same_law(np.abs(ours).sum(axis=1), np.abs(theirs).sum(axis=1)) > LEVEL
    assert same_law(np.abs(ours).max(axis=1), np.abs(theirs).max(axis=1)) > LEVEL
    assert same_law(ours[:, 17], theirs[:, 17]) > LEVEL


def test_2_x_6_margins_agree_with_rejection() -> None:
    system = csr_array(two_way(2, 6))
    ours = DynamicLaw(system, epsilon=Fraction(1, 2)).sample(SeededEntropy(3), 20_000)
    theirs = LatticeLaplaceLaw(system, Fraction(1, 2), "l1").sample(SeededEntropy(4), 20_000)
    assert same_law(np.abs(ours).sum(axis=1), np.abs(theirs).sum(axis=1)) > LEVEL
    assert same_law(ours[:, 0] - ours[:, 1], theirs[:, 0] - theirs[:, 1]) > LEVEL
    assert same_law(ours[:, 5], theirs[:, 5]) > LEVEL


def test_enclosures_at_few_bits_hold_those_at_many() -> None:
    circuit = take_apart(csr_array(np.ones((1, 6), dtype=np.int64)), [-1, -2, None, None, -1, 0])
    rows = CircuitLaw(circuit, Fraction(1, 3))
    (node,) = (unit.node for unit in circuit.zero)
    assert isinstance(circuit.nodes[node], Sum)
    for total in (-3, 0, 5):
        wide, narrow = (rows.split(node, total, bits) for bits in (4, 300))
        for value, low in enumerate(wide.sums, start=wide.first):
            exact = narrow.sums[value - narrow.first]
            assert Fraction(low, wide.total) <= Fraction(exact + narrow.error, narrow.total)
            assert Fraction(exact, narrow.total) <= Fraction(low + wide.error, wide.total)


def test_tables_are_shared_between_equal_cells() -> None:
    circuit = take_apart(csr_array(np.ones((1, 1024), dtype=np.int64)), [None] * 1024)
    assert len(circuit.nodes) == 11
    law = DynamicLaw(np.ones((1, 1024), dtype=np.int64), epsilon=Fraction(1, 2))
    assert not law.sample(SeededEntropy(0), 50).sum(axis=1).any()


def test_two_by_many_tables_have_no_core() -> None:
    low = -(np.arange(120) % 7)
    assert not take_apart(csr_array(two_way(2, 60)), low.tolist()).cores
    law = DynamicLaw(two_way(2, 60), epsilon=Fraction(1, 2), low=low)
    check(law.sample(SeededEntropy(0), 100), two_way(2, 60), low)


def test_what_does_not_fit_is_refused_before_it_is_tabulated() -> None:
    with pytest.raises(SamplingError, match="too many vectors"):
        DynamicLaw(two_way(4, 4), epsilon=Fraction(1, 2))
    with pytest.raises(SamplingError, match="too widely"):
        DynamicLaw(np.ones((1, 4), dtype=np.int64), epsilon=Fraction(1, 10**5))
    with pytest.raises(SamplingError, match="no vector"):
        DynamicLaw(two_way(2, 2), epsilon=Fraction(1), low=np.array([1, 1, 0, 0]))
    far = DynamicLaw(np.ones((1, 2), dtype=np.int64), epsilon=Fraction(9), low=np.array([10**5, -(10**7)]))
    with pytest.raises(SamplingError, match="negligible weight"):
        far.sample(SeededEntropy(0), 1)


def test_a_law_too_large_to_keep_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    system, x = SYSTEMS["one total"]
    law = DynamicLaw(system, epsilon=Fraction(5, 4), low=-np.array(x))
    monkeypatch.setattr(dynamic, "MOST_ENTRIES", 2 * law.entries)
    monkeypatch.setattr(dynamic, "BATCH_CELLS", 500)
    draws = law.sample(SeededEntropy(16), 5_000)
    assert p_value(draws, laplace("one total")) > LEVEL


def test_no_draws_and_no_freedom() -> None:
    assert DynamicLaw(two_way(2, 2), epsilon=Fraction(1)).sample(SeededEntropy(0), 0).shape == (0, 4)
    fixed = DynamicLaw(np.eye(3, dtype=np.int64), epsilon=Fraction(1))
    assert not fixed.sample(SeededEntropy(0), 5).any()
    assert fixed.log_constant == pytest.approx(0, abs=1e-12)
