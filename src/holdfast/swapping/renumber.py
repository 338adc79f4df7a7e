"""New ids for old ones: the numbers 1, 2, ... of the released records, in the order in which they leave.

That order is drawn, and it is released: strata come in the order of their digests, the records of a stratum
in an order drawn by the operating system. A number that says the place of a record in the file adds nothing
to the file, so it is independent of the old id given all else that is released.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from holdfast.data.microdata import Microdata, level_texts
from holdfast.errors import DataError, SpecError
from holdfast.lattice.arrays import IntArray
from holdfast.swapping.design import Columns


def require_numbers(records: Microdata, columns: Columns) -> None:
    """Raise where a column that is to be renumbered holds no ids: repeated, missing, or of another type."""
    for name in columns.renumber:
        kind = records.schema.field(name).type
        if not (_is_text(kind) or pa.types.is_integer(kind)):
            raise SpecError(
                f"[mechanism] renumber names {name!r}, which holds {kind} values: ids are"
                " texts or whole numbers."
            )
        found = level_texts(records.whole([name]).column(name))
        if found.null_count() or found.n_unique() < len(found):
            raise DataError(
                f"[mechanism] renumber names {name!r}, which is no id of the records, as values are missing"
                " or repeat: leave it out, and name it in swap or drop it if it tells a place."
            )
        if pa.types.is_integer(kind) and len(found) >= 2 ** (kind.bit_width - 1):
            raise DataError(
                f"[mechanism] renumber names {name!r}, whose {kind} values cannot count {len(found):,}"
                " records: store it as int64."
            )


@dataclass(eq=False)
class Numbering:
    """Numbers records as they leave, and remembers the old ids by which others find them."""

    names: tuple[str, ...]
    remembered: str | None = None
    given: int = 0
    old: list[pa.ChunkedArray] = field(default_factory=list, repr=False)

    def numbered(self, groups: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Yield records with new ids."""
        for records in groups:
            if self.remembered is not None:
                self.old.append(records.column(self.remembered))
            numbers = np.arange(self.given + 1, self.given + records.num_rows + 1)
            self.given += records.num_rows
            yield with_numbers(records, self.names, numbers)

    @property
    def ids(self) -> pa.ChunkedArray:
        """The old ids, in the new order."""
        return pa.chunked_array([chunk for part in self.old for chunk in part.chunks])


def with_numbers(records: pa.Table, names: Sequence[str], numbers: IntArray) -> pa.Table:
    """Return records with numbers in some columns, in the types of these."""
    for name in names:
        at, kind = records.column_names.index(name), records.schema.field(name)
        plain = kind.type.value_type if pa.types.is_dictionary(kind.type) else kind.type
        new = (
            pa.array(numbers).cast(pa.string() if _is_text(kind.type) else plain).cast(plain).cast(kind.type)
        )
        records = records.set_column(at, kind, new)
    return records


def are_numbers(records: Microdata, name: str, number: int) -> bool:
    """Whether a column holds the numbers from 1 to one, all of them and no others."""
    found = level_texts(records.whole([name]).column(name)).unique()
    return len(found) == number and set(found.to_list()) == {str(one) for one in range(1, number + 1)}


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
