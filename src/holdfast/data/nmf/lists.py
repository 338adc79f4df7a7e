"""Lists of whole numbers in a column of a file of measurements, however they are written."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from holdfast.lattice.arrays import IntArray
from holdfast.system.errors import DataError

WHOLE = re.compile(r"-?[0-9]{1,18}")
"""A number of a list that is written as text, (8, 2) or [8 2]."""
LARGEST = 1 << 53
"""What values of a query add up to at most, without their signs: beyond it sums are not exact."""


def is_text(kind: pa.DataType) -> bool:
    """Whether a column has texts, be they listed once or written out."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain))


@dataclass(frozen=True, eq=False)
class Lists:
    """A column of lists of whole numbers, or of single ones."""

    path: Path
    name: str
    lengths: IntArray
    flat: pa.Array

    @classmethod
    def of(cls, column: pa.ChunkedArray, path: Path, name: str) -> "Lists":
        """Return the lists of a column; raises DataError where it has none, or lacks one."""
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if is_text(array.type):
            listed = [
                None if text is None else list(map(int, WHOLE.findall(text))) for text in array.to_pylist()
            ]
            array = pa.array(listed, pa.list_(pa.int64()))
        if array.null_count:
            row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
            raise DataError(f"{path}, row {row + 1}, {name} is missing: write it in every row.")
        if pa.types.is_fixed_size_list(array.type):
            array = array.cast(pa.list_(array.type.value_type))
        if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
            lengths = pc.list_value_length(array).to_numpy().astype(np.int64)
            return cls(path, name, lengths, array)
        if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
            return cls(path, name, np.ones(len(array), dtype=np.int64), array)
        raise DataError(f"{path}, {name} has {array.type} in it: write lists of whole numbers.")

    def at(self, rows: IntArray, length: int, query: str) -> IntArray:
        """Return some lists, which have one length."""
        other = np.flatnonzero(self.lengths[rows] != length)
        if other.size:
            row = int(rows[other[0]])
            raise DataError(
                f"{self.path}, row {row + 1}, {self.name} has {self.lengths[row]:,} entries, and the shape of"
                f" {query} asks for {length:,}: write one for each entry of the shape."
            )
        some = self.flat.take(pa.array(rows))
        if not (pa.types.is_integer(some.type) or pa.types.is_floating(some.type)):
            some = some.flatten()
        if pa.types.is_dictionary(some.type):
            some = some.dictionary_decode()
        numbers = None if some.null_count else some.to_numpy(zero_copy_only=False)
        if numbers is None or numbers.dtype.kind not in "iuf":
            raise DataError(
                f"{self.path}, {self.name} of {query} has an entry that is no number: write whole ones."
            )
        finite = np.isfinite(numbers).all()
        if finite and (place := _too_large(numbers)) is not None:
            raise DataError(
                f"{self.path}, row {rows[place // length] + 1}, {self.name} of {query} has {numbers[place]}:"
                " values that add up to more than 2^53 have no exact sums, and are no counts of records."
            )
        whole = numbers.astype(np.int64, copy=False) if finite else None
        if whole is None or not np.array_equal(whole, numbers):
            raise DataError(
                f"{self.path}, {self.name} of {query} has an entry that is not whole: noise of the layout is"
                " of whole numbers, and intervals rest on its law."
            )
        return np.asarray(whole.reshape(rows.size, length))


def _too_large(numbers: NDArray[Any]) -> int | None:
    """Return the place of the largest number where all of them are too large to be added."""
    if not numbers.size or max(-float(numbers.min()), float(numbers.max())) * numbers.size <= LARGEST:
        return None
    sizes = np.abs(numbers.astype(np.float64))
    return int(sizes.argmax()) if sizes.sum() > LARGEST else None
