"""Proved cumulative distribution functions for the nodes of a circuit, to any precision.

At a working precision of B bits every node carries one array of integers

    low(s) <= P(s) 2^B,   with  P  the node's law, and its deficit  D = 2^B - sum low >= 0.

Since P sums to one, the deficit encloses everything else: P(s) 2^B <= low(s) + D for every s, also beyond
the array, and what is beyond it has mass at most D. So rounding down and cutting off tails need no error
analysis of their own. A cell's law is enclosed by ball arithmetic [johansson2017], a sum is a product of
polynomials with integer coefficients, a tie an entrywise product, normalised by its largest possible sum.

A *row* is a cumulative distribution function asked for by a draw: the mass up to each outcome is known up
to an ``error`` that may lie anywhere. With C the sum of lower masses up to an outcome and T that of all,
F lies in [C, C + error] / (T + error). A row for some bits is taken at a precision that makes
error / (T + error) less than 2^-bits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import log
from operator import mul
from typing import TypeVar

import flint
import numpy as np

from holdfast.lattice.arrays import IntArray
from holdfast.sampling.bounded.series_parallel import Cell, Circuit, Core, Sum, Tie
from holdfast.sampling.decisions import GUARD_BITS, enclose, exp_of_minus
from holdfast.system.errors import SamplingError

FoundT = TypeVar("FoundT")
SPARE_BITS = 64
"""Working precision beyond the bits of a row: conditions of probability 2^-40 need no more."""
MOST_BITS = 1 << 12
MOST_POINTS = 1 << 21
"""Vectors of a core that may be enumerated."""


@dataclass(frozen=True, eq=False)
class NodeLaw:
    """Lower bounds of 2^B P(s) for s = first, first + 1, ..., and what they leave out.

    ``log_mass`` is the log of the sum of all weights under the node, a float.
    """

    first: int
    low: list[int]
    deficit: int
    log_mass: float

    @property
    def last(self) -> int:
        """The last value in the array."""
        return self.first + len(self.low) - 1

    @property
    def most(self) -> int:
        """A bound on 2^B P(s) for every s."""
        return max(self.low) + self.deficit


@dataclass(frozen=True, eq=False)
class Cumulative:
    """A cumulative distribution function: outcome j has lower mass C(j) - C(j - 1)."""

    first: int
    sums: list[int]
    error: int

    @property
    def total(self) -> int:
        """The largest possible sum of all masses."""
        return (self.sums[-1] if self.sums else 0) + self.error

    def decides(self, bits: int) -> bool:
        """Whether every F is enclosed within 2^-bits."""
        return self.error << bits < self.total


class CircuitLaw:
    """The rows of a circuit whose cells have weights w(k) = exp(-rate |k|)."""

    def __init__(self, circuit: Circuit, rate: Fraction) -> None:
        self._circuit, self._rate = circuit, rate
        self._levels: dict[int, list[NodeLaw]] = {}
        self._cores: dict[tuple[int, int], tuple[Cumulative, IntArray]] = {}

    def split(self, node: int, total: int, bits: int) -> Cumulative:
        """Return the law of the left part of a sum node whose value is ``total``."""

        def at(precision: int) -> Cumulative | None:
            level = self._level(precision)
            row = self._split(level, node, total) if level else None
            return row if row and row.decides(bits) else None

        return _precisely(at, bits)

    def whole(self, node: int, bits: int) -> tuple[Cumulative, IntArray]:
        """Return the law of a node that nothing constrains, and its values, one a row."""

        def at(precision: int) -> tuple[Cumulative, IntArray] | None:
            if not (level := self._level(precision)):
                return None
            law = level[node]
            row = Cumulative(law.first, list(accumulate(law.low)), law.deficit)
            return (row, np.arange(law.first, law.last + 1)[:, None]) if row.decides(bits) else None

        return _precisely(at, bits)

    def core(self, number: int, bits: int) -> tuple[Cumulative, IntArray]:
        """Return the law of a core's vectors t, and these vectors in lexicographic order."""

        def at(precision: int) -> tuple[Cumulative, IntArray] | None:
            found = self._core(number, precision)
            return found if found and found[0].decides(bits) else None

        return _precisely(at, bits)

    def log_constant(self) -> float:
        """Return the log of the sum of all weights, as a float."""
        return _precisely(self._log_constant, 64)

    def _level(self, precision: int) -> list[NodeLaw] | None:
        """Return the laws of all nodes, or None where this precision does not suffice."""
        if precision not in self._levels:
            laws: list[NodeLaw] = []
            cells = _CellLaws(self._rate, precision)
            with flint.ctx.workprec(precision + 2 * GUARD_BITS):
                for node in self._circuit.nodes:
                    law = cells.law(node) if isinstance(node, Cell) else _law(node, laws, precision)
                    if law is None:
                        laws = []
                        break
                    laws.append(law)
            self._levels[precision] = laws
        return self._levels[precision] or None

    def _split(self, level: list[NodeLaw], node: int, total: int) -> Cumulative:
        kind = self._circuit.nodes[node]
        if not isinstance(kind, Sum):
            raise TypeError("only a sum is split")
        x, y = level[kind.left], level[kind.right]
        first, last = max(x.first, total - y.last), min(x.last, total - y.first)
        if first > last:
            return Cumulative(first, [], 1)
        right = y.low[total - last - y.first : total - first - y.first + 1]
        right.reverse()
        sums = list(accumulate(map(mul, x.low[first - x.first : last - x.first + 1], right)))
        return Cumulative(first, sums, _product_error(x, y))

    def _core(self, number: int, precision: int) -> tuple[Cumulative, IntArray] | None:
        if (number, precision) not in self._cores:
            level = self._level(precision)
            if not level:
                return None
            core = self._circuit.cores[number]
            laws = [level[unit.node] for unit in core.units]
            vectors = core_vectors(core, [law.first for law in laws], [law.last for law in laws])
            mass = np.ones(vectors.shape[0], dtype=object)
            if vectors.shape[0]:
                for k, values in enumerate((vectors @ core.basis).T):
                    mass = mass * np.array(laws[k].low, dtype=object)[values - laws[k].first]
                    mass = mass >> precision if k else mass
            # Any one factor with enough others of independent columns sums to its deficit at most over
            # all t, the rest is at most one; each shift loses less than one unit a vector.
            error = sum(law.deficit for law in laws) + len(laws) * vectors.shape[0] + 1
            self._cores[number, precision] = Cumulative(0, list(accumulate(mass.tolist())), error), vectors
        return self._cores[number, precision]

    def _log_constant(self, precision: int) -> float | None:
        circuit, level = self._circuit, self._level(precision)
        if level is None:
            return None
        masses = [level[u.node].log_mass for u in (*circuit.zero, *circuit.free)]
        for unit in circuit.zero:
            law = level[unit.node]
            at_zero = law.low[-law.first] if law.first <= 0 <= law.last else 0
            if law.deficit << 50 >= at_zero:
                return None
            masses.append(log(at_zero) - precision * log(2))
        for number, core in enumerate(circuit.cores):
            row, _ = self._core(number, precision) or (None, None)
            if row is None or not row.decides(50):
                return None
            masses += [level[u.node].log_mass for u in core.units]
            masses.append(log(row.total) - precision * log(2))
        return float(sum(masses))


def core_vectors(core: Core, first: Sequence[float], last: Sequence[float]) -> IntArray:
    """Return every t with first <= t basis <= last, in lexicographic order.

    Raises SamplingError where there are too many.
    """
    dimension, units = core.basis.shape
    first = [max(a, b) for a, (b, _) in zip(first, core.supports, strict=True)]
    last = [min(a, b) for a, (_, b) in zip(last, core.supports, strict=True)]
    pivots = [int(np.flatnonzero(row)[0]) for row in core.basis]
    vectors = np.zeros((1, 0), dtype=np.int64)
    for i, pivot in enumerate(pivots):
        known, step = vectors @ core.basis[:i, pivot], core.basis[i, pivot]
        start, stop = -((known - first[pivot]) // step), (last[pivot] - known) // step
        count = np.maximum(stop - start + 1, 0)
        if count.sum() > MOST_POINTS:
            raise SamplingError(
                f"the invariants tie {units} groups of cells together in {dimension} dimensions, too many"
                " vectors to tabulate: keep fewer margins or coarser attributes."
            )
        offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        vectors = np.column_stack([np.repeat(vectors, count, axis=0), np.repeat(start, count) + offset])
        # Units in front of the next pivot depend on nothing that follows.
        done = slice(pivot, pivots[i + 1] if i + 1 < dimension else units)
        values = vectors @ core.basis[: i + 1, done]
        vectors = vectors[((values >= first[done]) & (values <= last[done])).all(axis=1)]
    return vectors


def _precisely(at: Callable[[int], FoundT | None], bits: int) -> FoundT:
    """Return what is found once the working precision suffices for some bits."""
    precision = 1 << (bits + SPARE_BITS - 1).bit_length()
    while (found := at(precision)) is None:
        if precision >= MOST_BITS:
            raise SamplingError("the bounds leave only vectors of negligible weight: widen the bounds.")
        precision *= 2
    return found


class _CellLaws:
    """The laws of cells at one precision, tails below 2^-precision cut off.

    Weights are taken relative to the mode, the value next to zero within the bound. Away from it they fall as
    a geometric series, and so does what is beyond an end.
    """

    def __init__(self, rate: Fraction, precision: int) -> None:
        self._rate, self._precision = rate, precision
        self._scale = precision + GUARD_BITS

    def law(self, cell: Cell) -> NodeLaw:
        mode = 0 if cell.low is None else max(0, cell.low)
        fall, tail = self._fall
        down = None if cell.low is None else mode - cell.low
        # Rounded down, each weight but the first, which is one, may lack a unit.
        downward = fall if down is None else fall[:down]
        cut = 2 if down is None or down > len(fall) else 1
        one = 1 << self._scale
        total = one + sum(fall) + len(fall) + sum(downward) + len(downward) + cut * tail
        weights = [*reversed(downward), one, *fall]
        low = [(weight << self._precision) // total for weight in weights]
        log_mass = log(total) - self._scale * log(2) - float(self._rate * mode)
        return NodeLaw(mode - len(downward), low, (1 << self._precision) - sum(low), log_mass)

    @cached_property
    def _fall(self) -> tuple[list[int], int]:
        """exp(-rate j) rounded down for j = 1, 2, ..., and a bound on the sum of all that follow."""
        reach = Fraction(7, 10) * self._precision  # log 2 < 7/10
        fall: list[int] = []
        while (exponent := self._rate * (len(fall) + 1)) <= reach:
            fall.append(enclose(exp_of_minus(exponent), self._scale)[0])
        tail = exp_of_minus(exponent) / (1 - exp_of_minus(self._rate))
        return fall, enclose(tail, self._scale)[1]


def _law(node: Sum | Tie, laws: list[NodeLaw], precision: int) -> NodeLaw | None:
    if isinstance(node, Sum):
        return _sum(laws[node.left], laws[node.right], precision)
    return _tie([laws[child] for child in node.children], node.factors, precision)


def _sum(x: NodeLaw, y: NodeLaw, precision: int) -> NodeLaw:
    product = flint.fmpz_poly(x.low) * flint.fmpz_poly(y.low)
    low = [int(c) >> precision for c in product.coeffs()] or [0]
    return _trimmed(x.first + y.first, low, precision, x.log_mass + y.log_mass)


def _tie(laws: list[NodeLaw], factors: tuple[int, ...], precision: int) -> NodeLaw | None:
    """Return the law of t, or None where the arrays do not meet."""
    # A child's value f t lies in its array when f^2 t lies in f times its array.
    ends = [sorted((law.first * f, law.last * f)) for law, f in zip(laws, factors, strict=True)]
    first = max(-(-low // (f * f)) for (low, _), f in zip(ends, factors, strict=True))
    last = min(high // (f * f) for (_, high), f in zip(ends, factors, strict=True))
    if first > last:
        return None
    values = [
        [law.low[f * t - law.first] for t in range(first, last + 1)]
        for law, f in zip(laws, factors, strict=True)
    ]
    if len(laws) == 1:
        return _trimmed(first, values[0], precision, laws[0].log_mass)
    masses = list(map(mul, *values))
    total = sum(masses) + _product_error(*laws)
    if not any(masses):
        return None
    low = [(mass << precision) // total for mass in masses]
    log_mass = sum(law.log_mass for law in laws) + log(total) - 2 * precision * log(2)
    return _trimmed(first, low, precision, log_mass)


def _product_error(x: NodeLaw, y: NodeLaw) -> int:
    """Bound the sum of P_x(s) P_y(s') beyond the lower bounds, over pairs that fix each other."""
    return x.deficit * y.most + y.deficit * max(x.low)


def _trimmed(first: int, low: list[int], precision: int, log_mass: float) -> NodeLaw:
    """Return a law without the zeros at its ends."""
    start, stop = 0, len(low)
    while stop > 1 and not low[stop - 1]:
        stop -= 1
    while start < stop - 1 and not low[start]:
        start += 1
    kept = low[start:stop]
    return NodeLaw(first + start, kept, (1 << precision) - sum(kept), log_mass)
