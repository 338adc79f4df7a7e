"""The Gaussian law on tables whose margins are kept, by halving every axis.

Cells are the levels of some axes in all combinations. Read along one axis by halving, a vector is its total
and the sums S_l of the left children (`HalvingStage`); read so along every axis, a table is the sums over
boxes T_u, u = (u_1, ..., u_q), where u_k is the total of axis k or a left child. The change from cells to T
is a Kronecker product of unimodular matrices, so T runs through all integers. The form is a Kronecker
product, too: with D_u = T_u - E(T_u | the T before), the prediction being that of halving along one axis
after the other,

    sum_e z_e^2  =  sum_u D_u^2 / s_u^2,   s_u = prod_k s_{u_k}.

A margin over the axes C is zero exactly when T_u = 0 for all u that are totals outside of C. These are the
first ones in the order of prediction, and while they are zero they predict zero. So for *any* set of
complete margins the law is drawn coordinate by coordinate (klein.py), whole stages of boxes at once, and
nothing dense is made [theory, 6].
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod

import numpy as np
from scipy.sparse import csr_array

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.components import patterns
from holdfast.lattice.product import AxisMargins, product_features
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.klein import TINY, Proposal, log_acceptance
from holdfast.sampling.lattice.sum_shape import HalvingStage, SumShape, stages
from holdfast.sampling.numbers.gaussian import draw_near

GROUPS = (1, 8, 64, 512)
"""Blocks that are no longer halved: the larger, the fewer coordinates are narrow."""
LIKELY = -1.5
"""The log of a share of proposals to be kept that is high enough."""

FoundCoordinates = list[tuple[IntArray, FloatArray, FloatArray]]
"""Coordinates with their centres and widths, part by part."""


class HalvedAxis:
    """The levels of one axis with their weights, and how their sums are split."""

    def __init__(self, weights: IntArray, group: int = 1) -> None:
        self.weights = weights
        ends = np.array([0]), np.array([weights.size])
        self.stages: tuple[HalvingStage, ...] = tuple(stages(*ends, weights, group))

    @property
    def whole(self) -> float:
        """The standard deviation of the total at variance 1."""
        return float(np.sqrt(self.weights.sum()))


class HalvedGrid(SumShape):
    """Proposals for integer tables over some axes in which the margins over some sets of axes are zero.

    A combination of levels stands for as many cells as the product of the weights of its levels, and is their
    sum. ``order`` says which cell of a vector is the first, the second, ... of the grid.
    """

    def __init__(self, axes: tuple[HalvedAxis, ...], kept: Sequence[frozenset[int]], order: IntArray) -> None:
        super().__init__(_outer([axis.weights for axis in axes]).ravel(), order)
        self._axes, self._kept = axes, tuple(kept)
        self._shape = tuple(axis.weights.size for axis in axes)

    @property
    def sum_shapes(self) -> FloatArray:
        """The widths of the coordinates of the sums at variance 1."""
        return np.concatenate([np.zeros(0), *self._widths(0, np.ones(1), frozenset())])

    def propose_sums(self, sigma: FloatArray, entropy: Entropy) -> tuple[IntArray, Proposal]:
        """Return the sums for each standard deviation, and the proposal they came from."""
        none = np.zeros((sigma.size, 0))
        found: FoundCoordinates = [(none.astype(np.int64), none, none)]
        means = np.zeros((sigma.size, *self._shape))
        table = self._draw(0, means, sigma, frozenset(), entropy, found)
        coordinates, centres, widths = (
            np.concatenate([part.reshape(sigma.size, -1) for part in parts], axis=1)
            for parts in zip(*found, strict=True)
        )
        return table.reshape(sigma.size, -1), Proposal.of(coordinates, centres, widths)

    def _draw(
        self,
        place: int,
        means: FloatArray,
        widths: FloatArray,
        split: frozenset[int],
        entropy: Entropy,
        found: FoundCoordinates,
    ) -> IntArray:
        """Return integer tables near some means over the axes from a place on, one table a row.

        The axes in ``split`` are read by a left child, the others before the place by their total.
        """
        if self._zero(place, split):
            return np.zeros(means.shape, dtype=np.int64)
        if place == len(self._axes):
            return self._coordinates(means, widths, split, entropy, found)
        axis, rest = self._axes[place], means.shape[2:]
        running = np.concatenate([np.zeros((len(means), 1, *rest)), np.cumsum(means, axis=1)], axis=1)
        sums = np.zeros(means.shape, dtype=np.int64)
        sums[:, 0] = self._draw(place + 1, running[:, -1], widths * axis.whole, split, entropy, found)
        for stage in axis.stages:
            centres, totals = stage.centres(running, sums)
            left = self._draw(
                place + 1,
                centres.reshape(-1, *rest),
                (widths[:, None] * stage.width).ravel(),
                split | {place},
                entropy,
                found,
            ).reshape(centres.shape)
            sums[:, stage.middles] = totals - left
            sums[:, stage.begins] = left
        return sums

    def _coordinates(
        self,
        means: FloatArray,
        widths: FloatArray,
        split: frozenset[int],  # noqa: ARG002 - all coordinates have one variance
        entropy: Entropy,
        found: FoundCoordinates,
    ) -> IntArray:
        """Draw what has been read along every axis."""
        stretched = widths * (1 + TINY)
        drawn = draw_near(means, stretched, entropy)
        found.append((drawn, means, stretched))
        return drawn

    def _coordinate_widths(self, widths: FloatArray, split: frozenset[int]) -> Iterator[FloatArray]:  # noqa: ARG002
        """Yield the widths of what `_coordinates` draws."""
        yield widths * (1 + TINY)

    def _widths(self, place: int, widths: FloatArray, split: frozenset[int]) -> Iterator[FloatArray]:
        """Yield the widths in the order in which coordinates are drawn."""
        if self._zero(place, split):
            return
        if place == len(self._axes):
            yield from self._coordinate_widths(widths, split)
            return
        axis = self._axes[place]
        yield from self._widths(place + 1, widths * axis.whole, split)
        for stage in axis.stages:
            yield from self._widths(place + 1, (widths[:, None] * stage.width).ravel(), split | {place})

    def _zero(self, place: int, split: frozenset[int]) -> bool:
        """Whether margins that are kept make all coordinates zero that go on like this."""
        farthest = split.union(range(place, len(self._axes)))
        return any(farthest <= margin for margin in self._kept)


def any_grid(system: csr_array, sigma: float, margins: AxisMargins | None) -> HalvedGrid | None:
    """Return proposals by halving every axis where a matrix keeps whole margins, else None."""
    return grid_of(system, sigma) or whole_grid(system, sigma, margins)


def grid_of(system: csr_array, sigma: float) -> "HalvedGrid | None":
    """Return proposals for the kernel of a matrix that is seen to keep the margins of features, else None.

    Cells with equal columns share a combination of levels; their numbers must be a product as well.
    """
    seen = patterns(system)
    features = product_features(seen.columns, np.zeros(system.shape[0], dtype=np.int64))
    if features is None or len(features) < 2:
        return None
    features = tuple(sorted(features, key=lambda feature: -feature.count.size))  # long axes outside
    shape = tuple(feature.count.size for feature in features)
    place = np.ravel_multi_index(tuple(feature.level for feature in features), shape)
    sizes = np.zeros(prod(shape), dtype=np.int64)
    sizes[place] = seen.size
    weights = _factors(sizes.reshape(shape))
    if weights is None:
        return None
    order = np.argsort(place[seen.of_cell], kind="stable")
    kept = [frozenset([axis]) for axis in range(len(shape))]
    return least_narrow(weights, kept, order, sigma)


def whole_grid(system: csr_array, sigma: float, margins: AxisMargins | None) -> "HalvedGrid | None":
    """Return proposals for a matrix that keeps known margins of all cells together, else None."""
    if margins is None or prod(margins.shape) != system.shape[1]:
        return None
    axes = sorted(range(len(margins.shape)), key=lambda axis: -margins.shape[axis])  # long ones outside
    order = np.arange(system.shape[1]).reshape(margins.shape).transpose(axes).ravel()
    kept = [frozenset(axes.index(axis) for axis in one) for one in margins.sets]
    return least_narrow([np.ones(margins.shape[axis], dtype=np.int64) for axis in axes], kept, order, sigma)


def least_narrow(
    weights: Sequence[IntArray], kept: Sequence[frozenset[int]], order: IntArray, sigma: float
) -> "HalvedGrid":
    """Return the grid with the fewest stages whose proposals are likely to be kept."""
    for group in (*GROUPS, max(map(len, weights))):
        grid = HalvedGrid(tuple(HalvedAxis(axis, group) for axis in weights), kept, order)
        if log_acceptance(grid.sum_shapes, sigma) > LIKELY:
            break
    return grid


def _factors(sizes: IntArray) -> list[IntArray] | None:
    """Return whole numbers along each axis whose products are the sizes; None where there are none."""
    lines = [np.moveaxis(sizes, axis, 0).reshape(len_of, -1)[:, 0] for axis, len_of in enumerate(sizes.shape)]
    factors = [line // np.gcd.reduce(line) for line in lines]
    factors[0] = factors[0] * (sizes.flat[0] // prod(int(factor[0]) for factor in factors))
    return factors if np.array_equal(_outer(factors), sizes) else None


def _outer(factors: Sequence[IntArray]) -> IntArray:
    """Return the products of one entry of each."""
    return reduce(np.multiply.outer, factors)
