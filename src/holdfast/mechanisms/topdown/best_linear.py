"""The best linear unbiased estimates of all nodes of a geography, from the measurements of a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.data.geography import Regions
from holdfast.estimation.hierarchy.linear import Estimates, LevelMeasurements, estimate
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.topdown.area_estimates import AreaEstimates, MeasuredArea
from holdfast.mechanisms.topdown.measurements import Measurement, Values

if TYPE_CHECKING:
    from holdfast.mechanisms.topdown.mechanism import TopDown


@dataclass(frozen=True, eq=False)
class MeasuredNodes:
    """What measurements say of the nodes of a geography.

    Attributes:
        regions: the geography, and the cells of a node.
        estimates: the best linear unbiased estimates of all of them.
        measurements: those that they were made of, with their noise.
        rows: how many numbers each of these has at a node.
        areas: those off the spine, by kind.
        times: for each of these numbers, how many measured ones it is the sum of; one where None.

    """

    regions: Regions
    estimates: Estimates
    measurements: Sequence[Measurement]
    rows: Sequence[int]
    areas: Mapping[str, AreaEstimates]
    times: Sequence[IntArray] | None = None

    @classmethod
    def of(cls, mechanism: "TopDown", values: Values) -> "MeasuredNodes":
        """Return what the values of a mechanism's measurements say."""
        queries, taken = mechanism.design.queries, mechanism.measurements
        rows = [int(queries[each.of.query].rows.shape[0]) for each in taken]
        regions = mechanism.design.regions
        return cls(regions, best_linear(mechanism, values), taken, rows, areas_of(mechanism, values))


def areas_of(mechanism: "TopDown", values: Values) -> dict[str, AreaEstimates]:
    """Return what is known of areas off the spine, by kind."""
    design, regions, found = mechanism.design, mechanism.design.regions, {}
    for kind, areas in enumerate(regions.areas):
        measured = [
            MeasuredArea(at, each, design.queries[each.of.query].rows.toarray().astype(np.float64), part)
            for at, (each, part) in enumerate(zip(mechanism.measurements, values, strict=True))
            if each.of.level == len(regions.sizes) + kind
        ]
        known = [each for each in design.of_areas if each.kind == kind]
        found[areas.name] = AreaEstimates(regions, kind, measured, known)
    return found


def best_linear(mechanism: "TopDown", values: Values, *, invariants: bool = True) -> Estimates:
    """Return the best linear unbiased estimates of all nodes, by the invariants or as if there were none."""
    design = mechanism.design
    regions = design.regions
    known = []
    for place, kept in enumerate(design.kept):
        here = [
            pair for pair in zip(mechanism.measurements, values, strict=True) if pair[0].of.level == place
        ]
        rows = [design.queries[each.of.query].rows for each, _ in here]
        fixed, exact = (kept.rows, kept.values) if invariants else (kept.rows[:0], kept.values[:, :0])
        known.append(
            LevelMeasurements.of(
                regions.sizes[place],
                regions.width,
                queries=csr_array(vstack(rows, format="csr")) if rows else None,
                values=np.hstack([part for _, part in here]) if here else None,
                variances=np.repeat([each.variance for each, _ in here], [row.shape[0] for row in rows])
                if here
                else None,
                invariants=fixed,
                exact=exact,
            )
        )
    return estimate(regions.spine, known)
