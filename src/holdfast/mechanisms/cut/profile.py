"""What noise that is cut off loses: delta at any epsilon [theory, 17].

Let P be q cut off at |z_i| <= D. Between tables u apart

    delta(epsilon) = sum over z of max(0, P(z) - e^epsilon P(z - u)):

where z - u is inside, too, what q loses, and all of P(z) on the *edge*, where it is not. It is worked out

    listed  on a small lattice by summing it;
    sums    where few records move between cells that at most one total ties: what the other cells weigh
            given their sum is a power of one sequence, by Fourier inversion;
    bounds  elsewhere: by what q loses, its edge and the share of q that is inside.

Components of the invariants that u does not touch cancel, where q is a product over them.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement, permutations, product
from math import ceil, factorial, inf, prod, sqrt
from typing import Literal

import numpy as np
import scipy

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.points import few_points
from holdfast.mechanisms.cut.weights import ROUNDING, NoiseShape, Weighing, cell_logs
from holdfast.privacy.conversion import gdp_to_delta
from holdfast.privacy.integer_gaussian import mu_per_record
from holdfast.privacy.premises import Premises
from holdfast.privacy.roots import ceil_root
from holdfast.sampling.lattice.kernel_gaussian import is_total
from holdfast.sampling.lattice.plan import groups, listed
from holdfast.system.errors import GuaranteeError
from holdfast.universe.tables import conforming_tables

CutMethod = Literal["listed", "sums", "bounds"]
MOST_ORDERS = 1_000
MOST_POINTS = 1_000_000
"""Points of a lattice that are listed."""
MOST_WORK = 4 * MOST_POINTS
MOST_TABLES = 200
"""Tables whose differences are listed; of more, all differences of their norms are taken."""
MOST_DIFFERENCES = 4_000
LISTED_CELLS = 16
MOST_MOVED = 4
"""The most that counts change together where sums are looked at."""
MOST_GRID = 1 << 22
"""Values of sums, and of what they lose, that are looked at together."""
MOST_SIZES = 8
"""Totals of different sizes that are looked at."""
MOST_ANGLES = 1 << 22
SPREAD = 12.0
"""How many times D times the root of the number of cells a sum is followed: beyond, it weighs nothing."""
TINY = 1e-300
"""Added to what floats give, for what they cannot hold."""


class CutProfile(ABC):
    """What a cut law loses at any strength."""

    method: CutMethod

    @abstractmethod
    def delta(self, noise: Weighing, epsilon: Fraction) -> float:
        """Return a delta that goes with epsilon: the least one, or a bound."""


@dataclass(frozen=True, eq=False)
class _Difference:
    """Points inside, by their sizes before and after a difference; infinite sizes are beyond the edge."""

    before: FloatArray
    after: FloatArray
    times: IntArray


@dataclass(frozen=True, eq=False)
class CutListed(CutProfile):
    """The whole law as a list, and every difference of tables."""

    differences: tuple[_Difference, ...]
    method = "listed"

    def delta(self, noise: Weighing, epsilon: Fraction) -> float:
        """Sum delta for each difference."""
        return max(self._deltas(noise, epsilon), default=0.0) * ROUNDING + TINY

    def _deltas(self, noise: Weighing, epsilon: Fraction) -> Iterator[float]:
        for one in self.differences:
            before = noise.log_weight(one.before)
            highest = before.max()
            weights = one.times * np.exp(before - highest)
            after = one.times * np.exp(float(epsilon) + noise.log_weight(one.after) - highest)
            yield float(np.maximum(weights - after, 0).sum() / weights.sum())

    @classmethod
    def of(cls, premises: Premises, shape: NoiseShape, bound: int) -> "CutListed | None":
        """List a small lattice; None where it is not small."""
        matrix = premises.universe.matrix
        whole = [np.arange(matrix.shape[1])]
        parts = _components(premises) if shape.product else whole
        changes = _differences(premises)
        if changes is None:
            return None
        found: dict[bytes, _Difference] = {}
        listed: dict[bytes, IntArray | None] = {}
        left = MOST_WORK
        for change in changes:
            touched = [part for part in parts if change[part].any()]
            cells = np.sort(np.concatenate(touched))
            system = matrix[:, cells].toarray()
            system = system[system.any(axis=1)]
            key = repr(system.tolist()).encode()
            if key not in listed:
                listed[key] = few_points(system, bound, MOST_POINTS)
            points = listed[key]
            if points is None:
                return None
            own = change[cells]
            name = key + (own.tobytes() if shape.form is not None else _name(premises, system, own, change))
            if name in found:
                continue
            left -= points.shape[0]
            if left < 0:
                return None
            found[name] = _sizes(points, own, shape, bound, cells, matrix.shape[1])
        return cls(tuple(found.values()))


def _name(premises: Premises, system: IntArray, change: IntArray, whole: IntArray) -> bytes:
    """Return what differences share that permutations of equal cells, or levels, take to each other."""
    margins = premises.universe.margins
    if margins is not None and prod(map(factorial, margins.shape)) <= MOST_ORDERS:
        table = whole.reshape(margins.shape)
        orders = product(*(permutations(range(size)) for size in margins.shape))
        return max(max((turned := table[np.ix_(*order)]).tobytes(), (-turned).tobytes()) for order in orders)
    columns = [(tuple(system[:, cell].tolist()), int(change[cell])) for cell in range(change.size)]
    return repr(sorted(columns)).encode()


def _sizes(
    points: IntArray, change: IntArray, shape: NoiseShape, bound: int, cells: IntArray, width: int
) -> _Difference:
    def sizes(inside: IntArray) -> FloatArray:
        if shape.form is None:
            return shape.sizes(inside)
        every = np.zeros((len(inside), width), dtype=np.int64)
        every[:, cells] = inside
        return shape.sizes(every)

    moved = points - change
    before, after = sizes(points), np.where(np.abs(moved).max(axis=1) <= bound, sizes(moved), -1.0)
    # as one complex number each, which sort much faster than rows
    pairs, times = np.unique(before + 1j * after, return_counts=True)
    return _Difference(pairs.real, np.where(pairs.imag < 0, np.inf, pairs.imag), times)


def _components(premises: Premises) -> list[IntArray]:
    return [own for _, cells in groups(premises.universe.matrix) for own in listed(cells)]


def _differences(premises: Premises) -> IntArray | None:
    """Return the differences of tables that a guarantee covers, or all of their norms, up to the sign."""
    universe, step = premises.universe, premises.metric.step
    far = premises.unit.distance
    if premises.adjacency == "semi":
        try:
            tables = conforming_tables(universe, MOST_TABLES, 10_000)
        except GuaranteeError:
            pass
        else:
            apart = (tables[:, None] - tables[None]).reshape(-1, universe.cells)
            return _one_sign(apart[np.abs(apart).sum(axis=1) <= step * far])
    if universe.cells > LISTED_CELLS:
        return None
    points = few_points(universe.matrix.toarray(), far, MOST_POINTS)
    if points is None:
        return None
    near = np.abs(points).sum(axis=1) <= step * far
    if premises.adjacency == "semi":
        near &= (points * points).sum(axis=1) <= premises.sensitivity.l2_squared
    found = _one_sign(points[near])
    return found if len(found) <= MOST_DIFFERENCES else None


def _one_sign(points: IntArray) -> IntArray:
    points = np.unique(points, axis=0)
    points = points[points.any(axis=1)]
    if not points.size:
        return np.asarray(points)
    first = points[np.arange(len(points)), (points != 0).argmax(axis=1)]
    return np.asarray(points[first > 0])


Part = tuple[tuple[int, ...], int | None]
"""The changes of the cells of one component, and how many cells its total ties; None where they are free."""


@dataclass(frozen=True, eq=False)
class CutSums(CutProfile):
    """Few records that move between cells that at most one total ties, or come and go.

    ``moves`` are the changes, component by component. With changes u the loss of z is a function of one whole
    number T: sum u_i z_i of Gaussian noise, sum |z_i - u_i| - |z_i| in l1. Cells of one change are one group:
    the weights of its sum and its part of T are those of so many cells, and the cells that do not change
    have what the groups leave of the total.
    """

    moves: tuple[tuple[Part, ...], ...]
    bound: int
    method = "sums"

    def delta(self, noise: Weighing, epsilon: Fraction) -> float:
        """Sum over T what is lost inside, and add the edge."""
        logs = cell_logs(noise, np.arange(-self.bound, self.bound + 1))
        law = np.exp(logs)
        law /= law.sum()
        of_part = {part: _component_law(part, law, noise) for move in self.moves for part in move}
        found = (self._delta([of_part[part] for part in move], move, noise, epsilon) for move in self.moves)
        return max(found, default=0.0) * ROUNDING + TINY

    def _delta(
        self,
        laws: "list[tuple[FloatArray, float]]",
        move: tuple[Part, ...],
        noise: Weighing,
        epsilon: Fraction,
    ) -> float:
        inside, edge = laws[0]
        for more, its_edge in laws[1:]:
            inside, edge = np.convolve(inside, more), edge + its_edge - edge * its_edge
        t = np.arange(inside.size) - inside.size // 2
        strength = float(noise.strength)
        square = sum(u * u for changes, _ in move for u in changes)
        loss = strength * t if noise.shape.norm == "l1" else (square - 2 * t) / (2 * strength)
        return edge + float(
            inside @ np.maximum(-np.expm1(float(epsilon) - np.maximum(loss, float(epsilon))), 0)
        )

    @classmethod
    def of(cls, premises: Premises, shape: NoiseShape, bound: int) -> "CutSums | None":
        """Return the moves of few records; None where more are compared, or cells cross."""
        step, far = premises.metric.step, premises.unit.distance
        if not shape.product or step * far > MOST_MOVED:
            return None
        free, sizes = 0, set[int]()
        for system, cells in groups(premises.universe.matrix):
            rows, width = system.shape
            if rows and not is_total(system):
                return None
            free += 0 if rows else cells.size
            sizes |= {width} if rows and width > 1 else set()
        if len(sizes) > MOST_SIZES or (2 * bound + 1) * max(sizes, default=0) ** 0.5 * SPREAD > MOST_ANGLES:
            return None
        presence = premises.whom.presence
        ties = [*sorted(sizes), *([None] if free else [])]
        parts = [(part, tied) for tied in ties for part in _changes(tied, step * far, presence=presence)]
        parts = [(part, tied) for part, tied in parts if len(part) <= (free if tied is None else tied)]
        pairs = (
            (one, other)
            for one, other in combinations_with_replacement(parts, 2)
            if None not in (one[1], other[1])
        )
        moves = [(part,) for part in parts] + [pair for pair in pairs if _moved(pair) <= step * far]
        free_too = (
            (one, other) for one in parts for other in parts if one[1] is not None and other[1] is None
        )
        moves += [pair for pair in free_too if _moved(pair) <= step * far]
        if any(_grid(part, bound, shape) > MOST_GRID for part, _ in parts):
            return None
        return cls(tuple(moves), bound)


def _moved(move: tuple[Part, ...]) -> int:
    return sum(abs(u) for changes, _ in move for u in changes)


def _changes(tied: int | None, most: int, *, presence: bool) -> Iterator[tuple[int, ...]]:
    """Yield the changes of a component's cells, rising, up to their sign, of ||u||_1 <= most."""
    levels = [u for u in range(-most, most + 1) if u]
    for number in range(1, most + 1):
        for part in combinations_with_replacement(levels, number):
            if sum(map(abs, part)) <= most and (sum(part) == 0 or (presence and tied is None)):
                turned = tuple(sorted(-u for u in part))
                if part <= turned:
                    yield part


def _grid(changes: tuple[int, ...], bound: int, shape: NoiseShape) -> int:
    """Return how many values of sums and of T are looked at together."""
    return prod(
        (2 * number * bound + 1) * (2 * number * abs(u) + 1 if shape.norm == "l1" else 1)
        for u, number in Counter(changes).items()
    )


def _component_law(part: Part, law: FloatArray, noise: Weighing) -> tuple[FloatArray, float]:
    """Return the weights of T of a component's changes inside, around T = 0, and the weight of the edge."""
    changes, tied = part
    bound = law.size // 2
    inside: dict[int, FloatArray] = {0: np.ones(1)}  # by T in l1, the weights of the sum
    whole, edge, far = np.ones(1), np.zeros(1), 0
    spread: FloatArray | None = None
    if noise.shape.norm == "l1":
        for u in changes:
            kept = _kept(law, u)
            z = np.arange(-bound, bound + 1)
            t = np.abs(z - u) - np.abs(z)
            edge = np.convolve(edge, kept) + np.convolve(whole, law - kept)
            whole = np.convolve(whole, law)
            grown: dict[int, FloatArray] = {}
            for before, weights in inside.items():
                for value in np.unique(t).tolist():
                    found = np.convolve(weights, np.where(t == value, kept, 0.0))
                    grown[before + value] = grown.get(before + value, 0.0) + found
            inside = grown
        far = max(map(abs, inside))
        rest, normaliser = _rest(law, whole, len(changes), tied)
        spread = np.zeros(2 * far + 1)
        for t_, weights in inside.items():
            spread[far + t_] += float(weights @ rest) / normaliser
        return spread, float(edge @ rest) / normaliser
    # cells of one change together; their T is u times their sum
    sums_of: list[tuple[int, FloatArray]] = []
    for u, number in Counter(changes).items():
        kept, own = _kept(law, u), np.ones(1)
        for _ in range(number):
            edge = np.convolve(edge, kept) + np.convolve(whole, law - kept)
            whole, own = np.convolve(whole, law), np.convolve(own, kept)
        sums_of.append((u, own))
    rest, normaliser = _rest(law, whole, len(changes), tied)
    places, t, weights = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.ones(1)
    for u, own in sums_of:
        s = np.arange(own.size)
        places = np.add.outer(places, s).ravel()
        t = np.add.outer(t, u * (s - own.size // 2)).ravel()
        weights = np.multiply.outer(weights, own).ravel()
    far = int(np.abs(t).max(initial=0))
    spread = np.bincount(t + far, weights * rest[places], 2 * far + 1) / normaliser
    return np.asarray(spread), float(edge @ rest) / normaliser


def _kept(law: FloatArray, u: int) -> FloatArray:
    """Return the law of a cell where it is inside after a change, too; 0 on the edge."""
    kept = np.zeros_like(law)
    inside = slice(max(u, 0), law.size + min(u, 0))
    kept[inside] = law[inside]
    return kept


def _rest(law: FloatArray, whole: FloatArray, changed: int, tied: int | None) -> tuple[FloatArray, float]:
    """Return what the cells that do not change weigh, by the sum of the others, and the normaliser."""
    if tied is None:
        return np.ones(whole.size), 1.0
    rest = sums(law, tied - changed, whole.size // 2)
    return rest, float(whole @ rest)


def sums(law: FloatArray, cells: int, reach: int) -> FloatArray:
    """Return the chances of the sums -reach..reach of so many cells, by the powers of a Fourier sum."""
    bound = (law.size - 1) // 2
    if cells == 0:
        return np.asarray(np.arange(-reach, reach + 1) == 0, dtype=np.float64)
    wide = min(2 * cells * bound + 1, ceil(2 * SPREAD * bound * sqrt(cells)) + 1) + 2 * reach
    angles = scipy.fft.next_fast_len(wide, real=True)
    padded = np.zeros(angles)
    padded[np.arange(-bound, bound + 1)] = law
    found = scipy.fft.irfft(scipy.fft.rfft(padded).real ** cells, angles)
    return np.asarray(np.maximum(found[np.arange(-reach, reach + 1)], 0.0))


@dataclass(frozen=True, eq=False)
class CutBounds(CutProfile):
    """What the whole law loses, the edge, and how much is inside."""

    premises: Premises
    shape: NoiseShape
    bound: int
    method = "bounds"

    def delta(self, noise: Weighing, epsilon: Fraction) -> float:
        """Add the edge to what the whole law loses, and divide by what is inside."""
        base, inside = self._whole(noise, epsilon), self.inside(noise)
        if inside <= 0 or base == inf:
            return 1.0
        return min(1.0, (base + self._edge(noise)) / inside) * ROUNDING + TINY

    @cached_property
    def _touched(self) -> int:
        """The most cells of components that a difference touches."""
        universe = self.premises.universe
        if not self.shape.product:
            return universe.cells
        most = self.premises.metric.step * self.premises.unit.distance
        parts = [np.full(min(cells.shape[0], most), cells.shape[1]) for _, cells in groups(universe.matrix)]
        return int(np.sort(np.concatenate(parts))[::-1][:most].sum())

    def inside(self, noise: Weighing) -> float:
        """Return a lower bound of the chance that all components that a difference touches are inside."""
        return 1 - 2 * self._touched * noise.beyond(self.bound + 1)

    def _edge(self, noise: Weighing) -> float:
        """Return the largest sum of P(z_i > D - |u_i|) over the cells of a difference, one side each."""
        l1, linf = self._norms
        one = [noise.beyond(self.bound - k + 1) if k <= self.bound else 1.0 for k in range(1, linf + 1)]
        best = [0.0] * (l1 + 1)
        for size in range(1, l1 + 1):
            best[size] = max(best[size - k] + one[k - 1] for k in range(1, min(size, linf) + 1))
        return best[-1]

    @cached_property
    def _norms(self) -> tuple[int, int]:
        """The largest ||u||_1, and the largest entry."""
        premises = self.premises
        if premises.adjacency == "semi":
            return premises.sensitivity.l1, premises.sensitivity.linf
        return premises.metric.step * premises.unit.distance, premises.unit.distance

    @cached_property
    def _stretch(self) -> Fraction:
        if self.shape.norm == "l1":
            return self.premises.squared_stretch("l1")
        if self.shape.form is None:
            return self.premises.squared_stretch("l2")
        return self.premises.stretch(self.shape.form).squared

    def _whole(self, noise: Weighing, epsilon: Fraction) -> float:
        if self.shape.norm == "squared":
            mu = mu_per_record(self._stretch / (2 * noise.strength), self.premises.longest_step)
            return gdp_to_delta(mu=float(mu) * ROUNDING, epsilon=float(epsilon)).value
        lost = ceil_root(noise.strength**2 * self._stretch)
        return 0.0 if lost <= epsilon else inf


def profile_of(premises: Premises, shape: NoiseShape, bound: int) -> CutProfile:
    """Return the closest account that is within reach."""
    found = CutSums.of(premises, shape, bound) or CutListed.of(premises, shape, bound)
    return found or CutBounds(premises, shape, bound)
