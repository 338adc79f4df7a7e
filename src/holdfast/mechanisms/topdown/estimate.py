"""From measurements to whole counts that keep all that is known: step 2, which sees nothing confidential."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.estimation.topdown.general import Query as Weighted
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.topdown.design import Design
from holdfast.mechanisms.topdown.file import Values
from holdfast.mechanisms.topdown.kept import Bounded
from holdfast.mechanisms.topdown.law import Measurement
from holdfast.programs.solver import UNBOUNDED

if TYPE_CHECKING:
    from holdfast.estimation.topdown.descent import Level, Run


def estimated(
    design: Design, measurements: Sequence[Measurement], values: Values, run: "Run | None" = None
) -> tuple[IntArray, ...]:
    """Return the counts of all nodes, by level and root first: nodes by cells."""
    levels = tuple(_level(design, place, measurements, values) for place in range(len(design.regions.sizes)))
    from holdfast.estimation.topdown.descent import descend, in_process

    return descend(design.regions.spine.parent, levels, run=run or in_process)


def _level(design: Design, place: int, measurements: Sequence[Measurement], values: Values) -> "Level":
    """Return what was measured of a level, and what is known of it."""
    regions, kept = design.regions, design.kept[place]
    here = [pair for pair in zip(measurements, values, strict=True) if pair[0].of.level == place]
    high = None
    if place == len(regions.sizes) - 1 and not regions.possible.all():
        high = np.where(regions.possible, UNBOUNDED, 0)
    rows, least, most = _bounds(design.bounded[place], regions.width)
    nodes = regions.sizes[place]
    from holdfast.estimation.topdown.descent import Level

    return Level(
        nodes=nodes,
        cells=regions.width,
        queries=tuple(Weighted(design.queries[each.of.query].rows, 1 / each.variance) for each, _ in here),
        answers=tuple(part for _, part in here),
        invariants=kept.rows if kept.rows.shape[0] else None,
        values=kept.values if kept.rows.shape[0] else None,
        high=high,
        rows=rows,
        least=None if rows is None else np.broadcast_to(least, (nodes, least.size)),
        most=None if rows is None else np.broadcast_to(most, (nodes, most.size)),
    )


def _bounds(bounded: Sequence[Bounded], width: int) -> tuple[csr_array | None, IntArray, IntArray]:
    """Return the rows that stay within bounds, and these; counts are never below 0 anyway."""
    parts = [csr_array((0, width), dtype=np.int64), *(each.rows for each in bounded)]
    sizes = [int(each.rows.shape[0]) for each in bounded]
    low = [-UNBOUNDED if each.at_least is None else each.at_least for each in bounded]
    high = [UNBOUNDED if each.at_most is None else each.at_most for each in bounded]
    least, most = (np.repeat(np.array(side, dtype=np.int64), sizes) for side in (low, high))
    return (csr_array(vstack(parts, format="csr")) if bounded else None), least, most
