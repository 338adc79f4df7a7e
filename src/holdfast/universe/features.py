"""Universes whose blocks are products of features with fixed counts, answered without a solver.

Let every block (cells that no row ties to others) be the full product of features k with counts c_k(l) of
their levels l, n records in all. Any way to deal out n levels of each feature to n records is a table.

*Semi-adjacency.* q + 1 changes are enough for q features [bounds.py], and needed where levels y_k are in use
with sum c_k(y_k) < n, each beside another level in use: deal them out to different records, and let x be a
record with none of them. Records that change to make one record y have all y_k among them, x has none and
every other record at most one, so q others change.

*Sensitivity.* A difference u = p - q of a records each has A p = A q: each feature has the same levels in p
and q, at most a of them. So by permuting levels u lies in the product of a levels a feature, whose largest
norms are those of all differences; and where the a most frequent levels of each feature are a or more times
in use, some table holds q, hence every norm is attained.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, vstack

from holdfast.lattice.arrays import IntArray
from holdfast.lattice.components import Component
from holdfast.lattice.product import Feature, product_features

if TYPE_CHECKING:
    from holdfast.universe.universe import Universe


@dataclass(frozen=True, eq=False)
class Block:
    """Patterns that are a product of features; ``several`` says whether some stand for several cells."""

    features: tuple[Feature, ...]
    several: bool

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.features[0].count.sum())

    @property
    def used(self) -> list[IntArray]:
        """The counts of the levels in use, for each feature with two or more."""
        counts = (np.sort(feature.count[feature.count > 0])[::-1] for feature in self.features)
        return [count for count in counts if count.size > 1]

    def levels(self, most: int) -> tuple[int, ...]:
        """How many levels each feature has, no more than some."""
        return tuple(min(feature.count.size, most) for feature in self.features)

    @property
    def most(self) -> IntArray:
        """The most records that each pattern can hold, as some table does: what its rarest level has."""
        most: IntArray = np.min([feature.count[feature.level] for feature in self.features], axis=0)
        return most

    def holds(self, changes: int) -> bool:
        """Whether some table holds any so many records of the most frequent levels."""
        frequent = (np.sort(feature.count)[::-1][:changes] for feature in self.features)
        return all(bool((count >= changes).all()) for count in frequent)

    @property
    def needs_all(self) -> bool:
        """Whether some change takes one record more than there are features."""
        used = self.used
        rarest = sum(int(count[-1]) for count in used)
        return len(used) == len(self.features) > 1 and rarest < self.records


def blocks_of(universe: "Universe") -> Iterator[Block | None]:
    """Yield the blocks of several patterns, the largest first; None for those that are no products."""
    known = universe.known_blocks
    for place, part in enumerate(universe.pattern_components):
        if part.cells.size == 1:
            return
        if place == len(known):
            known.append(_block(universe, part))
        yield known[place]


def _block(universe: "Universe", part: Component) -> Block | None:
    """Return a component of the patterns as a product of features, None where it is none."""
    seen = universe.patterns
    if part.rows.size == 0:
        return None
    columns = seen.columns
    if part.cells.size < seen.count:
        columns = csr_array(columns[part.rows][:, part.cells])
    features = product_features(columns, universe.values[part.rows])
    return Block(features, bool((seen.size[part.cells] > 1).any())) if features else None


def product_of(universe: "Universe") -> Block | None:
    """Return the universe as one product of features, None where it is none."""
    if len(universe.components) != 1 or universe.patterns.count == universe.rank:
        return None
    block = next(blocks_of(universe), None)
    return block if block is not None and len(block.features) > 1 else None


@lru_cache(maxsize=64)
def small_product(levels: tuple[int, ...]) -> csr_array:
    """Return the one-way margins of a product of features, over its cells."""
    shape = np.indices(levels).reshape(len(levels), -1)
    rows = [
        csr_array((np.arange(size)[:, None] == shape[k]).astype(np.int64)) for k, size in enumerate(levels)
    ]
    return csr_array(vstack(rows, format="csr"))
