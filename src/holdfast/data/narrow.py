"""A schema without what nobody asks for: nested levels below the last that a sum looks at.

A total of states looks at no county, tract or block. Leaving these attributes out leaves fewer cells, each
for a run of many, and the sums are the same [holdfast, lattice/spread.py].
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.lattice.arrays import IntArray, run_sums


@dataclass(frozen=True, eq=False)
class Narrow:
    """A schema whose first axis has fewer entries, and how many entries each of them stands for."""

    schema: Schema
    times: IntArray

    def sums(self, counts: IntArray) -> IntArray:
        """Return the counts of its cells, from those of the cells that they stand for."""
        return run_sums(counts, self.times)

    @classmethod
    def of(cls, schema: Schema, asked: Collection[str]) -> "Narrow | None":
        """Return the schema without levels that lie in others and are not asked for; None where all count.

        Structural zeros that are not the same at every leaf are of single cells, and areas of any nodes: with
        any of these all count.
        """
        axis = schema.grid.axes[0]
        if not axis.steps or schema.areas:
            return None
        zeros = _zeros(schema)
        if zeros is None:
            return None
        left = list(axis.names)
        while left:
            outer = {one.within for one in schema.nestings if one.attribute in left}
            inner = {one.attribute for one in schema.nestings if one.attribute in left}
            free = [name for name in left if name in inner and name not in outer and name not in asked]
            if not free:
                break
            left = [name for name in left if name not in free]
        if len(left) == len(axis.names) or axis.names[: len(left)] != tuple(left):
            return None
        kept = {
            each.name: each.levels for each in schema.attributes if each.name not in axis.names[len(left) :]
        }
        nestings = tuple(one for one in schema.nestings if one.attribute in kept)
        narrow = Schema(Attributes.of(kept), nestings=nestings)
        first = narrow.grid.axes[0]
        if zeros.size:
            width = schema.size // axis.size
            every = (np.arange(first.size)[:, None] * width + zeros).ravel()
            narrow = Schema(narrow.attributes, Runs.of(every), nestings)
        entry = first.place([axis.column(name) for name in left])
        times = np.bincount(entry, minlength=first.size)
        return cls(narrow, times) if times.all() and (np.diff(entry) >= 0).all() else None


def _zeros(schema: Schema) -> IntArray | None:
    """Return the structural zeros among the cells of a leaf, if every leaf has the same; else None."""
    if not schema.impossible:
        return np.zeros(0, dtype=np.int64)
    possible = schema.possible.reshape(schema.grid.axes[0].size, -1)
    return np.flatnonzero(~possible[0]) if (possible == possible[0]).all() else None
