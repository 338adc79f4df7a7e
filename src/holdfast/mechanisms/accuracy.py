"""How large noise is expected to be, per cell and per margin.

The noise law is public, so this is simulated with a seeded generator from the law alone: nothing of the
table or of the release enters. A margin that the invariants determine has no error where they are kept, by
algebra.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from holdfast.data.invariants import margin_matrix
from holdfast.data.schema import Schema
from holdfast.lattice.rows import independent_rows
from holdfast.mechanisms.mechanism import Draws, NoiseLaw
from holdfast.sampling.entropy import SeededEntropy
from holdfast.universe.universe import Universe

MOST_DRAWS, FEWEST_DRAWS = 4000, 20
WORK = 1e7
"""Integers that may be proposed for all simulated draws together: a few seconds."""
MOST_STEPS = 400
"""Steps to either side in which the law of one cell is told."""
MOST_MARGIN_CELLS = 200_000
"""Margins with more cells are left out of the account."""


@dataclass(frozen=True)
class Size:
    """An expected size, and the standard error of its estimate; exact where it is 0 by algebra."""

    value: float
    standard_error: float
    exact: bool = False

    @classmethod
    def mean(cls, values: Draws) -> "Size":
        """Return the mean of independent values."""
        return cls(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)))


@dataclass(frozen=True, eq=False)
class Margin:
    """The sums of one margin over the cells that can occur."""

    attributes: tuple[str, ...]
    rows: csr_array
    universe: Universe

    def error(self, draws: Draws, *, kept: bool = True) -> Size:
        """Return the mean absolute error over the sums, for noise that keeps the invariants or not."""
        errors = np.abs(self.rows @ draws.T)
        # an error that was seen settles it; where there is none, algebra has to say that none can be
        if kept and (errors < 0.5).all() and self.determined:
            return Size(0.0, 0.0, exact=True)
        return Size.mean(errors.mean(axis=0))

    @cached_property
    def determined(self) -> bool:
        """Whether the invariants determine the margin: it is one of one of them, or of their row space."""
        universe = self.universe
        if any(clique.issuperset(self.attributes) for clique in universe.cliques or ()):
            return True
        stacked = csr_array(vstack([universe.matrix, self.rows], format="csr"))
        return independent_rows(stacked).size == universe.rank


def margins(schema: Schema, universe: Universe) -> tuple[Margin, ...]:
    """Return the total and the margins of up to two attributes, short of the table itself."""
    possible = np.flatnonzero(schema.possible)
    return tuple(
        Margin(names, csr_array(margin_matrix(schema, names, {})[0][:, possible]), universe)
        for size in range(min(2, len(schema.names) - 1) + 1)
        for names in combinations(schema.names, size)
        if np.prod([len(schema.attribute(name).levels) for name in names]) <= MOST_MARGIN_CELLS
    )


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Expected errors of a cell and of margins, and the law of the noise in one cell.

    ``shares`` belong to the values first, first + 1, ... in steps of ``width``, an odd number: a wide law is
    told in steps, each centred on a multiple of the width.
    """

    draws: int
    cell: Size
    margins: Mapping[tuple[str, ...], Size]
    first: int
    width: int
    shares: NDArray[np.float64]


def accuracy(noise: NoiseLaw, schema: Schema, universe: Universe) -> Accuracy | None:
    """Simulate the noise; None where a draw takes too long to repeat."""
    draws = int(min(MOST_DRAWS, WORK / max(noise.work, 1.0)))
    if draws < FEWEST_DRAWS:
        return None
    sample = noise.sample(SeededEntropy(0), draws)
    sums = {margin.attributes: margin.error(sample) for margin in margins(schema, universe)}
    sample = np.rint(sample).astype(np.int64)  # real noise is told in whole steps, too
    width = 2 * (int(np.abs(sample).max()) // MOST_STEPS) + 1
    steps = (sample + width // 2) // width
    first = int(steps.min())
    shares = np.bincount((steps - first).ravel()) / sample.size
    return Accuracy(draws, Size.mean(np.abs(sample).mean(axis=1)), sums, first, width, shares)
