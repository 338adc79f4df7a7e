"""What swapping loses, against strata in which every selection, derangement, dataset and output is listed."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import comb, factorial, prod

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.mechanisms.swapping.bounds import (
    LISTED,
    EpsilonBound,
    derangement_ratio,
    epsilon,
    least_epsilon,
    rates,
)
from holdfast.mechanisms.swapping.mechanism import PermutationSwapping
from holdfast.mechanisms.swapping.options import PermutationSwappingOptions
from holdfast.privacy.guarantee import Target
from holdfast.privacy.intensity import Pure
from holdfast.spec.privacy import ProtectedUnit
from holdfast.system.errors import GuaranteeError

Value = int
Dataset = tuple[tuple[Value, Value], ...]
"""Unordered records (held, swapped) of a stratum, sorted."""
RATES = [Fraction(rate) for rate in ("1/20", "1/5", "1/2", "7/10", "9/10")]
ROUNDING = Fraction(1, 10**12)
BOUNDS: tuple[EpsilonBound, EpsilonBound] = ("slides", "tight")
sizes = st.one_of(st.integers(2, 70), st.integers(2, 10**12))
rates_between = st.fractions(Fraction(1, 10**6), 1 - Fraction(1, 10**6), max_denominator=10**6)


@pytest.fixture(scope="module", autouse=True)
def precise() -> Iterator[None]:
    with flint.ctx.workprec(200):
        yield


def derangements(things: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [p for p in permutations(things) if all(a != b for a, b in zip(p, things, strict=True))]


@cache
def law_of_permutations(size: int, rate: Fraction) -> dict[tuple[int, ...], Fraction]:
    """Follow the algorithm: all selections of other than one record, all derangements of what is selected."""
    law: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    chances = {chosen: Fraction(1) for chosen in product((False, True), repeat=size) if sum(chosen) != 1}
    for chosen in chances:
        for selected in chosen:
            chances[chosen] *= rate if selected else 1 - rate
    again = 1 - sum(chances.values())  # one was selected: a geometric series of repetitions
    for chosen, chance in chances.items():
        places = tuple(i for i in range(size) if chosen[i])
        listed = derangements(places)
        for taken in listed:
            source = list(range(size))
            for place, other in zip(places, taken, strict=True):
                source[place] = other
            law[tuple(source)] += chance / (1 - again) / len(listed)
    return dict(law)


def dataset(held: tuple[Value, ...], swapped: tuple[Value, ...]) -> Dataset:
    return tuple(sorted(zip(held, swapped, strict=True)))


def outputs(x: Dataset, rate: Fraction) -> dict[Dataset, Fraction]:
    """Return the exact law of the swapped records of a stratum."""
    held, swapped = (tuple(column) for column in zip(*x, strict=True))
    law: defaultdict[Dataset, Fraction] = defaultdict(Fraction)
    for source, chance in law_of_permutations(len(x), rate).items():
        law[dataset(held, tuple(swapped[i] for i in source))] += chance
    return law


def universe(held: tuple[Value, ...], swapped: tuple[Value, ...]) -> list[Dataset]:
    """Return all datasets that agree on held values and on swapped ones."""
    return sorted({dataset(held, order) for order in permutations(swapped)})


def distance(x: Dataset, y: Dataset) -> int:
    """Return half the size of the symmetric difference of two multisets."""
    one, other = Counter(x), Counter(y)
    return ((one - other).total() + (other - one).total()) // 2


def largest_loss(strata: list[tuple[tuple[Value, ...], tuple[Value, ...]]], rate: Fraction) -> flint.arb:
    """Return the largest log ratio per unit of distance, over all datasets of some strata and all outputs."""
    datasets = list(product(*(universe(*stratum) for stratum in strata)))
    laws = [[outputs(part, rate) for part in x] for x in datasets]
    chances = [
        [prod((law[z] for law, z in zip(parts, out, strict=True)), start=Fraction(1)) for out in datasets]
        for parts in laws
    ]
    assert all(sum(row) == 1 for row in chances)
    values = sorted({chance for row in chances for chance in row})
    place = {chance: i for i, chance in enumerate(values)}
    index = np.array([[place[chance] for chance in row] for row in chances])
    apart = np.array(
        [[sum(distance(a, b) for a, b in zip(x, y, strict=True)) for y in datasets] for x in datasets]
    )
    # every (distance, chance given one dataset, chance given the other), over all outputs
    seen = np.unique((apart[:, :, None] * len(values) + index[:, None, :]) * len(values) + index[None, :, :])
    loss = flint.arb(0)
    for code in seen.tolist():
        (m, i), j = divmod(code // len(values), len(values)), code % len(values)
        if m:
            ratio = values[i] / values[j]
            loss = max(loss, (flint.arb(ratio.numerator) / ratio.denominator).log() / m)
    return loss


def exactly(loss: flint.arb, told: Fraction) -> bool:
    """Return whether what is told is a loss, rounded up."""
    return bool(loss <= above(told) and above(told) - loss < above(ROUNDING))


def above(value: Fraction) -> flint.arb:
    return flint.arb(value.numerator) / value.denominator


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_a_permutation_has_odds_to_the_moved_over_their_derangements(size: int, rate: Fraction) -> None:
    odds, law = rate / (1 - rate), law_of_permutations(size, rate)
    moved = {source: sum(i != source[i] for i in range(size)) for source in permutations(range(size))}
    weight = {source: odds**k / len(derangements(tuple(range(k)))) for source, k in moved.items()}
    assert law == {source: one / sum(weight.values()) for source, one in weight.items()}
    # which is p^k (1-p)^(b-k) / d_k, given that not exactly one was selected
    one_selected = size * rate * (1 - rate) ** (size - 1)
    assert law[tuple(range(size))] == (1 - rate) ** size / (1 - one_selected)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_tight_bound_is_attained_by_distinct_values(size: int, rate: Fraction) -> None:
    loss = largest_loss([(tuple(range(size)), tuple(range(size)))], rate)
    told = epsilon(size, rate, "tight")
    assert exactly(loss, told)
    assert not exactly(loss, told - ROUNDING)
    assert not exactly(loss, told + ROUNDING)


@pytest.mark.parametrize("rate", [Fraction(1, 20), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize(
    ("held", "swapped"),
    [
        ((0, 1), (0, 0)),
        ((0, 1, 2), (0, 0, 1)),
        ((0, 0, 1), (0, 1, 2)),
        ((0, 0, 1), (0, 0, 1)),
        ((0, 1, 2, 3), (0, 0, 1, 2)),
        ((0, 0, 1, 1), (0, 0, 1, 1)),
        ((0, 0, 1, 2), (0, 1, 1, 2)),
        ((0, 0, 0, 1), (0, 1, 2, 3)),
        ((0, 0, 1, 1, 2), (0, 1, 1, 2, 2)),
        ((0, 0, 1, 2, 3), (0, 1, 2, 3, 3)),
        ((0, 0, 0, 1, 1), (0, 1, 2, 3, 4)),
    ],
)
def test_values_alike_lose_no_more(
    held: tuple[Value, ...], swapped: tuple[Value, ...], rate: Fraction
) -> None:
    assert largest_loss([(held, swapped)], rate) <= above(epsilon(len(held), rate, "tight"))


@pytest.mark.parametrize(("held", "swapped"), [((0, 1, 2), (7, 7, 7)), ((7, 7, 7), (0, 1, 2))])
def test_a_stratum_of_one_value_is_published_as_it_is(
    held: tuple[Value, ...], swapped: tuple[Value, ...]
) -> None:
    x = dataset(held, swapped)
    assert universe(held, swapped) == [x]
    assert outputs(x, Fraction(1, 2)) == {x: 1}


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("one", "other"), [(2, 2), (2, 3), (3, 3), (2, 4)])
def test_strata_together_lose_as_much_as_the_largest(one: int, other: int, rate: Fraction) -> None:
    strata = [(tuple(range(size)), tuple(range(size))) for size in (one, other)]
    assert exactly(largest_loss(strata, rate), epsilon(max(one, other), rate, "tight"))


def term(size: int, log_odds: flint.arb) -> flint.arb:
    """Return the largest ((k - k') ln o + ln d_k' - ln d_k) / m over moves k, k' at most m apart."""
    counts = [1, 0]
    for k in range(2, size + 1):
        counts.append((k - 1) * (counts[-1] + counts[-2]))
    log_counts = {k: flint.arb(count).log() for k, count in enumerate(counts) if count}
    best = flint.arb(0)
    for k, k_other in product(log_counts, repeat=2):
        loss = (k - k_other) * log_odds + log_counts[k_other] - log_counts[k]
        best = max(best, loss / max(abs(k - k_other), 2))
    return best


@pytest.mark.parametrize("rate", [*RATES, Fraction(1, 10**6), Fraction(99, 100), 1 - Fraction(1, 10**6)])
@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7, 12, 25, 61, 62])
def test_the_closed_form_is_the_largest_term(size: int, rate: Fraction) -> None:
    assert exactly(term(size, above(rate / (1 - rate)).log()), epsilon(size, rate, "tight"))


def test_ratios_of_derangements() -> None:
    counts = [sum((-1) ** j * comb(k, j) * factorial(k - j) for j in range(k + 1)) for k in range(120)]
    for size in (2, *range(4, 120)):
        exact = flint.arb(counts[size]) / counts[size - 2]
        assert derangement_ratio(size).overlaps(exact)
        assert derangement_ratio(size).rad() < 1e-50
    assert 4 < LISTED < 118


def test_the_figures_of_the_slides() -> None:
    told = [float(epsilon(264_331, Fraction(percent, 100))) for percent in (1, 5, 10, 50)]
    assert [round(value, 2) for value in told] == [17.08, 15.43, 14.68, 12.48]
    # b = 4 at 1/2: ln 3 where the slides' bound is ln 5; b = 3: half ln 2
    assert exactly(flint.arb(3).log(), epsilon(4, Fraction(1, 2), "tight"))
    assert exactly(flint.arb(5).log(), epsilon(4, Fraction(1, 2)))
    assert exactly(flint.arb(2).log() / 2, epsilon(3, Fraction(1, 2), "tight"))


@given(sizes, rates_between)
def test_the_tight_bound_is_never_above_that_of_the_slides(size: int, rate: Fraction) -> None:
    assert 0 <= epsilon(size, rate, "tight") <= epsilon(size, rate)
    assert least_epsilon(size, "tight") <= least_epsilon(size)


@given(sizes, st.integers(1, 10**6), rates_between, st.sampled_from(BOUNDS))
def test_larger_strata_lose_no_less(size: int, more: int, rate: Fraction, bound: EpsilonBound) -> None:
    assert epsilon(size, rate, bound) <= epsilon(size + 1, rate, bound) <= epsilon(size + more, rate, bound)
    assert least_epsilon(size, bound) <= least_epsilon(size + more, bound)


@given(sizes, rates_between, st.sampled_from(BOUNDS))
def test_no_rate_loses_less_than_the_least(size: int, rate: Fraction, bound: EpsilonBound) -> None:
    least = least_epsilon(size, bound)
    assert epsilon(size, rate, bound) >= least
    # at ln o = epsilon it is attained, as nearly as a rate of a fraction can
    odds = above(least).exp()
    middle = Fraction(int((odds / (1 + odds) * 10**30).floor().unique_fmpz() or 0), 10**30)
    if middle < 1 - Fraction(1, 10**9):
        assert epsilon(size, middle, bound) - least <= 2 * ROUNDING


@given(sizes, st.fractions(Fraction(1, 1000), 5, max_denominator=1000), st.sampled_from(BOUNDS))
def test_the_two_rates_of_an_epsilon(size: int, more: Fraction, bound: EpsilonBound) -> None:
    size = min(size, 10**6)
    target = least_epsilon(size, bound) + more
    lower, upper = rates(size, target, bound)
    assert lower <= upper
    for rate in (lower, (lower + upper) / 2, upper):
        assert epsilon(size, rate, bound) <= target
    assert target - epsilon(size, lower, bound) < Fraction(1, 10**6)
    assert target - epsilon(size, upper, bound) < Fraction(1, 10**6)
    outside = Fraction(1, 10**6)
    assert epsilon(size, lower * (1 - outside), bound) > target
    assert epsilon(size, 1 - (1 - upper) * (1 - outside), bound) > target


def test_rates_of_a_very_large_epsilon_stay_within_reach() -> None:
    assert rates(10, Fraction(10**300)) == (Fraction(1, 10**9), 1 - Fraction(1, 10**9))
    assert epsilon(10, Fraction(1, 10**9)) < 1000


@pytest.mark.parametrize("size", [2, 3, 4, 50, 1000, 264_331])
@pytest.mark.parametrize("bound", BOUNDS)
def test_the_least_epsilon_has_its_rates(size: int, bound: EpsilonBound) -> None:
    least = least_epsilon(size, bound)
    lower, upper = rates(size, least, bound)
    assert upper - lower < Fraction(1, 10**9)
    assert max(epsilon(size, lower, bound), epsilon(size, upper, bound)) <= least


def test_too_small_an_epsilon_is_told_with_one_that_can_be_had() -> None:
    with pytest.raises(GuaranteeError, match=r"at least 6\.242481, or take a finer") as caught:
        rates(264_331, Fraction("6.24248"))
    assert "264,331 records" in str(caught.value)
    assert rates(264_331, Fraction("6.242481"))


@pytest.mark.parametrize("rate", ["0", "1", "3/2", "-1/2"])
def test_a_rate_without_an_epsilon_is_refused(rate: str) -> None:
    with pytest.raises(GuaranteeError, match="above 0 and below 1"):
        epsilon(10, Fraction(rate))


@pytest.mark.parametrize("rate", ["1e-10", "0.9999999999"])
def test_a_rate_that_hardly_moves_or_leaves_a_record_is_out_of_reach(rate: str) -> None:
    with pytest.raises(GuaranteeError, match="out of reach"):
        epsilon(10, Fraction(rate))


def test_strata_of_one_lose_nothing() -> None:
    for bound in BOUNDS:
        assert epsilon(1, Fraction(1, 2), bound) == epsilon(0, Fraction(1, 2), bound) == 0
        assert least_epsilon(1, bound) == 0


@given(sizes, st.fractions(Fraction(1, 10), Fraction(2000), max_denominator=100), st.sampled_from(BOUNDS))
def test_what_any_file_loses_is_told_without_it(size: int, target: Fraction, bound: EpsilonBound) -> None:
    options = PermutationSwappingOptions(stratify=("a",), swap=("b",), bound=bound)
    whom = ProtectedUnit("person", 1, "replace")
    told = PermutationSwapping.least_loss(Target("unit", Pure(target)), whom, options)
    assert told is not None
    try:
        rate = rates(size, target, bound).lower
    except GuaranteeError:
        return
    assert told <= epsilon(size, rate, bound)
    if target < 20:
        assert target == told + target / 10**6
    given_rate = options.model_copy(update={"rate": rate})
    least = PermutationSwapping.least_loss(Target("unit", Pure(target)), whom, given_rate)
    assert least is not None
    assert least <= epsilon(size, rate, bound)
    missed = PermutationSwapping.least_loss(Target("unit", Pure(least / 2)), whom, given_rate)
    assert missed is None
