"""Finding what is listed twice."""

import numpy as np
from numpy.typing import NDArray


def first_repeat(keys: NDArray[np.int64]) -> tuple[int, int] | None:
    """Return the places of the first key that comes a second time.

    >>> first_repeat(np.array([5, 7, 5]))
    (0, 2)
    """
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    if not same.any():
        return None
    second = int(order[1:][same].min())
    return int(np.argmax(keys == keys[second])), second
