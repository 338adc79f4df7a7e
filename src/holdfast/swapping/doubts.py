"""What looks wrong in records that are to be swapped: held columns that give the swapped ones away.

Where each tract lies in one county, whoever reads the tract of a record knows the county that it had before
the swap. Whether a column tells another is looked at in the first records of a file.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from holdfast.data.fingerprint import mixed, row_words
from holdfast.swapping.design import Columns

LEAST = 2
"""Records that share a value, on average, before it can be said to tell anything."""


def giving_away(first: pa.Table, columns: Columns) -> Iterator[str]:
    """Yield a sentence for each held column whose values tell the swapped ones, in some first records."""
    rows = first.num_rows
    for swapped in columns.swap:
        values = row_words(first, [swapped])
        levels = np.unique(values).size
        for name in columns.held:
            own = mixed(row_words(first, [name]))
            distinct = np.unique(own).size
            if levels > 1 and LEAST * distinct <= rows and np.unique(own + values).size == distinct:
                yield (
                    f"each value of {name!r} comes with one {swapped!r}: it is held, so it tells the"
                    f" {swapped!r} that a record had before the swap; name it in swap as well, or drop it."
                )
