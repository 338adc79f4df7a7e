"""Numbers and texts as Arrow has them.

`pa.array` asks whether what it is given is of pandas, and loads pandas for that wherever it is installed:
half a second of each command.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pyarrow as pa
from numpy.typing import NDArray


def arrow_numbers(values: NDArray[Any]) -> pa.Array:
    """Return numbers, of their own type.

    >>> import numpy as np
    >>> str(arrow_numbers(np.array([1, 2], dtype=np.int32)).type)
    'int32'
    """
    return pl.Series(values).to_arrow()


def arrow_texts(values: Sequence[str]) -> pa.Array:
    """Return texts.

    >>> str(arrow_texts(["a", "b"]).type)
    'string'
    """
    return pl.Series(values, dtype=pl.String).to_arrow().cast(pa.string())
