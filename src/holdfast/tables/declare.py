"""From a spec to the schema of its table."""

from collections.abc import Mapping

import numpy as np

from holdfast.spec.model import Spec
from holdfast.tables.schema import Attribute, Schema
from holdfast.tables.selection import select


def schema_of(spec: Spec, levels: Mapping[str, tuple[str, ...]]) -> Schema:
    """Return the schema with these levels of each attribute and the spec's structural zeros."""
    schema = Schema(tuple(Attribute(name, tuple(levels[name])) for name in spec.data.cells))
    zeros = np.zeros(schema.size, dtype=np.bool_)
    for number, zero in enumerate(spec.constraints.structural_zeros, start=1):
        zeros |= select(schema, zero, place=f"[constraints] structural_zeros {number}")
    return Schema(schema.attributes, frozenset(np.flatnonzero(zeros).tolist()))
