"""Errors of the best linear estimates of a top-down release, before anything is measured.

Their variances follow from the design alone, exactly [holdfast, estimation/hierarchy/variances.py], over
classes of cells that are alike [holdfast, mechanisms/topdown/alike.py]. Sums of
Gaussian noise are near to normal. Those of Laplace noise have heavier tails: how heavy is simulated, with
the error of each count beside its own standard deviation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.data.invariants import margin_matrix
from holdfast.estimation.hierarchy.linear import Estimates, LevelMeasurements, estimate, responses
from holdfast.estimation.hierarchy.variances import combined, union, variances
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.laws import NORMAL, CountErrors, NearNormal, Shape
from holdfast.mechanisms.topdown.alike import AlikeCells
from holdfast.mechanisms.topdown.area_estimates import AreaEstimates
from holdfast.mechanisms.topdown.best_linear import areas_of
from holdfast.mechanisms.topdown.measurements import Values
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import SpecError

if TYPE_CHECKING:
    from holdfast.mechanisms.topdown.mechanism import TopDown

NUMBERS, MOST_DRAWS, FEWEST_DRAWS = 4_000_000, 400, 8
"""Estimates that a shape is told by, about; and draws for them."""


def estimate_errors(mechanism: "TopDown", asked: Sequence[Counts]) -> tuple[CountErrors, ...]:
    """Return the errors of counts at nodes of the lowest level that each names."""
    spine, still = len(mechanism.design.regions.levels), _still(mechanism)
    alike = _alike(mechanism, asked)
    places = [_place(mechanism, counts, alike) for counts in asked]
    estimates, noises = _estimates(still, alike)
    simulated = _simulated(still, estimates, noises)
    found: list[CountErrors | None] = [None] * len(asked)
    areas = areas_of(still, _zeros(still)) if still.design.regions.areas else {}
    for place in sorted({level for level, _, _ in places}):
        mine = [at for at, (level, _, _) in enumerate(places) if level == place]
        every = np.vstack([places[at][1] for at in mine])
        level = tuple(mechanism.design.regions.places)[place]
        if place >= spine:
            variance = _of_areas(estimates, areas[level], every)
        else:
            variance = variances(estimates, level, every)
        starts = np.cumsum([0, *(len(places[at][1]) for at in mine)])
        for at, begin, end in zip(mine, starts, starts[1:], strict=False):
            _, rows, of = places[at]
            part = variance[:, begin:end][:, of]
            drawn = simulated[place] if simulated and place < spine else None
            shape = _shape(drawn, rows[of], part)
            found[at] = CountErrors.of(part.ravel(), partial(NearNormal, shape=shape))
    return tuple(one for one in found if one is not None)


def _alike(mechanism: "TopDown", asked: Sequence[Counts]) -> AlikeCells:
    """Return the cells that neither the design nor what is asked tells apart."""
    design = mechanism.design
    measured = dict.fromkeys(each.of.query for each in mechanism.measurements)
    rows = [design.queries[each].rows for each in measured]
    rows += [each.rows for each in design.kept if each.rows.shape[0]]
    return AlikeCells.of(design.regions, rows, [dict(counts.where) for counts in asked])


def _estimates(mechanism: "TopDown", alike: AlikeCells) -> tuple[Estimates, Mapping[int, csr_array]]:
    """Return the estimates of classes of cells, all 0, and which rows of each query are put together."""
    design, taken = mechanism.design, mechanism.measurements
    orbits = {
        query: alike.orbits(design.queries[query].rows)
        for query in dict.fromkeys(each.of.query for each in taken)
    }
    over = {query: alike.over(design.queries[query].rows, some) for query, some in orbits.items()}
    times = {query: np.asarray(some.sum(axis=1)).ravel() for query, some in orbits.items()}
    known = []
    for place, (kept, nodes) in enumerate(zip(design.kept, design.regions.sizes, strict=True)):
        here = [each for each in taken if each.of.level == place]
        fixed = alike.over(kept.rows, alike.orbits(kept.rows))
        rows = [over[each.of.query] for each in here]
        known.append(
            LevelMeasurements.of(
                nodes,
                alike.first.size,
                queries=csr_array(vstack(rows, format="csr")) if here else None,
                values=np.zeros((nodes, sum(row.shape[0] for row in rows))),
                variances=np.concatenate([each.variance * times[each.of.query] for each in here])
                if here
                else None,
                invariants=fixed,
                exact=np.zeros((nodes, fixed.shape[0])),
            )
        )
    return estimate(design.regions.spine, known), orbits


def _of_areas(estimates: Estimates, areas: AreaEstimates, queries: FloatArray) -> FloatArray:
    """Return the variances of queries of all areas of a kind, one line each."""
    found = []
    for area in range(len(areas.codes)):
        on_spine = combined(estimates, union(estimates, areas.nodes(area), queries))
        found.append(areas.direct(area, queries).beside(*on_spine)[1])
    return np.array(found)


def _place(mechanism: "TopDown", counts: Counts, alike: AlikeCells) -> tuple[int, FloatArray, IntArray]:
    """Return the place of the level or the areas of counts, rows that stand for all, and which for each."""
    regions = mechanism.design.regions
    for name, _ in counts.where:
        if name in regions.places:
            raise SpecError(
                f"{counts.words} selects places of {name}, and estimates are told for every node of a level:"
                " ask for that level."
            )
    known = tuple(regions.places)
    levels = [known.index(name) for name in counts.names if name in regions.levels]
    areas = [known.index(name) for name in counts.names if name in known and name not in regions.levels]
    if (areas and levels != [] and regions.levels[-1] not in counts.names) or (len(areas) > 1 and not levels):
        raise SpecError(
            f"{counts.words} are parts of areas, and estimates are told for whole areas and nodes: ask for"
            " one of these alone."
        )
    level = max(levels, default=areas[0] if areas else 0)
    if regions.cells is None:
        return level, np.ones((1, regions.width)), np.zeros(1, dtype=np.int64)
    names = [name for name in counts.names if name not in known]
    matrix, kept = margin_matrix(regions.cells, names, dict(counts.where))
    return level, *alike.asked(names, kept, matrix)


def _still(mechanism: "TopDown") -> "TopDown":
    """Return the mechanism for tables of zeros, whose estimates are errors."""
    kept = tuple(replace(each, values=np.zeros_like(each.values)) for each in mechanism.design.kept)
    return replace(mechanism, design=replace(mechanism.design, kept=kept))


def _sizes(mechanism: "TopDown") -> list[tuple[int, int]]:
    design = mechanism.design
    return [
        (design.regions.numbers[each.of.level], int(design.queries[each.of.query].rows.shape[0]))
        for each in mechanism.measurements
    ]


def _zeros(mechanism: "TopDown") -> Values:
    return tuple(np.zeros(size, dtype=np.int64) for size in _sizes(mechanism))


def _simulated(
    mechanism: "TopDown", estimates: Estimates, orbits: Mapping[int, csr_array]
) -> tuple[FloatArray, ...] | None:
    """Return the errors of the tables of all levels in some draws, where these are not near to normal."""
    if mechanism.noise_law == "gaussian":
        return None
    entropy, regions = SeededEntropy(0), mechanism.design.regions
    each = regions.width * sum(regions.sizes)
    taken, sizes = mechanism.measurements, _sizes(mechanism)
    drawn = [
        [
            one.law.sample(entropy, n * rows).reshape(n, rows) @ orbits[one.of.query].T
            for one, (n, rows) in zip(taken, sizes, strict=True)
        ]
        for _ in range(int(np.clip(NUMBERS // each, FEWEST_DRAWS, MOST_DRAWS)))
    ]
    noise = []
    for place, nodes in enumerate(regions.sizes):
        here = [at for at, one in enumerate(taken) if one.of.level == place]
        none = np.zeros((len(drawn), nodes, 0))
        noise.append(np.concatenate([none, *(np.stack([draw[at] for draw in drawn]) for at in here)], axis=2))
    return responses(estimates, noise)


def _shape(tables: FloatArray | None, queries: FloatArray, variance: FloatArray) -> Shape:
    """Return the law of errors beside their standard deviations."""
    some = (variance > 0) & np.isfinite(variance)
    if tables is None or not some.any():
        return NORMAL
    return Shape(np.sort((np.abs((tables @ queries.T)[:, some]) / np.sqrt(variance[some])).ravel()))
