"""The nearest table without negative counts: minimise ||y - v||_2 over real v that conform.

The minimum is attained at one point only, since the square of the distance is strictly convex and the set is
convex and closed: there are no ties. Nested rows have a closed form [holdfast, estimation/totals.py]; other
blocks are quadratic programs [holdfast, programs/quadratic/squares.py]. All of it is right to about nine
digits. What is returned is the nearest point of the decimal grid, in l1, that keeps every invariant and
bound with exact equality: the solution is rounded as whole numerators by [holdfast, estimation/integers.py].
A cell moves by a unit or two of the last place in it.

In the norm of a quadratic form F of sums of cells, as weighted noise has it, all cells are one program: the
nearest point of that norm is the best in which to correct such a release, as it moves sums that were measured
well the least. The form must be positive where the rows that are kept are zero.

This is the first step of the 2020 census's TopDown algorithm; whole numbers near it are the second
[congenial-dp, Section 4].

**A stand-in** is a public table to study post-processing on: it keeps the invariants and knows nothing else.
Starting from equal counts, iterative proportional fitting scales the cells of each row of A to the row's
value, in turn; nested rows have their fit at once. For rows of 0 and 1 it tends to the table of largest
entropy with A v = t; for margins of disjoint attributes that is their independence fit. Then the nearest
whole table that conforms is taken. Cells that no invariant holds start, and stay, at the mean of their
released counts, or at 0 if that is negative.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from holdfast.estimation.conforming import Conforming, infeasible
from holdfast.estimation.integers import integers_l1
from holdfast.estimation.totals import nearest_real
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.forms import Form
from holdfast.programs.solver import Sides, suggest
from holdfast.system.errors import DataError
from holdfast.universe.universe import Universe

if TYPE_CHECKING:
    from holdfast.programs.quadratic.squares import Aims


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """The numbers numerators / 10^places; whole numbers where places is 0."""

    numerators: IntArray
    places: int = 0

    @property
    def scale(self) -> int:
        """Ten to the number of places."""
        return int(10**self.places)

    @property
    def values(self) -> FloatArray:
        """The numbers as floats, for summaries."""
        return self.numerators / self.scale

    def texts(self) -> list[str]:
        """Return the numbers as decimal text, every digit of them.

        >>> import numpy as np
        >>> FixedPoint(np.array([1500000, -5, 2000000]), 6).texts()
        ['1.500000', '-0.000005', '2.000000']
        """
        if self.places == 0:
            return [str(number) for number in self.numerators.tolist()]
        exact = (Decimal(number).scaleb(-self.places) for number in self.numerators.tolist())
        return [f"{number:f}" for number in exact]


PLACES = 6
DIGITS = 9
"""Decimal places that are told of the real solution: what is beyond is rounding, and differs by machine."""
OFF = 1e-7
"""Sums that are farther off, relative to their size, are not kept: nothing keeps them, or none is found."""
MOST_DENSE = 1500
"""Cells of a form whose eigenvectors are worked out."""
EIGEN = 1e-9
NEAR = 2
"""How many units of the last place a cell may move in the rounding, where that suffices."""


def real_l2(counts: IntArray | FloatArray, conforming: Conforming, form: Form | None = None) -> FloatArray:
    """Return the nearest conforming point in l2, or in the norm of a form, to about nine decimal places."""
    if (conforming.least > conforming.most).any():
        raise infeasible()
    if form is not None:
        return np.asarray(np.round(_solved(_aims(counts, form), conforming), DIGITS), dtype=np.float64)
    target = np.asarray(counts, dtype=np.float64)
    real = np.clip(target, conforming.least, conforming.most)
    groups, sums = conforming.groups()
    cells = groups.cells
    found = nearest_real(groups, sums, target[cells], conforming.least[cells], conforming.most[cells])
    if found is None:
        raise infeasible()
    real[cells] = found
    for tied, block in conforming.blocks():
        real[tied] = _nearest(target[tied], block)
    return np.asarray(np.round(real, DIGITS), dtype=np.float64)


def nonnegative_l2(
    counts: IntArray | FloatArray,
    conforming: Conforming,
    form: Form | None = None,
    *,
    places: int = PLACES,
) -> FixedPoint:
    """Return the conforming table of decimal fractions that is nearest to the counts, as `real_l2` says."""
    fixed = FixedPoint(np.zeros(0, dtype=np.int64), places)
    grid = conforming.times(fixed.scale)
    numerators = np.round(real_l2(counts, conforming, form) * fixed.scale, DIGITS - PLACES)
    near = grid.within(
        np.floor(numerators).astype(np.int64) - NEAR, np.ceil(numerators).astype(np.int64) + NEAR
    )
    try:
        return FixedPoint(integers_l1(numerators, near), places)
    except DataError:  # rows that are far from unimodular may need longer steps
        return FixedPoint(integers_l1(numerators, grid), places)


def _nearest(target: FloatArray, block: Conforming) -> FloatArray:
    """Return the nearest point of a block, whose rows cross or have two bounds."""
    from holdfast.programs.quadratic.squares import Aims  # noqa: PLC0415 - loaded late

    none = csr_array((0, target.size))
    return _solved(Aims(target, np.ones(target.size), none, np.zeros(0), np.zeros(0)), block)


def _aims(counts: IntArray | FloatArray, form: Form) -> "Aims":
    """Return a form as aims: rows of one cell are weights of cells, the others stay rows."""
    from holdfast.programs.quadratic.squares import Aims  # noqa: PLC0415 - loaded late

    rows, strengths = form.rows, np.array([float(each) for each in form.strengths])
    if (strengths < 0).any():
        return _dense_aims(np.asarray(counts, dtype=np.float64), form)
    single = np.diff(rows.indptr) == 1
    alone = csr_array(rows[np.flatnonzero(single)])
    weights: FloatArray = np.zeros(form.cells)
    np.add.at(weights, alone.indices, strengths[single] * alone.data**2)
    several = csr_array(rows[np.flatnonzero(~single)].astype(np.float64))
    target = np.asarray(counts, dtype=np.float64)
    return Aims(target, weights, several, np.asarray(several @ target), strengths[~single])


def _dense_aims(target: FloatArray, form: Form) -> "Aims":
    """Return a form with negative strengths as aims, by its eigenvectors.

    Sums that are kept are those of the target, so that weights of theirs, 0 in the form, may be anything.
    """
    from holdfast.programs.quadratic.squares import Aims  # noqa: PLC0415 - loaded late

    if form.cells > MOST_DENSE or form.margins is None:
        raise DataError(
            "weights that were worked out for a workload take some sums away from others, and the nearest"
            f" table in their norm is found for {MOST_DENSE:,} cells at most: use the method nonnegative-l2."
        )
    whole = Form.of(form.margins)  # with what is kept, so that no eigenvalue is below 0
    rows, strengths = whole.rows.toarray(), np.array([float(each) for each in whole.strengths])
    values, vectors = np.linalg.eigh(rows.T @ (rows * strengths[:, None]))
    least = float(values[values > EIGEN * values.max()].min())
    above = values > least * (1 + EIGEN)
    sums = csr_array(vectors[:, above].T)
    return Aims(target, np.full(target.size, least), sums, np.asarray(sums @ target), values[above] - least)


def _solved(aims: "Aims", block: Conforming) -> FloatArray:
    """Return the best point for some aims."""
    from holdfast.programs.quadratic.squares import IntegerSystem, least_squares  # noqa: PLC0415 - loaded late

    found = least_squares(aims, IntegerSystem(block.rows, block.low, block.high, block.least, block.most))
    if found.off <= OFF * (1 + float(np.abs(block.low).max(initial=0))):
        return found.counts
    rows, columns = Sides.of(block.low, block.high), Sides.of(block.least, block.most)
    if suggest(np.zeros(aims.targets.size), block.rows, rows, columns) is None:
        raise infeasible()
    raise DataError(
        "the nearest table is out of the solver's reach for these invariants: use the method integers-l1."
    )


SWEEPS = 50


def public_tables(
    universe: Universe, floors: tuple[IntArray, IntArray] | None = None
) -> tuple[IntArray, IntArray, IntArray]:
    """Return tables of a universe made from public values alone: the fitted one and two extreme ones.

    The extreme ones are nearest to tables with all records in every other cell. Cells that no invariant
    holds are empty. With B and b as ``floors`` all of them keep B v >= b.
    """
    B, b = (None, None) if floors is None else (csr_array(floors[0]), floors[1])
    conforming = Conforming.of(universe.matrix, universe.values, rows=B, at_least=b)
    fitted = stand_in(np.zeros(universe.cells, dtype=np.int64), universe.matrix, universe.values, conforming)
    every_other = np.arange(universe.cells) % 2 * max(int(fitted.sum()), 1)
    one = integers_l1(every_other, conforming)
    return fitted, one, integers_l1(every_other[::-1].copy(), conforming)


def stand_in(released: IntArray, matrix: csr_array, values: IntArray, conforming: Conforming) -> IntArray:
    """Return a conforming table made from the invariants, and released counts where there are none."""
    tied = np.zeros(matrix.shape[1], dtype=np.bool_)
    tied[matrix.indices] = True
    table = np.where(tied, 1.0, max(0.0, float(released[~tied].mean())) if not tied.all() else 0.0)
    table[conforming.most == 0] = 0.0
    if matrix.nnz and ((matrix.data != 1).any() or (values < 0).any()):
        # other weights: the least squares fit to equal counts instead
        return integers_l1(nonnegative_l2(table, conforming).values, conforming)
    groups, sums = conforming.groups()
    found = groups.add(table[groups.cells])
    table[groups.cells] *= np.where(found > 0, sums / np.where(found > 0, found, 1.0), 0.0)[groups.of]
    crossing = [rows.rows[rows.rows < matrix.shape[0]] for rows, _ in conforming.structure.blocks]
    layers = _layers(csr_array(matrix), np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *crossing])))
    for _ in range(SWEEPS if layers else 0):
        for rows, part in layers:
            found = np.add.reduceat(table[part.indices], part.indptr[:-1])
            factor = np.where(found > 0, values[rows] / np.where(found > 0, found, 1.0), 0.0)
            table[part.indices] *= np.repeat(factor, np.diff(part.indptr))
        if np.abs(matrix @ table - values).max(initial=0.0) < 0.01:
            break
    return integers_l1(table, conforming)


def _layers(matrix: csr_array, rows: IntArray) -> list[tuple[IntArray, csr_array]]:
    """Return rows in their order, those together that follow each other and share no cell."""
    layers: list[list[int]] = []
    last = np.full(matrix.shape[1], -1, dtype=np.int64)
    for row in rows.tolist():
        cells = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        if not layers or (last[cells] == len(layers) - 1).any():
            layers.append([])
        layers[-1].append(row)
        last[cells] = len(layers) - 1
    return [(np.array(layer), csr_array(matrix[layer])) for layer in layers]
