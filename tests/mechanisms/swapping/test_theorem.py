"""What invariants alone cost, and why nothing is private without them: the three parts, by enumeration."""

from collections import defaultdict
from fractions import Fraction
from itertools import permutations, product
from math import log

from holdfast.mechanisms.swapping.bounds import epsilon

RECORDS = 3
DERANGEMENTS = (1, 0, 1, 2)
RATE = Fraction(1, 3)
File = tuple[int, ...]
FILES: list[File] = list(product(range(RECORDS), repeat=RECORDS))
"""The swapped values of three records of one stratum, which all hold something else."""


def kept(file: File) -> File:
    """Return what every swap keeps: how often there is each value."""
    return tuple(sorted(file))


def law(file: File) -> dict[File, Fraction]:
    """Return the law of a swap: records are selected at the rate, not one alone, and deranged."""
    found: dict[File, Fraction] = defaultdict(Fraction)
    for order in permutations(range(RECORDS)):
        moved = sum(place != at for at, place in enumerate(order))
        weight = RATE**moved * (1 - RATE) ** (RECORDS - moved) / DERANGEMENTS[moved]
        found[tuple(file[place] for place in order)] += weight
    total = sum(found.values())
    return {file: weight / total for file, weight in found.items()}


LAWS = {file: law(file) for file in FILES}


def distance(one: File, other: File) -> int:
    return sum(mine != theirs for mine, theirs in zip(one, other, strict=True))


def test_what_is_kept_costs_nothing_by_itself() -> None:
    """Within a universe it is the same, so its law is."""
    for file in FILES:
        assert {kept(released) for released in LAWS[file]} == {kept(file)}


def test_files_that_differ_in_what_is_kept_are_told_apart_for_sure() -> None:
    """So there is no finite epsilon for any universe with two of them: the scope has to be this small."""
    for one, other in product(FILES, FILES):
        apart = not set(LAWS[one]) & set(LAWS[other])
        assert apart == (kept(one) != kept(other))


def test_a_swap_that_varies_within_a_universe_costs_more_than_nothing() -> None:
    stated = float(epsilon(RECORDS, RATE, "tight"))
    largest = 0.0
    for one, other in product(FILES, FILES):
        if kept(one) == kept(other) and one != other:
            assert LAWS[one] != LAWS[other]
            loss = max(abs(log(LAWS[one][file] / LAWS[other][file])) for file in LAWS[one])
            assert 0 < loss <= stated * distance(one, other) * (1 + 1e-12)
            largest = max(largest, loss / distance(one, other))
    assert abs(largest - stated) < 1e-9
