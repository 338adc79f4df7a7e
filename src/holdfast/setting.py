"""What is public before anything is drawn: the schema, the invariants with their values, the universe.

Evaluating the invariants is the first of the two calls that see the confidential table; the second is
the release.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from holdfast.errors import InvariantError
from holdfast.privacy.guarantee import Scope
from holdfast.spec.model import Spec
from holdfast.tables.invariants import InvariantBlock, cliques, invariant_blocks
from holdfast.tables.schema import Schema
from holdfast.tables.table import Table
from holdfast.universe.universe import Universe


@dataclass(frozen=True, eq=False)
class Setting:
    """All that is public: it depends on the confidential table through the invariants alone.

    ``inferred`` names the attributes whose levels were taken from the data rather than declared.
    """

    schema: Schema
    invariants: tuple[InvariantBlock, ...]
    values: tuple[NDArray[np.int64], ...]
    universe: Universe
    scope: Scope
    inferred: tuple[str, ...]


def publish(spec: Spec, table: Table, inferred: tuple[str, ...]) -> Setting:
    """Evaluate the invariants of a spec on the confidential table."""
    schema = table.schema
    blocks = invariant_blocks(spec, schema)
    values = tuple(block.evaluate(table.counts) for block in blocks)
    for block, value in zip(blocks, values, strict=True):
        if block.equals is not None and value[0] != block.equals:
            raise InvariantError(
                f"the invariant {block.name!r} says equals = {block.equals}, but the data give"
                f" {value[0]}: correct one of them."
            )
    # Structural zeros are zero in every table: the universe is over the other cells.
    possible = np.flatnonzero(schema.possible)
    rows = [block.matrix[:, possible] for block in blocks] or [csr_array((0, possible.size), dtype=np.int64)]
    universe = Universe.of(
        csr_array(vstack(rows, format="csr")),
        np.concatenate([np.zeros(0, dtype=np.int64), *values]),
        cliques(spec, schema),
    )
    scope = Scope.of(
        universe,
        invariants=tuple(block.name for block in blocks),
        constraints=_constraints(schema),
    )
    return Setting(schema, blocks, values, universe, scope, inferred)


def _constraints(schema: Schema) -> tuple[str, ...]:
    zeros = schema.size - int(schema.possible.sum())
    known = ["counts are whole and not negative", "the number of records is the same"]
    if zeros:
        known.append("1 cell is a structural zero" if zeros == 1 else f"{zeros:,} cells are structural zeros")
    return tuple(known)
