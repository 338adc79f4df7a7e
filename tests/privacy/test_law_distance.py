"""The best transport against linear programs, with both of its witnesses."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from holdfast.privacy.law_distance import MOST_VALUES, DiscreteLaw, bottleneck, largest_quantile_gap
from holdfast.system.errors import GuaranteeError

Matrix = list[list[Fraction]]


def by_programs(distances: Matrix, one: list[Fraction], other: list[Fraction]) -> Fraction:
    """Return the smallest distance for which a linear program finds a coupling."""
    m, n = len(one), len(other)
    rows = [np.kron(np.eye(m)[i], np.ones(n)) for i in range(m)]
    columns = [np.kron(np.ones(m), np.eye(n)[j]) for j in range(n)]
    right = [float(mass) for mass in (*one, *other)]
    for radius in sorted({distance for row in distances for distance in row}):
        bounds = [(0, None if distances[i][j] <= radius else 0) for i in range(m) for j in range(n)]
        found = linprog(np.zeros(m * n), A_eq=np.array([*rows, *columns]), b_eq=right, bounds=bounds)
        if found.status == 0:
            return radius
    raise AssertionError("the largest distance allows every coupling")


def laws(size: int) -> st.SearchStrategy[list[Fraction]]:
    weights = st.lists(st.integers(1, 6), min_size=size, max_size=size)
    return weights.map(lambda given: [Fraction(weight, sum(given)) for weight in given])


@st.composite
def problems(draw: st.DrawFn) -> tuple[Matrix, list[Fraction], list[Fraction]]:
    m, n = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rows = st.lists(st.integers(0, 6).map(Fraction), min_size=n, max_size=n)
    return draw(st.lists(rows, min_size=m, max_size=m)), draw(laws(m)), draw(laws(n))


@settings(max_examples=60, deadline=None)
@given(problems())
def test_the_radius_is_that_of_linear_programs_and_has_both_witnesses(
    problem: tuple[Matrix, list[Fraction], list[Fraction]],
) -> None:
    distances, one, other = problem
    found = bottleneck(distances, one, other)
    assert found.radius == by_programs(distances, one, other)
    for i, mass in enumerate(one):
        assert sum(share for sender, _, share in found.coupling if sender == i) == mass
    for j, mass in enumerate(other):
        assert sum(share for _, place, share in found.coupling if place == j) == mass
    assert max(distances[i][j] for i, j, _ in found.coupling) <= found.radius
    near = {j for i in found.crowded for j in range(len(other)) if distances[i][j] < found.radius}
    crowd, room = sum(one[i] for i in found.crowded), sum(other[j] for j in near)
    assert crowd > room if found.radius else not found.crowded


@st.composite
def pairs_on_the_line(draw: st.DrawFn) -> tuple[DiscreteLaw[Fraction], DiscreteLaw[Fraction]]:
    found = []
    for _ in range(2):
        values = draw(st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True))
        found.append(DiscreteLaw.of(map(Fraction, values), draw(laws(len(values)))))
    return found[0], found[1]


@settings(max_examples=100, deadline=None)
@given(pairs_on_the_line())
def test_on_the_line_quantiles_are_the_best_transport(
    pair: tuple[DiscreteLaw[Fraction], DiscreteLaw[Fraction]],
) -> None:
    one, other = pair
    distances = [[abs(x - y) for y in other.values] for x in one.values]
    found = bottleneck(distances, one.probabilities, other.probabilities)
    assert largest_quantile_gap(one, other) == largest_quantile_gap(other, one) == found.radius


def gap_at(levels: list[Fraction], one: list[Fraction], other: list[Fraction]) -> int:
    """Return the largest gap of quantiles at given levels; laws as masses of 0, 1, ..."""

    def quantile(masses: list[Fraction], level: Fraction) -> int:
        return next(k for k in range(len(masses)) if sum(masses[: k + 1]) >= level)

    return max(abs(quantile(one, level) - quantile(other, level)) for level in levels)


def test_the_levels_of_one_law_alone_miss_gaps() -> None:
    """Equation 35 takes the levels of the law given 0 [theory, 7]."""
    quarters = [Fraction(1, 4)] * 4
    given_0 = [Fraction(0), Fraction(0), Fraction(0), Fraction(1)]
    given_1 = quarters
    levels_0, levels_1 = [Fraction(1)], [Fraction(k, 4) for k in range(1, 5)]
    laws_ = [DiscreteLaw.of(map(Fraction, range(4)), masses) for masses in (given_0, given_1)]
    assert gap_at(levels_0, given_0, given_1) == 0
    assert gap_at([*levels_0, *levels_1], given_0, given_1) == 3 == largest_quantile_gap(*laws_)


@pytest.mark.parametrize(
    ("masses", "complaint"),
    [
        (["1/2", "1/3"], "sum to 5/6, not to 1"),
        (["3/2", "-1/2"], "negative probability -1/2"),
        (["1"], "2 values and 1 probabilities"),
    ],
)
def test_what_is_no_law_is_refused(masses: list[str], complaint: str) -> None:
    with pytest.raises(GuaranteeError, match=complaint):
        DiscreteLaw.of((0, 1), map(Fraction, masses))


def test_a_value_is_listed_once_and_values_without_a_chance_are_left_out() -> None:
    with pytest.raises(GuaranteeError, match="twice"):
        DiscreteLaw.of((0, 0), (Fraction(1, 2), Fraction(1, 2)))
    assert DiscreteLaw.of((0, 1), (Fraction(0), Fraction(1))).values == (1,)


def test_too_many_values_are_refused() -> None:
    size = MOST_VALUES + 1
    masses = [Fraction(1, size)] * size
    with pytest.raises(GuaranteeError, match="501 values"):
        bottleneck([[Fraction(0)] * size] * size, masses, masses)
