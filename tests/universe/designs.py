"""Small random designs with public bounds, and all their tables by brute force."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import IntArray
from holdfast.universe.limits import Limits
from holdfast.universe.universe import Universe


@dataclass(frozen=True, eq=False)
class Design:
    """Invariants A and bounds B x >= b that a confidential table x has."""

    A: IntArray
    B: IntArray
    b: IntArray
    x: IntArray

    @property
    def t(self) -> IntArray:
        return self.A @ self.x

    @property
    def universe(self) -> Universe:
        limits = Limits.of(csr_array(self.B), self.b)
        return Universe.of(csr_array(self.A), self.t, limits=limits, occupied=True)

    @property
    def tables(self) -> list[tuple[int, ...]]:
        """Every table that keeps what is public: no count is above the sum of the invariants."""
        every = product(range(int(self.t.max(initial=0)) + 1), repeat=self.x.size)
        return [y for y in every if (self.A @ y == self.t).all() and (self.B @ np.array(y) >= self.b).all()]


def random_design(seed: int, *, cells: int = 5) -> Design:
    """Return a design in which every cell is in some invariant; most have a total, some bounds are tight."""
    draw = np.random.default_rng(seed)
    d, rows, bounds = int(draw.integers(3, cells + 1)), int(draw.integers(0, 3)), int(draw.integers(1, 5))
    A = draw.integers(0, 2, (rows + 1, d))
    A[0] = 1 if draw.random() < 0.7 else np.maximum(A[0], A.sum(axis=0) == 0)
    x, B = draw.integers(0, 3, d), draw.integers(-1, 2, (bounds, d))
    if draw.random() < 0.4:  # bounds of single cells
        B = np.eye(d, dtype=np.int64)[draw.integers(0, d, bounds)] * draw.choice([-1, 1], (bounds, 1))
    if draw.random() < 0.2:
        B = B * draw.integers(1, 4, (bounds, 1))
    return Design(A, B, B @ x - draw.integers(0, 3, bounds), x)


def two_way(rows: int, columns: int) -> IntArray:
    """Both margins of a table."""
    cell = np.indices((rows, columns)).reshape(2, -1)
    return np.concatenate(
        [np.arange(rows)[:, None] == cell[0], np.arange(columns)[:, None] == cell[1]]
    ).astype(np.int64)


def at_most(cells: int, count: int) -> Limits:
    """Every cell at most a number."""
    return Limits(csr_array(-np.eye(cells, dtype=np.int64)), np.full(cells, -count))


MARGINS: tuple[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]], ...] = (
    ((2, 2), ((0,), (1,))),
    ((2, 3), ((0,), (1,))),
    ((3, 3), ((0,), (1,))),
    ((2, 2, 2), ((0,), (1,), (2,))),
    ((2, 2, 2), ((0, 1), (2,))),
    ((2, 2, 2), ((0, 1), (1, 2))),
    ((3, 3), ((0,),)),
    ((2, 2, 2), ((0,),)),
)


def bounded_margins(seed: int) -> Universe:
    """Return a table of small margins within caps, floors, orders of cells, or bounds of any kind."""
    draw = np.random.default_rng(seed)
    shape, sets = MARGINS[seed % len(MARGINS)]
    A = margins(shape, sets)
    d = A.shape[1]
    x: IntArray = draw.integers(0, 3 if d < 9 else 2, size=(d,))
    every, kind = np.eye(d, dtype=np.int64), draw.integers(0, 4)
    if kind == 0:
        B, b = -every, -np.maximum(x, draw.integers(0, 3, d))
    elif kind == 1:
        B, b = every[: d // 2], np.minimum(x, 1)[: d // 2]
    elif kind == 2:
        pairs = [
            sorted(draw.choice(d, 2, replace=False).tolist(), key=lambda z: -int(x[z])) for _ in range(3)
        ]
        B, b = np.array([every[i] - every[j] for i, j in pairs]), np.zeros(3, dtype=np.int64)
    else:
        B = draw.integers(-1, 2, (3, d))
        b = B @ x - draw.integers(0, 2, 3)
    return Universe.of(csr_array(A), A @ x, limits=Limits.of(csr_array(B), b), occupied=True)


def margins(shape: tuple[int, ...], sets: tuple[tuple[int, ...], ...]) -> IntArray:
    """The margins on some sets of axes."""
    cell = np.indices(shape).reshape(len(shape), -1)
    rows = []
    for axes in sets:
        sizes = [shape[axis] for axis in axes]
        place = np.ravel_multi_index([cell[axis] for axis in axes], sizes)
        rows.append(np.arange(np.prod(sizes))[:, None] == place)
    return np.concatenate(rows).astype(np.int64)


def in_order(x: IntArray) -> Universe:
    """Groups of places of cells in order, x_1 >= x_2 >= ...; each group keeps the totals of its levels."""
    groups, places, levels = x.shape
    cell = np.arange(x.size).reshape(x.shape)
    every = np.eye(x.size, dtype=np.int64)
    A = every[cell].sum(axis=1).reshape(groups * levels, -1)
    B = (every[cell[:, :, :-1]] - every[cell[:, :, 1:]]).reshape(groups * places * (levels - 1), -1)
    none = np.zeros(len(B), dtype=np.int64)
    return Universe.of(csr_array(A), A @ x.ravel(), limits=Limits.of(csr_array(B), none), occupied=True)
