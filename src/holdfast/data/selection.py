"""Which cells a `where` picks, and the schema of a spec: structural zeros are such a selection."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from holdfast.data.grid import Nesting
from holdfast.data.levels import number
from holdfast.data.runs import Runs
from holdfast.data.schema import Attribute, Attributes, Schema
from holdfast.lattice.arrays import BoolArray
from holdfast.spec.model import Spec
from holdfast.spec.values import Choice, Range, levels_or_range
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import setting


def select(schema: Schema, where: Mapping[str, Choice], *, place: str = "where") -> BoolArray:
    """Return, for each cell, whether every attribute in `where` has one of the chosen levels.

    `place` is where in the spec the selection stands, for the message when it makes no sense.
    """
    mask = np.ones(schema.size, dtype=np.bool_)
    for name, levels in chosen_levels(schema, where, place=place).items():
        attribute = schema.attribute(name)
        chosen = np.zeros(len(attribute.levels), dtype=np.bool_)
        chosen[[attribute.code(level) for level in levels]] = True
        mask &= chosen[schema.codes(name)]
    return mask


def chosen_levels(
    schema: Schema, where: Mapping[str, Choice], *, place: str = "where"
) -> dict[str, tuple[str, ...]]:
    """Return the levels that a selection picks of each of its attributes."""
    if not where:
        raise SpecError(f"{place} selects nothing: name at least one attribute and its levels.")
    return {
        name: _chosen(_attribute(schema, name, place), choice, f"{place} {name}")
        for name, choice in where.items()
    }


def _attribute(schema: Schema, name: str, place: str) -> Attribute:
    if name not in schema.names:
        raise SpecError(
            f"{place} names {name!r}, which is no attribute of the table: {closest(name, schema.names)}"
        )
    return schema.attribute(name)


def _chosen(attribute: Attribute, choice: Choice, place: str) -> tuple[str, ...]:
    try:
        wanted = levels_or_range(choice)
    except ValueError as error:
        raise SpecError(f"{place} {error}.") from None
    if isinstance(wanted, Range):
        return _in_range(attribute, wanted, place)
    for level in wanted:
        if level not in attribute.levels:
            raise SpecError(
                f"{place} names the level {level!r}, which {attribute.name} does not have "
                f"in the data or in {setting('data.levels')}: {closest(level, attribute.levels)}"
            )
    return wanted


def _in_range(attribute: Attribute, bounds: Range, place: str) -> tuple[str, ...]:
    # Through text, so that the float 0.1 means the level "0.1".
    low, high = (Fraction(str(bound)) for bound in bounds)
    chosen = []
    for level in attribute.levels:
        value = number(level)
        if value is None:
            raise SpecError(
                f"{place} is a range, but level {level!r} of {attribute.name} is not a number: "
                "list the levels instead."
            )
        if low <= value <= high:
            chosen.append(level)
    if not chosen:
        raise SpecError(
            f"{place} selects no level of {attribute.name} from {bounds.low} to {bounds.high}: "
            "widen the range."
        )
    return tuple(chosen)


def schema_of(spec: Spec, attributes: Attributes, nestings: tuple[Nesting, ...] = ()) -> Schema:
    """Return the schema of these attributes with the spec's structural zeros."""
    schema = Schema(attributes, nestings=nestings)
    if not spec.constraints.structural_zeros:
        return schema
    zeros = np.zeros(schema.size, dtype=np.bool_)
    for place, zero in enumerate(spec.constraints.structural_zeros, start=1):
        zeros |= select(schema, zero, place=setting("constraints", "structural_zeros", place))
    return Schema(attributes, Runs.of(np.flatnonzero(zeros)), nestings)


def count_column(spec: Spec) -> str:
    """Return the name of the released counts' column; records have none of their own."""
    name = spec.data.count or "count"
    while name in spec.data.attributes:
        name = f"released_{name}"
    return name
