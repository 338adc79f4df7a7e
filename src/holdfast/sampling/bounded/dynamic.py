"""Product laws on {z : A z = 0, z >= low} by dynamic programming, exactly.

q(z) is proportional to prod_i w(z_i), with w(k) = exp(-epsilon |k|) (double geometric). The system is taken
apart into sums and ties (series_parallel). The law of a sum follows from the laws of its two parts, that of
a tie from its two children; these are computed upwards, once. A draw goes downwards: the values of the roots
first, then for each sum s the left part v, with probability P_left(v) P_right(s - v) / P(s).

Each step is one inversion of a 64-bit word against integer thresholds from proved enclosures
(circuit_law.py). A word that the enclosures do not decide, about one in 2^56, gets more bits and a higher
precision; so the law is exact, also on infinite supports. Rows of thresholds are made when a draw first
needs them.
"""

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, partial
from math import ceil, exp, floor, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import BoolArray, FloatArray, IntArray, WordArray
from holdfast.sampling.bounded.circuit_law import CircuitLaw, Cumulative, core_vectors
from holdfast.sampling.bounded.series_parallel import Cell, Circuit, Sum, take_apart
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.numbers.exponential import checked_rate
from holdfast.system.errors import SamplingError

MOST_ENTRIES = 1 << 24
"""Numbers that one draw may tabulate, and that are kept from one batch to the next: 128 MB, seconds."""
BATCH_CELLS = 1 << 20
GUIDE_BITS = 8
HARD = np.iinfo(np.int32).min
REACH = 128 * log(2)
"""Where tables of 128 bits end: over epsilon, the number from which on w is below 2^-128."""


class DynamicLaw:
    """Exact draws of a product law on the bounded solutions of A z = 0.

    ``low`` bounds the cells; None is no bound. ``entries`` predicts how many numbers one draw tabulates; a
    law for which they are more than ``most`` is refused with a SamplingError, before anything is tabulated.
    ``bits`` is how much of a word is used at first; few bits serve tests.
    """

    def __init__(
        self,
        matrix: csr_array | IntArray,
        *,
        epsilon: Fraction,
        low: IntArray | None = None,
        bits: int = 64,
        most: float = MOST_ENTRIES,
    ) -> None:
        self.matrix = csr_array(matrix)
        self._rate, self._low = checked_rate(epsilon), low
        cells = self.matrix.shape[1]
        self._circuit = take_apart(self.matrix, [None] * cells if low is None else low.tolist())
        self.entries = _entries(self._circuit, float(self._rate))
        if self.entries > most:
            raise SamplingError(
                f"noise on {cells:,} cells spreads too widely to be tabulated: ask for less noise a cell."
            )
        self._bits = bits
        self._rows = CircuitLaw(self._circuit, self._rate)
        self._splits = {
            node: _Splits(self._rows, node, bits)
            for node in self._circuit.occurrences
            if isinstance(self._circuit.nodes[node], Sum)
        }

    @cached_property
    def log_constant(self) -> float:
        """The log of the sum of w over all vectors."""
        return self._rows.log_constant()

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` independent draws, one a row."""
        draws = np.empty((size, self.matrix.shape[1]), dtype=np.int64)
        most = max(1, BATCH_CELLS // max(1, self._circuit.places))
        done, batch = 0, max(1, min(most, int(MOST_ENTRIES / self.entries)))
        while done < size:
            before = self._kept
            if before > MOST_ENTRIES:
                for split in self._splits.values():
                    split.clear()
                before = 0
            part = draws[done : done + batch]
            part[:] = self._draw(entropy, part.shape[0]).T
            done += part.shape[0]
            if self._kept - before < MOST_ENTRIES / 4:
                batch = min(most, 2 * batch)
        return draws

    @property
    def _kept(self) -> int:
        """How many numbers are kept in rows."""
        return sum(split.entries for split in self._splits.values())

    def log_prob(self, points: IntArray) -> FloatArray:
        """Return the log probability of each row, minus infinity outside."""
        inside = ~(self.matrix @ points.T).any(axis=0)
        if self._low is not None:
            inside &= (points >= self._low).all(axis=1)
        norm = float(self._rate) * np.abs(points).sum(axis=1)
        return np.where(inside, -norm - self.log_constant, -np.inf)

    def _draw(self, entropy: Entropy, size: int) -> IntArray:
        """Return one batch, one place a row, cells first."""
        circuit = self._circuit
        values = np.zeros((circuit.places, size), dtype=np.int64)
        self._draw_roots(values, entropy)
        for node, parents, children in self._steps:
            kind = circuit.nodes[node]
            if isinstance(kind, Sum):
                totals = values[parents]
                left = self._splits[node].draw(totals.ravel(), entropy).reshape(totals.shape)
                values[children[0]] = left
                values[children[1]] = totals - left
            elif not isinstance(kind, Cell):
                for places, factor in zip(children, kind.factors, strict=True):
                    values[places] = factor * values[parents]
        return values[: self.matrix.shape[1]]

    def _draw_roots(self, values: IntArray, entropy: Entropy) -> None:
        size = values.shape[1]
        for root, places, directions in self._roots:
            copies = places.shape[0]
            t = root.sample(entropy, copies * size).reshape(copies, size, -1)
            values[places] = np.moveaxis(t @ directions, 1, 2)

    @cached_property
    def _roots(self) -> list[tuple["_Root", IntArray, IntArray]]:
        """What is drawn first: copies x units of places, and the units' values for each entry of t."""
        free: dict[int, list[int]] = {}
        for unit in self._circuit.free:
            free.setdefault(unit.node, []).append(unit.place)
        one = np.ones((1, 1), dtype=np.int64)
        roots = [
            (_Root(partial(self._rows.whole, node), self._bits), np.array(places)[:, None], one)
            for node, places in free.items()
        ]
        for number, core in enumerate(self._circuit.cores):
            root = _Root(partial(self._rows.core, number), self._bits)
            roots.append((root, np.array([[unit.place for unit in core.units]]), core.basis))
        return roots

    @cached_property
    def _steps(self) -> list[tuple[int, IntArray, list[IntArray]]]:
        """Nodes from the roots to the cells, with the places of their values and of their children's."""
        steps = []
        for node in sorted(self._circuit.occurrences, reverse=True):
            places = np.array(self._circuit.occurrences[node], dtype=np.int64)
            steps.append((node, places[:, 0], [column.copy() for column in places[:, 1:].T]))
        return steps


class _Root:
    """Draws from one row; ``at(bits)`` gives it with the vector of each outcome."""

    def __init__(self, at: Callable[[int], tuple[Cumulative, IntArray]], bits: int) -> None:
        self._at, self._bits = at, bits
        row, self._outcomes = at(bits)
        self._start, self._table = _thresholds(row, bits)

    def sample(self, entropy: Entropy, size: int) -> IntArray:
        """Return ``size`` vectors."""
        words = entropy.words(size) >> np.uint64(64 - self._bits)
        count = np.searchsorted(self._table, words, side="right")
        hard = words - self._table[count - 1] <= 1
        draws: IntArray = self._outcomes[np.where(hard, 0, self._start + count - 1)]
        for i in np.flatnonzero(hard):
            bits, outcome = _refine(int(words[i]), self._bits, lambda b: self._at(b)[0], entropy)
            draws[i] = self._at(bits)[1][outcome]
        return draws


class _Splits:
    """Draws the left part of a sum given its value, with a row of thresholds for each value met."""

    def __init__(self, rows: CircuitLaw, node: int, bits: int) -> None:
        self._rows, self._node, self._bits = rows, node, bits
        guide_bits = min(GUIDE_BITS, bits)
        self._shift = np.uint64(bits - guide_bits)
        self._buckets = 1 << guide_bits
        self.clear()

    @property
    def entries(self) -> int:
        """How many numbers of eight bytes are kept."""
        return self._table.size + self._guide.size // 2 + self._row.size

    def clear(self) -> None:
        """Forget all rows; they are made again when they are needed."""
        self._base = 0
        self._row = np.zeros(0, dtype=np.int64)  # the row of base, base + 1, ..., or -1
        self._guide = np.zeros(0, dtype=np.int32)  # the draw for each row and bucket, or HARD
        self._first = np.zeros(0, dtype=np.int64)  # the draw of a word below a row's second threshold
        self._ends = np.zeros(1, dtype=np.int64)  # where rows begin and end among the thresholds
        self._table = np.zeros(0, dtype=np.uint64)

    def draw(self, totals: IntArray, entropy: Entropy) -> IntArray:
        """Return one left part for each total."""
        rows = self._find(totals)
        words = entropy.words(totals.size) >> np.uint64(64 - self._bits)
        bucket = (words >> self._shift).view(np.int64)
        left: IntArray = self._guide[rows * self._buckets + bucket].astype(np.int64)
        hard = np.flatnonzero(left == HARD)
        if hard.size:
            left[hard], decided = self._search(rows[hard], words[hard])
            for i in hard[~decided]:
                at = partial(self._rows.split, self._node, int(totals[i]))
                bits, outcome = _refine(int(words[i]), self._bits, at, entropy)
                left[i] = at(bits).first + outcome
        return left

    def _search(self, rows: IntArray, words: WordArray) -> tuple[IntArray, BoolArray]:
        """Return the draw for each word, by bisection in its row, and whether it is certain."""
        start, end = self._ends[rows], self._ends[rows + 1]
        position = start  # the thresholds before it are at most the word
        step = 1 << int((end - start).max()).bit_length()
        while step:
            probe = np.minimum(position + step, end)
            position = np.where(self._table[probe - 1] <= words, probe, position)
            step >>= 1
        return self._first[rows] + (position - start - 1), words - self._table[position - 1] > 1

    def _find(self, totals: IntArray) -> IntArray:
        """Return the row of each total, after making those that are missing."""
        if not totals.size:
            return totals
        low, high = int(totals.min()), int(totals.max())
        if low < self._base or high >= self._base + self._row.size:
            self._widen(low, high)
        rows: IntArray = self._row[totals - self._base]
        if rows.min() < 0:
            self._make(np.unique(totals[rows < 0]))
            rows = self._row[totals - self._base]
        return rows

    def _widen(self, low: int, high: int) -> None:
        if self._row.size:
            low, high = min(low, self._base), max(high, self._base + self._row.size - 1)
        wider = np.full(high - low + 1, -1, dtype=np.int64)
        wider[self._base - low : self._base - low + self._row.size] = self._row if self._row.size else -1
        self._base, self._row = low, wider

    def _make(self, totals: IntArray) -> None:
        starts = np.arange(self._buckets, dtype=np.uint64) << self._shift
        lasts = starts + ((np.uint64(1) << self._shift) - np.uint64(1))
        starts[1:] -= np.uint64(1)
        first, guides, tables = [self._first], [self._guide], [self._table]
        for total in totals.tolist():
            row = self._rows.split(self._node, total, self._bits)
            start, table = _thresholds(row, self._bits)
            # A bucket is easy when it holds neither a threshold nor the word after one.
            before = np.searchsorted(table, starts, side="left")
            draw = row.first + start + before - 1
            easy = (before == np.searchsorted(table, lasts, side="right")) & (np.abs(draw) < -HARD)
            first.append(np.array([row.first + start]))
            guides.append(np.where(easy, draw, HARD).astype(np.int32))
            tables.append(table)
        ends = self._ends[-1] + np.cumsum([table.size for table in tables[1:]])
        self._row[totals - self._base] = self._first.size + np.arange(totals.size)
        self._first, self._guide = np.concatenate(first), np.concatenate(guides)
        self._table, self._ends = np.concatenate(tables), np.concatenate([self._ends, ends])


def _thresholds(row: Cumulative, bits: int) -> tuple[int, WordArray]:
    """Return the first outcome with a threshold above 0, and floor(F 2^bits) with a 0 in front of it.

    With ``count`` thresholds at most the word, the outcome is start + count - 1; it is certain unless the
    word is the last of these thresholds or one more. The list ends with a threshold that is one of the
    two largest words, so that nothing beyond it is ever certain.
    """
    one, total = 1 << bits, row.total
    start = bisect_left(row.sums, -(-total >> bits))
    stop = bisect_left(row.sums, -(-(one - 2) * total >> bits), lo=start)
    floors = [(c << bits) // total for c in row.sums[start : stop + 1]]
    floors[-1] = min(floors[-1], one - 1)
    return start, np.array([0, *floors], dtype=np.uint64)


def _refine(word: int, bits: int, at: Callable[[int], Cumulative], entropy: Entropy) -> tuple[int, int]:
    """Find the outcome of the uniform number that begins with ``word``, and the bits it took."""
    u = word
    while True:
        u, bits = (u << 64) | int(entropy.words(1)[0]), bits + 64
        row = at(bits)
        outcome = bisect_left(row.sums, -(-(u + 1) * row.total >> bits))
        if outcome < len(row.sums):
            before = (row.sums[outcome - 1] if outcome else 0) + row.error
            if before << bits <= u * row.total:
                return bits, outcome


def _entries(circuit: Circuit, rate: float) -> float:
    """Predict how many numbers one draw tabulates: the laws of the nodes, and a row for each sum.

    Raises SamplingError where a core has too many vectors.
    """
    entries = 0.0
    spreads: list[_LawExtent] = []
    for number, (node, support) in enumerate(zip(circuit.nodes, circuit.supports, strict=True)):
        if isinstance(node, Cell):
            spread = _LawExtent.of_cell(rate, support[0])
        elif isinstance(node, Sum):
            left, right = spreads[node.left], spreads[node.right]
            spread = left.plus(right, rate)
            row = min(left.width, right.width) + (1 << GUIDE_BITS) / 2
            entries += len(circuit.occurrences[number]) * row
        else:
            spread = _LawExtent.of_tie([spreads[child] for child in node.children], node.factors, support)
        entries += 8 * spread.width  # integers of 128 bits and more, in lists
        spreads.append(spread)
    for core in circuit.cores:
        ends = [spreads[unit.node].ends for unit in core.units]
        vectors = core_vectors(core, [floor(low) for low, _ in ends], [ceil(high) for _, high in ends])
        entries += 8 * vectors.shape[0]
    return max(1.0, entries)


class _LawExtent(NamedTuple):
    """About where a node's law lies: a variance, and the ends beyond which it is below 2^-128."""

    centre: float
    ends: tuple[float, float]
    variance: float

    @property
    def width(self) -> float:
        return self.ends[1] - self.ends[0] + 1

    @classmethod
    def of_cell(cls, rate: float, low: float) -> "_LawExtent":
        centre = max(low, 0)
        ends = max(low, centre - REACH / rate), centre + REACH / rate
        a = exp(-rate)
        return cls(centre, ends, min(2 * a / (1 - a) ** 2, (ends[1] - ends[0]) ** 2))

    @classmethod
    def of_tie(
        cls, children: list["_LawExtent"], factors: tuple[int, ...], support: tuple[float, float]
    ) -> "_LawExtent":
        ends = [sorted((c.ends[0] / f, c.ends[1] / f)) for c, f in zip(children, factors, strict=True)]
        low, high = max(e[0] for e in ends), min(e[1] for e in ends)
        precision = sum(f * f / max(c.variance, 1e-9) for c, f in zip(children, factors, strict=True))
        centre = min(max(children[0].centre / factors[0], support[0]), support[1])
        return cls(centre, (min(low, centre), max(high, centre)), 1 / precision)

    def plus(self, other: "_LawExtent", rate: float) -> "_LawExtent":
        centre, variance = self.centre + other.centre, self.variance + other.variance
        reach = REACH / rate + sqrt(2 * REACH * variance)
        low, high = self.ends[0] + other.ends[0], self.ends[1] + other.ends[1]
        return _LawExtent(centre, (max(low, centre - reach), min(high, centre + reach)), variance)
