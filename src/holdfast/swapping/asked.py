"""What a spec asks of a swap: its options, the counts to keep, and the table to count."""

from dataclasses import dataclass

from holdfast.certificate.model import SchemaSection, TableSection
from holdfast.data.attributes import Attributes
from holdfast.data.declare import count_column
from holdfast.data.microdata import Microdata
from holdfast.data.schema import Schema
from holdfast.errors import DataError, SpecError
from holdfast.machine import require_room
from holdfast.mechanisms.permutation_swapping import SwappingOptions
from holdfast.spec.closest import closest
from holdfast.spec.geography import Geography
from holdfast.spec.model import Spec
from holdfast.swapping.design import Columns
from holdfast.swapping.mandated import Tally, tallies
from holdfast.swapping.survey import require_levels

REFUSED = ("count", "within", "missing", "aggregate", "recode")
"""Keys of [data] that speak of tables of counts."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Counts of units that were asked for, with nothing counted yet: those to keep, and those of a table."""

    kept: tuple[Tally, ...]
    cells: Tally | None

    @classmethod
    def of(cls, spec: Spec, columns: Columns, source: Microdata) -> "Asked":
        """Return what a spec asks to count; raises where a column is no good for it, or a swap breaks it."""
        kept = tallies(spec.invariants, columns)
        cells = spec.data.cells
        for name in cells:
            if name not in columns.all or name in columns.renumber:
                raise SpecError(
                    f"[data] cells names {name!r}, which is "
                    + ("renumbered: leave it out" if name in columns.renumber else "no column of the records")
                    + f": {closest(name, [*columns.keys, *columns.held])}"
                )
        return cls(kept, Tally("cells", cells) if cells else None).checked(source)

    def checked(self, source: Microdata) -> "Asked":
        """Return it; raises DataError where a column has no levels to count by."""
        if self.cells is not None:
            require_levels(source.schema, self.cells.attributes, source.name)
        for tally in self.kept:
            require_levels(source.schema, sorted(tally.involved), source.name, floats=True)
        return self

    @property
    def all(self) -> tuple[Tally, ...]:
        """All counts, those to keep first."""
        return (*self.kept, *(() if self.cells is None else (self.cells,)))

    def require_of_units(self, columns: Columns) -> None:
        """Raise SpecError where counts of households name a column that is of their persons."""
        for name in sorted(frozenset[str]().union(*(tally.involved for tally in self.all))):
            if name not in columns.all:
                raise SpecError(
                    f"{name!r} is a column of persons, and households are counted: name columns of stratify"
                    " or swap, or give households a file of their own, with their persons in [data] persons."
                )


def options_of(spec: Spec) -> SwappingOptions:
    """Return the options of a swap; raises SpecError where the spec asks for what no swap can do."""
    asked, privacy = spec.data, spec.privacy
    options = together(SwappingOptions(**spec.mechanism.keys), asked.geography)
    for key in REFUSED:
        if key in asked.model_fields_set and getattr(asked, key):
            raise SpecError(
                f"[data] {key} is for tables of counts, and records are swapped as they are: leave it out."
            )
    if privacy.standard != "pure":
        raise SpecError(
            f"[privacy] standard = {privacy.standard!r} is not met by permutation-swapping: set standard ="
            ' "pure".'
        )
    if privacy.laws is not None:
        raise SpecError(
            "[privacy] laws speaks of tables, and permutation-swapping releases records: leave it out."
        )
    if privacy.epsilon is None and options.rate is None:
        raise SpecError('[privacy] epsilon is missing: give one such as "14", or a rate in [mechanism].')
    if spec.constraints.inequalities or spec.constraints.floors or spec.constraints.structural_zeros:
        raise SpecError(
            "[constraints] bind tables of counts, and a swap cannot keep them: leave them out, or put the"
            " columns they speak of into stratify."
        )
    if asked.persons is not None and asked.id is None:
        raise SpecError("[data] persons needs id: name the column by which persons find their household.")
    if asked.id is not None and privacy.unit == "record":
        raise SpecError(
            '[data] id puts rows together: say whom they are, as unit = "household" in [privacy], or leave'
            " it out."
        )
    if asked.id is not None and privacy.records_per_unit > 1:
        raise SpecError(
            f"[privacy] records_per_unit is {privacy.records_per_unit}, and with [data] id one {privacy.unit}"
            " is one record: leave it out."
        )
    if asked.id is not None and asked.id in (*options.stratify, *options.swap):
        raise SpecError(f"[data] id is {asked.id!r}, which is also in [mechanism]: take it out there.")
    return options


def together(options: SwappingOptions, geography: Geography | None) -> SwappingOptions:
    """Return options that swap all columns of a geography which are not in the key, as one of them is."""
    if geography is None:
        return options
    places = geography.columns or (geography.column or "",)
    if not set(places) & set(options.swap):
        raise SpecError(
            f"[data.geography] has {' and '.join(map(repr, places))}, which move together, and swap in"
            " [mechanism] names none of them: name one there, or leave the geography out."
        )
    more = [name for name in places if name not in (*options.stratify, *options.swap)]
    for name in more:
        if name in options.renumber:
            raise SpecError(
                f"[mechanism] renumber names {name!r}, which is of [data.geography]: take it out of one."
            )
    return options.model_copy(update={"swap": (*options.swap, *more)})


def table_of(spec: Spec, counted: Tally) -> TableSection:
    """Return the cells of the table that is counted: levels as declared, or as they occur, sorted."""
    levels = {}
    for name in spec.data.cells:
        found = counted.levels(name)
        declared = spec.data.levels.get(name)
        if declared is not None and (unknown := [level for level in found if level not in declared]):
            raise DataError(
                f"column {name!r} has the level {unknown[0]!r}, which is not declared in"
                " [data.levels]: add it there, or correct the records."
            )
        levels[name] = declared or found
    schema = Schema(Attributes.of(levels))
    require_room(schema.size)
    inferred = tuple(name for name in spec.data.cells if name not in spec.data.levels)
    return TableSection(
        count=count_column(spec), schema=SchemaSection.model_validate(schema.to_dict()), inferred=inferred
    )


def schema_of(table: TableSection) -> Schema:
    """Return the cells of the table that was asked for."""
    return Schema.from_dict(table.cells.model_dump(mode="json"))
