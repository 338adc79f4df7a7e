"""Two heat baths on pairs of rows, coupled: the same pairing, the same words, and an order of the columns.

Two chains draw the same two rows, and what they hold fixed differs in the sums s and s' of the columns only:
totals of rows are invariants. Where s = s' they draw the same. Elsewhere each total is drawn by inversion of
the same word. **The order in which columns are joined is free**: it changes neither chain's law, so it
may depend on where both chains are. Columns with s_j = s'_j come first; those that differ come last, one with
more next to one with fewer, to be joined before anything else. Then a difference mostly stays within the
columns that it was in. In the order of the table it would be carried from column to column, and chains of a
large table stay apart.
"""

import numpy as np

from holdfast.sampling.entropy import Entropy
from holdfast.sampling.exact.inversion import Integers
from holdfast.sampling.mcmc.kernel import State
from holdfast.sampling.mcmc.row_pairs import RowPairs


def coupled_rows(kernel: RowPairs, one: State, other: State, entropy: Entropy) -> tuple[State, State]:
    """Draw pairs of rows anew for two sets of chains."""
    upper, lower = kernel.paired(one.statistic.size, entropy)
    words = kernel.words(upper.shape[0], entropy)
    for_one, for_other = (kernel.given(state, upper, lower) for state in (one, other))
    apart = (for_one.sums != for_other.sums).any(axis=1)
    order = joining_order(for_other.sums - for_one.sums)
    place = np.argsort(order, axis=1)
    rows = np.take_along_axis(kernel.law.draw(for_one.reordered(order), words, entropy), place, 1)
    others = rows.copy()
    if apart.any():
        again = kernel.law.draw(for_other.reordered(order).rows(apart), words[apart], entropy)
        others[apart] = np.take_along_axis(again, place[apart], 1)
    return kernel.filled(one, upper, lower, rows), kernel.filled(other, upper, lower, others)


def joining_order(more: Integers) -> Integers:
    """Order columns by how much more the second chain has in them: none first, then more and fewer in turn.

    The largest differences of both signs come last.
    """
    turn = np.full_like(more, np.iinfo(np.int64).min)
    for offset, signed in enumerate((more, -more)):
        rank = np.argsort(np.argsort(-signed, axis=1, kind="stable"), axis=1)  # 0 for the largest
        turn = np.where(signed > 0, -2 * rank - offset, turn)
    return np.argsort(turn, axis=1, kind="stable")
