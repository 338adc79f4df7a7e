"""Public bounds narrow the universe: everything is compared with an enumeration of all tables."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.universe.designs import at_most, random_design, two_way
from tests.universe.test_semi_adjacency import from_definition

from holdfast.privacy.guarantee import Scope
from holdfast.privacy.premises import Premises
from holdfast.programs.solver import UNBOUNDED
from holdfast.system.errors import GuaranteeError
from holdfast.universe import limited, limits
from holdfast.universe.exposure import exposure
from holdfast.universe.limits import Limits
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.sensitivity import sensitivity
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe
from holdfast.universe.vacuous import one_table

BITS = np.array([2, 1, 1, 2, 2, 1, 2, 1])


@pytest.mark.parametrize("seed", range(40))
def test_random_designs_agree_with_an_enumeration(seed: int) -> None:
    design = random_design(seed, cells=4)
    universe, tables = design.universe, design.tables
    assert sorted(map(tuple, conforming_tables(universe, 10_000).tolist())) == sorted(tables)
    assert one_table(universe) == (len({sum(y) for y in tables}) == len(tables))
    semi = semi_adjacency(universe)
    assert semi.exact
    assert (semi.worst_case, semi.literal) == from_definition(tables)
    seen = exposure(universe)
    assert seen.exact.all()
    assert seen.low.tolist() == np.min(tables, axis=0).tolist()
    assert seen.high.tolist() == np.max(tables, axis=0).tolist()
    for a in (1, 2, 3):
        pairs = [np.subtract(x, y) for x in tables for y in tables if sum(x) == sum(y)]
        near = [u for u in pairs if np.abs(u).sum() <= 2 * a]
        found = sensitivity(universe, a)
        assert found.exact
        assert found.l1 == max(np.abs(u).sum() for u in near)
        assert found.l2_squared == max((u**2).sum() for u in near)
        assert found.linf == max(np.abs(u).max() for u in near)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_without_a_list_hold_and_so_does_vacuity(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    design = random_design(1000 + seed, cells=4)
    universe, tables = design.universe, design.tables
    limited.listed.cache_clear()
    limited.one_limited_table.cache_clear()
    monkeypatch.setattr(limited, "CELLS", 0)
    assert one_table(universe) == (len({sum(y) for y in tables}) == len(tables))
    try:
        found = semi_adjacency(universe)
    except GuaranteeError:
        return
    worst, literal = from_definition(tables)
    assert found.worst_case >= worst
    assert found.literal >= literal
    if found.exact:
        assert (found.worst_case, found.literal) == (worst, literal)


def test_one_table_is_left_of_four_ones() -> None:
    universe = Universe.of(csr_array(two_way(2, 2)), np.full(4, 2), limits=at_most(4, 1))
    assert universe.limits is None  # bounds that meet are equations
    assert universe.dimension == 0
    assert one_table(universe)
    scope = Scope.of(universe, invariants=(), constraints=())
    for adjacency in ("semi", "unit"):
        with pytest.raises(GuaranteeError, match="invariants and inequalities leave one possible table"):
            Premises.of(universe, scope, adjacency)


def test_bits_take_more_records_than_without_their_bounds() -> None:
    plain = Universe.of(csr_array(two_way(4, 4)), BITS)
    bits = Universe.of(csr_array(two_way(4, 4)), BITS, limits=at_most(16, 1))
    assert semi_adjacency(plain).worst_case == 3
    found = semi_adjacency(bits)
    assert (found.worst_case, found.exact) == (4, True)
    assert found.worst_case == from_definition([tuple(x) for x in conforming_tables(bits, 1000).tolist()])[0]


def test_bounds_out_of_reach_change_nothing() -> None:
    matrix, cliques = csr_array(two_way(4, 4)), (frozenset({"r"}), frozenset({"c"}))
    same = Universe.of(matrix, BITS, cliques, limits=at_most(16, 2))
    assert same.limits is None
    assert same.cliques == cliques
    # what two margins imply together takes a program: the cell is at least 3 + 3 - 5
    frechet = Universe.of(
        csr_array(two_way(2, 2)),
        np.array([3, 2, 3, 2]),
        limits=Limits(csr_array(np.array([[1, 0, 0, 0]])), np.array([1])),
    )
    assert frechet.limits is None
    assert frechet.rank == 3


def test_bounds_out_of_reach_are_seen_without_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_program(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(limits, "suggest", no_program)
    side = 100
    many = csr_array(two_way(side, side))
    values = np.full(2 * side, 7)
    identity = csr_array(np.eye(side * side, dtype=np.int64))
    rows = [
        Limits(csr_array(-identity), np.full(side * side, -7)),
        Limits(identity, np.full(side * side, 0)),
        Limits(csr_array(-many), np.full(2 * side, -7)),
        Limits(many, np.full(2 * side, 7)),
    ]
    assert Universe.of(many, values, limits=limits.together(rows), occupied=True).limits is None


@pytest.mark.parametrize(
    ("rows", "least"),
    [
        ([[1, 1, 0], [-1, -1, 0]], [3, -3]),
        ([[2, 2, 0], [-2, -2, 0]], [5, -7]),  # whole numbers between 2.5 and 3.5
        ([[1, 1, 0], [0, 0, 1]], [3, 2]),  # together they are the total
    ],
)
def test_bounds_that_meet_are_an_equation(rows: list[list[int]], least: list[int]) -> None:
    universe = Universe.of(
        csr_array(np.ones((1, 3), dtype=np.int64)),
        np.array([5]),
        limits=Limits(csr_array(np.array(rows)), np.array(least)),
    )
    assert universe.limits is None
    assert universe.rank == 2
    assert (conforming_tables(universe, 100)[:, 2] == 2).all()


def test_floors_of_cells_have_the_bound_of_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limited, "CELLS", 0)
    floors = Limits(csr_array(np.eye(64, dtype=np.int64)), np.ones(64, dtype=np.int64))
    names = (frozenset({"r"}), frozenset({"c"}))
    universe = Universe.of(csr_array(two_way(8, 8)), np.full(16, 20), names, limits=floors)
    bound = limited.limited_bound(universe, floors)
    assert bound is not None
    assert bound.value == 3
    found = semi_adjacency(universe)  # somebody is everywhere: two exchange
    assert (found.worst_case, found.exact) == (2, True)


def test_where_no_bound_is_known_the_way_out_is_told() -> None:
    draw = np.random.default_rng(3)
    matrix = np.concatenate([np.ones((1, 60)), draw.integers(0, 2, (6, 60))]).astype(np.int64)
    counts = draw.integers(1, 9, 60)
    rows = draw.integers(-1, 2, (5, 60))
    universe = Universe.of(
        csr_array(matrix), matrix @ counts, limits=Limits(csr_array(rows), rows @ counts - 2)
    )
    with pytest.raises(GuaranteeError, match='adjacency="unit"'):
        semi_adjacency(universe)


def test_a_scope_with_fewer_tables_is_within_one_with_more() -> None:
    matrix = csr_array(two_way(4, 4))
    wide, narrow, plain = (
        Scope.of(Universe.of(matrix, BITS, limits=one), invariants=(), constraints=())
        for one in (
            Limits(csr_array(-np.eye(16, dtype=np.int64)[:1]), np.array([-1])),
            at_most(16, 1),
            None,
        )
    )
    assert narrow.within(wide)
    assert narrow.within(plain)
    assert not plain.within(narrow)
    assert not wide.within(narrow)
    assert len({one.digest for one in (wide, narrow, plain)}) == 3


def test_the_most_of_a_cell_without_a_bound_is_unbounded() -> None:
    free = Universe.of(
        csr_array((0, 3), dtype=np.int64),
        np.zeros(0, dtype=np.int64),
        limits=Limits(csr_array(np.array([[1, -1, 0], [0, 0, -1]])), np.array([0, -4])),
    )
    assert exposure(free).high.tolist() == [UNBOUNDED, UNBOUNDED, 4]


@pytest.mark.parametrize(
    ("rows", "least"),
    [([[1, 0, 0], [0, 1, 0]], [1, 1]), ([[-2, 1, 1]], [-3])],  # somebody in each of two cells; an order
)
def test_counts_without_an_end_are_no_single_table(rows: list[list[int]], least: list[int]) -> None:
    some = Limits(csr_array(np.array(rows)), np.array(least))
    universe = Universe.of(csr_array((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64), limits=some)
    assert limited.listed(universe) is None
    assert not one_table(universe)
