"""Fingerprints are the same for the same records in any order, and for no others that are tried."""

import datetime as dt
import hashlib
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.mechanisms.swapping.small import TYPES, households, typed

from holdfast.data import fingerprint as module
from holdfast.data.fingerprint import Digests, Multiset, digests_of_runs, row_codes, row_digests
from holdfast.data.fingerprint import fingerprint as fingerprint_of


def fingerprint(table: pa.Table) -> str:
    return str(fingerprint_of([table], table.column_names))


def column_words(column: pa.ChunkedArray) -> list[bytes]:
    return [row.tobytes() for row in row_digests(pa.table({"column": column}), ["column"])]


def shuffled(table: pa.Table, seed: int = 0) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


@pytest.mark.parametrize("table", [households(), typed()], ids=["few types", "all types"])
def test_neither_order_nor_parts_change_it(table: pa.Table) -> None:
    whole = fingerprint(table)
    assert fingerprint(shuffled(table)) == whole
    assert fingerprint(table.select(table.column_names[::-1])) == whole
    parts = [table.slice(at, 7) for at in range(0, table.num_rows, 7)]
    found = fingerprint_of(parts, table.column_names)
    assert (found.rows, found.digest) == (table.num_rows, whole)
    assert fingerprint(pa.concat_tables([table.slice(0, 5), table.slice(5)])) == whole


@pytest.mark.parametrize("name", TYPES)
def test_each_value_of_each_type_counts(name: str) -> None:
    values = TYPES[name]
    words = column_words(pa.chunked_array([values]))
    assert words[2] == column_words(pa.chunked_array([pa.nulls(1)]))[0]  # what is missing is alike in all
    assert len(set(words)) == (1 if name == "nothing" else 3)
    sliced = column_words(pa.chunked_array([values.slice(1)]))
    assert sliced == words[1:]
    repeated = column_words(pa.chunked_array([values, values.slice(0, 1), values.slice(0, 0)]))
    assert repeated == [*words, words[0]]


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
    assert column_words(pa.chunked_array([one])) == column_words(pa.chunked_array([other]))


def test_texts_of_all_bytes_are_told_apart() -> None:
    texts = [b"", b"\0", b"\0\0", b"a", b"ab", b"ba", b"a\0", b"\xff", "\u00e9".encode(), "e\u0301".encode()]
    assert len(set(column_words(pa.chunked_array([texts])))) == len(texts)


def test_far_numbers_and_days_are_told_apart() -> None:
    whole = pa.chunked_array([pa.array([0, -1, 2**63 - 1, -(2**63)])])
    days = pa.chunked_array([pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31)])])
    assert len(set(column_words(whole))) == 4
    assert len(set(column_words(days))) == 2


def test_no_columns_and_no_rows_have_digests() -> None:
    none = row_digests(households(), [])
    assert none.shape == (60, 4)
    assert {row.tobytes() for row in none} == {hashlib.sha256(b"").digest()}
    assert row_digests(households().slice(0, 0), ["state"]).shape == (0, 4)
    assert row_digests(households().slice(0, 0), []).shape == (0, 4)


def test_a_row_is_the_sha256_of_its_bytes() -> None:
    table = pa.table({"b": ["ab", None], "a": pa.array([-2, 7], pa.int16()), "c": [1.5, None]})
    first = b"\1" + (2**64 - 2).to_bytes(8, "little") + b"\3" + (2).to_bytes(8, "little")
    first += b"\2" + struct.pack("<d", 1.5) + b"ab"
    second = b"\1" + (7).to_bytes(8, "little") + bytes(18)
    digests = [row.tobytes() for row in row_digests(table, ["c", "a", "b"])]
    assert digests == [hashlib.sha256(row).digest() for row in (first, second)]
    names = b'holdfast-multiset/1\n[["a", "b", "c"]]\n'
    assert fingerprint(table) == hashlib.sha256(names + b"".join(sorted(digests))).hexdigest()


def test_repeated_rows_are_hashed_once_and_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table = households()
    each = row_digests(table, ["state", "county"])
    monkeypatch.setattr(module, "NEARLY", -1.0)  # every row by itself
    assert row_digests(table, ["state", "county"]).tolist() == each.tolist()


@pytest.mark.parametrize("at_hand", [0, 17, 40, 10**6])
def test_more_rows_than_memory_holds_have_the_same(at_hand: int) -> None:
    rows = row_digests(households(), households().column_names)
    with Multiset(["x"], ["y"], at_hand=at_hand) as some, Multiset(["x"], ["y"]) as whole:
        for at in range(0, 60, 9):
            some.add(rows[at : at + 9], rows[at : at + 9])
        whole.add(rows, rows)
        assert some.fingerprint() == whole.fingerprint()


def test_codes_are_of_values_and_runs_of_what_is_in_them() -> None:
    table = households()
    codes = row_codes(table, ["state", "size"]).tolist()
    keys = list(zip(table.column("state").to_pylist(), table.column("size").to_pylist(), strict=True))
    assert len(set(codes)) == len(set(keys)) == len(set(zip(codes, keys, strict=True)))
    rows = row_digests(table, ["income"])
    runs: Digests = digests_of_runs(rows, np.array([2, 2, 60]))
    assert runs[0].tobytes() == hashlib.sha256(rows[:2].tobytes()).digest()
    assert runs[1].tobytes() == hashlib.sha256(b"").digest()
    assert len(runs) == 3


# Collisions of what is quicker: the hash of Fowler, Noll and Vo, and sums of mixed words.
MASK = 2**64 - 1
ONE, OTHER = "8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"


def fnv(text: str) -> int:
    word = 0xCBF29CE484222325
    for byte in text.encode():
        word = (word ^ byte) * 0x100000001B3 & MASK
    return word


def mixed(word: int) -> int:
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
    return word ^ word >> 31


def unmixed(word: int) -> int:
    word ^= word >> 31 ^ word >> 62
    word = word * pow(0x94D049BB133111EB, -1, 2**64) & MASK
    word ^= word >> 27 ^ word >> 54
    word = word * pow(0xBF58476D1CE4E5B9, -1, 2**64) & MASK
    return word ^ word >> 30 ^ word >> 60


def row_word(first: int, second: int) -> int:
    """A row of two whole numbers as the mixed sum of its columns."""
    return mixed(mixed(first) + fnv("first") & MASK) + mixed(mixed(second) + fnv("second") & MASK) & MASK


def test_texts_that_collide_elsewhere_do_not_here() -> None:
    assert fnv(ONE) == fnv(OTHER)
    assert fingerprint(pa.table({"x": [ONE]})) != fingerprint(pa.table({"x": [OTHER]}))
    assert row_digests(pa.table({"x": [ONE, OTHER]}), ["x"])[:, 0].tolist() != [fnv(ONE)] * 2


def test_rows_made_to_have_one_sum_are_told_apart() -> None:
    first, second, other = 1, 2, 3
    rest = row_word(first, second) - mixed(mixed(other) + fnv("first") & MASK) & MASK
    made = unmixed(unmixed(rest) - fnv("second") & MASK)  # so that (3, made) has the sum of (1, 2)
    assert row_word(other, made) == row_word(first, second)
    kind = pa.uint64()
    one = pa.table({"first": pa.array([first], kind), "second": pa.array([second], kind)})
    two = pa.table({"first": pa.array([other], kind), "second": pa.array([made], kind)})
    assert fingerprint(one) != fingerprint(two)


def test_files_that_exchange_parts_of_rows_are_told_apart() -> None:
    """Sums over columns and rows cannot tell who has what: a sum of sums is the same in any order."""
    one = pa.table({"x": [1, 2], "y": [3, 4]})
    two = pa.table({"x": [1, 2], "y": [4, 3]})
    assert fingerprint(one) != fingerprint(two)
