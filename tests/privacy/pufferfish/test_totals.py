"""Delta_z of independent records under totals of disjoint parts, against best transports [theory, 7]."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.privacy.pufferfish.enumerated import distance

from holdfast.privacy.guarantee import Scope
from holdfast.privacy.law_distance import bottleneck
from holdfast.privacy.pufferfish import DeltaZ, delta_of_tables, framework_of_tables
from holdfast.universe.universe import Universe

Dataset = tuple[int, ...]
Weights = Sequence[Sequence[int]]


def delta(rows: Sequence[Sequence[int]], totals: Sequence[int]) -> DeltaZ:
    universe = Universe.of(csr_array(np.array(rows, dtype=np.int64)), np.array(totals))
    return delta_of_tables(
        framework_of_tables(Scope.of(universe, invariants=("totals",), constraints=()), "independent")
    )


def moved(totals: Sequence[int], weights: Weights) -> int:
    """Return how far the part of the first person moves all, under one product law given the totals."""
    given: dict[int, dict[Dataset, int]] = {}
    for parts in product(*([part for part, weight in enumerate(row) if weight] for row in weights)):
        if Counter(parts) == Counter(dict(enumerate(totals))):
            mass = int(np.prod([row[part] for row, part in zip(weights, parts, strict=True)]))
            given.setdefault(parts[0], {})[parts] = mass
    return max((far(one, other) for one, other in combinations(given.values(), 2)), default=0)


def far(one: dict[Dataset, int], other: dict[Dataset, int]) -> int:
    apart = [[Fraction(distance(x, y)) for y in other] for x in one]
    laws = [[Fraction(mass, sum(law.values())) for mass in law.values()] for law in (one, other)]
    return int(bottleneck(apart, *laws).radius)


@pytest.mark.parametrize("totals", [(2, 1), (1, 1, 1), (2, 1, 1), (2, 2, 1), (1, 1, 1, 1)])
def test_of_all_laws_with_two_values_the_worst_moves_as_many_as_there_are_parts(
    totals: tuple[int, ...],
) -> None:
    parts = len(totals)
    two = [tuple(int(part in pair) for part in range(parts)) for pair in combinations(range(parts), 2)]
    worst = max(moved(totals, laws) for laws in product(two, repeat=sum(totals)))
    found = delta(np.eye(parts, dtype=int).tolist(), totals)
    assert (found.finite, found.exact) == (Fraction(worst), True)


@pytest.mark.parametrize("seed", range(12))
def test_no_random_product_law_moves_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    totals = ((2, 2, 1), (3, 1, 1), (2, 1, 1, 1))[seed % 3]
    weights = rng.choice([0, 1, 1, 2, 1000], size=(5, len(totals))).tolist()
    assert moved(totals, weights) <= len(totals)


def test_it_does_not_grow_with_the_records() -> None:
    four = np.repeat(np.eye(4, dtype=int), 3, axis=1).tolist()
    assert delta(four, (50, 40, 30, 15)).value == 4
    assert delta(four, (10**6, 1, 1, 10**6)).value == 4


def test_tables_are_as_far_apart_where_parts_have_two_cells() -> None:
    """Three people with the cells {a1, b1}, {b2, c2}, {c1, a2}: two datasets have one of each letter."""
    a1, a2, b1, b2, c1, c2 = range(6)
    one, other = (Counter(cells) for cells in ((a1, b2, c1), (b1, c2, a2)))
    assert (
        (one - other).total()
        == 3
        == delta(np.repeat(np.eye(3, dtype=int), 2, axis=1).tolist(), (1, 1, 1)).value
    )


@pytest.mark.parametrize(
    ("rows", "totals", "expected"),
    [
        # nested totals; the part outside of the inner one
        ([[1, 1, 1, 1], [1, 1, 0, 0]], (9, 4), (2, True)),
        # a part without records is none
        ([[1, 1, 0, 0], [0, 0, 1, 1]], (9, 0), (1, True)),
        # one total beside cells whose number of records is that of the file, which may hold none
        ([[1, 1, 0, 0]], (3,), (2, False)),
        # crossing margins fix no part
        ([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]], (5, 4, 3), (9, False)),
    ],
)  # fmt: skip
def test_parts_are_read_off_the_invariants(
    rows: list[list[int]], totals: tuple[int, ...], expected: tuple[int, bool]
) -> None:
    found = delta(rows, totals)
    assert (int(found.finite), found.exact) == expected


def test_crossing_margins_move_more_records_than_they_have_values() -> None:
    """Two margins of two values each: of the sixteen datasets of these four people two conform, 4 apart."""
    cells = [(0, 3), (1, 2), (2, 0), (2, 0)]
    margins = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    kept = [list(margins[:, np.array(data)].sum(axis=1)) for data in product(*cells)]
    conforming = [data for data, sums in zip(product(*cells), kept, strict=True) if sums == kept[0]]
    assert [distance(one, other) for one, other in combinations(conforming, 2)] == [4]
    assert delta([[1, 1, 1, 1], *margins.tolist()], (4, *map(int, kept[0]))).value == 4
