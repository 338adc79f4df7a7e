"""What opened measurements say of the counts of a level, as a likelihood: posteriors are drawn with it.

Measurements of the level and of those above enter, as for a top-down release [holdfast,
mechanisms/topdown/nodes.py]; what is known of nodes below adds up. Whole counts that are estimated from the
same measurements stand where a release has its table.
"""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array, eye_array, kron, vstack

from holdfast.data.grid import Nesting
from holdfast.data.nmf.opened import KnownQuery, OpenedMeasurements
from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.inference.opened.counts import whole_counts
from holdfast.inference.opened.reduced import gaussian_scale, laplace_scale
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.likelihood import NoisySums
from holdfast.mechanisms.truncation.laws import KnownConstraints, Observed
from holdfast.system.errors import ReleaseError, SpecError
from holdfast.system.text import closest
from holdfast.system.ways import setting
from holdfast.universe.universe import Universe

MOST_CELLS = 200_000
"""A posterior is drawn of so many cells."""


def observed_counts(opened: OpenedMeasurements, level: str | None) -> Observed:
    """Return what is known and measured of the counts of a level, of the lowest unless it is named."""
    names = opened.spine.levels.names
    if level is not None and level not in names:
        raise SpecError(
            f"{setting('model', 'level')} is {level!r}, which is no level: {closest(level, names)}"
        )
    place = len(names) - 1 if level is None else names.index(level)
    if opened.width * opened.sizes[place] > MOST_CELLS:
        raise ReleaseError(
            f"the level {names[place]} has {opened.width * opened.sizes[place]:,} cells, and a posterior"
            " is offered"
            f" for {MOST_CELLS:,} at most: name a higher level in {setting('model')}, or open a part."
        )
    impossible = Runs.of(np.flatnonzero(np.tile(opened.zero_cells, opened.sizes[place])))
    levels = {each.name: each.levels for each in opened.spine.levels.each[: place + 1]}
    nestings = tuple(
        Nesting(names[at + 1], names[at], tuple(opened.spine.parent[at].tolist())) for at in range(place)
    )
    schema = Schema(Attributes.of({**levels, **opened.histogram.levels}), impossible, nestings)
    possible = np.flatnonzero(schema.possible)
    counts = whole_counts(opened, last=place)[0][place].ravel()
    return Observed(
        schema,
        possible,
        _likelihood(opened, place, possible),
        counts[possible],
        names[: place + 1],
        _known(opened, place, possible),
    )


def _likelihood(opened: OpenedMeasurements, place: int, possible: IntArray) -> NoisySums:
    gaussian = opened.noise == "gaussian"
    rows, values, rates = [], [], []
    for each in (one for one in opened.measured if one.level <= place):
        query = opened.queries[each.query].over(opened.histogram.sizes)
        wide = _of_nodes(opened, each.level, place, query, each.nodes)
        rows.append(csr_array(wide[:, possible]))
        values.append(each.values.ravel())
        known = {
            variance: gaussian_scale(variance) if gaussian else laplace_scale(variance)
            for variance in np.unique(each.variances).tolist()
        }
        each_rate = [1 / (float(known[v]) * (2 if gaussian else 1)) for v in each.variances.tolist()]
        rates.append(np.repeat(each_rate, each.values.shape[1]))
    if not rows:
        raise ReleaseError(
            f"nothing was measured at the level {opened.spine.levels.names[place]} or above: set a lower"
            " level in"
            f" {setting('model')}, or leave it out."
        )
    return NoisySums(
        csr_array(vstack(rows, format="csr")),
        np.concatenate(values),
        "squared" if gaussian else "l1",
        np.concatenate(rates),
    )


def _known(opened: OpenedMeasurements, place: int, possible: IntArray) -> KnownConstraints:
    empty = csr_array((0, opened.width * opened.sizes[place]), dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    A, t, B, b = [empty], [none], [empty], [none]
    for known in _at_level(opened, place):
        rows = _of_nodes(opened, known.level, place, known.query.over(opened.histogram.sizes), known.nodes)
        if known.sign == "=":
            A.append(rows)
            t.append(known.values.ravel())
        else:
            sign = 1 if known.sign == ">=" else -1
            B.append(csr_array(sign * rows))
            b.append(sign * known.values.ravel())
    matrix, bounds = (csr_array(csr_array(vstack(part, format="csr"))[:, possible]) for part in (A, B))
    universe = Universe.of(matrix, np.concatenate(t), occupied=True)
    return KnownConstraints(universe.matrix, universe.values, bounds, np.concatenate(b))


def _at_level(opened: OpenedMeasurements, place: int) -> Iterator[KnownQuery]:
    """Yield what is known of a level and above, and of those below where their nodes are all told."""
    for each in opened.known:
        if each.level <= place:
            yield each
        elif each.nodes.size == opened.sizes[each.level]:
            above = each.nodes
            for parent in reversed(opened.spine.parent[place : each.level]):
                above = parent[above]
            sums = np.zeros((opened.sizes[place], each.values.shape[1]), dtype=np.int64)
            np.add.at(sums, above, each.values)
            yield KnownQuery(place, each.query, each.sign, np.arange(opened.sizes[place]), sums)


def _of_nodes(
    opened: OpenedMeasurements, level: int, place: int, rows: csr_array, nodes: IntArray
) -> csr_array:
    """Return rows over the cells of some nodes of a level, over those of all nodes of a level below it."""
    within = csr_array(eye_array(opened.sizes[place], dtype=np.int64))
    if level < place:
        above = np.arange(opened.sizes[place])
        for parent in reversed(opened.spine.parent[level:place]):
            above = parent[above]
        ones = np.ones(above.size, dtype=np.int64)
        within = csr_array((ones, (above, np.arange(above.size))), shape=(opened.sizes[level], above.size))
    return csr_array(kron(csr_array(within[nodes]), rows, format="csr"))
