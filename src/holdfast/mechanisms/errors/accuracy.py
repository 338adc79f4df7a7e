"""How large noise is expected to be, per cell and per margin.

The noise law is public, so this is simulated with a seeded generator from the law alone: nothing of the
table or of the release enters. A margin that the invariants determine has no error where they are kept, by
algebra. Draws are made in batches, and of each only its sizes are kept: memory is that of a batch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import isnan

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.data.grid import Grid, ancestors
from holdfast.data.invariants import margin_matrix
from holdfast.data.schema import Schema
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.rows import independent_rows
from holdfast.mechanisms.mechanism import DrawArray, Law, NoiseLaw
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.text import plain_number
from holdfast.universe.universe import Universe

MOST_DRAWS, FEWEST_DRAWS = 4000, 20
WORK = 4e6
"""Integers that may be proposed for all simulated draws together: about a second."""
FEW, LEAST = 10, 4
"""Draws of large tables, whose sizes are means over many cells: so many if `LONG` allows, and the least."""
LONG = 5e7
"""Integers for these, which are drawn many at once."""
BATCH = 4_000_000
"""Numbers that are held at once."""
MOST_STEPS = 400
"""Steps to either side in which the law of one cell is told."""
MOST_MARGIN_CELLS = 200_000
"""Margins with more cells are left out of the account."""


ROUNDED = 1e-6
"""Of a person: no error of noise is smaller."""


@dataclass(frozen=True)
class Size:
    """An expected size, and the standard error of its estimate; exact where it is 0 by algebra."""

    value: float
    standard_error: float
    exact: bool = False

    @property
    def words(self) -> str:
        """The size for people: what floats leave of sums that they keep is 0."""
        if self.exact or isnan(self.value):
            return "exact" if self.exact else "-"
        return plain_number(self.value if self.value > ROUNDED else 0.0)

    @classmethod
    def mean(cls, values: DrawArray) -> "Size":
        """Return the mean of independent values."""
        return cls(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)))


@dataclass(frozen=True, eq=False)
class Margin:
    """The sums of one margin over the cells that can occur."""

    attributes: tuple[str, ...]
    schema: Schema
    universe: Universe

    @property
    def name(self) -> str:
        """Its attributes in words."""
        return " x ".join(self.attributes) or "total"

    @cached_property
    def rows(self) -> csr_array:
        """Its sums, over the possible cells."""
        return csr_array(margin_matrix(self.schema, self.attributes, {})[0][:, self._possible])

    def errors(self, draws: DrawArray) -> DrawArray:
        """Return the mean absolute error over the sums, one for each draw."""
        grid = self.schema.grid
        if self._possible.size < grid.size:
            every = np.zeros((len(draws), grid.size), dtype=draws.dtype)
            every[:, self._possible] = draws
            draws = every
        out = tuple(at for at, entries in enumerate(self._entries, 1) if entries is None)
        sums = draws.reshape(len(draws), *grid.shape).sum(axis=out, keepdims=True)
        for at, entries in enumerate(self._entries, 1):
            if entries is not None and entries.shape[0] < entries.shape[1]:
                ahead = np.moveaxis(sums, at, 0)
                added = entries @ ahead.reshape(len(ahead), -1)
                sums = np.moveaxis(added.reshape(-1, *ahead.shape[1:]), 0, at)
        return np.asarray(np.abs(sums).mean(axis=tuple(range(1, sums.ndim))))

    def size(self, errors: DrawArray, *, kept: bool = True) -> Size:
        """Return the mean of the errors of all draws, for noise that keeps the invariants or not."""
        # an error that was seen settles it; where there is none, algebra has to say that none can be
        if kept and (errors * self._grid.size < 0.5).all() and self.determined:
            return Size(0.0, 0.0, exact=True)
        return Size.mean(errors)

    @cached_property
    def _grid(self) -> Grid:
        return self.schema.grid.over(self.attributes)

    @cached_property
    def _possible(self) -> IntArray:
        return np.flatnonzero(self.schema.possible)

    @cached_property
    def _entries(self) -> tuple[csr_array | None, ...]:
        """For each axis of the table, which of its entries are added up; None where all of them are."""
        kept = {name: axis for axis in self._grid.axes for name in axis.names}
        found: list[csr_array | None] = []
        for axis in self.schema.grid.axes:
            into = next((kept[name] for name in axis.names if name in kept), None)
            if into is None:
                found.append(None)
                continue
            place = into.place([axis.column(name) for name in into.names])
            ones = np.ones(axis.size, dtype=np.int64)
            found.append(csr_array((ones, (place, np.arange(axis.size))), shape=(into.size, axis.size)))
        return tuple(found)

    @cached_property
    def determined(self) -> bool:
        """Whether the invariants determine the margin: it is one of one of them, or of their row space.

        Cells that take part in the same invariants must be in one sum, and then one of them stands for all.
        """
        universe = self.universe
        if any(clique.issuperset(self.attributes) for clique in universe.cliques or ()):
            return True
        sums, kinds = self.schema.grid.rows(self._grid)[self._possible], universe.patterns
        of_kind = np.zeros(kinds.count, dtype=np.int64)
        of_kind[kinds.of_cell] = sums
        if not np.array_equal(of_kind[kinds.of_cell], sums):
            return False
        if kinds.count == universe.rank:
            return True
        ones, shape = np.ones(kinds.count, dtype=np.int64), (self._grid.size, kinds.count)
        rows = csr_array((ones, (of_kind, np.arange(kinds.count))), shape=shape)
        stacked = csr_array(vstack([kinds.columns, rows], format="csr"))
        return independent_rows(stacked).size == universe.rank


def margins(schema: Schema, universe: Universe) -> tuple[Margin, ...]:
    """Return the total and the margins of up to two attributes, short of the table itself."""
    return tuple(
        Margin(names, schema, universe)
        for size in range(min(2, len(schema.names) - 1) + 1)
        for names in combinations(schema.names, size)
        if _of_its_own(names, schema)
    )


def _of_its_own(names: tuple[str, ...], schema: Schema) -> bool:
    """Whether a margin is not too large, and none that says the same of nested attributes is another."""
    size = schema.grid.over(names).size
    outer = any(above in names for name in names for above in ancestors(name, schema.within))
    return size <= MOST_MARGIN_CELLS and not outer and not (schema.nestings and size == schema.size)


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
    shares: FloatArray


def repeats(work: float, most: int, budget: float = WORK) -> int | None:
    """Return how many draws, each of so many integers, may be simulated; None where that takes too long."""
    each = max(work, 1.0)
    draws = int(min(most, max(budget / each, min(FEW, LONG / each))))
    return draws if draws >= LEAST else None


def batches(law: Law, cells: int, draws: int, seed: int = 0) -> Iterator[DrawArray]:
    """Yield seeded draws, a batch of them at a time, one a row."""
    entropy, most = SeededEntropy(seed), max(1, BATCH // max(cells, 1))
    for start in range(0, draws, most):
        yield law.sample(entropy, min(most, draws - start))


def accuracy(noise: NoiseLaw, schema: Schema, universe: Universe) -> Accuracy | None:
    """Simulate the noise; None where a draw takes too long to repeat."""
    draws = repeats(noise.work, MOST_DRAWS)
    if draws is None:
        return None
    of = margins(schema, universe)
    cell: list[DrawArray] = []
    sums: list[list[DrawArray]] = [[] for _ in of]
    law: tuple[int, int, FloatArray] | None = None
    for sample in batches(noise, universe.cells, draws):
        whole = np.rint(sample).astype(np.int64)  # real noise is told in whole steps, too
        law = _shares(whole) if law is None else law  # a batch has cells enough
        cell.append(np.abs(whole).mean(axis=1))
        for errors, margin in zip(sums, of, strict=True):
            errors.append(margin.errors(sample))
    if law is None:
        return None
    sizes = {
        margin.attributes: margin.size(np.concatenate(errors))
        for margin, errors in zip(of, sums, strict=True)
    }
    return Accuracy(draws, Size.mean(np.concatenate(cell)), sizes, *law)


def _shares(sample: IntArray) -> tuple[int, int, FloatArray]:
    """Return the first step, the width of steps and the share of each, over all cells of some draws."""
    width = 2 * (int(np.abs(sample).max()) // MOST_STEPS) + 1
    steps = (sample + width // 2) // width
    first = int(steps.min())
    return first, width, np.bincount((steps - first).ravel()) / sample.size
