"""Margins of nested attributes as margins of a full product.

Let every margin read an axis by one partition of its entries or not at all, a county wherever it reads the
axis of counties and tracts. Then the margins are those of a full product, in which the parts stand for the
levels of the axis. Where the parts have equally many entries, permuting parts and entries maps any cell to
any other, as in a table of plain attributes; otherwise cells are not alike, and nothing is said.
"""

from collections.abc import Sequence

import numpy as np

from holdfast.data.grid import ancestors
from holdfast.data.schema import Schema


def even_cliques(schema: Schema, margins: Sequence[Sequence[str]]) -> tuple[frozenset[str], ...] | None:
    """Return the attributes that each margin fixes, if all are margins of one product with cells alike.

    A margin of tracts fixes their counties, too: sets hold all that their attributes lie in.
    """
    closed = [
        frozenset(names).union(*(ancestors(name, schema.within) for name in names)) for names in margins
    ]
    for axis in schema.grid.axes:
        if not axis.steps:
            continue
        read = {clique.intersection(axis.names) for clique in closed} - {frozenset[str]()}
        if len(read) > 1:
            return None
        for names in read:
            part = axis.over(sorted(names))
            entries = np.bincount(part.place([axis.column(name) for name in part.names]))
            if entries.min() < entries.max():
                return None
    return tuple(closed)
