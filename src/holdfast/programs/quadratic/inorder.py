"""Sums and products in one order: the same bits on every machine.

Each +, -, *, / and square root of floats has one result, to the last bit. What their standard leaves open is
the order in which sums are added up, and whether a product that is added at once is rounded by itself.
Libraries of linear algebra choose both by the processor they find. Here the loops are written out, and
compiled without leave to change either: whatever is made of these, and of single operations on arrays, is the
same wherever it is computed.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray
from holdfast.system.compiled import compiled

AnyArray = NDArray[Any]


def total(values: AnyArray) -> float:
    """Return the sum of all values, first to last."""
    flat = _floats(values).ravel()
    return float(_dot(flat, np.ones_like(flat)))


def dot(one: AnyArray, other: AnyArray) -> float:
    """Return the sum of products, first to last."""
    return float(_dot(_floats(one).ravel(), _floats(other).ravel()))


def times(rows: csr_array, column: AnyArray) -> FloatArray:
    """Return sparse rows times a column."""
    return np.asarray(_times(rows.indptr, rows.indices, _floats(rows.data), _floats(column)))


def _floats(values: AnyArray) -> FloatArray:
    return np.ascontiguousarray(values, dtype=np.float64)


@compiled
def _dot(one: Any, other: Any) -> float:
    found = 0.0
    for place in range(one.size):
        found += one[place] * other[place]
    return found


@compiled
def _times(starts: Any, cells: Any, values: Any, column: Any) -> Any:
    found = np.zeros(starts.size - 1)
    for row in range(found.size):
        added = 0.0
        for place in range(starts[row], starts[row + 1]):
            added += values[place] * column[cells[place]]
        found[row] = added
    return found
