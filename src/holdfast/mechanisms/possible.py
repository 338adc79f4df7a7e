"""Releases that are possible, of counts that are invented: estimates of tables that anyone may see."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.data.geography import Regions
from holdfast.lattice.arrays import IntArray


@dataclass(frozen=True, eq=False)
class PossibleTables:
    """Invented counts of a geography, or of a part of it, and tables that were estimated of them."""

    regions: Regions
    truth: IntArray
    """Leaves by cells."""
    tables: Sequence[IntArray]
    whole: bool
    """Whether it is all of the geography."""

    def asks(self, names: Sequence[str]) -> bool:
        """Whether counts by some names can be told here: by levels, and by attributes of the cells."""
        return {*names} <= {*self.regions.levels, *self.regions.names}

    def sums(self, names: Sequence[str]) -> tuple[Sequence[str], IntArray, IntArray]:
        """Return the labels of sums by some names, the invented sums, and those of each table, one a row."""
        spine, leaves = self.regions.spine, self.truth.shape[0]
        nodes, at = [np.arange(leaves)], np.arange(leaves)
        for parent in reversed(spine.parent):
            at = parent[at]
            nodes.append(at)
        of_level = dict(zip(self.regions.levels, reversed(nodes), strict=True))
        entry = np.zeros(self.truth.shape, dtype=np.int64)
        parts: list[Sequence[str]] = []
        for name in names:
            if name in of_level:
                levels, codes = self.regions.places[name], of_level[name][:, None]
            else:
                assert self.regions.cells is not None  # noqa: S101 - it has the name
                levels = self.regions.cells.attribute(name).levels
                codes = self.regions.cells.codes(name)[None, :]
            entry = entry * len(levels) + codes
            parts.append(levels)
        found, place = np.unique(entry[self.regions.possible], return_inverse=True)
        added = [self._added(table, place, found.size) for table in (self.truth, *self.tables)]
        return [_label(int(one), parts) for one in found], added[0], np.array(added[1:])

    def _added(self, table: IntArray, place: IntArray, size: int) -> IntArray:
        weights = table.reshape(self.truth.shape)[self.regions.possible]
        return np.rint(np.bincount(place, weights=weights, minlength=size)).astype(np.int64)


def _label(entry: int, parts: Sequence[Sequence[str]]) -> str:
    said: list[str] = []
    for levels in reversed(parts):
        entry, code = divmod(entry, len(levels))
        said.append(levels[code])
    return ", ".join(reversed(said)) or "total"
