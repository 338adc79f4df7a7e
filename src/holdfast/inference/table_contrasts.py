"""Contrasts of counts of a released table: its noise has one public law for all tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import gcd, inf, lcm, nextafter

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.certificate.public import Published
from holdfast.data.invariants import margin_levels, margin_matrix
from holdfast.inference.contrasts import Estimate, EstimateReport, Named, known_zero
from holdfast.inference.intervals import IntervalQueries, Intervals, simultaneous
from holdfast.inference.intervals import intervals as each_interval
from holdfast.inference.ratios import ratios
from holdfast.system.errors import SpecError
from holdfast.system.ways import option

MOST = 2**62


@dataclass(frozen=True, eq=False)
class _Rows:
    """The queries of one contrast: a row for each combination of levels of the margin."""

    of: int
    cells: tuple[tuple[str, ...], ...]
    terms: tuple[csr_array, ...]

    def sum(self, contrast: Named) -> tuple[csr_array, Fraction]:
        """Return the weighted sum as whole weights, and what to multiply it by."""
        scale = lcm(*(times.denominator for times, _ in contrast.terms))
        whole = [int(times * scale) for times, _ in contrast.terms]
        common = reduce(gcd, whole)
        if sum(map(abs, whole)) // common >= MOST:
            raise SpecError(
                f"{option(contrast.kind)} has weights that do not fit 64 bits: give simpler ones."
            )
        parts = [rows * (times // common) for times, rows in zip(whole, self.terms, strict=True)]
        total = csr_array(reduce(lambda one, other: one + other, parts))
        total.eliminate_zeros()
        if not total.nnz:
            raise SpecError(f"{contrast.words} is 0 whatever the counts are: name selections that differ.")
        return total, Fraction(common, scale)


def table_contrasts(
    released: Published,
    asked: Sequence[Named],
    margin: Sequence[str],
    level: Fraction,
    *,
    together: bool,
) -> EstimateReport:
    """Return the contrasts of a released table with their intervals.

    Together, linear ones have the joint law of their errors; where a ratio is among them, each has its part
    of what may fail.
    """
    public = released.public
    table = released.table.counts[public.possible], released.noise, public.universe.matrix
    all_rows = [_rows(released, place, each, margin) for place, each in enumerate(asked)]
    linear = [rows for rows in all_rows if asked[rows.of].kind != "ratio"]
    quotients = [rows for rows in all_rows if asked[rows.of].kind == "ratio"]
    split = together and bool(quotients)
    each = 1 - (1 - level) / sum(len(rows.cells) for rows in all_rows) if split else level
    found: list[Estimate] = []
    draws = 0
    if linear:
        sums = [rows.sum(asked[rows.of]) for rows in linear]
        method = simultaneous if together and not split else each_interval
        known = method(*table, csr_array(vstack([total for total, _ in sums], format="csr")), each)
        units = [unit for rows, (_, unit) in zip(linear, sums, strict=True) for _ in rows.cells]
        where = [(rows.of, cell) for rows in linear for cell in rows.cells]
        found += [_scaled(known, i, *place, units[i]) for i, place in enumerate(where)]
        draws = known.draws
    for rows in quotients:
        above, below = rows.terms
        zero = IntervalQueries.of(*table, below, level)
        for i in np.flatnonzero(zero.determined & (zero.estimate == 0)):
            raise known_zero(asked[rows.of], margin, rows.cells[i])
        some, size = ratios(*table, (above, below), each)
        found += [
            Estimate(rows.of, cell, one.estimate, one.low, one.high, one.determined)
            for cell, one in zip(rows.cells, some, strict=True)
        ]
        draws = max(draws, size)
    found.sort(key=lambda row: row.of)
    return EstimateReport(tuple(asked), tuple(margin), tuple(found), level, together, draws)


def _rows(released: Published, place: int, contrast: Named, margin: Sequence[str]) -> _Rows:
    public = released.public
    terms, met = [], []
    for _, where in contrast.terms:
        matrix, kept = margin_matrix(public.schema, margin, where)
        terms.append(csr_array(matrix[:, public.possible]))
        met.append(kept)
    if any(kept.tolist() != met[0].tolist() for kept in met):
        raise SpecError(
            f"{contrast.words} has not the same places of the margin {','.join(margin)} in all its"
            f" selections: leave {option('margin')} out."
        )
    return _Rows(place, margin_levels(public.schema, margin, met[0]), tuple(terms))


def _scaled(found: Intervals, i: int, of: int, cell: tuple[str, ...], unit: Fraction) -> Estimate:
    """Return an interval of a sum of whole weights, times a number, its ends rounded outwards."""
    estimate, low, high = (int(end[i]) * unit for end in (found.estimate, found.low, found.high))
    certain = bool(found.determined[i])
    if unit.denominator == 1:
        return Estimate(of, cell, int(estimate), int(low), int(high), certain)
    ends = (float(low), float(high)) if certain else (nextafter(low, -inf), nextafter(high, inf))
    return Estimate(of, cell, float(estimate), *ends, certain)
