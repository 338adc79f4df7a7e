"""How large additive noise is expected to be, per cell and per margin.

The noise law is public, so this is simulated with a seeded generator from the law alone: nothing of the
table or of the release enters. A margin that the invariants determine has no error at all, by algebra.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from holdfast.lattice.rows import independent_rows
from holdfast.mechanisms.protocol import NoiseLaw
from holdfast.sampling.entropy import SeededEntropy
from holdfast.tables.invariants import margin_matrix
from holdfast.tables.schema import Schema
from holdfast.universe.universe import Universe

MOST_DRAWS, FEWEST_DRAWS = 4000, 20
WORK = 1e7
"""Integers that may be proposed for all simulated draws together: a few seconds."""
MOST_STEPS = 400
"""Steps to either side in which the law of one cell is told."""
MOST_MARGIN_CELLS = 200_000
"""Margins with more cells are left out of the account."""


@dataclass(frozen=True)
class Expected:
    """The mean absolute error of one kind of count, averaged over its cells."""

    attributes: tuple[str, ...]
    error: float
    standard_error: float
    exact: bool


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Expected errors, and the law of the noise in one cell.

    ``shares`` belong to the values first, first + 1, ... in steps of ``width``, an odd number: a wide law is
    told in steps, each centred on a multiple of the width.
    """

    draws: int
    cell: Expected
    margins: tuple[Expected, ...]
    first: int
    width: int
    shares: NDArray[np.float64]


def accuracy(noise: NoiseLaw, schema: Schema, universe: Universe) -> Accuracy | None:
    """Simulate the noise; None where a draw takes too long to repeat."""
    draws = int(min(MOST_DRAWS, WORK / max(noise.work, 1.0)))
    if draws < FEWEST_DRAWS:
        return None
    sample = noise.sample(SeededEntropy(0), draws)
    possible = np.flatnonzero(schema.possible)
    margins = [
        _margin(names, csr_array(margin_matrix(schema, names, {})[0][:, possible]), sample, universe)
        for size in range(min(2, len(schema.names) - 1) + 1)
        for names in combinations(schema.names, size)
        if np.prod([len(schema.attribute(name).levels) for name in names]) <= MOST_MARGIN_CELLS
    ]
    sample = np.rint(sample).astype(np.int64)  # real noise is told in whole steps, too
    reach = int(np.abs(sample).max())
    width = 2 * (reach // MOST_STEPS) + 1
    steps = (sample + width // 2) // width
    first = int(steps.min())
    shares = np.bincount((steps - first).ravel()) / sample.size
    return Accuracy(draws, _expected(schema.names, sample), tuple(margins), first, width, shares)


def _margin(
    names: tuple[str, ...], rows: csr_array, sample: NDArray[np.int64], universe: Universe
) -> Expected:
    errors = (rows @ sample.T).T
    # an error that was seen settles it; only where there is none does algebra have to say that none can be
    if not errors.any() and _determined(names, rows, universe):
        return Expected(names, 0.0, 0.0, exact=True)
    return _expected(names, errors)


def _determined(names: tuple[str, ...], rows: csr_array, universe: Universe) -> bool:
    """Whether the invariants determine a margin: it is a margin of one of them, or of their row space."""
    if any(clique.issuperset(names) for clique in universe.cliques or ()):
        return True
    return independent_rows(csr_array(vstack([universe.matrix, rows], format="csr"))).size == universe.rank


def _expected(names: tuple[str, ...], errors: NDArray[np.int64]) -> Expected:
    means = np.abs(errors).mean(axis=1)
    spread = float(means.std(ddof=1)) / np.sqrt(means.size)
    return Expected(names, float(means.mean()), float(spread), exact=False)
