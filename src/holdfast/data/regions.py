"""A table by the leaves of its geography: the tree above them, and the cells that each leaf has."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from holdfast.data.attributes import Attributes
from holdfast.data.schema import Schema
from holdfast.data.spine import Spine
from holdfast.errors import SpecError
from holdfast.lattice.arrays import IntArray

WHOLE = "table"
"""The level, and the node, of a table without a geography."""


@dataclass(frozen=True, eq=False, repr=False)
class Regions:
    """The spine of a geography, and a schema of the cells of each node; None where a node is one count.

    The cells of a table are all pairs of a leaf and a cell, the leaves first: counts of a table, reshaped to
    leaves by cells, are the tables of the leaves.
    """

    spine: Spine
    cells: Schema | None
    possible: NDArray[np.bool_]
    """Which cells each leaf can have: those that are no structural zeros."""

    @classmethod
    def of(cls, schema: Schema, levels: Sequence[str]) -> "Regions":
        """Return the regions of a schema whose first attributes are the levels of a geography, root first."""
        others = [each for each in schema.attributes if each.name not in levels]
        nestings = tuple(one for one in schema.nestings if one.attribute not in levels)
        cells = None
        if others:
            cells = Schema(Attributes.of({each.name: each.levels for each in others}), nestings=nestings)
        spine = _spine(schema, levels)
        leaves = len(spine.levels.each[-1].levels)
        return cls(spine, cells, schema.possible.reshape(leaves, -1))

    def __repr__(self) -> str:
        return f"<regions: {self.spine.levels.in_words}, {self.width:,} cells each>"

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels, root first."""
        return self.spine.levels.names

    @property
    def width(self) -> int:
        """The number of cells of a node."""
        return int(self.possible.shape[1])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level, root first."""
        return tuple(len(level.levels) for level in self.spine.levels)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes of the cells of a node."""
        return () if self.cells is None else self.cells.names

    def sums(self, counts: IntArray) -> tuple[IntArray, ...]:
        """Return the tables of the nodes of each level, root first, from the counts of all cells."""
        found = [np.asarray(counts).reshape(-1, self.width)]
        for parent in reversed(self.spine.parent):
            starts = np.searchsorted(parent, np.arange(parent[-1] + 1))
            found.append(np.add.reduceat(found[-1], starts, axis=0))
        return tuple(reversed(found))


def _spine(schema: Schema, levels: Sequence[str]) -> Spine:
    if not levels:
        return Spine(Attributes.of({WHOLE: [WHOLE]}), ())
    axis = schema.grid.axes[0]
    if axis.names != tuple(levels):
        raise SpecError(
            f"the levels of the geography, {', '.join(levels)}, share their axis with"
            f" {', '.join(name for name in axis.names if name not in levels) or 'nothing'}: take these out of"
            " [data] within."
        )
    # entries stand in the order of their paths, so a node begins wherever its path changes
    begins = np.zeros(axis.size, dtype=np.bool_)
    begins[0] = True
    names: dict[str, list[str]] = {}
    places = []
    for name in levels:
        column = axis.column(name)
        begins = begins | np.concatenate([[True], column[1:] != column[:-1]])
        codes = schema.attribute(name).levels
        names[name] = [codes[code] for code in column[begins].tolist()]
        places.append((np.cumsum(begins) - 1, np.flatnonzero(begins)))
    parents = tuple(above[0][below[1]] for above, below in pairwise(places))
    return Spine(Attributes.of(names), parents)
