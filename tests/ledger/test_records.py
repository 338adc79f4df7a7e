"""Swapped records beside tables of the same file, against all files that agree with what is known of it."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.ledger.releases import Files, Made, Record, charged, digest, records
from tests.ledger.swaps import Swap

from holdfast.ledger import BudgetError, Charge, Ledger, LedgerError, Row
from holdfast.ledger.charge import records_charge
from holdfast.ledger.charged import ChargedRecords, amount
from holdfast.ledger.checkpoint import Replay
from holdfast.ledger.composition import ReleaseDesign, spend
from holdfast.privacy.guarantee import Unit
from holdfast.privacy.intensity import Pure
from holdfast.privacy.order import convert
from holdfast.privacy.profile import NormLoss, PerRecord, SquaredLoss
from holdfast.privacy.roots import ceil_root
from holdfast.system.errors import GuaranteeError, InvariantError

FILE = records("000", "010", "011", "101", "110", "111")
SWAP = Swap(("a", "b", "c"), ("a",), ("b",))
TABLE = Made(("a", "b"), (("a",),), adjacency="unit")
EPSILON = SWAP.epsilon(FILE)
THREE = Unit("household", "unit", 3, 3)


def test_a_swapped_file_and_a_table_lose_what_is_charged_and_not_less() -> None:
    # four records, all distinct: 24 files have the same swapped and the same held values
    levels = tuple("0123")
    file = records("00", "11", "22", "33", names="ab")
    swap = Swap(("a", "b"), (), ("a",), levels=levels)
    kappa = Fraction(1, 4)
    open_table = Made(("a", "b"), (("a",),), profile=NormLoss(kappa, "l1"), adjacency="unit")
    table = replace(open_table, levels=dict.fromkeys("ab", levels))
    total = charged([swap.charge(file), table.charge(file)])[-1]
    assert total == swap.epsilon(file) + 2 * kappa  # ln 3, and 2 kappa a record
    files = Files([swap.induced, table], file)
    assert len(files.tables) == 24
    apart = np.where(files.apart > 0, files.apart, 1)
    worst = ((swap.losses(files) + files.losses(table)) / apart).max()
    assert float(total) * (1 - 1e-9) <= worst <= float(total) * (1 + 1e-9)


@st.composite
def swaps(draw: st.DrawFn) -> Swap:
    columns = draw(st.permutations(("a", "b", "c")))
    by, moved = draw(st.sampled_from([(0, 1), (0, 2), (1, 1)]))
    rate = draw(st.sampled_from([Fraction(1, 20), Fraction(1, 2), Fraction(9, 10)]))
    bound: Literal["slides", "tight"] = draw(st.sampled_from(["slides", "tight"]))
    return Swap(("a", "b", "c"), tuple(columns[:by]), tuple(columns[by : by + moved]), rate, bound)


@st.composite
def tables(draw: st.DrawFn) -> Made:
    columns = draw(st.sampled_from([("a", "b"), ("c", "b"), ("a", "b", "c")]))
    margins = draw(st.sampled_from([(), ((),), (columns[:1],), (columns[:1], columns[1:2])]))
    where = ({columns[0]: "0", columns[1]: "1"},) if draw(st.integers(0, 3)) == 0 else ()
    profile = NormLoss(
        draw(st.sampled_from([Fraction(1), Fraction(1, 3)])), draw(st.sampled_from(["l1", "l2"]))
    )
    return Made(columns, margins, where, profile, draw(st.sampled_from(["semi", "unit"])))


FILES = st.lists(st.sampled_from(["000", "001", "010", "011", "100", "111"]), min_size=4, max_size=5).map(
    lambda rows: records(*rows)
)


@settings(deadline=None, max_examples=80)
@given(st.lists(swaps(), min_size=1, max_size=2), st.lists(tables(), max_size=2), FILES)
def test_no_pair_of_files_loses_more_than_is_charged(
    swapped: list[Swap], made: list[Made], file: list[Record]
) -> None:
    assume(all(swap.largest(file) > 1 for swap in swapped))
    try:
        total = float(charged(charges_of(swapped, made, file))[-1])
    except GuaranteeError:
        return  # the tables alone have nothing to protect
    files = Files([*(swap.induced for swap in swapped), *made], file)
    loss = sum((swap.losses(files) for swap in swapped), np.zeros(1))
    loss = sum((files.losses(table) for table in made), loss)
    assert (loss <= total * (1 + 1e-9) * files.apart).all()


def charges_of(swapped: Sequence[Swap], made: Sequence[Made], file: Sequence[Record]) -> list[Charge]:
    return [*(swap.charge(file) for swap in swapped), *(table.charge(file) for table in made)]


def test_swapped_files_and_tables_add_up_in_any_order() -> None:
    swap, table = SWAP.charge(FILE), TABLE.charge(FILE)  # the table costs 2 a record
    assert EPSILON > 0
    assert charged([swap, table, swap]) == [EPSILON, EPSILON + 2, 2 * EPSILON + 2]
    assert charged([table, swap]) == [2, 2 + EPSILON]
    assert charged([swap, SWAP.charge(FILE, "another year")]) == [EPSILON, 2 * EPSILON]
    other = Swap(("a", "b", "c"), (), ("b", "c"))
    assert charged([swap, other.charge(FILE)])[-1] == EPSILON + other.epsilon(FILE)
    semi = replace(TABLE, adjacency="semi").charge(FILE)  # brought to one record, as ever
    assert charged([swap, semi]) == [EPSILON, EPSILON + 2]


def test_columns_of_counts_that_are_of_other_records_add_up_too() -> None:
    fewer = TABLE.charge(FILE[:-1])
    assert charged([TABLE.charge(FILE), fewer, SWAP.charge(FILE)]) == [2, 4, 4 + EPSILON]
    assert charged([SWAP.charge(FILE), TABLE.charge(FILE), fewer])[-1] == 4 + EPSILON


def test_units_of_several_records_cost_as_many_times() -> None:
    household = replace(SWAP, unit=THREE)
    charge = household.charge(FILE)
    assert (charge.intensity, charge.unit["records_per_unit"]) == (3 * EPSILON, 3)
    assert charged([charge]) == [3 * EPSILON]
    assert charged([SWAP.charge(FILE), charge]) == [EPSILON, 6 * EPSILON]
    assert charged([TABLE.charge(FILE), charge]) == [2, 6 + 3 * EPSILON]


def test_other_standards_take_swapped_records_at_their_price() -> None:
    rho = replace(TABLE, profile=SquaredLoss(Fraction(2)))  # 1/2 a record
    assert charged([SWAP.charge(FILE), rho.charge(FILE)], "zcdp") == [
        EPSILON**2 / 2,
        EPSILON**2 / 2 + Fraction(1, 2),
    ]
    one, two = charged([SWAP.charge(FILE)] * 2, "gaussian")
    assert one == amount(convert(Pure(EPSILON), "gaussian"))
    assert two == ceil_root(2 * one**2)


def test_where_one_persons_change_is_accounted_for_nothing_is_charged(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", standard="pure", budget=Fraction(100))
    ledger.charge(replace(TABLE, adjacency="semi").charge(FILE), spend)
    for name in ("file", "another file"):
        with pytest.raises(GuaranteeError, match=r'to a ledger whose first release has adjacency="unit"\.$'):
            ledger.charge(SWAP.charge(FILE, name), spend)
    assert len(ledger.rows()) == 1
    assert ledger.spent() == 4


def test_a_budget_that_is_spent_is_kept(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", standard="pure", budget=2 * EPSILON)
    ledger.charge(SWAP.charge(FILE), spend)
    ledger.charge(SWAP.charge(FILE), spend)
    with pytest.raises(BudgetError):
        ledger.charge(SWAP.charge(FILE), spend)
    assert ledger.left() == 0


def test_tables_that_leave_one_file_are_refused_as_without_a_swap() -> None:
    halves = [replace(TABLE, margins=(), where=({"a": level, "b": "1"},)) for level in "01"]
    with pytest.raises(GuaranteeError, match="one possible table of a, b"):
        charged(charges_of([SWAP], [*halves, TABLE], FILE))


def test_a_hundred_swaps_of_one_design_are_one_member() -> None:
    kinds = [
        SWAP,
        replace(SWAP, rate=Fraction(1, 20)),
        replace(SWAP, swap=("c",)),
        replace(SWAP, stratify=()),
    ]
    charges = [kinds[index % 4].charge(FILE) for index in range(100)]
    past = replay([TABLE.charge(FILE), *charges])
    (entry,) = past.entries.values()
    (scope,) = entry["scopes"]
    assert [member["row"] for member in scope] == [1, 2]
    assert past.total == 2 + sum(charge.intensity for charge in charges)


def replay(charges: list[Charge]) -> Replay:
    past = Replay("pure")
    for index, charge in enumerate(charges, start=1):
        spent = spend(past, charge)
        past.add(Row(index, "", charge, spent.total, ""), spent)
    return past


def test_whatever_decides_how_a_swap_composes_is_in_its_design() -> None:
    charge = SWAP.charge(FILE)
    others = [
        SWAP.charge(FILE, "another file"),
        replace(SWAP, unit=THREE).charge(FILE),
        replace(charge, detail={**charge.detail, "header": None}),
        replace(charge, detail={**charge.detail, "marks": {"a": digest("a")}}),
    ]
    assert len({ReleaseDesign.of(each, "pure").digest for each in (charge, *others)}) == 1 + len(others)
    assert ReleaseDesign.of(replace(charge, certificate=digest("?")), "pure") == ReleaseDesign.of(
        charge, "pure"
    )
    few = ReleaseDesign.of(replace(SWAP, swap=("c",), rate=Fraction(1, 20)).charge(FILE), "pure")
    assert few.digest == ReleaseDesign.of(charge, "pure").digest  # which columns move decides nothing
    assert few.weight(EPSILON) == few.scale / EPSILON > 1


def test_a_column_under_another_name_is_refused() -> None:
    charge = TABLE.charge(FILE)
    marked = replace(charge, detail={**charge.detail, "marks": {"a": digest("sex")}})
    assert charged([marked, SWAP.charge(FILE)])
    renamed = Swap(("x", "b", "c"), ("x",), ("b",))
    other = renamed.charge([{"x": one["a"], "b": one["b"], "c": one["c"]} for one in FILE])
    with pytest.raises(InvariantError, match=r"row 1 and this release are of one file, and the column 'a'"):
        charged([marked, other])


def test_a_charge_says_all_that_is_read_back() -> None:
    charge = replace(SWAP, unit=THREE).charge(FILE)
    terms = ChargedRecords.of(charge, "row 1")
    assert (terms.unit, terms.loss) == (THREE, PerRecord(Pure(EPSILON)))
    assert (terms.file, terms.header, terms.marks) == (digest("file"), frozenset("abc"), {})
    assert [charge.detail[name] for name in ("kind", "stratify", "swap", "held")] == [
        "records",
        ["a"],
        ["b"],
        ["c"],
    ]


def test_a_loss_of_a_later_version_is_refused() -> None:
    charge = SWAP.charge(FILE)
    loss = NormLoss(Fraction(1), "l1").to_dict()
    with pytest.raises(LedgerError, match=r"this release of the ledger .* newer"):
        charged([replace(charge, detail={**charge.detail, "loss": loss})])


def test_a_swap_that_states_one_persons_change_is_no_charge() -> None:
    with pytest.raises(GuaranteeError, match='set adjacency="unit"'):
        records_charge(
            dataset=digest("file"),
            stratify=["a"],
            swap=["b"],
            held=[],
            intensity=Pure(Fraction(1)),
            unit=Unit("record", "semi", 2),
            scope=digest("scope"),
            stated={},
            certificate=digest("certificate"),
        )
