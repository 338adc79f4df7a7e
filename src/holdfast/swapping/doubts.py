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
    """Yield a sentence for each held column that tells the swapped ones within a stratum, in first records.

    The key of a record is published as well, so it helps to tell.
    """
    rows, key = first.num_rows, row_words(first, columns.stratify)
    strata = np.unique(mixed(key)).size
    within = f" within {' and '.join(columns.stratify)}" if columns.stratify else ""
    for swapped in columns.swap:
        values = row_words(first, [swapped])
        if np.unique(mixed(key + values)).size == strata:
            continue  # the key tells it alone, and nothing can be swapped
        for name in columns.held:
            own = key + row_words(first, [name])
            distinct = np.unique(mixed(own)).size
            if LEAST * distinct <= rows and np.unique(mixed(own + values)).size == distinct:
                yield (
                    f"each value of {name!r} comes with one {swapped!r}{within}: it is held, so it tells the"
                    f" {swapped!r} that a record had before the swap; name it in swap as well, or drop it."
                )
