"""Margins by their sets of attributes, against the tables themselves."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.universe.conftest import margin_matrix

from holdfast.universe.bounds import junction_order, maximal, one_table
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

NAMES = "abcd"


def sets(*names: str) -> tuple[frozenset[str], ...]:
    return tuple(map(frozenset, names))


def test_maximal_cliques_are_inside_no_other() -> None:
    assert maximal(sets("a", "ab", "", "bc", "ab")) == sets("ab", "bc")
    assert maximal(sets("")) == ()


@pytest.mark.parametrize(
    "cliques",
    [(), sets(""), sets("a", "b"), sets("ab", "bc", "bd"), sets("abc", "bcd", "ce"), sets("ab", "cd", "bc")],
)
def test_every_clique_meets_those_before_it_in_its_separator(cliques: tuple[frozenset[str], ...]) -> None:
    order = junction_order(cliques)
    assert order is not None
    assert {clique for clique, _ in order} == set(maximal(cliques))
    for place, (clique, separator) in enumerate(order):
        before = [one for one, _ in order[:place]]
        assert clique & frozenset().union(*before) == separator
        assert place == 0 or any(separator <= one for one in before)


@pytest.mark.parametrize("cliques", [sets("ab", "bc", "ac"), sets("ab", "bc", "cd", "da", "e")])
def test_cycles_have_no_order(cliques: tuple[frozenset[str], ...]) -> None:
    assert junction_order(cliques) is None


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True), min_size=1, max_size=3),
    st.lists(st.tuples(*[st.integers(0, 1)] * 4), min_size=0, max_size=4),
)
def test_one_table_is_left_exactly_where_enumeration_finds_one(
    axes: list[list[int]], records: list[tuple[int, ...]]
) -> None:
    cliques = [frozenset(NAMES[axis] for axis in clique) for clique in axes]
    if junction_order(cliques) is None:
        return
    covered = sorted(set().union(*axes))
    shape = (2,) * len(covered)
    table = np.zeros(shape, dtype=np.int64)
    for record in records:
        table[tuple(record[axis] for axis in covered)] += 1
    matrix = margin_matrix(shape, [[covered.index(axis) for axis in clique] for clique in axes])
    tables = conforming_tables(Universe.of(csr_array(matrix), matrix @ table.ravel()), 10_000)
    supports = {
        clique: frozenset(
            levels
            for levels in product("01", repeat=len(clique))
            if any(
                all(str(r[NAMES.index(n)]) == lv for n, lv in zip(sorted(clique), levels, strict=True))
                for r in records
            )
        )
        for clique in cliques
    }
    assert one_table(supports) == (len(tables) == 1)
