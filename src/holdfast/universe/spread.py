"""How long a move can be in l2 beside the records that it changes, over the whole lattice."""

from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.kernel import to_flint
from holdfast.lattice.product import AxisMargins
from holdfast.programs.solver import Sides, suggest
from holdfast.universe.universe import Universe, product_of, small_product

ALWAYS = Fraction(2)
"""No move is longer for its records than one between two cells with equal columns."""
CLASSES = 400  # one linear program for each pattern up to this many
AXES = 10  # whole margins of up to so many attributes
DENSE = 20_000_000  # entries of columns
DENOMINATOR = 10_000


def spread(universe: Universe) -> Fraction:
    """Return an upper bound on the largest (2 ||u||_2 / ||u||_1)^2 over the lattice, at most 2.

    For a difference u of two tables, ||u||_1 / 2 records change. Noise scaled to ||u||_2 is calibrated
    by the largest (2 ||u||_2 / ||u||_1)^2 over the lattice {u integer : A u = 0, sum u = 0}. As
    ||u||_2^2 <= ||u||_inf ||u||_1 it is at most

        4 / min { ||u||_1 : u real, A u = 0, sum u = 0, u_z = 1 for some cell z }.

    By duality, any rational mu with |b_k mu| <= 1 in all cells k other than z shows that this minimum
    is at least 1 - b_z mu, where b_k is the column of cell k with a 1 appended. The solver only
    suggests mu; the bound is checked in rationals. It never exceeds 2, since sum u = 0.
    """
    if universe.dimension == 0:
        return Fraction(0)
    if (universe.patterns.size > 1).any():
        return ALWAYS  # one record moves between cells with equal columns: attained
    # summed over the other levels u keeps its largest entry, and ||u||_1 does not grow
    margins = universe.margins
    if margins is not None and margins.sets and len(margins.shape) <= AXES:
        return _spread_at(_with_ones(_of_two_levels(margins)), 0)
    if (block := product_of(universe)) is not None:
        return _spread_at(_with_ones(small_product(block.levels(2))), 0)
    count = universe.patterns.count
    # permuting levels maps any cell to any other, so one cell stands for all
    classes = range(1 if universe.cliques is not None else count)
    if len(classes) > CLASSES or count * universe.rank > DENSE:
        return ALWAYS
    columns = _with_ones(universe.patterns.columns)
    return max(_spread_at(columns, z) for z in classes)


def _of_two_levels(margins: AxisMargins) -> csr_array:
    """Return the rows of the same margins of a table with two levels of each attribute, at the most."""
    shape = tuple(min(size, 2) for size in margins.shape)
    codes = np.indices(shape).reshape(len(shape), -1)
    rows = []
    for axes in map(sorted, margins.sets):
        sizes = [shape[axis] for axis in axes]
        place = np.ravel_multi_index([*codes[axes]], sizes) if axes else np.zeros_like(codes[0])
        rows.append(csr_array((np.arange(np.prod(sizes, dtype=np.int64))[:, None] == place).astype(np.int64)))
    return csr_array(vstack(rows, format="csr"))


def _with_ones(columns: csr_array) -> IntArray:
    """Return the columns b_k, one a row."""
    ones = csr_array(np.ones((1, columns.shape[1]), dtype=np.int64))
    return csr_array(vstack([columns, ones])).toarray().T.copy()


def _spread_at(columns: IntArray, z: int) -> Fraction:
    """Return an upper bound on 4 ||u||_inf / ||u||_1 for u that are largest in cell z."""
    others = np.delete(columns, z, axis=0)
    ones, free = np.ones(others.shape[0]), np.full(columns.shape[1], np.inf)
    mu = suggest(
        columns[z].astype(np.float64), csr_array(others), Sides.of(-ones, ones), Sides.of(-free, free)
    )
    if mu is not None:
        return min(ALWAYS, 4 / _certified_minimum(columns, z, mu))
    # without a minimum no u has a nonzero entry there: column z is independent of the others
    fixed = to_flint(others).rank() < to_flint(columns).rank()
    return Fraction(0) if fixed else ALWAYS


def _certified_minimum(columns: IntArray, z: int, mu: FloatArray) -> Fraction:
    """Return a proved lower bound on ||u||_1 with u_z = 1, from a suggested dual solution."""
    exact = [Fraction(float(value)).limit_denominator(DENOMINATOR) for value in mu]
    products = [
        sum((int(entry) * exact[i] for i, entry in enumerate(column) if entry), Fraction(0))
        for column in columns
    ]
    scale = max([Fraction(1), *(abs(v) for k, v in enumerate(products) if k != z)])
    return max(Fraction(2), 1 - products[z] / scale)
