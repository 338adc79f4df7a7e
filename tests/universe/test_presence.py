"""Additions and removals: every claim of `presence` against all tables of small universes."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.universe.designs import Design as Bounded
from tests.universe.designs import random_design

from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import GuaranteeError
from holdfast.universe import limited, presence
from holdfast.universe.limited import one_limited_table
from holdfast.universe.limits import Limits
from holdfast.universe.presence import (
    only_table,
    presence_adjacency,
    presence_part,
    presence_sensitivity,
    presence_space,
    presence_spread,
)
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

MarginsKept = Callable[[IntArray, Sequence[Sequence[int]]], Universe]
Cliques = Sequence[Sequence[int]]
ROOM = 4
"""Records that loose cells hold at most where all tables are listed: more than any distance looked at."""


def every_table(matrix: IntArray, values: IntArray) -> IntArray:
    tied = np.asarray(matrix.any(axis=0))
    most = [int(values.max(initial=0)) if one else ROOM for one in tied]
    grid = np.array(list(product(*(range(one + 1) for one in most))), dtype=np.int64)
    return np.asarray(grid[(grid @ matrix.T == values).all(axis=1)])


def from_definition(tables: IntArray) -> tuple[int, int]:
    """Both readings: a count goes up or down by a conforming table that is near."""
    costs: dict[tuple[int, int], list[int]] = {}
    for X in tables:
        for z, sign in product(range(X.size), (1, -1)):
            beyond = tables[sign * (tables[:, z] - X[z]) > 0]
            if len(beyond):
                costs.setdefault((z, sign), []).append(int(np.abs(beyond - X).sum(axis=1).min()))
    worst = max((max(cost) for cost in costs.values()), default=0)
    return worst, max((min(cost) for cost in costs.values()), default=0)


def differences(tables: IntArray, distance: int) -> set[tuple[int, ...]]:
    """All of S_b."""
    u = (tables[:, None] - tables[None]).reshape(-1, tables.shape[1])
    return {tuple(one) for one in u[np.abs(u).sum(axis=1) <= distance].tolist() if any(one)}


def random_rows(seed: int) -> tuple[IntArray, IntArray]:
    """Rows of 0, 1 and at times 2 over a few cells, some of them loose, and a table."""
    draw = np.random.default_rng(seed)
    cells, rows = int(draw.integers(2, 5)), int(draw.integers(1, 4))
    matrix = np.array(draw.choice([0, 1, 1, 2] if seed % 4 == 0 else [0, 1], (rows, cells)))
    return matrix.astype(np.int64), draw.integers(0, 3, cells)


@pytest.mark.parametrize("seed", range(60))
def test_random_designs_against_all_tables(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, table = random_rows(seed)
    universe = Universe.of(csr_array(matrix), matrix @ table)
    # a loose cell is listed up to some records, where one more cannot come: the others tell of it
    tables = every_table(matrix, matrix @ table)
    inner = tables[(tables[:, ~matrix.any(axis=0)] < ROOM).all(axis=1)]
    assert only_table(universe) == (len(tables) == 1)
    worst, literal = from_definition(tables)
    if (~matrix.any(axis=0)).any():
        tied = np.flatnonzero(matrix.any(axis=0))
        apart = from_definition(every_table(matrix[:, tied], matrix @ table)) if tied.size else (0, 0)
        worst, literal = (max(1, one) for one in apart)
    found = presence_adjacency(universe)
    assert (found.worst_case, found.literal, found.exact) == (worst, literal, True)
    monkeypatch.setattr(presence, "listed", lambda universe: None)  # theorems alone
    try:
        bound = presence_adjacency(universe)
    except GuaranteeError:
        pass
    else:
        assert bound.worst_case >= worst
        assert bound.literal >= literal
        if bound.exact:
            assert (bound.worst_case, bound.literal) == (worst, literal)
    for distance in (1, 2, 3, 4):
        space = differences(np.concatenate([inner, tables]), distance)
        norms = [(sum(map(abs, u)), sum(v * v for v in u), max(map(abs, u))) for u in space]
        largest = tuple(max(part) for part in zip(*norms, strict=True)) if norms else (0, 0, 0)
        sensed = presence_sensitivity(universe, distance)
        assert (sensed.l1, sensed.l2_squared, sensed.linf) == largest
        assert sensed.exact
        listed = presence_space(universe, distance)
        assert {tuple(one) for one in listed.tolist()} == space
        half = np.arange(table.size) % 2 == 0
        part = max((int(np.abs(np.array(u))[half].sum()) for u in space), default=0)
        assert presence_part(universe, distance, half, sensed) == part
    every = differences(tables, 100)
    ratio = max((sum(v * v for v in u) / sum(map(abs, u)) ** 2 for u in every), default=0)
    assert float(presence_spread(universe)) >= ratio - 1e-12


MARGINS = [
    ((2, 2), [(0,), (1,)]),
    ((2, 3), [(0,), (1,)]),
    ((2, 2, 2), [(0,), (1,), (2,)]),
    ((2, 2, 2), [(0, 1), (1, 2)]),
    ((2, 2, 2), [(0, 1), (2,)]),
    ((2, 2, 2), [(0,), (2,)]),
    ((3, 2), [(0,)]),
    ((2, 2), [()]),
]


@pytest.mark.parametrize(("shape", "cliques"), MARGINS)
def test_margins_take_two_for_each_set(
    margins: MarginsKept, shape: tuple[int, ...], cliques: Cliques, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound 2 q holds of every table, and removal takes 4 at most; what is called attained is."""
    monkeypatch.setattr(presence, "listed", lambda universe: None)
    draw = np.random.default_rng(7)
    for most in (3, 3, 3, 2, 2, 2, 2, 2, 2, 2):
        counts = draw.integers(0, 2, shape) * draw.integers(1, most, shape)
        universe = margins(counts, cliques)
        tables = conforming_tables(universe, 20_000)
        worst, literal = from_definition(tables)
        bound = presence.margins_bound(universe.cliques)
        assert bound is not None
        assert bound >= worst
        removed = [
            int(np.abs(less - X).sum(axis=1).min())
            for X in tables
            for z in range(X.size)
            if len(less := tables[tables[:, z] < X[z]])
        ]
        assert max(removed, default=0) <= 4
        found = presence_adjacency(universe)
        if found.exact:
            assert (found.worst_case, found.literal) == (worst, literal)
        assert found.worst_case == (worst if found.exact else bound)


@pytest.mark.parametrize(
    ("table", "cliques", "readings"),
    [
        (np.full((2, 2), 9), [(0,), (1,)], (4, 4, True)),
        (np.full((30, 40), 9), [(0,), (1,)], (4, 4, True)),
        (np.full((3, 3, 3), 9), [(0,), (1,), (2,)], (6, 4, True)),
        (np.full((3, 3, 3), 9), [(0, 1), (1, 2)], (4, 4, True)),
        (np.full((4, 4, 2), 9), [(0,), (1,)], (4, 2, True)),
        (np.full((58, 2, 23), 9), [(0,)], (2, 2, True)),
        (np.full((58, 2), 9), [()], (2, 2, True)),
    ],
)
def test_large_tables(
    margins: MarginsKept, table: IntArray, cliques: Cliques, readings: tuple[int, int, bool]
) -> None:
    found = presence_adjacency(margins(table, cliques))
    assert (found.worst_case, found.literal, found.exact) == readings


def test_men_come_and_go_where_women_are_kept() -> None:
    """The women of each county are kept: men are added one by one, women change county or nothing."""
    rows = np.kron(np.eye(3, dtype=np.int64), [1, 0])
    assert presence_adjacency(Universe.of(csr_array(rows), np.full(3, 5))).worst_case == 1
    ages = np.kron(np.eye(3, dtype=np.int64), [1, 1, 0, 0])  # two ages of women, two of men
    found = presence_adjacency(Universe.of(csr_array(ages), np.full(3, 5)))
    assert (found.worst_case, found.literal, found.exact) == (2, 2, True)


def test_nothing_kept() -> None:
    universe = Universe.of(csr_array((0, 5), dtype=np.int64), np.zeros(0, dtype=np.int64))
    found, norms = presence_adjacency(universe), presence_sensitivity(universe, 1)
    assert (found.worst_case, found.literal, found.exact) == (1, 1, True)
    assert (norms.l1, norms.l2_squared, norms.linf, norms.exact) == (1, 1, 1, True)
    assert presence_spread(universe) == 1
    assert not only_table(universe)


@pytest.mark.parametrize("seed", range(40))
def test_public_bounds_against_all_tables(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    design: Bounded = random_design(seed, cells=4)
    universe, tables = design.universe, np.array(design.tables)
    worst, literal = from_definition(tables)
    assert only_table(universe) == (len(tables) == 1)
    if universe.limits is None or universe.dimension == 0:
        return
    found = presence_adjacency(universe)
    assert (found.worst_case, found.literal, found.exact) == (worst, literal, True)
    for distance in (2, 3):
        norms = [
            (sum(map(abs, u)), sum(v * v for v in u), max(map(abs, u))) for u in differences(tables, distance)
        ]
        sensed = presence_sensitivity(universe, distance)
        largest = tuple(max(part) for part in zip(*norms, strict=True)) if norms else (0, 0, 0)
        assert (sensed.l1, sensed.l2_squared, sensed.linf) == largest
    for module in (presence, limited):
        monkeypatch.setattr(module, "listed", lambda universe: None)
    limited.one_limited_table.cache_clear()
    assert only_table(universe) == (len(tables) == 1)
    try:
        bound = presence_adjacency(universe)
    except GuaranteeError:
        return
    assert bound.worst_case >= worst


def test_a_cell_that_may_hold_one_record_takes_one() -> None:
    matrix = csr_array((0, 30), dtype=np.int64)
    limits = Limits.of(csr_array(-np.eye(30, dtype=np.int64)), np.full(30, -1))
    universe = Universe.of(matrix, np.zeros(0, dtype=np.int64), limits=limits)
    assert presence_adjacency(universe).worst_case == 1


def test_tables_of_different_sizes_are_several_where_records_come_and_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody or one: no two tables have equally many records, and still there are two."""
    limits = Limits.of(csr_array(np.array([[-1, 0], [0, -1]])), np.array([0, -1]))
    universe = Universe.of(csr_array((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64), limits=limits)
    for module in (presence, limited):
        monkeypatch.setattr(module, "listed", lambda universe: None)
    assert one_limited_table(universe)
    assert not only_table(universe)
