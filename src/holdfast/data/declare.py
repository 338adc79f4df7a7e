"""From a spec to the schema of its table, and to the columns of its release."""

import numpy as np

from holdfast.data.attributes import Attributes
from holdfast.data.grid import Nesting
from holdfast.data.schema import Schema
from holdfast.data.selection import select
from holdfast.spec.model import Spec


def schema_of(spec: Spec, attributes: Attributes, nestings: tuple[Nesting, ...] = ()) -> Schema:
    """Return the schema of these attributes with the spec's structural zeros."""
    schema = Schema(attributes, nestings=nestings)
    if not spec.constraints.structural_zeros:
        return schema
    zeros = np.zeros(schema.size, dtype=np.bool_)
    for number, zero in enumerate(spec.constraints.structural_zeros, start=1):
        zeros |= select(schema, zero, place=f"[constraints] structural_zeros {number}")
    return Schema(attributes, frozenset(np.flatnonzero(zeros).tolist()), nestings)


def count_column(spec: Spec) -> str:
    """Return the name of the released counts' column; records have none of their own."""
    name = spec.data.count or "count"
    while name in spec.data.attributes:
        name = f"released_{name}"
    return name
