"""Labelled people against every file of a few of them."""

from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.universe import labelled as module
from holdfast.universe.labelled import Labelled, labelled
from holdfast.universe.limits import Limits
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe
from holdfast.universe.vacuous import one_table

Design = Callable[..., Universe]
File = tuple[int, ...]


def found_for(universe: Universe) -> Labelled:
    return labelled(universe, semi_adjacency(universe))


def every_file(matrix: IntArray, values: IntArray, people: int) -> list[File]:
    cells = range(matrix.shape[1])
    return [
        file
        for file in product(cells, repeat=people)
        if (matrix @ np.bincount(file, minlength=len(cells)) == values).all()
    ]


def by_definition(files: list[File]) -> tuple[int, int, int]:
    """Definition 13 in its worst case, and a_min and a_maxmin of Remark 14, over all files."""

    def apart(one: File, other: File) -> int:
        return sum(x != y for x, y in zip(one, other, strict=True))

    worst = 0
    for person in range(len(files[0])):
        for value in {file[person] for file in files}:
            for file in files:
                worst = max(worst, min(apart(file, other) for other in files if other[person] == value))
    nearest = [min((apart(file, other) for other in files if other != file), default=0) for file in files]
    return worst, min((step for step in nearest if step), default=0), max(nearest)


def agrees(matrix: IntArray, file: File) -> None:
    table = np.bincount(file, minlength=matrix.shape[1]).astype(np.int64)
    universe = Universe.of(csr_array(matrix), matrix @ table)
    worst, a_min, a_maxmin = by_definition(every_file(matrix, matrix @ table, len(file)))
    found = found_for(universe)
    assert found.exact
    assert (found.worst_case, found.a_min, found.a_maxmin) == (worst, a_min, a_maxmin)


COUNT_OF_ONES = np.array([[1, 1], [0, 1]])


@pytest.mark.parametrize(("file", "a"), [((0, 1, 1), 2), ((0, 0, 0), 0), ((1, 1, 1), 0)])
def test_examples_2_and_3_of_the_paper(file: File, a: int) -> None:
    """Three people, of whom the number of ones is published: no count is left open, three files are."""
    agrees(COUNT_OF_ONES, file)
    table = np.bincount(file, minlength=2).astype(np.int64)
    universe = Universe.of(csr_array(COUNT_OF_ONES), COUNT_OF_ONES @ table)
    assert semi_adjacency(universe).worst_case == 0
    assert found_for(universe).worst_case == a


def test_the_end_of_remark_17(margins: Design) -> None:
    """All counts of a table are published: two people exchange."""
    universe = margins([[2, 0], [1, 3]], [(0, 1)])
    assert (semi_adjacency(universe).worst_case, found_for(universe).worst_case) == (0, 2)


@pytest.mark.parametrize(
    ("table", "cliques", "expected"),
    [
        ([[1, 1], [1, 0]], [(0,), (1,)], (3, 2, 2)),
        ([[1, 1], [1, 1]], [(0,), (1,)], (2, 2, 2)),
        ([[3, 0], [0, 0]], [(0,), (1,)], (0, 0, 0)),
        ([[3, 1], [0, 0]], [(0,), (1,)], (2, 2, 2)),
        ([[0, 0], [0, 0]], [(0,), (1,)], (0, 0, 0)),
        ([[2, 0, 1], [1, 1, 1]], [(0,)], (2, 1, 1)),
        ([[1, 0], [1, 2]], [()], (1, 1, 1)),
    ],
)
def test_known_values(margins: Design, table: object, cliques: object, expected: tuple[int, ...]) -> None:
    found = found_for(margins(table, cliques))
    assert (found.worst_case, found.a_min, found.a_maxmin) == expected


@pytest.mark.parametrize(
    ("weights", "file"),
    [
        ([2, 0, 3], (0, 0, 0)),  # all in one cell, and the next file has nobody there
        ([2, 0, 3], (0, 0, 0, 0)),
        ([1, 0, 2, 2], (0, 0)),  # the next file has a person in a cell that is like another
        ([1, 1, 2], (2, 2, 2)),
        ([1, 2, 3, 5], (1, 1, 2)),
        ([0, 0, 1], (0, 0)),
        ([0, 1], (0, 0, 0)),
    ],
)
def test_weights(weights: list[int], file: File) -> None:
    agrees(np.array([[1] * len(weights), weights]), file)


designs = st.tuples(st.integers(1, 3), st.integers(2, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.sampled_from([0, 0, 1, 1, 2])),
        st.lists(st.integers(0, shape[1] - 1), min_size=1, max_size=4),
    )
)


@settings(max_examples=100, deadline=None)
@given(designs)
def test_random_designs_of_up_to_four_people(design: tuple[IntArray, list[int]]) -> None:
    matrix, file = design
    with_total = np.vstack([np.ones((1, matrix.shape[1]), dtype=np.int64), matrix])
    agrees(with_total, tuple(file))


@pytest.mark.parametrize(("weights", "table"), [([1, 2, 0], [2, 0, 0]), ([0, 1], [4, 0]), ([3, 5], [1, 0])])
def test_the_number_of_people_may_be_open(rows: Design, weights: list[int], table: list[int]) -> None:
    """Files of each size are compared among themselves."""
    found = found_for(rows([weights], table))
    value = np.array(weights) @ table
    sizes = [every_file(np.array([weights]), np.array([value]), people) for people in range(1, 6)]
    each = [by_definition(files) for files in sizes if files]
    worst, nearest, farthest = zip(*each, strict=True)
    assert found.worst_case == max(worst)
    assert found.a_min == min((step for step in nearest if step), default=0)
    assert found.a_maxmin == max(farthest)


def test_no_program_is_asked_of_many_margins(monkeypatch: pytest.MonkeyPatch, margins: Design) -> None:
    monkeypatch.setattr(module, "Program", None)
    found = found_for(margins(np.ones((30, 30)), [(0,), (1,)]))
    assert (found.worst_case, found.a_min, found.a_maxmin) == (3, 2, 2)


def test_what_is_too_large_is_left_open(monkeypatch: pytest.MonkeyPatch, rows: Design) -> None:
    monkeypatch.setattr(module, "PATTERNS", 1)
    found = found_for(rows([[1, 1, 1], [2, 0, 3]], [3, 0, 0]))
    assert (found.a_min, found.a_maxmin) == (None, None)


def steps_between(universe: Universe) -> tuple[int, int]:
    """Return a_min and a_maxmin from all files, by who is where."""
    tables = [tuple(table) for table in conforming_tables(universe, 2000).tolist()]
    nearest = []
    for table in tables:
        cells = [cell for cell, count in enumerate(table) for _ in range(count)]
        files = {
            order
            for other in tables
            if sum(other) == sum(table)
            for order in permutations([cell for cell, count in enumerate(other) for _ in range(count)])
        }
        steps = [sum(a != b for a, b in zip(cells, file, strict=True)) for file in files]
        nearest += [min(step for step in steps if step)] if any(steps) else []
    return min(nearest, default=0), max(nearest, default=0)


@pytest.mark.parametrize("listing", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_alternatives_within_bounds(seed: int, listing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    universe = few_people(seed)
    if universe.limits is None or one_table(universe):
        return
    semi = semi_adjacency(universe)
    if not listing:
        monkeypatch.setattr(module, "listed", lambda _: None)
    found = labelled(universe, semi)
    if listing:
        assert (found.a_min, found.a_maxmin) == steps_between(universe)
    else:
        truth = steps_between(universe)
        assert found.a_min in (None, truth[0])
        assert found.a_maxmin in (None, truth[1])


def test_alternatives_within_bounds_are_asked_of_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [few_people(seed) for seed in range(40)]
    monkeypatch.setattr(module, "listed", lambda _: None)
    known = [
        labelled(universe, semi_adjacency(universe)).a_maxmin
        for universe in asked
        if universe.limits is not None and not one_table(universe)
    ]
    assert {1, 2} <= set(known)


def few_people(seed: int) -> Universe:
    """Return five people at most in two groups with totals, or in one, within bounds."""
    draw = np.random.default_rng(seed)
    d = int(draw.integers(3, 6))
    x = np.bincount(draw.integers(0, d, 5), minlength=d)
    A = np.array([np.ones(d), np.arange(d) < draw.integers(1, d)])[: 1 + draw.integers(0, 2)].astype(np.int64)
    B = draw.integers(-1, 2, (3, d))
    limits = Limits.of(csr_array(B), B @ x - draw.integers(0, 2, 3))
    return Universe.of(csr_array(A), A @ x, limits=limits, occupied=True)
