"""How far released tables are from the confidential one: several sizes of simulated noise.

For a draw z over d cells: ||z||_1, ||z||_2, the largest |z_i|, the mean |z_i|, and the mean absolute error of
each margin. All are expectations but L2, the root of the expected ||z||_2^2. A margin that the invariants
determine has no error where they are kept, by algebra.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from holdfast.lattice.rows import independent_rows
from holdfast.mechanisms.accuracy import MOST_MARGIN_CELLS
from holdfast.tables.invariants import margin_matrix
from holdfast.tables.schema import Schema
from holdfast.universe.universe import Universe

Draws = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True)
class Size:
    """An expected size, and the standard error of its estimate; exact where it is 0 by algebra."""

    value: float
    standard_error: float
    exact: bool = False


@dataclass(frozen=True, eq=False)
class Margin:
    """The sums of one margin over the cells that can occur, and whether the invariants determine them."""

    name: str
    rows: csr_array
    determined: bool


@dataclass(frozen=True)
class Deviation:
    """The sizes of the noise of one mechanism."""

    draws: int
    l1: Size
    l2: Size
    largest: Size
    cell: Size
    margins: Mapping[str, Size]


def margins(schema: Schema, universe: Universe) -> tuple[Margin, ...]:
    """Return the total and the margins of up to two attributes, short of the table itself."""
    possible = np.flatnonzero(schema.possible)
    found = []
    for size in range(min(2, len(schema.names) - 1) + 1):
        for names in combinations(schema.names, size):
            if np.prod([len(schema.attribute(name).levels) for name in names]) > MOST_MARGIN_CELLS:
                continue
            rows = csr_array(margin_matrix(schema, names, {})[0][:, possible])
            found.append(Margin(" x ".join(names) or "total", rows, _determined(names, rows, universe)))
    return tuple(found)


def deviation(draws: Draws, of: tuple[Margin, ...], *, keeps_invariants: bool) -> Deviation:
    """Return the sizes of simulated noise, one draw a row."""
    sizes = np.abs(draws)
    squares = _mean((draws.astype(np.float64) ** 2).sum(axis=1))
    root = float(np.sqrt(squares.value))
    return Deviation(
        draws=draws.shape[0],
        l1=_mean(sizes.sum(axis=1)),
        l2=Size(root, squares.standard_error / (2 * root) if root else 0.0),  # the delta method
        largest=_mean(sizes.max(axis=1, initial=0)),
        cell=_mean(sizes.mean(axis=1)),
        margins={
            margin.name: Size(0.0, 0.0, exact=True)
            if keeps_invariants and margin.determined
            else _mean(np.abs(margin.rows @ draws.T).mean(axis=0))
            for margin in of
        },
    )


def _mean(values: Draws) -> Size:
    return Size(float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size)))


def _determined(names: tuple[str, ...], rows: csr_array, universe: Universe) -> bool:
    """Whether the invariants determine a margin: it is a margin of one of them, or of their row space."""
    if any(clique.issuperset(names) for clique in universe.cliques or ()):
        return True
    return independent_rows(csr_array(vstack([universe.matrix, rows], format="csr"))).size == universe.rank
