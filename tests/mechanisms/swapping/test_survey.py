"""A survey finds the strata of a file, and nothing that a swap of it would change."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from tests.mechanisms.swapping.small import TYPES, few_bits, households, typed

from holdfast.data import microdata, parquet
from holdfast.data.microdata import open_microdata
from holdfast.mechanisms.records import ColumnRoles
from holdfast.mechanisms.swapping import public as module
from holdfast.mechanisms.swapping.public import Survey, survey
from holdfast.mechanisms.swapping.tallies import Tally, require_levels
from holdfast.system.errors import DataError

COLUMNS = ColumnRoles(("state", "size"), ("county",), ("tenure", "income"))


def looked(
    table: pa.Table, columns: ColumnRoles = COLUMNS, *, nulls: bool = False, tally: bool = False
) -> Survey:
    tallies = (Tally("x", ("county",)),) if tally else ()
    return survey(open_microdata(table), columns, tallies, nulls=nulls)


def same(one: Survey, other: Survey) -> bool:
    arrays = ("words", "sizes", "varied")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays) and (
        (one.by_swap, one.by_held) == (other.by_swap, other.by_held)
    )


def test_strata_are_counted_as_by_hand() -> None:
    table = households()
    keys = Counter(zip(table.column("state").to_pylist(), table.column("size").to_pylist(), strict=True))
    found = looked(table)
    assert sorted(found.sizes.tolist()) == sorted(keys.values())
    assert dict(found.histogram) == Counter(keys.values())
    assert (found.rows, found.largest) == (60, max(keys.values()))
    assert (np.diff(found.words.astype(object)) > 0).all()


def test_batches_and_order_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = households()
    whole = looked(table)
    monkeypatch.setattr(parquet, "BATCH", 7)
    monkeypatch.setattr(module, "MERGED", 3)
    assert same(looked(table), whole)
    assert same(looked(table.take(pa.array(np.random.default_rng(1).permutation(60)))), whole)


def test_a_swap_changes_nothing_and_another_change_does() -> None:
    table = households()
    states, sizes = table.column("state").to_pylist(), table.column("size").to_pylist()
    one = 0
    two = next(at for at in range(1, 60) if (states[at], sizes[at]) == (states[0], sizes[0]))
    three = next(at for at in range(60) if states[at] == states[0] and sizes[at] != sizes[0])
    counties = table.column("county").to_pylist()

    def exchanged(other: int) -> pa.Table:
        new = list(counties)
        new[one], new[other] = new[other], new[one]
        assert new != counties
        return table.set_column(2, "county", pa.array(new))

    assert same(looked(exchanged(two)), looked(table))
    across = looked(exchanged(three))
    assert across.by_swap != looked(table).by_swap
    assert across.by_held == looked(table).by_held


@pytest.mark.parametrize(
    ("county", "income", "varied"),
    [("ab", (1, 2), 1), ("aa", (1, 2), 0), ("ab", (1, 1), 0), ("aa", (1, 1), 0)],
)
def test_strata_that_no_swap_changes_are_known(county: str, income: tuple[int, int], varied: int) -> None:
    table = pa.table(
        {"state": ["s"] * 2, "size": [1] * 2, "county": list(county), "tenure": ["o"] * 2, "income": income}
    )
    assert looked(table).varied.tolist() == [varied]


def test_missing_values_of_keys_are_counted() -> None:
    table = households()
    gaps = table.set_column(2, "county", pa.array([None] * 3 + table.column("county").to_pylist()[3:]))
    with pytest.raises(DataError, match=r"column 'county' has no value in 3 records: .*nulls=\"level\""):
        looked(gaps)
    assert looked(gaps, nulls=True).rows == 60
    held = table.set_column(4, "income", pa.array([None] * 60, pa.int64()))
    assert looked(held).rows == 60


def test_no_records_are_nothing_to_swap() -> None:
    with pytest.raises(DataError, match="has no records: there is nothing to swap"):
        looked(households().slice(0, 0))


def test_two_strata_of_one_word_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "row_digests", few_bits)
    with pytest.raises(DataError, match="two strata whose digests begin with the same 64 bits"):
        looked(households())


def test_strata_that_a_hash_of_texts_mixes_up_are_two() -> None:
    states = ["8yn0iYCKYHlIj4-BwPqk"] * 6 + ["GReLUrM4wMqfg9yzV3KQ"] * 6
    table = pa.table(
        {
            "state": states,
            "size": [1] * 12,
            "county": ["North"] * 6 + ["South"] * 6,
            "tenure": ["own", "rent"] * 6,
            "income": range(12),
        }
    )
    found = looked(table)
    assert found.sizes.tolist() == [6, 6]
    assert found.varied.tolist() == [0, 0]  # in each there is one county


@pytest.mark.parametrize("name", TYPES)
def test_keys_hold_levels(name: str) -> None:
    schema = typed().schema
    rounded = name in ("half", "single", "double")
    if microdata.holds_levels(schema.field(name).type):
        require_levels(schema, [name], "the file")
        return
    with pytest.raises(
        DataError, match=f"the file, column '{name}' holds .* values: store its levels as text"
    ):
        require_levels(schema, [name], "the file")
    if rounded:
        require_levels(schema, [name], "the file", floats=True)


def test_nothing_shows_in_a_repr() -> None:
    found = looked(households(), tally=True)
    assert "own" not in repr(found)
    assert repr(found).startswith("<holdfast.mechanisms.swapping.public.Survey object")
