"""How far estimates are off on average, on a stand-in that anyone can make.

Counts that may not be negative and add up to their parent come out too large where they are small, and too
small where they are large. By how much depends on the confidential counts, so it is measured on others: a
part of the geography with invented counts, whose sizes fall off as those of real places do, measured and
estimated as the release is. Invariants keep their form, with the values of the invented counts; bounds are
left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

import numpy as np

from holdfast.data.attributes import Attributes
from holdfast.data.regions import Regions
from holdfast.data.spine import Spine
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.topdown.design import Design
from holdfast.mechanisms.topdown.estimate import estimated
from holdfast.mechanisms.topdown.kept import Kept
from holdfast.mechanisms.topdown.law import Measurement, MeasurementLaw
from holdfast.sampling.entropy import SeededEntropy

MOST_CELLS = 20_000
"""Cells of the leaves of a stand-in, about."""
DRAWS = 2
USUAL = 40
"""Records of a leaf, where their number is not public."""
CLASSES = (0, 1, 5, 20, 100, 1000)
"""Where classes of sizes begin."""


@dataclass(frozen=True)
class Bias:
    """The errors of counts of one size: those from ``low`` to ``high``, which is None for the last class."""

    count: str
    low: int
    high: int | None
    number: int
    mean_error: float
    standard_error: float
    mean_absolute_error: float


def bias(design: Design, measurements: Sequence[Measurement], records: int | None) -> tuple[Bias, ...]:
    """Return the errors of cells and totals of leaves by their size, on a stand-in."""
    some = _part(design)
    counts = stand_in(some.regions, USUAL if records is None else records / design.regions.sizes[-1])
    tables = some.regions.sums(counts.ravel())
    kept = tuple(
        Kept(each.rows, np.asarray(table @ each.rows.T))
        for each, table in zip(some.kept, tables, strict=True)
    )
    ready = replace(some, kept=kept, bounded=((),) * len(kept))
    law = MeasurementLaw(ready, measurements, counts.ravel())
    truth, errors = [], []
    for seed in range(DRAWS):
        found = estimated(ready, measurements, law.measure(SeededEntropy(seed)))[-1]
        truth.append(counts)
        errors.append(found - counts)
    sizes, off = np.concatenate(truth), np.concatenate(errors)
    cells = _classes("cell", sizes.ravel(), off.ravel())
    return (
        cells if some.regions.width == 1 else (*cells, *_classes("total", sizes.sum(axis=1), off.sum(axis=1)))
    )


def _classes(count: str, sizes: IntArray, errors: IntArray) -> tuple[Bias, ...]:
    found = []
    for low, end in zip(CLASSES, (*CLASSES[1:], None), strict=True):
        here = errors[(sizes >= low) & (True if end is None else sizes < end)]
        if (n := here.size) > 1:
            added, squares, apart = (int(part.sum()) for part in (here, here**2, np.abs(here)))
            spread = sqrt(Fraction(n * squares - added**2, n * n * (n - 1)))
            high = None if end is None else end - 1
            found.append(Bias(count, low, high, n, *(round(x, 3) for x in (added / n, spread, apart / n))))
    return tuple(found)


def _part(design: Design) -> Design:
    """Return the design of the first leaves of a geography, and of the nodes above them."""
    regions = design.regions
    leaves = min(regions.sizes[-1], max(1, MOST_CELLS // regions.width))
    numbers = [leaves]
    for parent in reversed(regions.spine.parent):
        numbers.append(int(parent[numbers[-1] - 1]) + 1)
    numbers.reverse()
    levels = Attributes.of(
        {level.name: level.levels[:n] for level, n in zip(regions.spine.levels, numbers, strict=True)}
    )
    parents = tuple(parent[:n] for parent, n in zip(regions.spine.parent, numbers[1:], strict=True))
    part = Regions(Spine(levels, parents), regions.cells, regions.possible[:leaves])
    return replace(design, regions=part)


def stand_in(regions: Regions, mean: float) -> IntArray:
    """Return invented counts, leaves by cells: sizes fall off as 1 / rank among siblings, and among cells."""
    sizes = np.ones(1)
    for parent in regions.spine.parent:
        starts = np.searchsorted(parent, np.arange(parent[-1] + 1))
        rank = np.arange(parent.size) - starts[parent] + 1
        sizes = sizes[parent] / rank
    cells = 1 / np.arange(1, regions.width + 1)
    shares = np.outer(sizes, cells) * regions.possible
    expected = shares * (mean * sizes.size / shares.sum())
    return np.asarray(np.random.default_rng(0).poisson(expected), dtype=np.int64)
