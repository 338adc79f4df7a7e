"""Some whole strata, swapped: what is held stays, strata keep their swapped values, nothing else moves."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.mechanisms.swapping.small import counts, few_bits, households, records, typed

from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping import embedded as group
from holdfast.mechanisms.swapping.embedded import Swap, Swapped, strata_digests, swap_group
from holdfast.system.errors import DataError

COLUMNS = ColumnRoles(("state", "size"), ("county",), ("tenure", "income"))
HALF = Fraction(1, 2)


def swapped(
    table: pa.Table, seed: int | None = 3, rate: Fraction = HALF, columns: ColumnRoles = COLUMNS
) -> Swapped:
    return swap_group(table, Swap(columns, rate, seed))


def shuffled(table: pa.Table, seed: int = 0) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


@pytest.mark.parametrize("seed", [None, 3])
def test_what_a_swap_keeps(seed: int | None) -> None:
    table = households(300)
    drawn = swapped(table, seed)
    found = drawn.records
    assert found.schema == table.schema
    assert counts(found, ("state", "size", "county")) == counts(table, ("state", "size", "county"))
    held = ("state", "size", "tenure", "income")
    assert counts(found, held) == counts(table, held)
    assert records(found) != records(table)
    words = strata_digests(found, COLUMNS)[:, 0]
    assert (np.diff(words.astype(object)) >= 0).all()  # strata side by side, in the order of their words
    assert drawn.sizes.sum() == 300
    assert (drawn.moved <= drawn.sizes).all()
    assert 1 not in drawn.moved.tolist()
    assert drawn.moved[drawn.sizes == 1].tolist() == [0]


def test_strata_that_share_a_word_are_not_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "row_digests", few_bits)
    for seed in (None, 3):
        with pytest.raises(DataError, match="two strata whose digests begin with the same 64 bits"):
            swapped(households(300), seed)


def test_texts_of_one_hash_elsewhere_are_two_strata() -> None:
    names = ("8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ")
    rows = [
        (name, county, at) for name, county in zip(names, ("North", "South"), strict=True) for at in range(6)
    ]
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(("key", "county", "id"))})
    found = swapped(table, None, Fraction(9, 10), ColumnRoles(("key",), ("county",), ("id",)))
    assert found.sizes.tolist() == [6, 6]
    assert records(found.records) == records(table)  # all of a stratum have one county


def test_columns_that_are_swapped_move_together() -> None:
    columns = ColumnRoles(("state",), ("county", "tenure"), ("size", "income"))
    table = households(200)
    found = swapped(table, columns=columns).records
    assert counts(found, ("state", "county", "tenure")) == counts(table, ("state", "county", "tenure"))


def test_a_seed_is_one_draw_whatever_the_order_of_the_input() -> None:
    table = households(300)
    one = swapped(table).records
    assert swapped(shuffled(table)).records.equals(one)
    assert not swapped(table, seed=4).records.equals(one)
    assert not swapped(table, seed=None).records.equals(swapped(table, seed=None).records)


def test_a_seed_draws_each_stratum_by_itself() -> None:
    table = households(300)
    whole = swapped(table).records
    for state in "01":
        own = table.filter(pa.array([one == state for one in table.column("state").to_pylist()]))
        part = whole.filter(pa.array([one == state for one in whole.column("state").to_pylist()]))
        assert swapped(own).records.equals(part)


def test_dictionaries_are_made_anew_unless_their_order_counts() -> None:
    places = pa.array([3, 1] * 20)
    for ordered in (False, True):
        odd = pa.DictionaryArray.from_arrays(places, ["unused", "b", "never", "a"], ordered=ordered)
        table = pa.table({"s": ["x"] * 40, "c": [str(at % 4) for at in range(40)], "h": range(40), "d": odd})
        columns = ColumnRoles(("s",), ("c",), ("h", "d"))
        found = swapped(table, columns=columns).records.column("d")
        assert found.type == odd.type
        levels = found.combine_chunks().dictionary.to_pylist()
        assert levels == (
            ["unused", "b", "never", "a"] if ordered else list(dict.fromkeys(found.to_pylist()))
        )
        assert sorted(found.to_pylist()) == sorted(odd.to_pylist())


def test_columns_of_every_type_are_carried_along() -> None:
    table = typed(60)
    held = tuple(name for name in table.column_names if name not in ("s", "c"))
    found = swapped(table, columns=ColumnRoles(("s",), ("c",), held)).records
    assert found.schema == table.schema
    assert counts(found, held) == counts(table, held)


@pytest.mark.parametrize(
    "name", ["int8", "uint64", "truth", "decimal", "day", "zoned moment", "large text", "category"]
)
def test_columns_of_many_types_are_keys(name: str) -> None:
    table = typed(60)
    for columns in (ColumnRoles((name,), ("c",), ("s", "h")), ColumnRoles(("s",), (name,), ("c", "h"))):
        own = table.select(list(columns.all))
        found = swapped(own, columns=columns).records
        assert counts(found, columns.keys) == counts(own, columns.keys)
        assert counts(found, (*columns.stratify, *columns.held)) == counts(
            own, (*columns.stratify, *columns.held)
        )


def test_a_far_seed_is_a_seed() -> None:
    assert swapped(households(), seed=10**30).records.num_rows == 60


def test_nothing_confidential_shows_in_a_repr() -> None:
    assert "income" not in repr(swapped(households()))
