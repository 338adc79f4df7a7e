"""What offices do today, beside noise with a guarantee: the same table, the same errors, what is left open.

All of it is of an invented table, which is made of a seed and of the shape of the cells and of nothing else:
what small counts do to a habit can be seen without any confidential one. No habit here has a guarantee: what
a reader learns of one person depends on what else the reader knows, and nothing bounds it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, identity, vstack

from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.errors.accuracy import Margin, margins
from holdfast.public import Public
from holdfast.universe.exposure import exposure
from holdfast.universe.limits import Limits
from holdfast.universe.universe import Universe

BELOW, BASE, RATE = 5, 5, 0.05
"""Counts below this are suppressed; counts are rounded to multiples of this; so many records are swapped."""
TAKEN = 2
"""What a reader takes a suppressed count for."""
PER_CELL = 12
"""Invented records for each cell, on average."""
MOST_CELLS, MOST_BOUNDED, MOST_RECORDS = 5_000, 400, 3_000_000
"""Cells of which it is asked what follows of them, by equations and by bounds; records that are swapped."""
SWAPS = 20


@dataclass(frozen=True)
class Habit:
    """A habit: the mean absolute error of a cell and of margins, and what can be worked out all the same."""

    name: str
    words: str
    cell: float
    margins: dict[tuple[str, ...], float]
    revealed: int | None
    """Cells whose invented count follows from what is published; None where it was not looked for."""
    exact: bool
    """Whether the numbers that are to be exact are."""


def invented(public: Public, seed: int = 0) -> IntArray:
    """Return counts of the possible cells: levels are of different sizes, and small counts occur."""
    generator = np.random.default_rng(seed)
    weights = np.ones(public.schema.size)
    for attribute in public.schema.attributes:
        sizes = generator.lognormal(0.0, 0.8, len(attribute.levels))
        weights *= sizes[public.schema.codes(attribute.name)]
    chosen = weights[public.possible]
    return np.asarray(generator.poisson(PER_CELL * chosen / chosen.mean()), dtype=np.int64)


def habits(public: Public, counts: IntArray) -> tuple[Habit, ...]:
    """Return what the habits make of a table, which is public."""
    of = margins(public.schema, public.universe)
    return (_suppressed(public, counts, of), _rounded(public, counts, of), _swapped(public, counts, of))


def _suppressed(public: Public, counts: IntArray, of: tuple[Margin, ...]) -> Habit:
    hidden = (counts > 0) & (counts < BELOW)
    revealed = None
    if counts.size <= MOST_CELLS:
        shown = csr_array(identity(counts.size, dtype=np.int64, format="csr")[np.flatnonzero(~hidden)])
        rows = csr_array(vstack([public.universe.matrix, shown], format="csr"))
        revealed = int(exposure(Universe.of(rows, rows @ counts, occupied=True)).determined.size)
    return Habit(
        f"suppress below {BELOW}",
        f"counts from 1 to {BELOW - 1} are left out, and taken for {TAKEN}; sums are published as they are",
        float(np.abs(np.where(hidden, TAKEN, counts) - counts).mean()),
        {margin.attributes: 0.0 for margin in of},
        revealed,
        exact=True,
    )


def _rounded(public: Public, counts: IntArray, of: tuple[Margin, ...]) -> Habit:
    def rounded(values: IntArray) -> IntArray:
        return BASE * ((values + BASE // 2) // BASE)

    revealed, told = None, rounded(counts)
    if counts.size <= MOST_BOUNDED:
        one = identity(counts.size, dtype=np.int64, format="csr")
        low, high = np.maximum(told - BASE // 2, 0), told + BASE // 2
        limits = Limits(csr_array(vstack([one, -one], format="csr")), np.concatenate([low, -high]))
        matrix = public.universe.matrix
        found = Universe.of(matrix, np.asarray(matrix @ counts), limits=limits, occupied=True)
        revealed = int(exposure(found).determined.size)
    return Habit(
        f"round to {BASE}",
        f"every count and every sum goes to the nearest multiple of {BASE}, but for the exact ones",
        float(np.abs(told - counts).mean()),
        {
            margin.attributes: 0.0 if margin.determined else float(np.abs(rounded(sums) - sums).mean())
            for margin in of
            for sums in (np.asarray(margin.rows @ counts, dtype=np.int64),)
        },
        revealed,
        exact=True,
    )


def _swapped(public: Public, counts: IntArray, of: tuple[Margin, ...]) -> Habit:
    """Let some records exchange their level of the first attribute, by pairs that are drawn alike."""
    name = public.schema.names[0]
    words = f"{100 * RATE:g} % of the records exchange their {name} with each other, at random"
    errors = _of_swaps(public, counts, name, lambda drawn: [margin.errors(drawn).mean() for margin in of])
    if errors is None:
        return Habit(f"swap {100 * RATE:g} %", words, float("nan"), {}, None, exact=False)
    cell, each = errors
    of_margins = {margin.attributes: float(error) for margin, error in zip(of, each, strict=True)}
    return Habit(f"swap {100 * RATE:g} %", words, cell, of_margins, None, exact=False)


def _of_swaps(
    public: Public, counts: IntArray, name: str, sized: Callable[[IntArray], list[float]]
) -> tuple[float, list[float]] | None:
    """Return the errors of cells and of sums over some swaps; None of what has too many records."""
    schema = public.schema
    if counts.sum() > MOST_RECORDS or schema.nestings:
        return None
    generator = np.random.default_rng(1)
    cells = np.repeat(public.possible, counts)
    axis = schema.axis(name)
    drawn = []
    for _ in range(SWAPS):
        chosen = generator.choice(cells.size, round(RATE * cells.size), replace=False)
        codes = list(np.unravel_index(cells[chosen], schema.shape))
        codes[axis] = generator.permutation(codes[axis])
        after = np.ravel_multi_index(tuple(codes), schema.shape)
        change = np.bincount(after, minlength=schema.size) - np.bincount(cells[chosen], minlength=schema.size)
        drawn.append(change[public.possible])
    every = np.array(drawn, dtype=np.int64)
    return float(np.abs(every).mean()), sized(every)
