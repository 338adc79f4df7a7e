"""How far released tables are from the confidential one: several sizes of simulated noise.

For a draw z over d cells: ||z||_1, ||z||_2, the largest |z_i|, the mean |z_i|, and the mean absolute error of
each margin. All are expectations but L2, the root of the expected ||z||_2^2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.mechanisms.accuracy import Margin, Size
from holdfast.mechanisms.mechanism import Draws


@dataclass(frozen=True)
class Deviation:
    """The sizes of the noise of one mechanism."""

    draws: int
    l1: Size
    l2: Size
    largest: Size
    cell: Size
    margins: Mapping[str, Size]


def deviation(draws: Draws, of: Sequence[Margin], *, keeps_invariants: bool) -> Deviation:
    """Return the sizes of simulated noise, one draw a row."""
    sizes = np.abs(draws)
    squares = Size.mean((draws.astype(np.float64) ** 2).sum(axis=1))
    root = float(np.sqrt(squares.value))
    return Deviation(
        draws=draws.shape[0],
        l1=Size.mean(sizes.sum(axis=1)),
        l2=Size(root, squares.standard_error / (2 * root) if root else 0.0),  # the delta method
        largest=Size.mean(sizes.max(axis=1, initial=0)),
        cell=Size.mean(sizes.mean(axis=1)),
        margins={
            " x ".join(margin.attributes) or "total": margin.error(draws, kept=keeps_invariants)
            for margin in of
        },
    )
