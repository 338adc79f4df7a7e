"""How the tables at successive nodes of one level of a tree are drawn, given those of the level above.

The table of a node is over some axes; what is drawn of them is in tree_levels.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.grid import FoundCoordinates, HalvedAxis
from holdfast.sampling.lattice.klein import TINY
from holdfast.sampling.lattice.sum_shape import HalvingStage
from holdfast.sampling.numbers.gaussian import draw_near

Axes = frozenset[int]
NumberT = TypeVar("NumberT", np.int64, np.float64)


@dataclass(frozen=True, eq=False)
class Given:
    """What is known where coordinates are drawn: the sums of the nodes above; or all, to read them back."""

    above: IntArray
    below: IntArray | None = None

    def boxes(self, begins: IntArray, ends: IntArray) -> "Given":
        """Return the sums over boxes along the first axis after the rows."""
        below = None if self.below is None else _boxes(self.below, begins, ends)
        return Given(_boxes(self.above, begins, ends), below)


def _boxes(table: IntArray, begins: IntArray, ends: IntArray) -> IntArray:
    running = _running(table)
    found: IntArray = running.take(ends, axis=1) - running.take(begins, axis=1)
    return found.reshape(-1, *table.shape[2:])


def _running(table: NDArray[NumberT]) -> NDArray[NumberT]:
    """Return the sums of what is before each entry along the first axis after the rows, and of all."""
    running = np.zeros((table.shape[0], table.shape[1] + 1, *table.shape[2:]), dtype=table.dtype)
    np.cumsum(table, axis=1, out=running[:, 1:])
    return running


class SplitLaw(Protocol):
    """How the sums of some nodes are drawn, one vector a row, near some means, for one set T."""

    def draw(
        self, means: FloatArray | None, given: Given, widths: FloatArray, entropy: Entropy | None
    ) -> tuple[IntArray, FoundCoordinates]:
        """Return the sums and their coordinates, read back where ``given`` has them; no means are 0."""

    def widths(self, widths: FloatArray) -> Iterator[FloatArray]:
        """Yield the widths of its coordinates, in the order in which they are drawn."""


@dataclass(frozen=True)
class RootLaw:
    """The sum of all, with a standard deviation at variance 1."""

    width: float

    def draw(
        self, means: FloatArray | None, given: Given, widths: FloatArray, entropy: Entropy | None
    ) -> tuple[IntArray, FoundCoordinates]:
        """Draw one integer a row."""
        centres = np.zeros(widths.size) if means is None else means[:, 0]
        (stretched,) = self.widths(widths)
        drawn = _draw(centres, stretched, None if given.below is None else given.below[:, 0], entropy)
        return drawn[:, None], [(drawn, centres, stretched)]

    def widths(self, widths: FloatArray) -> Iterator[FloatArray]:
        """Yield the one."""
        yield widths * (self.width * (1 + TINY))


@dataclass(frozen=True, eq=False)
class ChildLaw:
    """The children of some successive nodes, given the sums of these."""

    first: IntArray
    """Where the children of each begin."""
    count: int
    stages: tuple[HalvingStage, ...]

    def draw(
        self, means: FloatArray | None, given: Given, widths: FloatArray, entropy: Entropy | None
    ) -> tuple[IntArray, FoundCoordinates]:
        """Split the sums of the nodes, whole stages at once."""
        running = None if means is None else _running(means)
        read = None if given.below is None else _running(given.below)
        sums: IntArray = np.zeros((widths.size, self.count), dtype=np.int64)
        sums[:, self.first] = given.above
        found: FoundCoordinates = []
        for stage in self.stages:
            if running is None:
                totals = sums.take(stage.begins, axis=1)
                centres = stage.share * totals
            else:
                centres, totals = stage.centres(running, sums)
            stretched = widths[:, None] * (stage.width * (1 + TINY))
            known = None if read is None else read[:, stage.middles] - read[:, stage.begins]
            left = _draw(centres, stretched, known, entropy)
            found.append((left, centres, stretched))
            sums[:, stage.middles] = totals - left
            sums[:, stage.begins] = left
        return sums, found

    def widths(self, widths: FloatArray) -> Iterator[FloatArray]:
        """Yield those of each stage."""
        for stage in self.stages:
            yield (widths[:, None] * (stage.width * (1 + TINY))).ravel()


def _draw(
    centres: FloatArray, widths: FloatArray, known: IntArray | None, entropy: Entropy | None
) -> IntArray:
    """Return integers near some centres, or those that are known."""
    if known is not None:
        return known
    assert entropy is not None  # noqa: S101 - what is not known is drawn
    return draw_near(centres.ravel(), widths.ravel(), entropy).reshape(centres.shape)


@dataclass(frozen=True, eq=False)
class Piece:
    """Some successive nodes of a level: ``axes`` are halved, and each set of them has its law."""

    above: slice
    below: slice
    axes: tuple[HalvedAxis, ...]
    laws: Mapping[Axes, SplitLaw | None]

    @property
    def nodes(self) -> int:
        """How many nodes it has."""
        return int(self.below.stop - self.below.start)

    def draw(
        self, given: Given, widths: FloatArray, entropy: Entropy | None
    ) -> tuple[IntArray, FoundCoordinates]:
        """Return tables over the axes and the nodes, one a row, with their coordinates in the order drawn."""
        found: FoundCoordinates = []
        means = None
        if self.axes:
            shape = (axis.weights.size for axis in self.axes)
            means = np.zeros((widths.size, *shape, self.nodes))
        return self._table(0, means, given, widths, frozenset(), entropy, found), found

    def widths(self) -> Iterator[FloatArray]:
        """Yield the widths of all coordinates at variance 1, in the order in which they are drawn."""
        yield from self._widths(0, np.ones(1), frozenset())

    def _table(
        self,
        place: int,
        means: FloatArray | None,
        given: Given,
        widths: FloatArray,
        split: Axes,
        entropy: Entropy | None,
        found: FoundCoordinates,
    ) -> IntArray:
        """Return tables over the axes from a place on; those before are read by a left child or a total."""
        if self._zero(place, split):
            assert means is not None  # noqa: S101 - a level without halved axes is not all zero
            return np.zeros(means.shape, dtype=np.int64)
        if place == len(self.axes):
            law = self.laws[split]
            assert law is not None  # noqa: S101 - `_zero` has been asked
            drawn, coordinates = law.draw(means, given, widths, entropy)
            found += coordinates
            return drawn
        assert means is not None  # noqa: S101 - there are halved axes
        axis, rest = self.axes[place], means.shape[2:]
        running = _running(means)
        sums = np.zeros(means.shape, dtype=np.int64)
        every = np.array([0]), np.array([axis.weights.size])
        total, whole = given.boxes(*every), widths * axis.whole
        sums[:, 0] = self._table(place + 1, running[:, -1], total, whole, split, entropy, found)
        for stage in axis.stages:
            centres, totals = stage.centres(running, sums)
            left = self._table(
                place + 1,
                centres.reshape(-1, *rest),
                given.boxes(stage.begins, stage.middles),
                (widths[:, None] * stage.width).ravel(),
                split | {place},
                entropy,
                found,
            ).reshape(centres.shape)
            sums[:, stage.middles] = totals - left
            sums[:, stage.begins] = left
        return sums

    def _widths(self, place: int, widths: FloatArray, split: Axes) -> Iterator[FloatArray]:
        if self._zero(place, split):
            return
        if place == len(self.axes):
            law = self.laws[split]
            yield from () if law is None else law.widths(widths)
            return
        axis = self.axes[place]
        yield from self._widths(place + 1, widths * axis.whole, split)
        for stage in axis.stages:
            yield from self._widths(place + 1, (widths[:, None] * stage.width).ravel(), split | {place})

    def _zero(self, place: int, split: Axes) -> bool:
        """Whether margins that are kept make all coordinates zero that go on like this."""
        return self.laws[split.union(range(place, len(self.axes)))] is None
