"""Presence as a secret, against all datasets of few people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from holdfast.privacy.law_distance import bottleneck
from holdfast.privacy.pufferfish.families.presence import ABSENT, Person, Presence
from holdfast.system.errors import GuaranteeError

HALF = Fraction(1, 2)
ONE = {"a record": Fraction(1)}


def person(inclusion: Fraction | str, **values: str) -> Person:
    found = {value: Fraction(chance) for value, chance in values.items()} or ONE
    return Person(Fraction(inclusion), found)


def by_definition(people: Sequence[Person], size: int | None, totals: Mapping[str, int] | None) -> Fraction:
    """Return the largest W_infinity over people and values, from the law of Equation 9."""
    law: dict[tuple[str, ...], Fraction] = {}
    for data in product(*(one.chances for one in people)):
        counts = Counter(value for value in data if value != ABSENT)
        fits = size is None or counts.total() == size
        if fits and (totals is None or counts == Counter({**totals})):
            law[data] = prod(
                (one.chances[value] for one, value in zip(people, data, strict=True)), start=Fraction(1)
            )
    worst = Fraction(0)
    for place, one in enumerate(people):
        away = {data: chance for data, chance in law.items() if data[place] == ABSENT}
        for value in one.values:
            here = {data: chance for data, chance in law.items() if data[place] == value}
            if here and away:
                apart = [
                    [Fraction(sum(a != b for a, b in zip(x, y, strict=True))) for y in away] for x in here
                ]
                shares = [
                    [p / sum(some.values(), Fraction(0)) for p in some.values()] for some in (here, away)
                ]
                worst = max(worst, bottleneck(apart, *shares).radius)
    return worst


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [None, 1, 2, 3])
def test_one_enters_alone_or_takes_one_place(seed: int, size: int | None) -> None:
    rng = np.random.default_rng(seed)
    people = tuple(person(Fraction(int(rng.integers(1, 10)), 10), ill="1/5", well="4/5") for _ in range(4))
    found = Presence(people, size).delta
    assert found.exact
    assert found.value == by_definition(people, size, None) == (1 if size is None else 2)


@pytest.mark.parametrize("seed", range(8))
def test_totals_by_value_are_transported(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = [("1/3", "1/3", "1/3"), ("1/2", "1/2", "0"), ("0", "1/4", "3/4"), ("2/3", "0", "1/3")]
    people = tuple(
        person(Fraction(int(rng.integers(1, 10)), 10), **dict(zip("abc", kinds[k], strict=True)))
        for k in rng.integers(4, size=5)
    )
    totals = {"a": 1, "b": 1, "c": 1}
    found = Presence(people, totals=totals)
    assert found.delta.exact
    assert found.delta.value == by_definition(people, None, totals)
    assert found.delta.finite <= 4  # three values and absence


def test_a_cycle_through_values_and_absence_moves_everybody() -> None:
    """People who are a or absent, b or a, absent or b: whoever enters moves both others."""
    people = (person(HALF, a="1"), person("1", a="1/2", b="1/2"), person(HALF, b="1"))
    found = Presence(people, totals={"a": 1, "b": 1})
    assert found.delta.value == 3
    assert found.details["worst"] == ["person 1 is in the data, a", "person 1 is not in the data"]


def test_many_people_have_a_bound() -> None:
    people = (person("1/3", a="1/2", b="1/2"),) * 1000
    found = Presence(people, totals={"a": 100, "b": 200}).delta
    assert (found.finite, found.exact) == (Fraction(3), False)
    assert Presence(people, 400).delta.finite == 2


@pytest.mark.parametrize(
    ("people", "size", "totals", "match"),
    [
        ((), None, None, "no person is listed"),
        ((person("1"), person("0")), None, None, "nobody's presence is uncertain"),
        ((person(HALF), person("1")), 1, None, "it is known who is in the data"),
        ((person(HALF), person("1")), 3, None, "gives 3 records a chance"),
        ((person("3/2"),), None, None, "person 1 is in the data with probability 3/2"),
        ((person(HALF, ill="1"),), None, {"well": 1}, "totals name 'well', which nobody has"),
        ((person(HALF, ill="1"),), None, {"ill": 1}, "nobody's presence is open"),
        ((person(HALF, ill="1/2"),), None, None, "sum to 1/2, not to 1"),
        ((person(HALF),), 1, {"a record": 1}, "give one of both"),
    ],
)  # fmt: skip
def test_what_leaves_no_secret_is_refused(
    people: tuple[Person, ...], size: int | None, totals: Mapping[str, int] | None, match: str
) -> None:
    with pytest.raises(GuaranteeError, match=match):
        Presence(people, size, totals)
