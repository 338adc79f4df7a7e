"""Weighted queries of a table: what [[mechanism.queries]] asks for, and what a certificate says of it.

A query is a margin W x, perhaps within a selection or of a level of the geography, or weights of cells from a
file. What noise they make is told in strategy.py.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    StrictBool,
    StrictInt,
    field_validator,
    model_validator,
)
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
from holdfast.spec.values import DistinctNames, PositiveRational, Where, short, some_of_several
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import assigned, setting, valued

ONE = Fraction(1)
MOST_QUERIES = 64
QUERIES = "mechanism.queries"
LARGEST_BOUND = 10**9


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

    marginal: DistinctNames | None = None
    level: Text | None = None
    where: Where | None = None
    weights: QueryWeights | None = None
    weight: PositiveRational = Field(default=ONE, validate_default=True)

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


NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
ALL_MARGINS = re.compile(r"all margins up to (\w+)", re.IGNORECASE)


class Wish(Part):
    """A margin, perhaps of a level, whose counts are to have small errors; a weight makes them count more.

    In its place, all margins of ``up_to`` so many attributes that are not named by themselves; or, alone, the
    counts that the spec has ``accuracy`` targets for.
    """

    section: ClassVar = ("mechanism", "optimise_for")

    marginal: DistinctNames | None = None
    level: Text | None = None
    up_to: PositiveInt | None = None
    accuracy: bool = False
    weight: PositiveRational = Field(default=ONE, validate_default=True)

    @model_validator(mode="after")
    def _wishes_for_something(self) -> Self:
        named = self.marginal is not None or self.level is not None
        if self.accuracy:
            if named or self.up_to is not None:
                raise ValueError(
                    f"has accuracy beside margins: write {assigned('optimise_for', 'accuracy')} alone"
                )
            return self
        if named and self.up_to is not None:
            raise ValueError("has up_to beside marginal or level: keep one, or write two wishes")
        if not named and self.up_to is None:
            raise ValueError("asks for nothing: give it marginal, level or up_to")
        return self


def _wishes(value: object) -> object:
    """Return a list of wishes; one for all margins may be in words."""
    if isinstance(value, str):
        if value.strip().lower() == "accuracy":
            return ({"accuracy": True},)
        found = ALL_MARGINS.fullmatch(value.strip())
        number = found[1].lower() if found else ""
        if number in NUMBERS:
            return ({"up_to": NUMBERS.index(number) + 1},)
        if number.isdecimal() and int(number) > 0:
            return ({"up_to": int(number)},)
        raise ValueError(
            f"is {short(value)!r}: write a list of margins, as {valued([{'marginal': ['age']}])}, or"
            ' "all margins up to two"'
        )
    return some_of_several(value, "mechanism.optimise_for")


Wishes = Annotated[tuple[Wish, ...], BeforeValidator(_wishes)]
"""What weights are to be best for."""

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
        return f"{self.name} ({self.weight})"

    @property
    def name(self) -> str:
        """What it asks for."""
        if self.entries is not None:
            return f"{len({row for row, _, _ in self.entries}):,} weighted sums"
        within = " and ".join(f"{name} = {' or '.join(levels)}" for name, levels in self.where.items())
        name = " by ".join(self.marginal) or ("" if within else "total")
        return " within ".join(filter(None, (name, within)))

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


class SpaceRecord(BaseModel):
    """The weight of a space, named by the smallest margin that sees it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    marginal: tuple[str, ...]
    weight: PositiveRational


class OptimumRecord(BaseModel):
    """Weights of least variance for some queries, and what proves that there are none of less."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    least: Literal["budget"] | None = Field(default=None, exclude_if=lambda least: least is None)
    """Whether the weights of the queries follow from targets of accuracy, so that the budget is the least."""
    queries: tuple[WeightedQueryRecord, ...]
    weights: tuple[SpaceRecord, ...]
    variance: float
    """The sum of weight times variance of a count over the queries, where one record loses 1 in rho, or d
    records together d^2."""
    bound: float
    """What it is at least, whatever the weights."""
    losses: tuple[float, ...]
    """How much each way in which one record can move does to hold the variance up: they prove the bound."""

    @property
    def gap(self) -> float:
        """How far the variance is above the bound, relative to it."""
        return self.variance / self.bound - 1

    @property
    def words(self) -> str:
        """What is least."""
        return f"least {'budget' if self.least else 'variance'} for"


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


def checked_queries(
    public: Public, queries: Sequence[WeightedQuery | Wish], key: str = QUERIES
) -> tuple[WeightedQueryRecord, ...]:
    """Return queries as a certificate has them; raises SpecError where they do not fit the table."""
    if len(queries) > MOST_QUERIES and key == QUERIES:
        raise SpecError(f"{setting(key)} are {len(queries)}, and {MOST_QUERIES} are the most: ask for fewer.")
    schema = public.schema
    found = [_record(public, query, number, key).canonical(schema) for number, query in enumerate(queries, 1)]
    places = [query.place(schema) for query in found]
    for number, place in enumerate(places, 1):
        if place in places[: number - 1]:
            raise SpecError(
                f"{setting(key, number)} asks for what one before it asks for: keep one, and"
                " give it both weights."
            )
    return canonical(found, schema)


def _record(public: Public, query: WeightedQuery | Wish, number: int, key: str) -> WeightedQueryRecord:
    if query.level is not None and query.level not in public.geography:
        way = closest(query.level, public.geography) if public.geography else "leave it out."
        raise SpecError(
            f"{setting(key, number, 'level')} = {query.level!r} is no level of the geography: {way}"
        )
    if isinstance(query, WeightedQuery) and query.weights is not None:
        return WeightedQueryRecord(marginal=(), entries=_entries(public, query), weight=query.weight)
    named = {*(query.marginal or ()), *(() if query.level is None else (query.level,))}
    _require_attributes(public, [*(query.marginal or ())], setting(key, number, "marginal"))
    marginal = tuple(name for name in public.schema.names if name in named)
    place = setting(key, number, "where")
    chosen = query.where if isinstance(query, WeightedQuery) else None
    where = chosen_levels(public.schema, chosen, place=place) if chosen else {}
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
    optimise_for: Wishes = ()
    """Margins that weights are to be best for, in place of queries."""
    bound: StrictInt | None = None
    """How far the noise moves a count at most; as far as it likes where none is given."""
    repeatable: StrictBool = False
    """Whether the same table that is asked for again has the same noise, which is then paid for once."""

    @field_validator("bound")
    @classmethod
    def _a_distance(cls, bound: int | None) -> int | None:
        if bound is not None and not 1 <= bound <= LARGEST_BOUND:
            raise ValueError(
                f"is {short(str(bound))}: give the most that a count may be moved, from 1 to"
                f" {LARGEST_BOUND:,}"
            )
        return bound

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.queries and self.optimise_for:
            raise ValueError("optimise_for finds the weights that queries give: keep one of them")
        if self.for_accuracy and len(self.optimise_for) > 1:
            raise ValueError(
                f"has accuracy beside margins: write {assigned('optimise_for', 'accuracy')} alone"
            )
        return self

    @property
    def for_accuracy(self) -> bool:
        """Whether weights are to be best for the accuracy that a spec asks for."""
        return any(wish.accuracy for wish in self.optimise_for)

    @field_validator("queries", mode="before")
    @classmethod
    def _double_brackets(cls, given: Any) -> Any:
        return some_of_several(given, QUERIES)

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
    optimum: OptimumRecord | None = Field(default=None, exclude_if=lambda optimum: optimum is None)
    bound: StrictInt | None = Field(default=None, ge=1, exclude_if=lambda bound: bound is None)
    """How far a count is moved at most."""
    at_epsilon: PositiveRational | None = Field(default=None, exclude_if=lambda at: at is None)
    """The epsilon beside which delta is stated, of noise within a bound."""
    repeatable: StrictBool = Field(default=False, exclude_if=lambda repeatable: not repeatable)
    """Whether a secret key of the table draws the noise, so that it is the same each time."""

    @model_validator(mode="after")
    def _at_an_epsilon(self) -> Self:
        if (self.bound is None) != (self.at_epsilon is None):
            raise ValueError("has a bound and no epsilon beside it, or the other way round")
        return self

    def parameters(self, write: Callable[[Fraction], str] = str) -> dict[str, str]:
        """Return the parameters by name, queries in words."""
        found = super().parameters(write)
        if not self.repeatable:
            found.pop("repeatable", None)
        if self.queries is not None:
            found["queries"] = ", ".join(query.words for query in self.queries)
        if self.optimum is not None:
            del found["optimum"]
            asked = [query.words for query in self.optimum.queries]
            if self.optimum.least:  # by prices that mean nothing to a reader
                asked = [query.name for query in self.optimum.queries]
            found[self.optimum.words] = ", ".join(asked)
            found["above the bound by at most"] = f"{max(self.optimum.gap, 0.0):.1g}"
        return found
