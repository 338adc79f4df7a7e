"""The nearest table of whole numbers: minimise ||y - v||_1 over whole v that conform.

In each block of tied cells let f be floor(y), clipped to the bounds, and v = f + s + p - n with whole
p, n >= 0 and s in {0, 1}. On whole numbers |v_i - y_i| is convex, with the slopes -1 below f_i,
1 - 2 (y_i - f_i) from f_i to f_i + 1, and 1 beyond, so it is linear in (s, p, n) at the optimum. For whole y
there is no s. The slopes of other y are rounded to multiples of 2^-10, which moves the objective by at most
2^-11 a cell.

Where rows are nested the optimum has a closed form [holdfast, estimation/totals.py]. Elsewhere the program
is linear. If its rows are totally unimodular its vertices are whole [schrijver1986, 19.1], and
the simplex method ends in one; otherwise branch and bound takes over. Either way a point counts only when
it is whole and keeps every row and bound, checked in integers. That nothing is nearer rests on the solver.

**Ties.** Many tables can be equally near. Among them the one with the least sum of c_i v_i is taken, by a
second program that keeps the first one's objective. The weights c_i are 20 bits each of a hash of the counts
y: public, the same on every computer, and different for the next release, so no cell is preferred always.
The nearest tables are the whole points of a face, so vertices stay whole. Two of them with equal weighted
sums are not excluded, but improbable; the solver runs in one thread with a fixed seed, so the same input
gives the same output even then.
"""

import hashlib

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from holdfast.estimation.conforming import LARGEST, Conforming, infeasible
from holdfast.estimation.totals import nearest_whole
from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray
from holdfast.programs.solver import UNBOUNDED, Program, Status
from holdfast.system.errors import DataError

FINE = 1 << 10
"""Steps in which the slopes of targets between whole numbers are told."""
TIE_BITS = 20


def integers_l1(counts: IntArray | FloatArray, conforming: Conforming) -> IntArray:
    """Return the conforming table of whole numbers that is nearest to the counts in l1."""
    if np.abs(counts).max(initial=0) > LARGEST:
        raise DataError(f"counts beyond {LARGEST:,} do not fit the solver's numbers: check the counts.")
    target = np.asarray(counts, dtype=np.float64)
    # cells that no row ties go to the nearest whole number within their bounds
    point = np.clip(np.ceil(target - 0.5).astype(np.int64), conforming.least, conforming.most)
    if (conforming.least > conforming.most).any():
        raise infeasible()
    weights = tie_weights(target)
    _fill_groups(target, conforming, weights, point)
    for cells, block in conforming.blocks():
        point[cells] = _nearest(target[cells], block, weights[cells])
    if not conforming.holds(point):
        raise infeasible()
    return point


def tie_weights(counts: FloatArray) -> IntArray:
    """Return the public weights that break ties, one for each cell: bits of a hash of the counts."""
    stream = hashlib.shake_256(counts.astype("<f8").tobytes()).digest(4 * counts.size)
    return (np.frombuffer(stream, dtype="<u4") >> (32 - TIE_BITS)).astype(np.int64)


def _fill_groups(target: FloatArray, conforming: Conforming, weights: IntArray, point: IntArray) -> None:
    """Put the nearest whole numbers into the cells of groups with one sum each."""
    groups, sums = conforming.groups()
    cells = groups.cells
    least, most = conforming.least[cells], conforming.most[cells]
    base, between, slope, fine = _slopes(target[cells], least, most)
    slope = np.where(between, slope, fine)
    found = nearest_whole(groups, sums, base, slope, fine, weights[cells], least, most)
    if found is None:
        raise infeasible()
    point[cells] = found


def _slopes(target: FloatArray, least: IntArray, most: IntArray) -> tuple[IntArray, BoolArray, IntArray, int]:
    """Return floors within bounds, which cells lie beyond theirs, the slopes from there, and their unit."""
    base = np.clip(np.floor(target).astype(np.int64), least, most)
    between = (target > base) & (target < base + 1) & (base < most)
    fine = FINE if between.any() else 1
    return (
        base,
        between,
        np.where(between, fine - np.rint(2 * fine * (target - base)), 0).astype(np.int64),
        fine,
    )


def _nearest(target: FloatArray, block: Conforming, weights: IntArray) -> IntArray:
    base, between, slope, fine = _slopes(target, block.least, block.most)
    ones = np.full(base.size, fine, dtype=np.int64)
    up = np.where(block.most == UNBOUNDED, UNBOUNDED, block.most - base - between)
    steps = np.concatenate([slope, ones, ones])
    rows = csr_array(hstack([block.rows, block.rows, -block.rows], format="csr"))
    shift = block.rows @ base
    high = np.where(block.high == UNBOUNDED, UNBOUNDED, block.high - shift)
    most = np.concatenate([between.astype(np.int64), up, base - block.least])
    first = _solve(Program(rows, block.low - shift, high, most=most), -steps)
    if first is None:
        raise infeasible()
    # the second program: as near as the first point, with the least weighted sum
    nearness = csr_array(steps[None, :])
    second = Program(
        csr_array(vstack([rows, nearness], format="csr")),
        np.append(block.low - shift, np.minimum(slope, 0).sum()),
        np.append(high, steps @ first),
        most=most,
    )
    moves = _solve(second, -np.concatenate([weights, weights, -weights]))
    if moves is None:  # the first point is one: the solver is at its limits
        raise _out_of_reach()
    between_moves, up_moves, down_moves = moves.reshape(3, -1)
    return np.asarray(base + between_moves + up_moves - down_moves, dtype=np.int64)


def _solve(program: Program, maximise: IntArray) -> IntArray | None:
    """Return the best point, None where there is none."""
    outcome = program.solve(maximise=maximise)
    if outcome.status is Status.INFEASIBLE:
        return None
    if outcome.status is not Status.SOLVED or outcome.point is None:
        raise _out_of_reach()
    return outcome.point


def _out_of_reach() -> DataError:
    return DataError(
        "the nearest table of whole numbers is out of the solver's reach for these invariants: publish the"
        " release as it is, or use the method nonnegative-l2."
    )
