"""From measurements to whole counts that keep all that is known: step 2, which sees nothing confidential.

**Bias** is told on a stand-in that anyone can make. Counts that may not be negative and add up to their
parent come out too large where they are small, and too small where they are large. By how much depends on the
confidential counts, so it is measured on others: a part of the geography with invented counts, whose sizes
fall off as those of real places do, measured and estimated as the release is. Invariants keep their form,
with the values of the invented counts; bounds are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.data.geography import Regions, Spine
from holdfast.data.schema import Attributes
from holdfast.estimation.hierarchy.conflict import UnmetError
from holdfast.estimation.hierarchy.descent import descend
from holdfast.estimation.hierarchy.level import Level, LevelQuery
from holdfast.estimation.hierarchy.run import Run, here
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.possible import PossibleTables
from holdfast.mechanisms.topdown.areas import area_tables, with_areas
from holdfast.mechanisms.topdown.design import LevelBounds, LevelInvariants, MeasurementDesign
from holdfast.mechanisms.topdown.measurements import Measurement, MeasurementLaw, Values
from holdfast.programs.solver import UNBOUNDED
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import InvariantError
from holdfast.system.progress import steps
from holdfast.system.text import counted


def estimated(
    design: MeasurementDesign, measurements: Sequence[Measurement], values: Values, run: Run = here
) -> tuple[IntArray, ...]:
    """Return the counts of all nodes, by level and root first: nodes by cells."""
    levels = [level_of(design, place, measurements, values) for place in range(len(design.regions.sizes))]
    found = descend(design.regions.spine.parent, levels, run=run).counts
    return tuple(each[:, : design.regions.width] for each in found)


def require_counts(design: MeasurementDesign) -> None:
    """Raise UnmetError where no counts keep what is invariant and what was published before."""
    levels = [level_of(design, place, (), ()) for place in range(len(design.regions.sizes))]
    try:
        descend(design.regions.spine.parent, levels)
    except UnmetError as error:
        sums = [sums_of(design, place) for place in range(len(levels))]
        raise named(error, design.regions, sums) from None


def named(error: UnmetError, regions: Regions, sums: Sequence[Sequence[str]]) -> InvariantError:
    """Return what contradicts by the codes of nodes, and by what is said of the sums of each level."""
    found: dict[tuple[str, str, str], int] = {}  # bounds of several cells are told once, with their number
    for each in error.conflict:
        level = each.level if each.below < 0 else each.below
        node = f"{regions.levels[each.level]} {regions.spine.codes(regions.levels[each.level])[each.child]}"
        least = "at least " if each.kind in ("least", "range least") else ""
        most = "at most " if each.kind in ("most", "range most") else ""
        below = "" if each.below < 0 else f" at the level {regions.levels[level]}"
        if each.kind == "invariant":
            said = f"{each.value:,} in {node}, {sums[level][each.place]}{below}", "", ""
        else:
            what = "cell" if each.kind in ("least", "most") else "sum"
            said = f"{least}{most}{each.value:,}", what, f"of {node}, what is public there{below}"
        found[said] = found.get(said, 0) + 1
    told = [
        f"{value} in {'each of ' * (number > 1)}{counted(number, what)} {of}" if what else value
        for (value, what, of), number in found.items()
    ]
    return InvariantError(f"no counts keep all of these at once: {'; '.join(told)}: correct one of them.")


def sums_of(design: MeasurementDesign, place: int) -> tuple[str, ...]:
    """Return in words where each sum that the counts of a level keep is from."""
    tables = area_tables(design)
    leaves = place == len(design.regions.sizes) - 1
    added = ("the sums of areas",) * (leaves * sum(int(each.classes.shape[0]) for each in tables))
    return (*design.sums(place), *(said for each in tables for said in each.said(place)), *added)


def level_of(
    design: MeasurementDesign, place: int, measurements: Sequence[Measurement], values: Values
) -> Level:
    """Return what was measured of a level, and what is known of it, with areas beside it."""
    return with_areas(_on_spine(design, place, measurements, values), design, place, measurements, values)


def _on_spine(
    design: MeasurementDesign, place: int, measurements: Sequence[Measurement], values: Values
) -> Level:
    regions, kept, nodes = design.regions, design.asked(place), design.regions.sizes[place]
    measured = [pair for pair in zip(measurements, values, strict=True) if pair[0].of.level == place]
    leaves = place == len(regions.sizes) - 1
    ranges, least, most = _bounds(design.bounded[place], regions.width)
    return Level.of(
        regions.levels[place],
        nodes,
        regions.width,
        queries=[
            LevelQuery(design.queries[each.of.query].rows, 1 / each.variance, design.turn(each.of.query))
            for each, _ in measured
        ],
        answers=[answers for _, answers in measured],
        invariants=kept.rows,
        values=kept.values,
        ranges=ranges,
        least=np.tile(least, (nodes, 1)),
        most=np.tile(most, (nodes, 1)),
        high=np.where(regions.possible, UNBOUNDED, 0) if leaves and not regions.possible.all() else None,
    )


def _bounds(bounded: Sequence[LevelBounds], width: int) -> tuple[csr_array, IntArray, IntArray]:
    """Return the rows that stay within bounds, and these."""
    parts = [csr_array((0, width), dtype=np.int64), *(each.rows for each in bounded)]
    sizes = [int(each.rows.shape[0]) for each in bounded]
    low = [-UNBOUNDED if each.at_least is None else each.at_least for each in bounded]
    high = [UNBOUNDED if each.at_most is None else each.at_most for each in bounded]
    least, most = (np.repeat(np.array(side, dtype=np.int64), sizes) for side in (low, high))
    return csr_array(vstack(parts, format="csr")), least, most


MOST_CELLS = 20_000
"""Cells of the leaves of a stand-in, about."""
MOST_POSSIBLE = 3_000
"""The same of one of which many releases are looked at."""
DRAWS = 2
USUAL = 40
"""Records of a leaf, where their number is not public."""
CLASSES = (0, 1, 5, 20, 100, 1000)
"""Where classes of sizes begin."""


@dataclass(frozen=True)
class BiasBySize:
    """The errors of counts of one size: those from ``low`` to ``high``, which is None for the last class."""

    count: str
    low: int
    high: int | None
    number: int
    mean_error: float
    standard_error: float
    mean_absolute_error: float


def bias(
    design: MeasurementDesign, measurements: Sequence[Measurement], records: int | None
) -> tuple[BiasBySize, ...]:
    """Return the errors of cells and totals of leaves by their size, on a stand-in."""
    ready, counts = on_stand_in(design, records)
    law = MeasurementLaw(ready, measurements, counts.ravel())
    truth, errors = [], []
    for seed in range(DRAWS):
        found = estimated(ready, measurements, law.measure(SeededEntropy(seed)))[-1]
        truth.append(counts)
        errors.append(found - counts)
    sizes, off = np.concatenate(truth), np.concatenate(errors)
    cells = _classes("cell", sizes.ravel(), off.ravel())
    return (
        cells
        if ready.regions.width == 1
        else (*cells, *_classes("total", sizes.sum(axis=1), off.sum(axis=1)))
    )


def possible_tables(
    design: MeasurementDesign, measurements: Sequence[Measurement], records: int | None, number: int
) -> PossibleTables:
    """Return seeded releases of invented counts, as many as asked for: of a part of a large geography."""
    ready, counts = on_stand_in(design, records, MOST_POSSIBLE)
    law = MeasurementLaw(ready, measurements, counts.ravel())
    drawn = (law.measure(SeededEntropy(seed)) for seed in range(number))
    tables = [estimated(ready, measurements, values)[-1] for values in steps(drawn, "estimating", number)]
    return PossibleTables(ready.regions, counts, tables, ready.regions.sizes[-1] == design.regions.sizes[-1])


def on_stand_in(
    design: MeasurementDesign, records: int | None, most: int = MOST_CELLS
) -> tuple[MeasurementDesign, IntArray]:
    """Return the design on a part of a geography whose counts are invented, and these."""
    some = _part(design, most)
    counts = stand_in(some.regions, USUAL if records is None else records / design.regions.sizes[-1])
    tables = some.regions.tables(counts.ravel())
    kept = tuple(
        LevelInvariants(each.rows, np.asarray(table @ each.rows.T))
        for each, table in zip(some.kept, tables, strict=False)
    )
    areas = tuple(
        replace(each, values=np.asarray(tables[len(kept) + each.kind][each.areas] @ each.rows.T))
        for each in some.of_areas
        if each.values is not None
    )
    return replace(some, kept=kept, bounded=((),) * len(kept), before=(), of_areas=areas), counts


def _classes(count: str, sizes: IntArray, errors: IntArray) -> tuple[BiasBySize, ...]:
    found = []
    for low, end in zip(CLASSES, (*CLASSES[1:], None), strict=True):
        here = errors[(sizes >= low) & (True if end is None else sizes < end)]
        if (n := here.size) > 1:
            added, squares, apart = (int(part.sum()) for part in (here, here**2, np.abs(here)))
            spread = sqrt(Fraction(n * squares - added**2, n * n * (n - 1)))
            high = None if end is None else end - 1
            found.append(
                BiasBySize(count, low, high, n, *(round(x, 3) for x in (added / n, spread, apart / n)))
            )
    return tuple(found)


def _part(design: MeasurementDesign, most: int) -> MeasurementDesign:
    """Return the design of the first leaves of a geography, and of the nodes above them."""
    regions = design.regions
    leaves = min(regions.sizes[-1], max(1, most // regions.width))
    numbers = [leaves]
    for parent in reversed(regions.spine.parent):
        numbers.append(int(parent[numbers[-1] - 1]) + 1)
    numbers.reverse()
    levels = Attributes.of(
        {level.name: level.levels[:n] for level, n in zip(regions.spine.levels, numbers, strict=True)}
    )
    parents = tuple(parent[:n] for parent, n in zip(regions.spine.parent, numbers[1:], strict=True))
    areas = tuple(replace(each, of=each.of[:leaves]) for each in regions.areas)
    part = Regions(Spine(levels, parents), regions.cells, regions.possible[:leaves], areas)
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
