"""The equalities of one step, over all cells of all children, child by child."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, kron, vstack

Number = TypeVar("Number", np.int64, np.float64)


def sides(
    matrix: csr_array, values: NDArray[Number], parent: NDArray[Number]
) -> tuple[csr_array, NDArray[Number]]:
    """Return the rows and what they are: the parent's, then each child's."""
    count, cells = values.shape[0], parent.size
    whole = eye_array(cells, dtype=np.int64)
    sums = kron(np.ones((1, count), dtype=np.int64), whole)
    own = kron(eye_array(count, dtype=np.int64), matrix)
    return csr_array(vstack([sums, own], format="csr")), np.concatenate([parent, values.ravel()])
