"""How much of a law is within a bound: lower bounds that are proved, so that draws are known to end.

Of a product law each component is inside by itself: a free cell by its own law, n cells of one total by

    P(inside) = (Z_D / Z)^n p_n^D(0) / p_n(0),

Z the weights of one cell and p_n the law of the sum of n, cut off or not. Elsewhere P(inside) is at least
1 - 2 n P(z_i > D), or that of a wider box times the share of its points, listed, that the box itself has.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import scipy
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.points import few_points
from holdfast.mechanisms.cut.profile import MOST_ANGLES, MOST_POINTS, sums
from holdfast.mechanisms.cut.weights import ROUNDING, Weighing, cell_logs
from holdfast.sampling.lattice.plan import Block

NOTHING = 45.0
"""A weight of exp(-45) beside 1 is no part of a float."""
WIDER = (2, 4)
LISTED = 12
"""Cells of a lattice that may be listed."""
MOST_SIZES = 24
"""Totals of different sizes that are looked at one by one."""


def shares(matrix: csr_array, blocks: Iterable[Block], noise: Weighing, bound: int) -> Iterator[float]:
    """Yield, for each block, a lower bound of the share of a component's draws that is inside."""
    for block in blocks:
        if noise.shape.product and block.method == "independent":
            yield _of_total(noise, bound, None)
        elif noise.shape.product and block.method.startswith("total"):
            sizes = np.unique([block.shape[1]] if block.sizes is None else block.sizes)
            known = [_of_total(noise, bound, int(size)) for size in sizes[-MOST_SIZES:]]
            few = sizes.size <= MOST_SIZES
            yield min(known) if few else min(*known, _bounded(noise, bound, int(sizes[-MOST_SIZES])))
        else:
            yield _of_crossing(matrix, block.cells[0], noise, bound)


def _of_total(noise: Weighing, bound: int, cells: int | None) -> float:
    """Return the share of one free cell, or of so many under one total."""
    wide = _reach(noise)
    if wide * (cells or 1) > MOST_ANGLES:
        return _bounded(noise, bound, cells or 1)
    if wide <= bound:
        return 1 / ROUNDING
    narrow, whole = (cell_logs(noise, np.arange(-end, end + 1)) for end in (bound, wide))
    log_share = float(scipy.special.logsumexp(narrow) - scipy.special.logsumexp(whole))
    if cells is None:
        return float(np.exp(log_share)) / ROUNDING
    near, all_ = (_at_zero(logs, cells) for logs in (narrow, whole))
    return min(1.0, float(np.exp(cells * log_share)) * near / all_) / ROUNDING


def _at_zero(logs: FloatArray, cells: int) -> float:
    law = np.exp(logs)
    return float(sums(law / law.sum(), cells, 0)[0])


def _reach(noise: Weighing) -> int:
    """Return where one cell's weight is nothing beside that of 0."""
    strength = float(noise.strength)
    far = NOTHING / strength if noise.shape.norm == "l1" else (2 * NOTHING * strength) ** 0.5
    return int(far) + 1


def _bounded(noise: Weighing, bound: int, cells: int) -> float:
    return max(0.0, 1 - 2 * cells * noise.beyond(bound + 1)) / ROUNDING


def _of_crossing(matrix: csr_array, cells: IntArray, noise: Weighing, bound: int) -> float:
    best = _bounded(noise, bound, cells.size)
    if best > 1 / 2 or cells.size > LISTED:
        return best
    system = matrix[:, cells].toarray()
    system = system[system.any(axis=1)]
    for factor in WIDER:
        beyond = _bounded(noise, factor * bound, cells.size)
        points = few_points(system, factor * bound, MOST_POINTS) if beyond > best else None
        if points is None:
            continue
        whole = np.zeros((len(points), matrix.shape[1]), dtype=np.int64)  # a form reads all cells
        whole[:, cells] = points
        weights = np.exp(noise.log_weight(noise.shape.sizes(whole)))
        near = np.abs(points).max(axis=1) <= bound
        best = max(best, beyond * float(weights[near].sum() / weights.sum()) / ROUNDING)
    return best
