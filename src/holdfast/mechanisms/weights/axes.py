"""The axes of a table as whole margins read them: what is kept, and what is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.data.grid import Axis
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.margins import LevelledAxis, MarginStrategy, Reading
from holdfast.mechanisms.weights.queries import WeightedQueryRecord
from holdfast.public import Public


@dataclass(frozen=True, eq=False)
class MarginAxes:
    """The axes of a table with the levels at which whole margins read them, and the readings of kept ones."""

    axes: tuple[Axis, ...]
    levelled: tuple[LevelledAxis, ...]
    kept: tuple[Reading, ...]

    @classmethod
    def of(cls, public: Public, queries: Sequence[WeightedQueryRecord]) -> "MarginAxes | None":
        """Return them where all that is kept and asked for are whole margins of a full table, else None."""
        blocks = [held.block for held in public.invariants]
        whole = all(not query.where and query.entries is None for query in queries)
        plain = all(not block.where and block.kind != "weights" for block in blocks)
        if public.schema.impossible or not whole or not plain:
            return None
        axes = public.schema.grid.axes
        sets = [*(block.attributes for block in blocks), *(query.marginal for query in queries)]
        levelled = []
        for axis in axes:
            found = LevelledAxis.of(axis.size, [_partition(axis, names) for names in sets])
            if found is None:  # two margins read an axis in ways that cross
                return None
            levelled.append(found)
        bare = cls(axes, tuple(levelled), ())
        return cls(axes, bare.levelled, tuple({bare.reading(block.attributes): None for block in blocks}))

    def reading(self, attributes: Sequence[str]) -> Reading:
        """Return the levels at which a margin reads the axes."""
        pairs = zip(self.axes, self.levelled, strict=True)
        return tuple(levelled.level(_partition(axis, attributes)) for axis, levelled in pairs)

    def fixes(self, attributes: Sequence[str]) -> bool:
        """Whether the margins that are kept say all of another one."""
        return MarginStrategy(self.levelled, self.kept, ()).is_kept(self.reading(attributes))

    def names(self, space: Reading) -> list[str]:
        """Return the attributes that a residual space is of: one of each axis that it tells apart."""
        found = []
        for axis, levelled, level in zip(self.axes, self.levelled, space, strict=True):
            able = (name for name in axis.names if levelled.level(_partition(axis, [name])) >= level)
            found += [next(able, axis.names[-1])] if level else []
        return found


def _partition(axis: Axis, attributes: Sequence[str]) -> IntArray:
    """Return how a margin of some attributes parts the entries of an axis."""
    names = [name for name in axis.names if name in attributes]
    if not names:
        return np.zeros(axis.size, dtype=np.int64)
    part = axis.over(names)
    return part.place([axis.column(name) for name in part.names])
