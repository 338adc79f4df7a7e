"""Conditioning a listed law of records on public facts, against direct enumeration."""

from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.privacy.law_distance import bottleneck
from holdfast.privacy.pufferfish.families.joint import JointLaws, Outcome
from holdfast.privacy.pufferfish.families.listed import ListedLaws, SecretPair
from holdfast.system.errors import GuaranteeError


def fair(n: int) -> list[Outcome]:
    """Return n fair bits, their sum public."""
    return [
        Outcome(tuple(map(str, bits)), str(sum(bits)), (Fraction(1, 2**n),))
        for bits in product((0, 1), repeat=n)
    ]


def test_given_the_sum_one_bit_takes_another_along() -> None:
    model = JointLaws(tuple(fair(4)), "2")
    assert model.delta.value == 2
    assert model.framework.statistic.metric == "records"
    assert model.details["worst"] == ["person 1 is 0", "person 1 is 1"]


def test_a_cycle_of_possible_values_moves_everybody() -> None:
    """Independent records with a fixed histogram: Delta_z is n, where semi-adjacency is 2 [theory, 7]."""
    possible = [("a", "b"), ("b", "c"), ("c", "a")]
    outcomes = [
        Outcome(records, "".join(sorted(records)), (Fraction(1, 8),)) for records in product(*possible)
    ]
    assert JointLaws(tuple(outcomes), "abc").delta.value == 3


def test_a_statistic_moves_less_than_the_records() -> None:
    outcomes = [
        Outcome(one.records, one.public, one.chances, Fraction(int(one.records[0]) + int(one.records[1])))
        for one in fair(4)
    ]
    model = JointLaws(tuple(outcomes), "2")
    assert model.delta.value == 1
    assert model.framework.statistic.name == "value"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=8, max_size=8).filter(any), st.integers(0, 3))
def test_conditional_laws_are_those_of_enumeration(weights: list[int], observed: int) -> None:
    total = sum(weights)
    datasets = list(product((0, 1), repeat=3))
    outcomes = tuple(
        Outcome(tuple(map(str, bits)), str(sum(bits)), (Fraction(weight, total),))
        for bits, weight in zip(datasets, weights, strict=True)
    )
    mass = {bits: weight for bits, weight in zip(datasets, weights, strict=True) if sum(bits) == observed}
    if not any(mass.values()):
        with pytest.raises(GuaranteeError, match="no chance"):
            JointLaws(outcomes, str(observed))
        return
    radii = []
    for person, (v, w) in product(range(3), combinations((0, 1), 2)):
        given_v, given_w = ({x: m for x, m in mass.items() if x[person] == value and m} for value in (v, w))
        if given_v and given_w:
            distances = [
                [Fraction(sum(a != b for a, b in zip(x, y, strict=True))) for y in given_w] for x in given_v
            ]
            laws = [[Fraction(m, sum(law.values())) for m in law.values()] for law in (given_v, given_w)]
            radii.append(bottleneck(distances, *laws).radius)
    if radii:
        assert JointLaws(outcomes, str(observed)).delta.value == max(radii)
    else:
        with pytest.raises(GuaranteeError, match="leaves no secret"):
            JointLaws(outcomes, str(observed))


def test_every_law_of_the_class_counts() -> None:
    """A law that ties all bits together beside the fair one."""
    outcomes = [
        Outcome(
            one.records,
            "known",
            (one.chances[0], Fraction(1, 2) if len(set(one.records)) == 1 else Fraction(0)),
        )
        for one in fair(3)
    ]
    assert JointLaws(tuple(outcomes), "known").delta.value == 3
    alone = [Outcome(one.records, "known", one.chances[:1]) for one in outcomes]
    assert JointLaws(tuple(alone), "known").delta.value == 1


def test_roots_are_rounded_up() -> None:
    zero, far = (Fraction(0), Fraction(0)), (Fraction(1), Fraction(1))
    pair = SecretPair(("a", "b"), ({zero: Fraction(1)}, {far: Fraction(1)}))
    found = {metric: ListedLaws((pair,), metric).delta for metric in ("l1", "l2", "linf", "records")}
    assert [found[metric].value for metric in ("l1", "linf", "records")] == [2, 1, 2]
    assert found["l2"].finite ** 2 > 2
    assert not found["l2"].exact
    assert found["l1"].exact


@pytest.mark.parametrize(
    ("outcomes", "complaint"),
    [
        ((), "no outcome is listed"),
        (
            (Outcome(("0",), "z", (Fraction(1),)), Outcome(("0", "1"), "z", (Fraction(0),))),
            "different numbers of people",
        ),
        ((Outcome(("0",), "z", (Fraction(1),)), Outcome(("1",), "z", ())), "different numbers of laws"),
        ((Outcome(("0",), "z", (Fraction(1, 2),)),), "the prior sum to 1/2"),
        (
            (Outcome(("0",), "z", (Fraction(1),), Fraction(1)), Outcome(("1",), "z", (Fraction(0),))),
            "some outcomes have a value",
        ),
        ((Outcome(("0",), "other", (Fraction(1),)),), "no chance"),
    ],
)
def test_what_is_no_joint_law_is_refused(outcomes: tuple[Outcome, ...], complaint: str) -> None:
    with pytest.raises(GuaranteeError, match=complaint):
        JointLaws(outcomes, "z")


def test_points_that_do_not_match_are_refused() -> None:
    pair = SecretPair(("a", "b"), ({(Fraction(0),): Fraction(1)}, {(Fraction(0), Fraction(1)): Fraction(1)}))
    with pytest.raises(GuaranteeError, match="different numbers of coordinates"):
        ListedLaws((pair,))
    words = SecretPair(("a", "b"), ({("x",): Fraction(1)}, {("y",): Fraction(1)}))
    with pytest.raises(GuaranteeError, match="not a number"):
        ListedLaws((words,), "l1")
    with pytest.raises(GuaranteeError, match="no pair of laws"):
        ListedLaws(())
