"""Contrasts of counts of nodes of a geography, from the measurements of a top-down release.

A selection names levels of the geography and attributes of the cells alike. A contrast is one linear form of
the estimates of nodes of any levels, whose error has a law that takes their covariances in
[holdfast, inference/tree_intervals.py].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from holdfast.data.geography import Regions
from holdfast.data.invariants import margin_levels, margin_matrix
from holdfast.data.schema import Attribute
from holdfast.estimation.hierarchy.variances import NodeWeights
from holdfast.inference.contrasts import Estimate, EstimateReport, Named, known_zero
from holdfast.inference.labels import words
from holdfast.inference.ratios import bounded_ratio
from holdfast.inference.tree_intervals import NodeIntervals, NodeLaws
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.system.errors import SpecError
from holdfast.system.progress import steps
from holdfast.system.ways import option


def attributes_of(regions: Regions) -> dict[str, Attribute]:
    """Return what a selection may name: the levels of a geography, and the attributes of the cells."""
    cells = [] if regions.cells is None else list(regions.cells.attributes)
    return {each.name: each for each in (*regions.spine.levels, *cells)}


def node_contrasts(
    regions: Regions,
    laws: NodeLaws,
    asked: Sequence[Named],
    *,
    level: str | None,
    margin: Sequence[str],
    probability: Fraction,
    together: bool,
) -> EstimateReport:
    """Return the contrasts, each once, or for every node of a level; and for each cell of a margin.

    Together, each interval has its part of what may fail.
    """
    terms = [[_Term.of(regions, each, where, margin, level) for _, where in each.terms] for each in asked]
    labels = [() if level is None else (code,) for code in (regions.spine.codes(level) if level else ("",))]
    names = (*(() if level is None else (level,)), *margin)
    number = sum(len(labels) * len(some[0].cells) for some in terms)
    each_probability = 1 - (1 - probability) / number if together else probability
    found: list[Estimate] = []
    for of, (contrast, some) in enumerate(zip(asked, terms, strict=True)):
        if any(term.cells != some[0].cells for term in some):
            raise SpecError(
                f"{contrast.words} has not the same places of the margin {','.join(margin)} in all its"
                f" selections: leave {option('margin')} out."
            )
        cells = [(*label, *cell) for label, cell in product(labels, some[0].cells)]
        if contrast.kind != "ratio":
            found += _sums(laws, contrast, some, of, cells, each_probability, each_node=level is not None)
            continue
        for place, cell in enumerate(steps(cells, "working out the ratios", len(cells))):
            node, row = divmod(place, len(some[0].cells))
            above, below = (term.one(row, None if level is None else node) for term in some)
            pair = partial(_pair, laws, above, below)
            denominator = pair(np.zeros(1), np.ones(1), each_probability)
            if denominator.variance[0] == 0 and round(float(denominator.estimate[0])) == 0:
                raise known_zero(contrast, names, cell)
            one = bounded_ratio(pair, each_probability)
            found.append(Estimate(of, cell, one.estimate, one.low, one.high, one.determined))
    return EstimateReport(tuple(asked), names, tuple(found), probability, together, 0)


@dataclass(frozen=True, eq=False)
class _Term:
    """One selection: nodes of a level, and a query for each cell of the margin."""

    level: str
    nodes: IntArray
    queries: FloatArray
    cells: tuple[tuple[str, ...], ...]

    @classmethod
    def of(
        cls,
        regions: Regions,
        contrast: Named,
        where: Mapping[str, tuple[str, ...]],
        margin: Sequence[str],
        level: str | None,
    ) -> "_Term":
        """Return the nodes and cells that a selection picks; all nodes of a level, where it is given."""
        places = {name: codes for name, codes in where.items() if name in regions.levels}
        inner = {name: some for name, some in where.items() if name not in places}
        if level is not None and places:
            raise SpecError(
                f"{option(contrast.kind)} names places, {contrast.words}, and {option('level')} asks for"
                f" every place of {level!r}: leave one of them out."
            )
        queries: FloatArray = np.ones((1, 1))
        cells: tuple[tuple[str, ...], ...] = ((),)
        if regions.cells is not None:
            matrix, kept = margin_matrix(regions.cells, margin, inner)
            queries, cells = matrix.toarray().astype(np.float64), margin_levels(regions.cells, margin, kept)
        named, nodes = (
            (level, np.arange(len(regions.spine.codes(level)))) if level else _nodes(regions, places)
        )
        return cls(named, nodes, queries, cells)

    def one(self, row: int, node: int | None) -> "_Term":
        """Return the term for one cell, and for one node where one is given."""
        nodes = self.nodes if node is None else self.nodes[[node]]
        return _Term(self.level, nodes, self.queries[[row]], self.cells[row : row + 1])

    def times(self, weights: FloatArray) -> NodeWeights:
        """Return the query with each of several weights."""
        queries = weights[:, None] * self.queries
        return NodeWeights(
            self.level, self.nodes, np.broadcast_to(queries, (self.nodes.size, *queries.shape))
        )


def _nodes(regions: Regions, places: Mapping[str, tuple[str, ...]]) -> tuple[str, IntArray]:
    """Return the nodes of the lowest level that is named which lie in those of the others; else the root."""
    lowest = max((regions.levels.index(name) for name in places), default=0)
    kept = np.ones(1, dtype=np.bool_)
    for place, name in enumerate(regions.levels[: lowest + 1]):
        if place:
            kept = kept[regions.spine.parent[place - 1]]
        if name in places:
            kept = kept & np.isin(np.array(regions.spine.codes(name)), places[name])
    if not kept.any():
        raise SpecError(
            f"no place of {regions.levels[lowest]!r} lies in all of"
            f" {words(places)}: name places that lie in each other."
        )
    return regions.levels[lowest], np.flatnonzero(kept)


def _sums(
    laws: NodeLaws,
    contrast: Named,
    terms: Sequence[_Term],
    of: int,
    cells: Sequence[tuple[str, ...]],
    probability: Fraction,
    *,
    each_node: bool,
) -> list[Estimate]:
    weights = [float(times) for times, _ in contrast.terms]
    if each_node:
        queries = sum(times * term.queries for times, term in zip(weights, terms, strict=True))
        found = laws.at(terms[0].level, np.asarray(queries), probability)
    else:
        shape = [(term.nodes.size, *term.queries.shape) for term in terms]
        parts = [
            NodeWeights(term.level, term.nodes, np.broadcast_to(times * term.queries, size))
            for times, term, size in zip(weights, terms, shape, strict=True)
        ]
        found = laws.combined(parts, probability)
    whole = all(times.denominator == 1 for times, _ in contrast.terms)
    columns = (found.estimate, found.low, found.high, found.determined)
    rows = zip(cells, *(np.ravel(column).tolist() for column in columns), strict=True)
    return [
        Estimate(of, cell, round(estimate), round(estimate), round(estimate), kept_exactly=True)
        if certain and whole
        else Estimate(of, cell, estimate, low, high, certain)
        for cell, estimate, low, high, certain in rows
    ]


def _pair(
    laws: NodeLaws, above: _Term, below: _Term, over: FloatArray, under: FloatArray, probability: Fraction
) -> NodeIntervals:
    """Return intervals for sums of two terms with some coefficients each."""
    return laws.combined([above.times(over), below.times(under)], probability)
