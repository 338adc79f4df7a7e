"""Cells of nested attributes, against the full product with all others left out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.grid import Grid, Nesting, count
from holdfast.data.schema import Attributes, Schema
from holdfast.system.errors import SpecError


@st.composite
def forests(draw: st.DrawFn) -> tuple[dict[str, int], tuple[Nesting, ...]]:
    """Attributes in any order, each in one of those drawn before it or in none."""
    names = draw(st.lists(st.sampled_from("abcde"), min_size=1, max_size=4, unique=True))
    levels = {name: draw(st.integers(1, 4)) for name in names}
    nestings = []
    for place, name in enumerate(names):
        outer = draw(st.sampled_from([None, *names[:place]]))
        if outer is not None:
            parents = [draw(st.integers(0, levels[outer] - 1)) for _ in range(levels[name])]
            nestings.append(Nesting(name, outer, tuple(parents)))
    order = draw(st.permutations(names))
    return {name: levels[name] for name in order}, tuple(nestings)


def real(levels: dict[str, int], nestings: tuple[Nesting, ...]) -> list[dict[str, int]]:
    """All combinations of the full product that are nested as is said."""
    every = (dict(zip(levels, codes, strict=True)) for codes in product(*map(range, levels.values())))
    return [
        cell
        for cell in every
        if all(one.parents[cell[one.attribute]] == cell[one.within] for one in nestings)
    ]


@given(forests())
def test_cells_are_the_real_ones_of_the_product(
    forest: tuple[dict[str, int], tuple[Nesting, ...]],
) -> None:
    levels, nestings = forest
    wanted = real(levels, nestings)
    assert count(levels, nestings) == len(wanted)
    grid = Grid.of(levels, nestings)
    assert grid.size == len(wanted)
    cells = [grid.cell(index) for index in range(grid.size)]
    assert sorted(map(sorted, (cell.items() for cell in cells))) == sorted(
        map(sorted, (cell.items() for cell in wanted))
    )
    codes = {name: grid.codes(name) for name in levels}
    assert [{name: int(codes[name][at]) for name in levels} for at in range(grid.size)] == [
        {name: cell[name] for name in levels} for cell in cells
    ]
    if wanted:
        assert grid.place(codes).tolist() == list(range(grid.size))
        every = np.array(list(product(*map(range, levels.values()))), dtype=np.int64)
        found = grid.place({name: every[:, at] for at, name in enumerate(levels)})
        assert int((found >= 0).sum()) == len(wanted)


@given(forests(), st.data())
def test_margins_have_each_real_combination_once(
    forest: tuple[dict[str, int], tuple[Nesting, ...]], data: st.DataObject
) -> None:
    levels, nestings = forest
    wanted = real(levels, nestings)
    if not wanted:
        return
    grid = Grid.of(levels, nestings)
    names = data.draw(st.lists(st.sampled_from(sorted(levels)), unique=True))
    margin = grid.over(names)
    rows = grid.rows(margin)
    for name in names:
        assert margin.codes(name)[rows].tolist() == grid.codes(name).tolist()
    combinations = {tuple(cell[name] for name in names) for cell in wanted}
    assert set(rows.tolist()) <= set(range(margin.size))
    assert len(set(rows.tolist())) == len(combinations)


def test_time_and_memory_go_with_the_real_cells() -> None:
    many = 30_000
    levels = {"a": many, "b": many, "c": many}
    same = tuple(range(many))
    grid = Grid.of(levels, [Nesting("b", "a", same), Nesting("c", "b", same)])
    assert grid.size == many
    assert grid.over(["a", "c"]).size == many


COUNTIES = Attributes.of({"county": ("A", "B"), "tract": ("1", "2", "3"), "sex": ("f", "m")})
NESTED = Schema(COUNTIES, nestings=(Nesting("tract", "county", (0, 1, 1)),))


def test_a_schema_of_nested_attributes() -> None:
    assert NESTED.size == 6
    assert NESTED.cell(2) == ("B", "2", "f")
    assert NESTED.index(("B", "3", "m")) == 5
    assert Schema.from_dict(NESTED.to_dict()) == NESTED
    with pytest.raises(SpecError, match="tract '1' is not in county 'B'"):
        NESTED.index(("B", "1", "m"))


@pytest.mark.parametrize(
    "nestings",
    [
        [{"attribute": "tract", "within": "state", "parents": [0, 1, 1]}],
        [{"attribute": "tract", "within": "county", "parents": [0, 1]}],
        [{"attribute": "tract", "within": "county", "parents": [0, 1, 2]}],
        [{"attribute": "tract", "within": "county", "parents": [0, 1, -1]}],
        [{"attribute": "tract", "within": "county", "parents": [0, 1, 0.5]}],
        [{"attribute": "tract", "within": "tract", "parents": [0, 1, 2]}],
        [{"attribute": "tract", "within": "county", "parents": [0, 1, 1]}] * 2,
        [{"attribute": "tract"}],
        5,
    ],
)
def test_a_damaged_nesting_is_refused(nestings: object) -> None:
    with pytest.raises(SpecError) as caught:
        Schema.from_dict({**COUNTIES.to_dict(), "structural_zeros": [], "within": nestings})
    assert "\n" not in str(caught.value)
