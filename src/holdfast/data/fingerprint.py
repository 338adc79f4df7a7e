"""Fingerprints of record files: the same for the same records in any order, and for hardly any others.

A value is a 64-bit word that depends on the value and the kind of its type: whole numbers, days, moments and
truth values by their bits, floats by theirs, texts and bytes byte by byte, the rest by the text that Python
shows. Columns enter with their names. A row is the mixed sum of its columns, and a file the sum of its rows,
in two words: nothing is sorted, and files of any size are read in batches.

They tell accidents from what was meant, as a checksum does. A forger could make two files agree; the SHA-256
of each file and the signature of a certificate are there for that.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from holdfast.compiled import compiled

Words = NDArray[np.uint64]

WHOLE, FLOAT, BYTES, ABSENT = (np.uint64(0x51C64B5FA7D2E0A1 * (kind + 1) % 2**64) for kind in range(4))
OTHER = np.uint64(0xD6E8FEB86659FD93)
"""Makes a second word of a first."""


@dataclass(frozen=True)
class Fingerprint:
    """Two words for the rows of a file, and how many rows there are."""

    rows: int = 0
    first: int = 0
    second: int = 0

    @classmethod
    def of(cls, rows: Words) -> "Fingerprint":
        """Return the fingerprint of rows by their words."""
        return cls(rows.size, int(mixed(rows).sum()), int(mixed(rows ^ OTHER).sum()))

    def __add__(self, other: "Fingerprint") -> "Fingerprint":
        """Return the fingerprint of the rows of both."""
        first, second = (self.first + other.first) % 2**64, (self.second + other.second) % 2**64
        return Fingerprint(self.rows + other.rows, first, second)

    def __str__(self) -> str:
        return f"{self.first:016x}{self.second:016x}"


def mixed(words: Words) -> Words:
    """Return words in which each bit depends on all bits of another, by the finaliser of SplitMix64."""
    with np.errstate(over="ignore"):
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))


def row_words(table: pa.Table, columns: Sequence[str]) -> Words:
    """Return a word for each row of some columns, in no matter what order they are named; 0 for none."""
    total = np.zeros(table.num_rows, dtype=np.uint64)
    for name in columns:
        total += mixed(column_words(table.column(name)) + _name(name))
    return total


def column_words(column: pa.ChunkedArray) -> Words:
    """Return a word for each value of a column."""
    found = [_words(chunk) for chunk in column.chunks]
    return np.concatenate(found) if found else np.empty(0, dtype=np.uint64)


def _name(name: str) -> np.uint64:
    return np.uint64(_words(pa.array([name]))[0])


def _words(array: pa.Array) -> Words:
    kind = array.type
    if pa.types.is_dictionary(kind):
        known = _words(array.dictionary)
        places = array.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return _absent(array, known[places] if known.size else np.zeros(len(array), dtype=np.uint64))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        return _absent(array, mixed(_whole(array) + WHOLE))
    if pa.types.is_floating(kind):
        numbers = (
            array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
        )  # no minus zero
        numbers = np.where(np.isnan(numbers), np.nan, numbers)
        return _absent(array, mixed(numbers.view(np.uint64) + FLOAT))
    return _absent(array, mixed(_bytes(_binary(array)) + BYTES))


def _absent(array: pa.Array, words: Words) -> Words:
    """Return the words with one of its own for each value that is missing."""
    if array.null_count:
        words = words.copy()
        words[array.is_null().to_numpy(zero_copy_only=False)] = ABSENT
    return words


def _whole(array: pa.Array) -> Words:
    if array.type == pa.uint64():
        own: Words = array.fill_null(0).to_numpy(zero_copy_only=False)
        return own
    if array.type.bit_width == 32 and pa.types.is_temporal(array.type):
        array = array.cast(pa.int32())
    whole = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    bits: Words = whole.view(np.uint64)
    return bits


def _binary(array: pa.Array) -> pa.Array:
    """Return the bytes of each value."""
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.string())
    try:
        return array.cast(pa.large_binary())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        shown: Iterable[Any] = (None if value is None else repr(value) for value in array.to_pylist())
        return pa.array(shown, pa.large_string()).cast(pa.large_binary())


def _bytes(array: pa.Array) -> Words:
    _, ends, content = array.buffers()
    if not len(array):
        return np.empty(0, dtype=np.uint64)
    offsets = np.frombuffer(ends, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(content or b"\0", dtype=np.uint8)
    words: Words = _texts(offsets, data)
    return words


def _texts(offsets: Any, data: Any) -> Any:
    """Return a word for each run of bytes, by the hash of Fowler, Noll and Vo, and its length."""
    words = np.empty(offsets.size - 1, dtype=np.uint64)
    for place in range(words.size):
        word = np.uint64(0xCBF29CE484222325)
        for at in range(offsets[place], offsets[place + 1]):
            word = (word ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
        words[place] = word + np.uint64(offsets[place + 1] - offsets[place])
    return words


_texts = compiled(_texts)
