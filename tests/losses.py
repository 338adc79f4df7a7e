"""Privacy loss by enumeration: the slow truth that guarantees are held against.

On a small universe every conforming table and every likely output can be listed. The loss of a pair of
tables is the largest log ratio of the probabilities of an output under them, each law normalised over
the listed outputs.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from holdfast.mechanisms.mechanism import Law


def losses(
    law: Callable[[NDArray[np.int64]], Law], tables: NDArray[np.int64], outputs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the loss of every ordered pair of tables, as a matrix."""
    log_prob = np.stack([law(table).log_prob(outputs) for table in tables])
    log_prob -= logsumexp(log_prob, axis=1, keepdims=True)
    return np.stack([(row - log_prob).max(axis=1) for row in log_prob])


def record_distances(tables: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many records apart each pair of tables of the same size is: ||x - x'||_1 / 2 [theory, 1].

    Pairs of different sizes are no number of changed records apart: -1.
    """
    apart = np.abs(tables[:, None, :] - tables[None, :, :]).sum(axis=2) // 2
    sizes = tables.sum(axis=1)
    return np.where(sizes[:, None] == sizes[None, :], apart, -1)
