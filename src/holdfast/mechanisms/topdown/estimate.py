"""From measurements to whole counts that keep all that is known: step 2, which sees nothing confidential."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.estimation.topdown.descent import descend
from holdfast.estimation.topdown.general import Query as Weighted
from holdfast.estimation.topdown.known import Level
from holdfast.estimation.topdown.run import Run, here
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.topdown.design import Design
from holdfast.mechanisms.topdown.file import Values
from holdfast.mechanisms.topdown.kept import Bounded
from holdfast.mechanisms.topdown.law import Measurement
from holdfast.programs.solver import UNBOUNDED


def estimated(
    design: Design, measurements: Sequence[Measurement], values: Values, run: Run = here
) -> tuple[IntArray, ...]:
    """Return the counts of all nodes, by level and root first: nodes by cells."""
    levels = [_level(design, place, measurements, values) for place in range(len(design.regions.sizes))]
    return descend(design.regions.spine.parent, levels, run=run).counts


def _level(design: Design, place: int, measurements: Sequence[Measurement], values: Values) -> Level:
    """Return what was measured of a level, and what is known of it."""
    regions, kept, nodes = design.regions, design.kept[place], design.regions.sizes[place]
    measured = [pair for pair in zip(measurements, values, strict=True) if pair[0].of.level == place]
    leaves = place == len(regions.sizes) - 1
    ranges, least, most = _bounds(design.bounded[place], regions.width)
    return Level.of(
        regions.levels[place],
        nodes,
        regions.width,
        queries=[Weighted(design.queries[each.of.query].rows, 1 / each.variance) for each, _ in measured],
        answers=[answers for _, answers in measured],
        invariants=kept.rows,
        values=kept.values,
        ranges=ranges,
        least=np.tile(least, (nodes, 1)),
        most=np.tile(most, (nodes, 1)),
        high=np.where(regions.possible, UNBOUNDED, 0) if leaves and not regions.possible.all() else None,
    )


def _bounds(bounded: Sequence[Bounded], width: int) -> tuple[csr_array, IntArray, IntArray]:
    """Return the rows that stay within bounds, and these."""
    parts = [csr_array((0, width), dtype=np.int64), *(each.rows for each in bounded)]
    sizes = [int(each.rows.shape[0]) for each in bounded]
    low = [-UNBOUNDED if each.at_least is None else each.at_least for each in bounded]
    high = [UNBOUNDED if each.at_most is None else each.at_most for each in bounded]
    least, most = (np.repeat(np.array(side, dtype=np.int64), sizes) for side in (low, high))
    return csr_array(vstack(parts, format="csr")), least, most
