"""The nodes of some levels that lie below one node: each level's stand together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.lattice.arrays import IntArray


@dataclass(frozen=True)
class Branch:
    """A node and all below it, down to a level.

    Attributes:
        top: the node's level.
        begins: the first node of each level, the node itself on its own.
        ends: the node after the last one of each level.

    """

    top: int
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, parents: Sequence[IntArray], top: int, node: int, last: int) -> "Branch":
        """Return the branch of a node down to the last level."""
        begins, ends = [node], [node + 1]
        for parent in parents[top:last]:
            begins.append(int(np.searchsorted(parent, begins[-1])))
            ends.append(int(np.searchsorted(parent, ends[-1])))
        return cls(top, tuple(begins), tuple(ends))

    def parents(self, parents: Sequence[IntArray]) -> tuple[IntArray, ...]:
        """Return, for each level but the first, the place of each node's parent among those of the branch."""
        last = self.top + len(self.begins) - 1
        return tuple(
            parent[begin:end] - above
            for parent, begin, end, above in zip(
                parents[self.top : last], self.begins[1:], self.ends[1:], self.begins[:-1], strict=True
            )
        )
