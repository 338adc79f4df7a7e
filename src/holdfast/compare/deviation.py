"""How far released tables are from the confidential one: several sizes of simulated noise.

For a draw z over d cells: ||z||_1, ||z||_2, the largest |z_i|, the mean |z_i|, and the mean absolute error of
each margin. All are expectations but L2, the root of the expected ||z||_2^2. Draws come in batches, and of
each draw its sizes are kept alone.
"""

from collections.abc import Iterable, Mapping, Sequence
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


def deviation(batches: Iterable[Draws], of: Sequence[Margin], *, keeps_invariants: bool) -> Deviation:
    """Return the sizes of simulated noise, one draw a row of each batch."""
    parts = [_sizes(draws, of) for draws in batches]
    l1, squares, largest, cell, *errors = (np.concatenate(part) for part in zip(*parts, strict=True))
    mean = Size.mean(squares)
    root = float(np.sqrt(mean.value))
    return Deviation(
        draws=l1.size,
        l1=Size.mean(l1),
        l2=Size(root, mean.standard_error / (2 * root) if root else 0.0),  # the delta method
        largest=Size.mean(largest),
        cell=Size.mean(cell),
        margins={
            margin.name: margin.size(each, kept=keeps_invariants)
            for margin, each in zip(of, errors, strict=True)
        },
    )


def _sizes(draws: Draws, of: Sequence[Margin]) -> tuple[Draws, ...]:
    """Return l1, the square of l2, the largest, the mean and each margin's error, one for each draw."""
    sizes = np.abs(draws)
    squares = np.einsum("ij,ij->i", draws, draws, dtype=np.float64)
    each = (sizes.sum(axis=1), squares, sizes.max(axis=1, initial=0), sizes.mean(axis=1))
    return (*each, *(margin.errors(draws) for margin in of))
