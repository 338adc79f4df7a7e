"""How far a table can move in a quadratic form: the largest u'Fu over differences of tables.

At most a records change: u in S_a [theory, 3]. For each record of distance, over the lattice with sum u = 0:
the largest u'Fu / (||u||_1 / 2)^2. Bounds that hold for all u, d = ||u||_1 / 2 records apart [theory, 13]:

* **pairs**: u is a sum of d moves e_x - e_y, and the root of u'Fu is a seminorm, so u'Fu <= d^2 times the
  largest F_xx + F_yy - 2 F_xy. A move between cells with equal columns of A attains its own.
* **rows**: u'Fu <= ||u||_1 max_z |F_z u|, and F_z u = sum_k (F_zk - b_k mu) u_k for every mu, b_k being the
  column of cell k with a 1 appended. So u'Fu <= 4 d^2 max_z min_mu max_k |F_zk - b_k mu|.
* **spectrum**: u'Fu <= ||u||_2^2 times the largest eigenvalue of F where A u = 0.

A linear program suggests mu; the bound is worked out in rationals. For whole margins F_zk depends on the
levels alone that z and k have in common, and so may mu: one small program stands for all cells. Where S_a, or
all moves of a records between few enough levels, can be listed, the largest u'Fu is found there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, lcm

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.forms import Form
from holdfast.lattice.margins import LevelledAxis, MarginStrategy, Reading, below
from holdfast.programs.solver import Sides, suggest
from holdfast.spec.privacy import Neighbours
from holdfast.system.errors import GuaranteeError
from holdfast.universe.presence import loose_cells, presence_space
from holdfast.universe.sensitivity import Sensitivity
from holdfast.universe.space import SETS, sensitivity_space, steps_of_size
from holdfast.universe.universe import Universe, product_of

MOST_PROGRAMS = 64
"""Cells that are no margins' for which a program is solved each."""
MOST_READINGS = 4_096
"""Ways for two cells to agree for which a program is solved."""
DENOMINATOR = 10_000
TRIES = 20
"""Sets of cells with equal columns in which a pair of cells is looked for."""
MOST_STEPS = 200_000
"""Differences of tables that are listed."""


@dataclass(frozen=True)
class Stretch:
    """The largest u'Fu, or an upper bound of it."""

    squared: Fraction
    exact: bool


def per_record(universe: Universe, form: Form, neighbours: Neighbours = "replace") -> Fraction:
    """Return a bound on u'Fu / d^2 for tables d records apart, d any number.

    Where records come and go, u is a sum of d = ||u||_1 cells with their signs, and the root of u'Fu a
    seminorm: u'Fu <= d^2 max F_zz, which a cell in no invariant attains [theory, 14]. Where their number is
    fixed, they are half as many that change.
    """
    if neighbours == "add-remove":
        if universe.total is not None:
            return per_record(universe, form) / 4
        return max(_diagonal(form), default=Fraction(0))
    if form.margins is not None:
        return _margins_per_record(form.margins)
    gram = form.gram()
    diagonal = np.diagonal(gram)
    pairs = int((diagonal[:, None] + diagonal - 2 * gram).max(initial=0))
    found = Fraction(pairs, form.denominator)
    if form.cells <= MOST_PROGRAMS:
        columns = _with_ones(universe.matrix)
        rows = max(_centred(gram[z].tolist(), columns) for z in range(form.cells))
        found = min(found, 4 * rows / form.denominator)
    return found


def within(
    universe: Universe,
    form: Form,
    distance: int,
    space: Sensitivity,
    neighbours: Neighbours = "replace",
) -> Stretch:
    """Return the largest u'Fu over S_a for a = ``distance``; ``space`` has the largest norms there."""
    if neighbours == "add-remove":
        if universe.total is None:
            return _within_presence(universe, form, distance)
        distance //= 2
    upper = distance**2 * per_record(universe, form)
    if form.margins is not None:
        upper = min(upper, form.margins.largest * space.l2_squared)
        if upper in (_attained(form.margins, distance, space), _settled(universe, form, distance)):
            return Stretch(upper, exact=True)
    if (listed := _listed(universe, form, distance)) is not None:
        return Stretch(listed, exact=universe.limits is None)
    if form.margins is not None and (moved := _moves(universe, form.margins, distance)) is not None:
        return min((Stretch(upper, exact=False), moved), key=lambda each: (each.squared, not each.exact))
    return Stretch(upper, exact=False)


def _within_presence(universe: Universe, form: Form, distance: int) -> Stretch:
    """Return the same where records come and go, and their number is not fixed."""
    own = _diagonal(form)
    upper = distance**2 * max(own, default=Fraction(0))
    loose = loose_cells(universe)
    alone = own if form.margins is not None else [one for one, free in zip(own, loose, strict=True) if free]
    if universe.limits is None and loose.any() and upper == distance**2 * max(alone, default=-1):
        return Stretch(upper, exact=True)
    try:
        listed = form.largest(presence_space(universe, distance))
    except GuaranteeError:
        return Stretch(upper, exact=False)
    return Stretch(listed, exact=universe.limits is None)


def _diagonal(form: Form) -> list[Fraction]:
    """Return F_zz of all cells; of whole margins, in each of which every cell counts once, the one value."""
    if form.margins is not None:
        return [sum((strength for _, strength in form.margins.measured), Fraction(0))]
    return [Fraction(int(one), form.denominator) for one in np.diagonal(form.gram())]


def _margins_per_record(margins: MarginStrategy) -> Fraction:
    """Return the bound by pairs, or by rows where that is lower."""
    common = list(margins.readings())
    overlap = [margins.overlap(each) for each in common]
    pairs = 2 * (max(overlap) - min(overlap))
    if len(common) > MOST_READINGS:
        return pairs
    whole = lcm(*(each.denominator for each in overlap))
    row = [int(each * whole) for each in overlap]
    return min(pairs, 4 * _centred(row, _patterns(margins, common)) / whole)


def _patterns(margins: MarginStrategy, common: Sequence[Reading]) -> IntArray:
    """Return, for cells by what they have in common with one, which sums that are kept hold them.

    One column a sum: those over all cells that have as much in common with it in a reading.
    """
    nothing = tuple(0 for _ in margins.axes)
    found = []
    for kept in {nothing, *margins.kept}:
        seen = [tuple(min(a, b) for a, b in zip(each, kept, strict=True)) for each in common]
        found += [[int(one == part) for one in seen] for part in sorted(set(seen))]
    return np.array(found, dtype=np.int64).T


def _centred(row: Sequence[int], columns: IntArray) -> Fraction:
    """Return max_k |row_k - b_k mu| for a good mu, from a solver and checked in rationals; b_k are rows."""
    count, width = columns.shape
    # over (mu, t): row - B mu <= t and B mu - row <= t
    block, ones = csr_array(columns.astype(np.float64)), csr_array(np.ones((count, 1)))
    matrix = csr_array(vstack([hstack([block, ones]), hstack([-block, ones])], format="csr"))
    cost = np.concatenate([np.zeros(width), [1.0]])
    largest = max(map(abs, row)) or 1
    value = np.array([each / largest for each in row])
    free = np.full(width + 1, np.inf)
    least = np.concatenate([value, -value])
    mu = suggest(cost, matrix, Sides.of(least, np.full(2 * count, np.inf)), Sides.of(-free, free))
    if mu is None:
        return Fraction(max(map(abs, row)))
    return _checked(row, columns, mu[:width], largest)


def _checked(row: Sequence[int], columns: IntArray, mu: FloatArray, scale: int) -> Fraction:
    """Return the largest distance from multiples of ``scale``, of simple parts of it where these are near."""
    exact = [scale * Fraction(float(value)).limit_denominator(DENOMINATOR) for value in mu]
    near = [Fraction(scale * float(value)).limit_denominator(DENOMINATOR) for value in mu]
    return min(
        max(
            abs(value - sum((int(b) * each[i] for i, b in enumerate(column) if b), Fraction(0)))
            for value, column in zip(row, columns, strict=True)
        )
        for each in (exact, near)
    )


def _with_ones(matrix: csr_array) -> IntArray:
    dense = matrix.toarray()
    return np.concatenate([dense, np.ones((1, dense.shape[1]), dtype=np.int64)]).T


def _attained(margins: MarginStrategy, distance: int, space: Sensitivity) -> Fraction | None:
    """Return what a move of all records between two cells with equal columns gives, if there is one.

    Where the largest norm is that of such a move, some table has the records for it, and by symmetry for a
    move to any cell that the kept margins do not tell from it.
    """
    if not space.exact or space.l2_squared != 2 * distance**2 or margins.trees:
        return None
    same = tuple(axis.depth for axis in margins.axes)
    apart = [
        margins.overlap(each)
        for each in margins.readings()
        if each != same and all(below(kept, each) for kept in margins.kept)
    ]
    return distance**2 * 2 * (margins.overlap(same) - min(apart)) if apart else None


def _settled(universe: Universe, form: Form, distance: int) -> Fraction | None:
    """Return the same of nested totals, which say how many records cells with equal columns have together.

    All of them may be in the first such cell, and move to the one that has least in common with it.
    """
    if universe.settled is None or universe.limits is not None:
        return None
    seen, found = universe.patterns, Fraction(0)
    able = np.flatnonzero((universe.settled >= distance) & (seen.size > 1))
    for pattern in able[np.argsort(-universe.settled[able], kind="stable")][:TRIES]:
        cells = np.flatnonzero(seen.of_cell == pattern)
        row_of = np.array([rows.tocsc().indices[cells] for rows, _ in form.parts])  # each cell is in one
        for apart in np.unique(row_of != row_of[:, :1], axis=1).T:
            lost = (c for (_, c), differ in zip(form.parts, apart, strict=True) if differ)
            found = max(found, 2 * sum(lost, Fraction(0)))
    return distance**2 * found


def _listed(universe: Universe, form: Form, distance: int) -> Fraction | None:
    """Return the largest u'Fu of all differences of tables, where they can be listed."""
    try:
        return form.largest(sensitivity_space(universe, distance))
    except GuaranteeError:
        return None


def _moves(universe: Universe, margins: MarginStrategy, distance: int) -> Stretch | None:
    """Return the largest u'Fu of all moves of so many records that keep the margins; None where many.

    The records before and after have the same entries of an axis that a margin reads alone by entries, so no
    more of them than records, and else at most twice as many. What matters is which entries are equal, so
    that fewer entries stand for all. Some table has the records of any move where the levels of each
    feature are frequent enough [`FeatureBlock`].
    """
    if margins.trees:
        return None
    read = {at for kept in margins.kept for at, level in enumerate(kept) if level}
    sizes = [min(axis.size, distance * (1 if at in read else 2)) for at, axis in enumerate(margins.axes)]
    cells = int(np.prod(sizes))
    if comb(cells + distance - 1, distance) > SETS:
        return None
    axes = tuple(LevelledAxis(size, (np.arange(size),) if size > 1 else ()) for size in sizes)
    small = MarginStrategy(axes, margins.kept, margins.measured)
    columns = vstack([csr_array((0, cells), dtype=np.int64), *map(small.rows, small.kept)]).toarray().T.copy()
    form = Form.of(small)
    largest = Fraction(0)
    for size in range(1, distance + 1):
        moves = steps_of_size(columns, size, MOST_STEPS)
        if moves is None:
            return None
        largest = max(largest, form.largest(moves))
    block = product_of(universe)
    held = block is not None and not block.several and block.holds(distance)
    return Stretch(largest, exact=held and universe.limits is None)
