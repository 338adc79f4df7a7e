"""How far post-processing is off on average, measured on a stand-in for the confidential table.

The release is unbiased: z and -z are equally likely, so E y = x. A projection that leaves no negative counts
tends to push small cells up and others down [theory, 5]. How much depends on the table. The confidential one
must not enter, as the measured bias is published; a public stand-in x' that keeps the invariants takes its
place. For seeded draws z_k of the public noise law,

    bias_i = mean over k of P(y_k)_i - y_k,i   with y_k = x' + z_k, and its standard error,

P being the method. Subtracting y_k rather than x' changes nothing in the mean, as E z = 0, and takes away
most of the noise. The bias for the confidential table is of this kind, not this number.

Draws come in batches, and of each draw only sums over cells and means over groups of cells are kept. There
are as many as end in reasonable time: fewer for large tables, where a group has many cells to average over.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from holdfast.estimation.conforming import Conforming
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.accuracy import batches
from holdfast.mechanisms.mechanism import NoiseLaw
from holdfast.sampling.entropy import IntegerLaw
from holdfast.sampling.lattice.plan import CELLS_PER_SECOND
from holdfast.system.errors import DataError, ReleaseError
from holdfast.system.ways import option

MOST_DRAWS, FEWEST_DRAWS = 200, 10
SECONDS = 20.0
"""What the draws of one stand-in may take, roughly; ten times that for the fewest."""
CELL_SECONDS, PROGRAM_SECONDS = 1e-6, 8e-5
"""What one cell takes under nested totals, and where a program ties it to others, roughly."""
SIZES = (0, 1, 3, 6, 11, 21, 51, 101, 1001)
"""Where classes of counts begin."""


@dataclass(frozen=True)
class Mean:
    """The mean bias of a group of cells, its standard error, and the mean of their stand-in counts."""

    cells: int
    stand_in: float
    bias: float
    standard_error: float


@dataclass(frozen=True)
class Class:
    """The cells whose stand-in counts are between two numbers; the last class has no end."""

    least: int
    most: int | None
    mean: Mean


@dataclass(frozen=True, eq=False)
class Bias:
    """What a method added to the counts of simulated releases of the stand-in.

    Attributes:
        stand_in: the public table.
        draws: the number of simulated releases.
        mean: the bias of each cell.
        standard_error: its standard error.
        small: the quarter of the cells with the smallest stand-in counts; ties by place.
        large: the quarter of the cells with the largest stand-in counts.
        classes: the cells by the size of their stand-in counts.

    """

    stand_in: IntArray
    draws: int
    mean: FloatArray
    standard_error: FloatArray
    small: Mean
    large: Mean
    classes: tuple[Class, ...]


def possible_draws(noise: NoiseLaw, conforming: Conforming) -> int:
    """Return how many draws end in reasonable time; raises ReleaseError where not even the fewest do."""
    programs = sum(block.cells.size for block, _ in conforming.structure.blocks)
    seconds = noise.work / CELLS_PER_SECOND + CELL_SECONDS * conforming.cells + PROGRAM_SECONDS * programs
    draws = min(int(SECONDS / seconds) if seconds > 0 else MOST_DRAWS, MOST_DRAWS)
    if FEWEST_DRAWS * seconds > 10 * SECONDS:
        raise ReleaseError(
            f"it would take long for a table of this size: ask for it with {option('bias_draws')}."
        )
    return max(draws, FEWEST_DRAWS)


def bias(
    noise: IntegerLaw,
    stand_in: IntArray,
    conforming: Conforming,
    method: Callable[[IntArray, Conforming], FloatArray | IntArray],
    *,
    draws: int,
    seed: int = 0,
) -> Bias:
    """Process simulated releases of a public stand-in; never give it the confidential table."""
    if draws < 2:
        raise DataError(f"{draws} draws give no standard error of a bias: ask for 2 or more.")
    if not conforming.holds(stand_in):
        raise DataError("the stand-in does not keep the invariants and constraints: make one that does.")
    order = np.argsort(stand_in, kind="stable")
    quarter = max(1, stand_in.size // 4)
    small, large = order[:quarter], order[-quarter:]
    of = np.searchsorted(SIZES, stand_in, side="right") - 1
    sizes = np.bincount(of, minlength=len(SIZES))
    total, squares = np.zeros(stand_in.size), np.zeros(stand_in.size)
    groups: list[FloatArray] = []
    for sample in batches(noise, stand_in.size, draws, seed):
        for z in sample:
            released = stand_in + z
            move = method(released, conforming) - released.astype(np.float64)
            total += move
            squares += move * move
            each = np.bincount(of, weights=move, minlength=len(SIZES)) / np.maximum(sizes, 1)
            groups.append(np.array([move[small].mean(), move[large].mean(), *each]))
    mean = total / draws
    spread = np.sqrt(np.maximum(squares / draws - mean**2, 0.0) / (draws - 1))
    by_group = np.array(groups)
    centre, error = by_group.mean(axis=0), by_group.std(axis=0, ddof=1) / sqrt(draws)

    def group(cells: IntArray, place: int) -> Mean:
        return Mean(cells.size, float(stand_in[cells].mean()), float(centre[place]), float(error[place]))

    ends = (*(after - 1 for after in SIZES[1:]), None)
    classes = tuple(
        Class(least, most, group(np.flatnonzero(of == place), place + 2))
        for place, (least, most) in enumerate(zip(SIZES, ends, strict=True))
        if sizes[place]
    )
    return Bias(stand_in, draws, mean, spread, group(small, 0), group(large, 1), classes)
