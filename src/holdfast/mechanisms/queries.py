"""Weighted queries of a table: what [[mechanism.queries]] asks for, and what a certificate says of it.

A query is a margin W x, perhaps within a selection or of a level of the geography, or weights of cells from a
file. What noise they make is told in strategy.py.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from scipy.sparse import csr_array

from holdfast.data.cell_values import read_weights
from holdfast.data.geography import Regions
from holdfast.data.invariants import at_every_node, margin_matrix
from holdfast.data.schema import Schema
from holdfast.data.selection import chosen_levels
from holdfast.mechanisms.mechanism import MechanismRecord
from holdfast.public import Public
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.part import Part, Text
from holdfast.spec.values import PositiveRational, Where, require_distinct
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import setting

ONE = Fraction(1)
MOST_QUERIES = 64


class QueryWeights(Part):
    """Whole-number weights of cells, some rows of them by name, read from a file."""

    section: ClassVar = ("mechanism", "queries", "weights")

    file: Text


class WeightedQuery(Part):
    """Sums of cells that noise is to be small in, and their share of the budget relative to the others.

    A marginal of no attributes is the total, one of all of them the detailed query. With a ``level`` of the
    geography it is asked for at every node of that level.
    """

    section: ClassVar = ("mechanism", "queries")

    marginal: tuple[Text, ...] | None = None
    level: Text | None = None
    where: Where | None = None
    weights: QueryWeights | None = None
    weight: PositiveRational = Field(default=ONE, validate_default=True)

    @field_validator("marginal")
    @classmethod
    def _distinct(cls, marginal: tuple[str, ...] | None) -> tuple[str, ...] | None:
        require_distinct(marginal or ())
        return marginal

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if self.weights is not None and (self.marginal is not None or self.where is not None):
            raise ValueError("has weights beside marginal or where: keep one, or write two queries")
        if self.weights is None and self.marginal is None and self.where is None and self.level is None:
            raise ValueError("asks for nothing: give it marginal, level, where or weights")
        return self

    def at(self, path: str) -> Self:
        """Return the same with its file at a path."""
        return self.model_copy(update={"weights": QueryWeights(file=path)})


Entries = tuple[tuple[int, int, int], ...]
"""Row, cell and weight of what is not zero."""


class WeightedQueryRecord(BaseModel):
    """A query in a certificate: the attributes of a margin and levels of a selection, or weights by cell."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    marginal: tuple[str, ...]
    where: Mapping[str, tuple[str, ...]] = Field(default_factory=dict, exclude_if=lambda where: not where)
    entries: Entries | None = Field(default=None, exclude_if=lambda entries: entries is None)
    """The weights, where it is no margin."""
    weight: PositiveRational

    @property
    def words(self) -> str:
        """What it asks for, and its weight."""
        if self.entries is not None:
            return f"{len({row for row, _, _ in self.entries}):,} weighted sums ({self.weight})"
        within = " and ".join(f"{name} = {' or '.join(levels)}" for name, levels in self.where.items())
        name = " by ".join(self.marginal) or ("" if within else "total")
        return f"{' within '.join(filter(None, (name, within)))} ({self.weight})"

    def require_known(self, public: Public) -> None:
        """Raise SpecError where it names an attribute or a level that the table does not have."""
        _require_attributes(public, [*self.marginal, *self.where])
        for name, levels in self.where.items():
            for level in levels:
                public.schema.attribute(name).code(level)

    def canonical(self, schema: Schema) -> Self:
        """Return the same with all lists in one order, and nothing in them twice."""
        where = {
            name: tuple(level for level in schema.attribute(name).levels if level in self.where[name])
            for name in schema.names
            if name in self.where
        }
        marginal = tuple(name for name in schema.names if name in self.marginal)
        entries = None if self.entries is None else _ordered(self.entries)
        return self.model_copy(update={"marginal": marginal, "where": where, "entries": entries})

    def place(self, schema: Schema) -> tuple[Any, ...]:
        """Return where it stands among others."""
        places = tuple(schema.names.index(name) for name in self.marginal)
        return len(places), places, tuple(sorted(self.where.items())), self.entries or ()

    def matrix(self, public: Public) -> csr_array:
        """Return its rows over the possible cells, those that hold any."""
        schema = public.schema
        if self.entries is None:
            _require_attributes(public, self.marginal)
            rows = margin_matrix(schema, self.marginal, self.where)[0]
        else:
            row, cell, weight = np.array(self.entries, dtype=np.int64).reshape(-1, 3).T
            if row.size and (row.min() < 0 or cell.min() < 0 or cell.max() >= schema.size):
                raise SpecError("a weighted query names a cell that the table does not have.")
            number = np.unique(row, return_inverse=True)[1].reshape(-1)
            shape = int(number.max(initial=-1)) + 1, schema.size
            rows = csr_array((weight, (number, cell)), shape=shape)
        found = csr_array(rows[:, public.possible])
        found.eliminate_zeros()
        return csr_array(found[np.flatnonzero(np.diff(found.indptr))])


def _ordered(entries: Entries) -> Entries:
    """Return entries with rows in the order of what is in them, numbered from 0."""
    rows: dict[int, dict[int, int]] = {}
    for row, cell, weight in entries:
        rows.setdefault(row, {})[cell] = weight
    each = sorted(tuple(sorted((c, w) for c, w in row.items() if w)) for row in rows.values())
    return tuple((row, cell, weight) for row, items in enumerate(each) for cell, weight in items)


def canonical(queries: Sequence[WeightedQueryRecord], schema: Schema) -> tuple[WeightedQueryRecord, ...]:
    """Return queries in the one order that certificates have them in, no two alike but for their weights."""
    found = {query.place(schema): query for query in (each.canonical(schema) for each in queries)}
    return tuple(found[place] for place in sorted(found))


def asked(public: Public, queries: Sequence[WeightedQuery]) -> tuple[WeightedQueryRecord, ...]:
    """Return queries as a certificate has them; raises SpecError where they do not fit the table."""
    if len(queries) > MOST_QUERIES:
        raise SpecError(
            f"{setting('mechanism.queries')} are {len(queries)}, and {MOST_QUERIES} are the most: ask for"
            " fewer."
        )
    schema = public.schema
    found = [_record(public, query, number).canonical(schema) for number, query in enumerate(queries, 1)]
    places = [query.place(schema) for query in found]
    for number, place in enumerate(places, 1):
        if place in places[: number - 1]:
            raise SpecError(
                f"{setting('mechanism.queries', number)} asks for what one before it asks for: keep one, and"
                " give it both weights."
            )
    return canonical(found, schema)


def _record(public: Public, query: WeightedQuery, number: int) -> WeightedQueryRecord:
    if query.level is not None and query.level not in public.geography:
        way = closest(query.level, public.geography) if public.geography else "leave it out."
        raise SpecError(
            f"{setting('mechanism.queries', number, 'level')} = {query.level!r} is no level of the geography:"
            f" {way}"
        )
    if query.weights is not None:
        return WeightedQueryRecord(marginal=(), entries=_entries(public, query), weight=query.weight)
    named = {*(query.marginal or ()), *(() if query.level is None else (query.level,))}
    _require_attributes(public, [*(query.marginal or ())], setting("mechanism.queries", number, "marginal"))
    marginal = tuple(name for name in public.schema.names if name in named)
    place = setting("mechanism.queries", number, "where")
    where = chosen_levels(public.schema, query.where, place=place) if query.where else {}
    return WeightedQueryRecord(marginal=marginal, where=where, weight=query.weight)


def _require_attributes(public: Public, names: Sequence[str], place: str = "a weighted query") -> None:
    for name in names:
        if name not in public.schema.names:
            raise SpecError(
                f"{place} names {name!r}, which is no attribute of the table:"
                f" {closest(name, public.schema.names)}"
            )


def _entries(public: Public, query: WeightedQuery) -> Entries:
    assert query.weights is not None  # noqa: S101 - for types
    path = Path(query.weights.file)
    if query.level is None:
        read = read_weights(path, public.schema)
        places = read.rows, read.cells, read.weights
    else:
        regions = Regions.of(public.schema, public.geography)
        if regions.cells is None:
            raise SpecError(f"the table has no cells beside its geography, so {path} weighs nothing.")
        places = at_every_node(regions, query.level, read_weights(path, regions.cells))[1]
    return tuple((int(r), int(c), int(w)) for r, c, w in zip(*places, strict=True) if w)


def counted_queries(number: int) -> str:
    """Return how many queries there are, in words."""
    return "1 query" if number == 1 else f"{number:,} queries"


class QueryOptions(MechanismOptions):
    """Keys of a mechanism whose noise can be weighted."""

    queries: tuple[WeightedQuery, ...] = ()
    """What noise is to be small in; all cells alike where none is named."""

    @field_validator("queries", mode="before")
    @classmethod
    def _double_brackets(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            raise ValueError("is one table: write each under its own double brackets, [[...]]")  # noqa: TRY004
        return given

    def placed(self, resolve: Callable[[str], Path]) -> Self:
        """Return the same with files where they are."""
        found = [
            query if query.weights is None else query.at(str(resolve(query.weights.file)))
            for query in self.queries
        ]
        return super().placed(resolve).model_copy(update={"queries": tuple(found)})


class WeightedRecord(MechanismRecord):
    """A record with queries, where noise is weighted."""

    queries: tuple[WeightedQueryRecord, ...] | None = Field(
        default=None, exclude_if=lambda queries: queries is None
    )

    def parameters(self, write: Callable[[Fraction], str] = str) -> dict[str, str]:
        """Return the parameters by name, queries in words."""
        found = super().parameters(write)
        if self.queries is not None:
            found["queries"] = ", ".join(query.words for query in self.queries)
        return found
