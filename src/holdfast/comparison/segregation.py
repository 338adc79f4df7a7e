"""How unevenly groups live: indices of dissimilarity and of entropy for several groups [reardon2002].

With t_i people in place i, T in all, the share p_ig of group g there and p_g over all places:

    D = sum_i t_i sum_g |p_ig - p_g| / (2 T I),     I = sum_g p_g (1 - p_g),
    H = sum_i t_i (E - E_i) / (T E),                E = -sum_g p_g ln p_g, and E_i of the p_ig alike.

Both are 0 where all places have the same shares, and 1 where no place has two groups. Of two groups D is the
share of one of them that would have to move for even shares, of those that would move if one lived apart.
"""

import numpy as np

from holdfast.lattice.arrays import FloatArray, IntArray


def dissimilarity(counts: IntArray | FloatArray) -> float:
    """Return D of counts, one line a place and one column a group; NaN where there are not two groups.

    >>> dissimilarity(np.array([[4, 0], [0, 4]])), dissimilarity(np.array([[2, 6], [1, 3]]))
    (1.0, 0.0)
    """
    table = np.asarray(counts, dtype=np.float64)
    people, total = table.sum(axis=1), float(table.sum())
    if total <= 0:
        return float("nan")
    shares = table.sum(axis=0) / total
    interaction = float((shares * (1 - shares)).sum())
    if interaction <= 0:
        return float("nan")
    own = table / np.where(people > 0, people, 1)[:, None]
    return float((people[:, None] * np.abs(own - shares)).sum() / (2 * total * interaction))


def entropy(counts: IntArray | FloatArray) -> float:
    """Return H of counts, one line a place and one column a group; NaN where there are not two groups.

    >>> entropy(np.array([[4, 0], [0, 4]])), entropy(np.array([[2, 6], [1, 3]]))
    (1.0, 0.0)
    """
    table = np.asarray(counts, dtype=np.float64)
    people, total = table.sum(axis=1), float(table.sum())
    if total <= 0:
        return float("nan")
    all_ = float(_entropy(table.sum(axis=0)[None] / total)[0])
    if all_ <= 0:
        return float("nan")
    own = _entropy(table / np.where(people > 0, people, 1)[:, None])
    return max(0.0, float((people * (all_ - own)).sum() / (total * all_)))


def _entropy(shares: FloatArray) -> FloatArray:
    logs = np.log(np.where(shares > 0, shares, 1))
    return np.asarray(-(shares * logs).sum(axis=1))
