"""Releases of one file on their joint scope, against all files of records that agree with the invariants."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.ledger.releases import Files, Made, Record, charged, records

from holdfast.lattice.points import lattice_points
from holdfast.ledger import BudgetError, Ledger, losses
from holdfast.ledger.charged import ChargedTable
from holdfast.ledger.composition import spend
from holdfast.ledger.losses import joint_distance, joint_semi_adjacency
from holdfast.ledger.scope import JointScope
from holdfast.privacy.profile import NormLoss, Profile, SquaredLoss
from holdfast.system.errors import GuaranteeError
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.sensitivity import sensitivity
from holdfast.universe.spread import spread

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def scope_of(releases: Sequence[Made], file: Sequence[Record]) -> JointScope:
    return JointScope(
        tuple(ChargedTable.of(made.charge(file), f"row {i}") for i, made in enumerate(releases, 1))
    )


def total_of(releases: Sequence[Made], file: Sequence[Record]) -> Fraction:
    return charged([made.charge(file) for made in releases])[-1]


def test_two_tables_lose_what_is_charged_and_not_ten_percent_less() -> None:
    # each margin alone takes 2 records; both together, over three attributes, take 3
    file = records("000", "000", "000", "111")
    two = [
        Made(("a", "b"), (("a",),), profile=NormLoss(HALF, "l1")),
        Made(("b", "c"), (("c",),), profile=NormLoss(THIRD, "l1")),
    ]
    files, scope = Files(two, file), scope_of(two, file)
    assert [release.unit.distance for release in scope.releases] == [2, 2]
    assert joint_distance(scope) == files.one_change == 3
    worst = max(
        sum(enumerated(made, files.tables_of(made, files.tables[[i, j]])) for made in two)
        for i, j in zip(*np.nonzero(files.apart == 3), strict=True)
    )
    total = total_of(two, file)
    assert total == 6 * HALF + 6 * THIRD
    assert 0.999 * float(total) <= worst <= float(total) * (1 + 1e-9)
    # what the two cost alone, 2 and 4/3, does not cover it
    assert worst > 1.1 * float(4 * HALF + 4 * THIRD)


def test_the_ledger_says_why_a_release_takes_more_than_it_asks_for_and_what_is_affordable(
    tmp_path: Path,
) -> None:
    file = records("000", "000", "000", "111")
    county = Made(("a", "b"), (("a",),), profile=NormLoss(HALF, "l1"))
    ledger = Ledger.create(tmp_path / "a.ledger", standard="pure", budget=Fraction(4))
    ledger.charge(county.charge(file), spend)
    dear = Made(("b", "c"), (("c",),), profile=NormLoss(THIRD, "l1"))
    said = (
        r"2 of 4 is spent, this release asks for 1\.33333 \(4/3\) and takes 3, .* takes more records: 2 of it"
        r" is its own, and 1 is what earlier releases count for again; 2 is left: ask for no more than"
        r" 0\.66666\d* \(2/3\)"
    )
    with pytest.raises(BudgetError, match=said):
        ledger.charge(dear.charge(file), spend)
    assert ledger.spent() == 2
    # what it says is affordable is, to the last bit
    row = ledger.charge(replace(dear, profile=NormLoss(Fraction(1, 6), "l1")).charge(file), spend)
    assert (row.charge.intensity, row.total) == (Fraction(2, 3), Fraction(4))
    with pytest.raises(BudgetError, match="nothing more can be released"):
        ledger.charge(county.charge(file), spend)
    poor = Ledger.create(tmp_path / "b.ledger", standard="pure", budget=Fraction(3))
    poor.charge(county.charge(file), spend)
    with pytest.raises(BudgetError, match="1 is left: keep no invariants beyond those of the earlier"):
        poor.charge(dear.charge(file), spend)


def enumerated(made: Made, pair: NDArray[np.int64]) -> float:
    """Return the largest log ratio of the laws of a release of two tables, over every output near them.

    q(z) is proportional to exp(-kappa ||z||_1) on the lattice; the tables share its normaliser.
    """
    assert isinstance(made.profile, NormLoss)
    rows = np.concatenate([block.matrix.toarray() for block in made.blocks])
    outputs = pair[0] + lattice_points(rows, 4)
    one, other = (np.abs(outputs - table).sum(axis=1) for table in pair)
    return float(made.profile.kappa) * float((other - one).max())


COLUMNS = [("a", "b"), ("b", "c"), ("a", "c"), ("b", "a"), ("a", "b", "c")]
LEVELS = [("0", "1"), ("1", "0"), ("0", "1", "2"), ("0",)]


@st.composite
def releases(draw: st.DrawFn) -> Made:
    columns = draw(st.sampled_from(COLUMNS))
    some = st.lists(st.sampled_from(columns), max_size=2, unique=True).map(tuple)
    margins = tuple(draw(st.lists(some, max_size=2, unique_by=frozenset)))
    where: tuple[Mapping[str, str], ...] = ()
    if draw(st.integers(0, 2)) == 0:
        chosen = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=2, unique=True))
        where = ({name: draw(st.sampled_from("01")) for name in chosen},)
    kappa = draw(st.sampled_from([HALF, THIRD]))
    profiles: list[Profile] = [NormLoss(kappa, "l1"), NormLoss(kappa, "l2"), SquaredLoss(kappa)]
    profile = draw(st.sampled_from(profiles))
    adjacency: Literal["semi", "unit"] = draw(st.sampled_from(["semi", "unit"]))
    levels = {columns[0]: draw(st.sampled_from(LEVELS))}
    zeros = (("0",) + ("1",) * (len(columns) - 1),) if draw(st.integers(0, 3)) == 0 else ()
    return Made(columns, margins, where, profile, adjacency, levels, zeros)


def fits(made: Made, file: Sequence[Record]) -> bool:
    """Whether a file has the levels that a release lists, and none of its structural zeros."""
    chosen = [(name, level) for where in made.where for name, level in where.items()]
    asked = [*chosen, *((name, record[name]) for record in file for name in made.columns)]
    if any(level not in made.schema.attribute(name).levels for name, level in asked):
        return False
    return bool(made.schema.possible[made.cells(file)].all())


FILES = st.lists(st.tuples(*[st.sampled_from("01")] * 3), min_size=2, max_size=4).map(
    lambda rows: records(*map("".join, rows))
)


@settings(deadline=None, max_examples=200)
@given(st.lists(releases(), min_size=2, max_size=3), FILES)
def test_no_pair_of_files_loses_more_than_is_charged(made: list[Made], file: list[Record]) -> None:
    made = [each if fits(each, file) else replace(each, levels={}, zeros=()) for each in made]
    files, in_rho = Files(made, file), any(isinstance(each.profile, SquaredLoss) for each in made)
    try:
        charges = [each.charge(file) for each in made]
    except GuaranteeError:
        return  # one of them alone has nothing to protect
    try:
        total = float(charged(charges, "zcdp" if in_rho else "pure")[-1])
    except GuaranteeError as refused:
        if "leave one possible table" not in str(refused):
            raise
        near = files.apart <= files.one_change
        assert any(not files.losses(each)[near].any() for each in made)
        return
    scope = JointScope(tuple(ChargedTable.of(charge, "") for charge in charges))
    loss = sum((in_one_standard(each, files.losses(each), in_rho=in_rho) for each in made), np.zeros(1))
    if made[0].adjacency == "semi":
        assert joint_distance(scope) >= files.one_change
        assert (loss[files.apart <= joint_distance(scope)] <= total * (1 + 1e-9)).all()
    else:
        assert (loss <= total * (1 + 1e-9) * files.apart ** (2 if in_rho else 1)).all()


@settings(deadline=None, max_examples=200)
@given(st.lists(releases(), min_size=2, max_size=3), FILES)
@example(
    [Made(("a", "b"), (), ({"a": "0"},)), Made(("a", "b"), (), ({"a": "0", "b": "0"},))],
    records("000", "010"),
)
def test_unit_charges_are_refused_exactly_where_one_file_or_one_table_of_each_size_is_left(
    made: list[Made], file: list[Record]
) -> None:
    made = [each if fits(each, file) else replace(each, levels={}, zeros=()) for each in made]
    made = [replace(each, adjacency="unit", profile=NormLoss(HALF, "l1")) for each in made]
    try:
        charges = [each.charge(file) for each in made]
    except GuaranteeError:
        return  # one of them alone has nothing to protect
    # a release may list fewer cells alone than a file of its own leaves, so each is judged alone first
    if any(len(Files([each], file).tables) == 1 for each in made):
        return
    # how many records there are is public only where it is kept: two more may be where nothing is kept
    sizes = [Files(made, file, size) for size in range(len(file) + 3)]
    if all(len(files.tables) <= 1 for files in sizes):
        with pytest.raises(GuaranteeError, match="leave one possible table"):
            charged(charges)
    elif not any(all(one_table(each, files) for files in sizes) for each in made):
        charged(charges)


def one_table(made: Made, files: Files) -> bool:
    """Whether files of one size have no two tables of a release."""
    return len(np.unique(files.tables_of(made, files.tables), axis=0)) <= 1


def test_counts_that_are_not_negative_leave_one_file_where_the_lattice_leaves_more() -> None:
    # nobody has b = 1, so the margin over a is the table; the lattice of both invariants has dimension 1
    file = records("000", "000", "100")
    one = Made(("a", "b"), (("a",),), adjacency="unit")
    two = Made(("a", "b"), ((),), ({"b": "1"},), adjacency="unit")
    assert JointScope(scope_of([one, two], file).releases).universe(frozenset("ab")).dimension == 1
    with pytest.raises(GuaranteeError, match="leave one possible table of a, b"):
        total_of([one, two], file)
    assert total_of([one, two], records("000", "010", "100")) == 4


def test_more_cells_than_are_searched_are_judged_by_a_part_of_the_margins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(losses, "MOST_CELLS", 1)
    sides = [
        Made(pair, (pair[:1], pair[1:]), adjacency="unit") for pair in (("a", "b"), ("b", "c"), ("a", "c"))
    ]
    kept = [replace(each, columns=("a", "b", "c"), margins=(each.columns,)) for each in sides]
    same = records("000", "000", "111")
    with pytest.raises(GuaranteeError, match="leave one possible table of a, b, c"):
        total_of(kept, same)
    assert total_of(kept, records("000", "011", "101", "110", "111", "000")) > 0


def in_one_standard(made: Made, loss: NDArray[np.float64], *, in_rho: bool) -> NDArray[np.float64]:
    return np.asarray(loss**2 / 2 if in_rho and isinstance(made.profile, NormLoss) else loss)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(*[st.sampled_from("0123")] * 3), min_size=3, max_size=6),
    st.sampled_from([(), ((),), (("a",),), (("a",), ("b",)), (("a", "b"),)]),
    st.lists(
        st.dictionaries(st.sampled_from("abc"), st.sampled_from("01"), min_size=1, max_size=2), max_size=2
    ),
)
def test_few_cells_stand_for_all_that_nothing_tells_apart(
    rows: list[tuple[str, ...]], margins: tuple[tuple[str, ...], ...], where: list[dict[str, str]]
) -> None:
    levels = dict.fromkeys("abc", ("0", "1", "2", "3"))
    made = Made(("a", "b", "c"), margins, tuple(where), levels=levels)
    file = records(*map("".join, rows))
    try:
        scope = scope_of([made], file)
    except GuaranteeError:
        return  # nothing to protect
    few, every = scope.universe(scope.attributes), made.universe(file)
    assert few.cells <= every.cells == 64
    assert semi_adjacency(few).worst_case == semi_adjacency(every).worst_case
    for apart in (1, 2, 3):
        assert sensitivity(few, apart) == sensitivity(every, apart)
    assert spread(few) == spread(every)


def test_selections_do_not_spread_out_the_levels_they_treat_alike() -> None:
    levels = {name: tuple(map(str, range(50))) for name in "abc"}
    file = records("012", "345", "019", "342")
    scope = scope_of([Made(("a", "b", "c"), (("a",),), ({"b": "1", "c": "2"},), levels=levels)], file)
    assert scope.size(scope.attributes) == 50 * 3 * 3
    assert list(scope.levels_over(scope.attributes)["b"]) == ["0", "2", "1"]


def test_large_tables_are_charged_by_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    file = records("000", "010", "011", "101", "110", "111")
    gaussian = Made(("b", "c"), (("b",), ("c",)), profile=SquaredLoss(Fraction(1)))
    county = Made(("a", "b"), (("a",),), profile=SquaredLoss(Fraction(1)))
    charges = [gaussian.charge(file), county.charge(file)]
    exact = charged(charges, "zcdp")
    monkeypatch.setattr(losses, "MOST_CELLS", 3)
    bounded = charged(charges, "zcdp")
    assert exact[0] == bounded[0] == 2  # at the distance it states no bound is needed
    assert exact[1] == 8 + 8  # both margins of both tables are known: 16 at 4 records
    assert bounded[1] == 16 + 16  # 2 d^2 at 4 records, twice


def test_margins_need_no_cells_of_all_attributes_together(monkeypatch: pytest.MonkeyPatch) -> None:
    # six tables by county: 20 x 10^6 cells together
    levels = {name: tuple(map(str, range(10))) for name in "uvwxyz"} | {"county": tuple(map(str, range(20)))}
    made = [Made(("county", name), (("county",), (name,)), levels=levels) for name in "uvwxyz"]
    file = [{name: str(i % len(levels[name])) for name in levels} for i in range(400)]
    scope = scope_of(made, file)
    monkeypatch.setattr(JointScope, "universe", None)
    assert scope.cliques(scope.attributes) is not None
    assert joint_semi_adjacency(scope) == 8  # seven margins
    assert joint_distance(scope) == 8


@pytest.mark.parametrize(
    ("margins", "distance"),
    [
        ([("a", "b"), ("b", "c")], 3),  # a chain
        ([("a",), ("b",), ("c",)], 4),
        ([("a", "b"), ("b",), ()], 2),  # one set holds the others
    ],
)
def test_decomposable_margins_cost_one_more_than_their_number(
    margins: list[tuple[str, ...]], distance: int
) -> None:
    file = records("0000", "0011", "0101", "0110", "1001", "1010", "1100", "1111", names="abcd")
    made = [Made((*margin, "d"), (margin,)) for margin in margins]
    assert joint_semi_adjacency(scope_of(made, file)) == distance


def test_structural_zeros_of_one_table_count_in_the_joint_scope() -> None:
    # 3 records would do if every combination of a and b could occur
    levels = {"a": ("0", "1", "2"), "b": ("0", "1", "2")}
    file = records("121", "001", "220", "111")
    made = [
        Made(("a", "b"), (("a",),), levels=levels, zeros=(("2", "0"), ("0", "2"))),
        Made(("b", "c"), (("b",),), levels=levels),
    ]
    open_c = [made[0], Made(("b",), (("b",),), levels=levels)]  # c costs nothing
    assert joint_distance(scope_of(made, file)) == Files(open_c, file).one_change == 4
    scope = scope_of(made, file)
    assert scope.universe(scope.attributes).cells == (9 - 2) * 2
    everything = [replace(each, zeros=()) for each in open_c]
    assert Files(everything, file).one_change == 3


def test_margins_in_a_cycle_are_searched_where_they_are_small_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    file = records("0000", "0011", "0101", "0110", "1001", "1010", "1100", "1111", names="abcd")
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    made = [Made((*pair, "d"), (pair,), where=({"d": "0"},)) for pair in pairs]
    cycle = [replace(each, where=()) for each in made]
    truth = Files([Made(pair, (pair,)) for pair in pairs], file)  # d is open, and costs nothing
    assert joint_semi_adjacency(scope_of(cycle, file)) == truth.one_change == 4
    monkeypatch.setattr(losses, "MOST_CELLS", 10)
    for out_of_reach in (made, cycle):
        with pytest.raises(GuaranteeError, match="keep the same in all of it"):
            joint_distance(scope_of(out_of_reach, file))
    # what one release keeps needs no search
    both = scope_of([made[0], Made(("c", "d"), where=({"d": "0"},), levels={"d": ("1", "0")})], file)
    monkeypatch.setattr(JointScope, "universe", None)
    assert joint_distance(both) == both.releases[0].unit.distance == 3


def test_a_large_table_is_not_searched_where_its_margins_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    file = records("000", "011", "100", "111")  # two and two, by a and by b
    made = [Made(("a", "b", "c"), (("a",),)), Made(("b", "c"), (("b",),))]
    assert joint_semi_adjacency(scope_of(made, file)) == 2  # by a search
    monkeypatch.setattr(losses, "MOST_CELLS", 3)
    scope = scope_of(made, file)
    monkeypatch.setattr(JointScope, "universe", None)
    assert joint_semi_adjacency(scope) == 3  # by the number of margins


def test_invariants_that_are_kept_before_cost_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    file = records("000", "010", "101", "111")
    made = [Made(("a", "b"), (("a",),)), Made(("c", "a"), (("a",),), levels={"a": ("1", "0")})]
    monkeypatch.setattr(JointScope, "universe", None)
    assert total_of(made, file) == 4 + 4
    assert joint_distance(scope_of(made, file)) == 2


def test_a_table_that_others_reveal_has_no_guarantee_left() -> None:
    file = records("00", "01", "10", "11", names="ab")
    halves = [
        Made(("a", "b"), where=({"a": "0", "b": "1"},)),
        Made(("a", "b"), where=({"a": "1", "b": "1"},)),
    ]
    county = Made(("a", "b"), (("a",),))
    assert total_of([*halves], file) > 0
    with pytest.raises(GuaranteeError, match="one possible table of a, b"):
        total_of([*halves, county], file)
    # the same with the margin kept by another table, and for each record of distance
    file = records("000", "010", "101", "111")
    with pytest.raises(GuaranteeError, match="one possible table of a, b"):
        total_of([*halves, Made(("a", "c"), (("a",),))], file)
    unit = [replace(each, adjacency="unit") for each in (*halves, county)]
    with pytest.raises(GuaranteeError, match="one possible table of a, b"):
        total_of(unit, file)


def test_margins_that_leave_one_file_are_refused() -> None:
    # a follows from b, so that the margins (a, b) and (b, c) leave one table of a, b, c
    file = records("000", "001", "110", "111")
    made = [Made(("a", "b"), (("a",),)), Made(("a", "b", "c"), (("a", "b"),)), Made(("b", "c"), (("c",),))]
    assert total_of(made[:1], file) > 0
    shown = [Made(("a", "b", "d"), (("a", "b"),)), Made(("b", "c", "d"), (("b", "c"),))]
    constant = [{**record, "d": "0"} for record in file]
    one_level = [replace(each, levels={"d": ("0",)}) for each in shown]
    assert joint_distance(scope_of(shown, constant)) == 3  # d is open
    with pytest.raises(GuaranteeError, match="one possible table of a, b, c, d"):
        joint_distance(scope_of([replace(each, adjacency="unit") for each in one_level], constant))
