"""Fingerprints are the same for the same records in any order, and for no others that are tried."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.swapping.small import TYPES, households, typed

from holdfast.data.fingerprint import Fingerprint, column_words, mixed, row_words


def fingerprint(table: pa.Table) -> str:
    return str(Fingerprint.of(row_words(table, table.column_names)))


def shuffled(table: pa.Table, seed: int = 0) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


@pytest.mark.parametrize("table", [households(), typed()], ids=["few types", "all types"])
def test_neither_order_nor_parts_change_it(table: pa.Table) -> None:
    whole = fingerprint(table)
    assert fingerprint(shuffled(table)) == whole
    assert fingerprint(table.select(table.column_names[::-1])) == whole
    parts = [
        Fingerprint.of(row_words(table.slice(at, 7), table.column_names))
        for at in range(0, table.num_rows, 7)
    ]
    assert str(sum(parts, Fingerprint())) == whole
    assert sum(parts, Fingerprint()).rows == table.num_rows
    assert fingerprint(pa.concat_tables([table.slice(0, 5), table.slice(5)])) == whole


@pytest.mark.parametrize("name", TYPES)
def test_each_value_of_each_type_counts(name: str) -> None:
    values = TYPES[name]
    words = column_words(pa.chunked_array([values]))
    assert words[2] == column_words(pa.chunked_array([pa.nulls(1)]))[0]  # what is missing is alike in all
    assert len(set(words.tolist())) == (1 if name == "nothing" else 3)
    sliced = column_words(pa.chunked_array([values.slice(1)]))
    assert sliced.tolist() == words[1:].tolist()
    repeated = column_words(pa.chunked_array([values, values.slice(0, 1), values.slice(0, 0)]))
    assert repeated.tolist() == [*words.tolist(), words[0]]


CHANGES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "a value": lambda t: t.set_column(4, "income", pa.array([1, *t.column("income").to_pylist()[1:]])),
    "a row less": lambda t: t.slice(1),
    "a row twice": lambda t: pa.concat_tables([t, t.slice(0, 1)]),
    "a name": lambda t: t.rename_columns(["state", "size", "county", "tenure", "incomes"]),
    "names exchanged": lambda t: t.rename_columns(["state", "size", "tenure", "county", "income"]),
    "values exchanged": lambda t: t.set_column(
        2, "county", pa.array([*reversed(t.column("county").to_pylist())])
    ),
    "a column less": lambda t: t.drop_columns(["tenure"]),
    "missing for a value": lambda t: t.set_column(
        4, "income", pa.array([None, *t.column("income").to_pylist()[1:]])
    ),
    "texts for numbers": lambda t: t.set_column(4, "income", t.column("income").cast(pa.string())),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_changes_it(change: str) -> None:
    table = households()
    assert fingerprint(CHANGES[change](table)) != fingerprint(table)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array(["a", "b"]), pa.array(["a", "b"], pa.large_string())),
        (pa.array(["a", "b"]), pa.array(["a", "b"]).dictionary_encode()),
        (pa.array(["a", "b"]), pa.DictionaryArray.from_arrays(pa.array([1, 0]), ["b", "a"])),
        (pa.array([1, 2], pa.int8()), pa.array([1, 2], pa.uint64())),
        (pa.array([0.0, float("nan")]), pa.array([-0.0, float("nan")], pa.float32())),
        (pa.array([None, "a"]), pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["a", None]))),
    ],
)
def test_the_same_values_are_the_same_in_other_clothes(one: Any, other: Any) -> None:
    assert column_words(pa.chunked_array([one])).tolist() == column_words(pa.chunked_array([other])).tolist()


def test_texts_of_all_bytes_are_told_apart() -> None:
    texts = [b"", b"\0", b"\0\0", b"a", b"ab", b"ba", b"a\0", b"\xff", "\u00e9".encode(), "e\u0301".encode()]
    assert len(set(column_words(pa.chunked_array([texts])).tolist())) == len(texts)


def test_far_numbers_and_days_are_told_apart() -> None:
    whole = pa.chunked_array([pa.array([0, -1, 2**63 - 1, -(2**63)])])
    days = pa.chunked_array([pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31)])])
    assert len(set(column_words(whole).tolist())) == 4
    assert len(set(column_words(days).tolist())) == 2


def test_no_columns_and_no_rows_have_words() -> None:
    assert row_words(households(), []).tolist() == [0] * 60
    assert row_words(households().slice(0, 0), ["state"]).size == 0
    assert Fingerprint.of(row_words(households().slice(0, 0), ["state"])) == Fingerprint()


def test_every_bit_of_a_word_depends_on_every_bit() -> None:
    words = np.random.default_rng(0).integers(0, 2**64, 200, dtype=np.uint64)
    for bit in range(64):
        flipped = mixed(words) ^ mixed(words ^ (np.uint64(1) << np.uint64(bit)))
        share = np.mean([bin(int(word)).count("1") for word in flipped]) / 64
        assert 0.45 < share < 0.55
