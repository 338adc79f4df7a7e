"""Nested totals, alone and crossed by margins, against enumeration on small trees; and at their full size."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, vstack
from tests.universe.test_semi_adjacency import from_definition
from tests.universe.test_sensitivity import _by_definition

from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import InvariantError
from holdfast.universe.exposure import exposure
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.sensitivity import sensitivity
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe
from holdfast.universe.vacuous import one_table

# two counties of two tracts each, tracts of 1, 2, 1 and 1 leaves; each leaf has 2 cells, of either sex
LEAF = np.repeat(np.arange(5), 2)
SEX = np.tile([0, 1], 5)
TRACT = np.array([0, 1, 1, 2, 3])[LEAF]
COUNTY = np.array([0, 0, 0, 1, 1])[LEAF]
STATE = np.zeros(10, dtype=np.int64)


def margin(code: IntArray, where: IntArray | None = None) -> IntArray:
    """Return the sums over the cells of each level, within a selection."""
    chosen = np.ones(code.size, dtype=np.bool_) if where is None else where
    return np.array([((code == level) & chosen).astype(np.int64) for level in np.unique(code[chosen])])


DESIGNS = {
    "state": [margin(STATE)],
    "county": [margin(COUNTY)],
    "state, county": [margin(STATE), margin(COUNTY)],
    "state, county, tract": [margin(STATE), margin(COUNTY), margin(TRACT)],
    "tract, county, state": [margin(TRACT), margin(COUNTY), margin(STATE)],
    "state, county, tract, leaf": [margin(STATE), margin(COUNTY), margin(TRACT), margin(LEAF)],
    "state and the tracts of one county": [margin(STATE), margin(TRACT, COUNTY == 0)],
    "county and one leaf": [margin(COUNTY), margin(LEAF, LEAF == 1)],
    "county by sex": [margin(COUNTY * 2 + SEX)],
    "county, state by sex": [margin(COUNTY), margin(SEX)],
    "tract, state by sex": [margin(TRACT), margin(SEX)],
    "county by sex, tract": [margin(COUNTY * 2 + SEX), margin(TRACT)],
    "county, women of the state": [margin(COUNTY), margin(SEX, SEX == 1)],
    "county, women of one tract": [margin(COUNTY), margin(SEX, (SEX == 1) & (TRACT == 1))],
    "leaf, women of each county": [margin(LEAF), margin(COUNTY, SEX == 1)],
}
TABLES = [
    [1, 0, 0, 1, 0, 0, 1, 0, 0, 0],
    [2, 0, 0, 0, 0, 0, 0, 1, 0, 0],
    [0, 1, 1, 0, 1, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 1, 1, 0],
    [0, 0, 2, 0, 0, 1, 0, 0, 0, 0],
]


@pytest.mark.parametrize("table", TABLES, ids=["spread", "alike", "one county", "the other", "one tract"])
@pytest.mark.parametrize("name", DESIGNS)
def test_small_trees_by_enumeration(name: str, table: list[int]) -> None:
    matrix = np.concatenate(DESIGNS[name])
    universe = Universe.of(csr_array(matrix), matrix @ np.array(table))
    tables = conforming_tables(universe, 100_000)
    found = semi_adjacency(universe)
    assert (found.worst_case, found.literal) == from_definition([tuple(x) for x in tables.tolist()])
    assert found.exact
    for distance in (1, 2, 3):
        assert sensitivity(universe, distance) == _by_definition(tables, distance)
    limits = exposure(universe)
    assert np.array_equal(limits.low, tables.min(axis=0))
    assert np.array_equal(limits.high, tables.max(axis=0))
    assert one_table(universe) == (len(tables) == 1)
    crossing = ", state by sex" in name or name in ("county by sex, tract", "county, women of the state")
    assert (universe.settled is None) == (crossing or name == "leaf, women of each county")


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 1), min_size=6, max_size=6))
def test_any_tree_by_enumeration(seed: int, table: list[int]) -> None:
    generator = np.random.default_rng(seed)
    rows: list[IntArray] = []

    def split(cells: IntArray) -> None:
        if generator.random() < 0.7:
            rows.append(np.isin(np.arange(6), cells).astype(np.int64))
        if cells.size > 1 and generator.random() < 0.8:
            for part in np.array_split(cells, int(generator.integers(2, cells.size + 1))):
                split(part)

    split(np.arange(6))
    matrix = np.array([np.ones(6, dtype=np.int64), *rows])[generator.permutation(len(rows) + 1)]
    universe = Universe.of(csr_array(matrix), matrix @ np.array(table))
    assert universe.settled is not None
    tables = conforming_tables(universe, 100_000)
    found = semi_adjacency(universe)
    assert (found.worst_case, found.literal) == from_definition([tuple(x) for x in tables.tolist()])
    assert sensitivity(universe, 2) == _by_definition(tables, 2)


def test_totals_that_leave_less_than_nothing_are_refused() -> None:
    matrix = np.concatenate([margin(STATE), margin(TRACT)[:2]])
    with pytest.raises(InvariantError, match="no table of nonnegative counts"):
        Universe.of(csr_array(matrix), np.array([3, 2, 2]))
    assert Universe.of(csr_array(matrix), np.array([3, 2, 1])).settled is not None


def large(leaves: int, *levels: int, cells: int = 16) -> tuple[csr_array, IntArray]:
    """Return the totals of groups of so many leaves, and a table over all cells."""
    leaf = np.arange(leaves).repeat(cells)
    ones = np.ones(leaf.size, dtype=np.int64)
    rows = [csr_array((ones, (leaf // size, np.arange(leaf.size)))) for size in levels]
    return csr_array(vstack(rows, format="csr")), np.random.default_rng(0).integers(0, 3, leaf.size)


@pytest.mark.parametrize(
    ("levels", "value"),
    [((20_000,), 1), ((5_000,), 2), ((20_000, 5_000, 100), 2), ((20_000, 5_000, 100, 1), 2), ((1, 100), 2)],
)
def test_many_cells_are_answered_at_once(levels: tuple[int, ...], value: int) -> None:
    matrix, table = large(20_000, *levels)
    universe = Universe.of(matrix, matrix @ table)
    assert semi_adjacency(universe).worst_case == value
    found = sensitivity(universe, value)
    assert (found.l1, found.l2_squared, found.linf, found.exact) == (2 * value, 2 * value**2, value, True)


def test_many_cells_with_a_margin_that_crosses() -> None:
    """As on the small tree with the same shape, each county and kind of cell in use."""
    matrix, table = large(20_000, 5_000)
    kinds = csr_array(
        (np.ones(table.size, dtype=np.int64), (np.arange(table.size) % 16, np.arange(table.size)))
    )
    both = csr_array(vstack([matrix, kinds], format="csr"))
    found = semi_adjacency(universe := Universe.of(both, both @ table))
    assert (found.worst_case, found.literal, found.exact, found.searched) == (3, 2, True, False)
    space = sensitivity(universe, 3)
    assert (space.l1, space.l2_squared, space.linf, space.exact) == (6, 18, 3, True)
    small = np.array([[int(i == c) for i, j, k in product(range(2), repeat=3)] for c in range(2)])
    sexes = np.array([[int(j == s) for i, j, k in product(range(2), repeat=3)] for s in range(2)])
    matrix = csr_array(np.concatenate([small, sexes]))
    tables = conforming_tables(Universe.of(matrix, np.array([3, 3, 3, 3])), 100_000)
    assert _by_definition(tables, 3).l2_squared == 18
