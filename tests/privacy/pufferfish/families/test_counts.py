"""Families of counts against all laws of small classes."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.optimize import linprog

from holdfast.privacy.law_distance import DiscreteLaw, largest_quantile_gap
from holdfast.privacy.pufferfish.families import DependentCounts, DisclosedCount, ListedCounts
from holdfast.privacy.pufferfish.families.dependent_counts import _enclosed_gap, _exact_gap
from holdfast.system.errors import GuaranteeError

HALF = Fraction(1, 2)


def sum_law(chances: list[Fraction]) -> dict[int, Fraction]:
    """Return the law of the number of independent ones."""
    law = {0: Fraction(1)}
    for chance in chances:
        law = {
            k: law.get(k, Fraction(0)) * (1 - chance) + law.get(k - 1, Fraction(0)) * chance
            for k in range(len(law) + 1)
        }
    return law


def gap(one: dict[int, Fraction], other: dict[int, Fraction]) -> Fraction:
    laws = [DiscreteLaw.of(map(Fraction, law), law.values()) for law in (one, other)]
    return largest_quantile_gap(laws[0], laws[1])


def test_two_masses_give_the_largest_quantile_gap() -> None:
    model = ListedCounts((((HALF, HALF, Fraction(0)), (Fraction(0), HALF, HALF)),))
    assert model.delta.value == 1
    assert model.delta.exact
    assert model.framework.laws.data["counts"] == [[["1/2", "1/2", "0"], ["0", "1/2", "1/2"]]]


def test_the_worst_of_several_laws_counts() -> None:
    near = ((HALF, HALF), (HALF, HALF))
    far = ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)))
    model = ListedCounts((near, far))
    assert [str(model.delta.value), model.details["worst"]] == ["1", 2]
    assert ListedCounts((near,)).delta.value == 0  # not in {1, ..., n}, as Equation 35 has it


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    ("z0", "z1"), [("0", "1"), ("1/4", "3/4"), ("1/2", "1/2"), ("0", "1/4"), ("1/2", "1")]
)
def test_no_law_with_independent_others_moves_the_count_further(n: int, z0: str, z1: str) -> None:
    """All chances on a grid within the bounds, no smaller given 1 than given 0."""
    low, high = Fraction(z0), Fraction(z1)
    grid = [chance for k in range(9) if low <= (chance := Fraction(k, 8)) <= high]
    gaps = []
    for chances in product(product(grid, grid), repeat=n - 1):
        if all(given_0 <= given_1 for given_0, given_1 in chances):
            zero = sum_law([given_0 for given_0, _ in chances])
            one = {k + 1: mass for k, mass in sum_law([given_1 for _, given_1 in chances]).items()}
            gaps.append(gap(zero, one))
    assert DependentCounts(n, low, high).delta.value == max(gaps)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize(
    ("z0", "z1"), [("0", "1"), ("1/4", "1/2"), ("1/3", "1/3"), ("1/2", "1/2"), ("2/3", "3/4")]
)
def test_no_law_with_dependent_others_moves_the_count_further(n: int, z0: str, z1: str) -> None:
    """The largest chances of at least r, and of at most s, by linear programs over all joint laws."""
    m, low, high = n - 1, Fraction(z0), Fraction(z1)
    points = np.array(list(product((0, 1), repeat=m)))

    def most(event: np.ndarray, sign: int, bound: float) -> float:
        """Maximise the mass of an event, with every marginal at most (1) or at least (-1) the bound."""
        found = linprog(
            -event.astype(float),
            A_ub=sign * points.T,
            b_ub=np.full(m, sign * bound),
            A_eq=np.ones((1, len(points))),
            b_eq=[1],
        )
        return -float(found.fun or 0)

    sums = points.sum(axis=1)
    best = max(
        1 + r - s
        for r in range(m + 1)
        for s in range(m + 1)
        if most(sums >= r, 1, float(high)) + most(sums <= s, -1, float(low)) > 1 + 1e-7
    )
    assert DependentCounts(n, low, high, "any").delta.value == best


def test_the_printed_bounds_alone_give_the_number_of_people() -> None:
    """Without independence of the others, any dependence at all is the worst case [theory, 7]."""
    close = DependentCounts(50, Fraction(49, 100), Fraction(51, 100), "any")
    assert close.delta.value == 50
    assert DependentCounts(50, Fraction(49, 100), Fraction(51, 100)).delta.value == 2


def test_figure_4_goes_from_one_to_everybody() -> None:
    n = 10
    values = {
        (a, b): int(DependentCounts(n, Fraction(a, 10), Fraction(b, 10)).delta.finite)
        for a in range(11)
        for b in range(a, 11)
    }
    assert all(values[a, a] == 1 for a in range(11))
    assert values[0, 10] == n
    for (a, b), value in values.items():  # wider bounds, larger Delta_z
        assert value <= min(values.get((a - 1, b), n), values.get((a, b + 1), n))
    binomial = [Fraction(comb(9, k) * 4 ** (9 - k) * 1**k, 5**9) for k in range(10)]
    other = [Fraction(comb(9, k) * 1 ** (9 - k) * 4**k, 5**9) for k in range(10)]
    by_hand = gap(dict(enumerate(binomial)), {k + 1: mass for k, mass in enumerate(other)})
    assert values[2, 8] == by_hand == 7


@pytest.mark.parametrize("m", [1, 2, 9, 60])
def test_enclosures_hold_what_whole_numbers_give(m: int) -> None:
    for a, b in [(1, 2), (1, 9), (2, 6), (4, 8), (5, 5), (0, 3), (3, 10)]:
        low, high = _enclosed_gap(m, Fraction(a, 10), Fraction(b, 10))
        assert low <= _exact_gap(m, Fraction(a, 10), Fraction(b, 10)) <= high
        assert high - low <= 1  # apart only where levels of both laws are equal


def test_a_large_number_of_people_is_enclosed() -> None:
    model = DependentCounts(20_000, Fraction(1, 10), Fraction(1, 2))
    assert model.bounds == (9473, 9473)
    assert model.delta.exact


@pytest.mark.parametrize("k", [0, 1, 2])
def test_disclosure_rules_leave_independent_answers_their_sensitivity(k: int) -> None:
    """All chances of four people on a grid, given the bounds: the count moves by at most 1."""
    n = 4
    model = DisclosedCount(n, k)
    low, high = model.bounds
    grid = [Fraction(0), Fraction(1, 3), Fraction(1)]
    gaps = []
    for chances in product(grid, repeat=n - 1):
        others = sum_law(list(chances))
        one = {r + 1: mass for r, mass in others.items() if low <= r + 1 <= high and mass}
        zero = {r: mass for r, mass in others.items() if low <= r <= high and mass}
        if one and zero:
            gaps.append(
                gap(*({r: mass / sum(law.values()) for r, mass in law.items()} for law in (zero, one)))
            )
    assert max(gaps) == model.delta.value == (0 if k == 2 else 1)


def test_everything_within_the_bounds_may_move_from_end_to_end() -> None:
    assert DisclosedCount(20, 3, laws="everything").delta.value == 14
    assert DisclosedCount(20, t=Fraction(1, 10), share=Fraction(1, 4), laws="everything").bounds == (3, 7)
    both = DisclosedCount(20, 4, Fraction(1, 10), Fraction(1, 4))
    assert both.bounds == (4, 7)
    assert both.framework.public.words.startswith("4-anonymity and 1/10-closeness to 1/4: 4 to 7 of 20")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"n": 0}, "positive"),
        ({"n": 10, "k": -1}, "not negative"),
        ({"n": 10, "k": 6}, "no count of 10 answers satisfies"),
        ({"n": 10, "t": Fraction(1, 10)}, "give t and the share"),
        ({"n": 10, "t": Fraction(0), "share": Fraction(0)}, "leave every person one answer, 0"),
        ({"n": 10, "t": Fraction(0), "share": Fraction(1)}, "leave every person one answer, 1"),
        ({"n": 10, "t": Fraction(0), "share": Fraction(2)}, "between 0 and 1"),
    ],
)
def test_rules_that_no_count_satisfies_are_refused(arguments: dict[str, object], complaint: str) -> None:
    with pytest.raises(GuaranteeError, match=complaint):
        DisclosedCount(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n", "z0", "z1", "complaint"),
    [(0, "0", "1", "from 1 to"), (5, "1/2", "1/4", "z0 <= z1"), (5, "-1/2", "1", "z0 <= z1")],
)
def test_bounds_of_no_dependence_are_refused(n: int, z0: str, z1: str, complaint: str) -> None:
    with pytest.raises(GuaranteeError, match=complaint):
        DependentCounts(n, Fraction(z0), Fraction(z1))
