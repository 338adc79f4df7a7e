"""The order in which two coupled heat baths on pairs of rows join their columns.

Two chains draw the same two rows by the same words, and what they hold fixed differs in the sums s and s' of
the columns only: totals of rows are invariants. Where s = s' they draw the same. Elsewhere each total is
drawn by inversion of the same word. **The order in which columns are joined is free**: it changes neither
chain's law, so it may depend on where both chains are. Columns with s_j = s'_j come first; those that differ
come last, one with more next to one with fewer, to be joined before anything else. Then a difference mostly
stays within the columns that it was in. In the order of the table it would be carried from column to column,
and chains of a large table stay apart.
"""

import numpy as np

from holdfast.lattice.arrays import IntArray


def joining_order(more: IntArray) -> IntArray:
    """Order columns by how much more the second chain has in them: none first, then more and fewer in turn.

    The largest differences of both signs come last.
    """
    turn = np.full_like(more, np.iinfo(np.int64).min)
    for offset, signed in enumerate((more, -more)):
        rank = np.argsort(np.argsort(-signed, axis=1, kind="stable"), axis=1)  # 0 for the largest
        turn = np.where(signed > 0, -2 * rank - offset, turn)
    return np.argsort(turn, axis=1, kind="stable")
