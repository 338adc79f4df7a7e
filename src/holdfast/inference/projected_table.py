"""What a test loses when the release of a small table is projected onto its invariants.

Let Y = x + z, with independent double geometric noise of one rate in every cell, and Y* = x + P z for a
matrix P with A P = 0 and P u = u for A u = 0: a projection onto the tables with the invariants of x, along
any direction. It is made from Y and from what is public, as x = P x + (x - P x), and x - P x is the same
for all conforming tables. The orthogonal one is P = I - A' (A A')^-1 A; for a total of two counts the rows
(b, b - 1) and (-b, 1 - b) are the L1 projections of [congenial-dp, Example 4.1].

Who tests x against x' = x + u looks at laws that differ by the shift u alone. So the best tests of Neyman
and Pearson and their powers depend on u only, and on -u in the same way. The law of P z is summed cell by
cell on the whole numbers that a common denominator makes of it: powers are exact up to float rounding and
tails of TAIL.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm, log
from typing import Any

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from holdfast.inference.projected_power import MOST_VALUES, TAIL, best_test
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.kernel import integer_kernel, to_flint
from holdfast.system.errors import SpecError
from holdfast.system.notebook import NotebookReport, Picture
from holdfast.universe.universe import Universe

Matrix = tuple[tuple[Fraction, ...], ...]
"""A square matrix, row by row."""


@dataclass(frozen=True)
class DifferencePower:
    """The powers of the best tests of two tables that differ by u, and how many pairs of tables do."""

    difference: tuple[int, ...]
    records: int
    pairs: int
    released: float
    projected: float

    @property
    def lost(self) -> float:
        """The power that projection costs."""
        return self.released - self.projected


@dataclass(frozen=True)
class TableReport(NotebookReport):
    """Powers for every difference of two conforming tables that are protected against each other."""

    cells: int
    dimension: int
    rate: float
    level: float
    projection: str
    powers: tuple[DifferencePower, ...]

    @property
    def numbers(self) -> Picture:
        """What its picture shows."""
        told = [(", ".join(map(str, one.difference)), one.lost) for one in self.powers]
        return Picture("power that the projection loses", told)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        powers = [{**vars(one), "difference": list(one.difference), "lost": one.lost} for one in self.powers]
        return {**{k: v for k, v in vars(self).items() if k != "powers"}, "powers": powers}


def orthogonal(universe: Universe) -> Matrix:
    """Return P = I - A' (A A')^-1 A, exactly."""
    eye = fmpq_mat(to_flint(np.eye(universe.cells, dtype=np.int64)))
    if universe.rank:
        A = fmpq_mat(to_flint(universe.matrix.toarray()))
        eye -= A.transpose() * (A * A.transpose()).inv() * A
    return tuple(tuple(Fraction(int(v.p), int(v.q)) for v in row) for row in eye.tolist())


def require_projection(matrix: Matrix, universe: Universe) -> None:
    """Raise SpecError unless a matrix keeps every invariant and every difference of tables."""
    d = universe.cells
    if len(matrix) != d or any(len(row) != d for row in matrix):
        raise SpecError(f"the projection has another size than the table: give {d} rows of {d} numbers.")
    scale, whole = _whole(matrix)
    if (universe.matrix.toarray().astype(object) @ whole).any():
        raise SpecError(
            "the projection does not keep the invariants: A P must be 0 for noise P z in the table."
        )
    basis = integer_kernel(universe.matrix.toarray()) if universe.rank else np.eye(d, dtype=np.int64)
    if (basis.astype(object) @ whole.T != scale * basis.astype(object)).any():
        raise SpecError("the projection moves tables that keep the invariants: P u must be u where A u = 0.")


def projected_table(
    universe: Universe,
    matrix: Matrix,
    tables: IntArray,
    *,
    rate: float,
    level: float,
    distance: int,
    name: str,
) -> TableReport:
    """Compare the best tests from a release and from its projection, of tables ``distance`` apart at most."""
    if not rate > 0 or not 0 < level < 1:
        raise SpecError(
            f"noise of rate {rate:g} and tests at the level {level:g}: give a positive number and a share."
        )
    require_projection(matrix, universe)
    noise = _law_of_projection(matrix, rate)
    scale = _whole(matrix)[0]
    found = []
    for u, pairs in _differences(tables, distance):
        steps = [abs(int(step)) for step in u if step]
        found.append(
            DifferencePower(
                tuple(int(step) for step in u),
                int(np.abs(u).sum()) // 2,
                pairs,
                _power_of_cells(steps, rate, level),
                _power_of_shift(*noise, scale * u, level),
            )
        )
    found.sort(key=lambda one: (-one.lost, one.difference))
    return TableReport(universe.cells, universe.dimension, rate, level, name, tuple(found))


def _differences(tables: IntArray, distance: int) -> list[tuple[IntArray, int]]:
    """Return the differences of tables that are close enough, one of u and -u, and how many pairs have it."""
    one, other = np.triu_indices(len(tables), 1)
    u = tables[other] - tables[one]
    u = u[(np.abs(u).sum(axis=1) <= 2 * distance) & (u.sum(axis=1) == 0)]
    if not len(u):
        raise SpecError("no two tables with these invariants are that close: nothing can be told apart.")
    first = u[np.arange(len(u)), (u != 0).argmax(axis=1)]
    distinct, count = np.unique(u * np.sign(first)[:, None], axis=0, return_counts=True)
    return list(zip(distinct, count.tolist(), strict=True))


def _one_cell(rate: float) -> FloatArray:
    """Return the law of the noise in one cell, from -R to R."""
    reach = ceil(-log(TAIL) / rate) + 1
    mass = np.exp(-rate * np.abs(np.arange(-reach, reach + 1)))
    return np.asarray(mass / mass.sum())


def _power_of_cells(steps: Sequence[int], rate: float, level: float) -> float:
    """Return the power of the best test of independent cells against each shifted by a step.

    At or below 0, and at or above the step, the likelihood ratio of double geometric noise is the same for
    all values: a cell that moves by k has k + 1 classes of values that matter.
    """
    a = np.exp(-rate)
    base, other = np.ones(1), np.ones(1)
    for k in steps:
        between = (1 - a) * a ** np.arange(1, k)
        law = np.concatenate([[1.0], between, [a**k]]) / (1 + a)
        _require_few(base.size * law.size)
        base, other = np.outer(base, law).ravel(), np.outer(other, law[::-1]).ravel()
    return float(best_test(base, other, level) @ other)


def _law_of_projection(matrix: Matrix, rate: float) -> tuple[IntArray, FloatArray]:
    """Return the values of scale P z and their chances, by adding one cell's noise after the other."""
    _, whole = _whole(matrix)
    law = _one_cell(rate)
    steps = np.arange(law.size) - law.size // 2
    values, chances = np.zeros((1, len(matrix)), dtype=np.int64), np.ones(1)
    for column in whole.T.astype(np.int64):
        if not column.any():
            continue
        _require_few(len(values) * steps.size)
        sums = (values[:, None] + steps[None, :, None] * column).reshape(-1, len(matrix))
        values, place = np.unique(sums, axis=0, return_inverse=True)
        chances = _summed(place.ravel(), np.outer(chances, law).ravel(), len(values))
    return values, chances


def _power_of_shift(values: IntArray, chances: FloatArray, shift: IntArray, level: float) -> float:
    """Return the power of the best test of a law against the same one shifted."""
    both, place = np.unique(np.vstack([values, values + shift]), axis=0, return_inverse=True)
    place = place.ravel()
    base = _summed(place[: len(values)], chances, len(both))
    other = _summed(place[len(values) :], chances, len(both))
    return float(best_test(base, other, level) @ other)


def _summed(place: NDArray[np.intp], chances: FloatArray, size: int) -> FloatArray:
    """Return the chance of each place."""
    return np.bincount(place, weights=chances, minlength=size).astype(np.float64)


def _whole(matrix: Matrix) -> tuple[int, NDArray[np.object_]]:
    """Return a common denominator, and the matrix times it."""
    scale = lcm(*(entry.denominator for row in matrix for entry in row))
    return scale, np.array([[int(entry * scale) for entry in row] for row in matrix], dtype=object)


def _require_few(count: int) -> None:
    if count > MOST_VALUES:
        raise SpecError(
            f"the releases of this table are too many to be listed (above {MOST_VALUES:,}): take fewer cells,"
            " more invariants, or a larger epsilon."
        )
