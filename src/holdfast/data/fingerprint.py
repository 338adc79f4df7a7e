"""Rows of record files by digests, and fingerprints of files: the same for the same rows in any order.

A row of some columns is a run of bytes, from which its values can be read again: nine bytes for each column
in the order of their names, then all texts. The nine are a sign for the kind and eight bytes: the bits of a
whole number, a day, a moment or a truth value, the bits of a float, the length of a text, or zeros where the
value is missing. Decimals are texts, and the rest is the text that Python shows. Which columns there are, and
of what types, is said elsewhere: two rows are compared only where both agree.

A row is known by the SHA-256 of its run of bytes; equal digests are equal rows, unless somebody found a
collision of SHA-256 [nist2015].

The fingerprint of a multiset of rows is the SHA-256 of the names of its columns and of all digests of rows,
sorted. It is as hard to forge as that: of two multisets with one fingerprint, either the two streams differ,
and are a collision; or they are the same, so the sorted digests are, and two rows that differ have one
digest, which is a collision. Sums of words have no such proof: a generalised birthday attack finds rows whose
words add up to any sum [wagner2002].
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray, WordArray

Digests = WordArray
"""Four words for each row: a SHA-256."""

ABSENT, WHOLE, FLOAT, BYTES = range(4)
SIZE = 32
"""Bytes of a digest."""
_NOTHING = pa.scalar(b"", pa.large_binary())
AT_HAND = 4_000_000
"""Digests that are held in memory."""
FILES = 64
LOOKED_AT = 10_000
"""Rows that tell whether rows repeat: unless nearly all differ, each that does is hashed once."""
NEARLY = 0.95


@dataclass(frozen=True)
class Fingerprint:
    """A digest of all rows of a file, and how many there are."""

    rows: int
    digest: str

    def __str__(self) -> str:
        return self.digest


class Multiset(ExitStack):
    """Takes rows in any order, each as digests of some parts of its columns, and tells their fingerprint.

    Few digests are sorted where they are. Many are dealt out by their first bits to files without a name,
    which vanish with the process.
    """

    def __init__(self, *parts: Sequence[str], at_hand: int = AT_HAND) -> None:
        super().__init__()
        self._names, self._most = [sorted(part) for part in parts], at_hand
        self._held: list[Digests] = []
        self._files: list[IO[bytes]] = []
        self.rows = 0

    def add(self, *parts: Digests) -> None:
        """Take some rows: the digests of each part."""
        rows = np.ascontiguousarray(np.concatenate(parts, axis=1))
        self.rows += len(rows)
        self._held.append(rows)
        if sum(map(len, self._held)) > self._most:
            self._deal(np.concatenate(self._held))
            self._held = []

    def fingerprint(self) -> Fingerprint:
        """Return the fingerprint of all rows; nothing can be added after that."""
        stream = hashlib.sha256(b"holdfast-multiset/1\n" + json.dumps(self._names).encode() + b"\n")
        if self._files and self._held:
            self._deal(np.concatenate(self._held))
        row = f"S{SIZE * len(self._names)}"
        for part in self._parts():
            stream.update(np.sort(np.frombuffer(part, dtype=row)).tobytes())
        return Fingerprint(self.rows, stream.hexdigest())

    def _parts(self) -> Iterator[bytes]:
        if not self._files:
            yield b"".join(rows.tobytes() for rows in self._held)
        for file in self._files:
            file.seek(0)
            yield file.read()

    def _deal(self, rows: Digests) -> None:
        if not self._files:
            self._files = [self.enter_context(tempfile.TemporaryFile()) for _ in range(FILES)]  # noqa: SIM115
        first = rows.view(np.uint8)[:, 0] // (256 // FILES)
        for place, file in enumerate(self._files):
            file.write(rows[first == place].tobytes())


def fingerprint(batches: Iterable[pa.Table], columns: Sequence[str]) -> Fingerprint:
    """Return the fingerprint of some columns of records."""
    with Multiset(columns) as rows:
        for batch in batches:
            rows.add(row_digests(batch, columns))
        return rows.fingerprint()


def row_digests(table: pa.Table, columns: Sequence[str]) -> Digests:
    """Return a digest for each row of some columns, in no matter what order they are named."""
    rows = _encoded(table, columns)
    looked_at = rows.slice(0, LOOKED_AT)
    if len(pc.unique(looked_at)) > NEARLY * len(looked_at):
        return _hashed(rows)
    known = rows.dictionary_encode()
    places: IntArray = known.indices.to_numpy(zero_copy_only=False)
    return _hashed(known.dictionary)[places]


def row_codes(table: pa.Table, columns: Sequence[str]) -> IntArray:
    """Return a whole number for each row of some columns: the same for rows that agree, and for no others."""
    codes: IntArray = _encoded(table, columns).dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


def digests_of_runs(digests: Digests, ends: IntArray) -> Digests:
    """Return a digest for each run of digests that follow each other, by where the runs end."""
    content = pa.py_buffer(np.ascontiguousarray(digests).view(np.uint8))
    offsets = pa.py_buffer(SIZE * np.concatenate([[0], ends]).astype(np.int64))
    return _hashed(pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(ends), [None, offsets, content]))


def as_column(digests: Digests) -> pa.Array:
    """Return digests as a column of bytes."""
    return _fixed(np.ascontiguousarray(digests).view(np.uint8))


def _hashed(rows: pa.LargeBinaryArray) -> Digests:
    _, ends, content = rows.buffers()
    offsets = np.frombuffer(ends, dtype=np.int64)[rows.offset : rows.offset + len(rows) + 1].tolist()
    data, sha256 = memoryview(content or b""), hashlib.sha256
    joined = b"".join([sha256(data[start:end]).digest() for start, end in pairwise(offsets)])
    found: Digests = np.frombuffer(joined, dtype="<u8").reshape(-1, SIZE // 8)
    return found


def _encoded(table: pa.Table, columns: Sequence[str]) -> pa.LargeBinaryArray:
    """Return each row as bytes."""
    heads, texts = [np.empty((table.num_rows, 0), dtype=np.uint8)], []
    for name in sorted(columns):
        head, text = _column(_plain(table.column(name)))
        heads.append(head)
        texts += [] if text is None else [text]
    joined = _fixed(np.concatenate(heads, axis=1)).cast(pa.large_binary())
    return pc.binary_join_element_wise(joined, *texts, _NOTHING) if texts else joined


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece, with values in place of a dictionary."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    found = column.combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def _column(array: pa.Array) -> tuple[NDArray[np.uint8], pa.Array | None]:
    """Return nine bytes for each value, and the texts, if these are more than that."""
    kind, text = array.type, None
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        sign, words = WHOLE, _whole(array)
    elif pa.types.is_floating(kind):
        numbers = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        sign, words = (
            FLOAT,
            np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64),
        )  # no minus zero
    else:
        text = _binary(array).fill_null(b"")
        sign, words = BYTES, pc.binary_length(text).to_numpy(zero_copy_only=False).astype(np.uint64)
    head = np.empty((len(array), 9), dtype=np.uint8)
    head[:, 0] = sign
    head[:, 1:] = np.ascontiguousarray(words, dtype="<u8").view(np.uint8).reshape(-1, 8)
    if array.null_count:
        head[array.is_null().to_numpy(zero_copy_only=False)] = ABSENT
    return head, text


def _whole(array: pa.Array) -> WordArray:
    if array.type == pa.uint64():
        own: WordArray = array.fill_null(0).to_numpy(zero_copy_only=False)
        return own
    if array.type.bit_width == 32 and pa.types.is_temporal(array.type):
        array = array.cast(pa.int32())
    whole = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    bits: WordArray = whole.view(np.uint64)
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


def _fixed(rows: NDArray[np.uint8]) -> pa.Array:
    """Return rows of as many bytes each, as a column."""
    kind = pa.binary(rows.shape[1])
    return pa.FixedSizeBinaryArray.from_buffers(
        kind, len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows))]
    )
